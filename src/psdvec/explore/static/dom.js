// Making elements. Text becomes text nodes, always: no word is ever read as HTML.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick" || name === "onsubmit") element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child != null));
}

// Tells a screen reader what just appeared.
export function announce(sentence) {
  byId("live").textContent = sentence;
}

export const number = (value, digits = 2) => (value == null ? "–" : value.toFixed(digits).replace("-", "−"));
export const whole = (value) => value.toLocaleString("en");
