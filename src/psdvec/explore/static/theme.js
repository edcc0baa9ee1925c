// Light or dark: what the system prefers until the reader chooses. Loaded before the page is drawn, so nothing flashes.
(() => {
  const KEY = "psdvec-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let choice = null;
  try {
    choice = localStorage.getItem(KEY);
  } catch {
    // Where nothing may be stored, the choice lasts until the page is closed.
  }

  function apply() {
    const theme = choice || (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      const other = theme === "dark" ? "light" : "dark";
      button.textContent = theme === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", `${button.textContent}: switch to ${other} colours`);
    }
    document.dispatchEvent(new Event("psdvec:theme"));
  }

  function toggle() {
    choice = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // See above.
    }
    apply();
  }

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", toggle);
  });
})();
