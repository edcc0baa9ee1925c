// The switches over the map, and the line under it: what its colours mean, and how far it can be trusted.

import { writeRegion } from "/static/area.js";
import { hue, variable } from "/static/colours.js";
import { byId, fill, make } from "/static/dom.js";
import { shown, TITLES } from "/static/layouts.js";
import { change, info, on, state, tell } from "/static/state.js";

const COLOURS = { frequency: "Frequency", region: "Regions" };

export class MapTools {
  constructor() {
    this.layouts = info.layouts.map((name) =>
      make("button", { type: "button", onclick: () => change({ layout: name, view: "", area: "" }) }, TITLES[name]));
    fill(byId("layouts"), this.layouts);
    this.colours = Object.entries(COLOURS).map(([name, title]) =>
      make("button", { type: "button", onclick: () => change({ colour: name }) }, title));
    fill(byId("colours"), this.colours);
    const options = byId("options");
    options.addEventListener("click", () => {
      const open = byId("tools").classList.toggle("open");
      options.setAttribute("aria-expanded", open);
      tell("tools");
    });
    on("map", () => this.update());
    document.addEventListener("psdvec:theme", () => this.update());
  }

  update() {
    const names = Object.keys(COLOURS);
    const wanted = info.layouts.includes(state.layout) ? state.layout : info.layouts[0];
    this.layouts.forEach((button, i) => button.setAttribute("aria-pressed", info.layouts[i] === wanted));
    this.colours.forEach((button, i) => button.setAttribute("aria-pressed", names[i] === state.colour));
    if (!shown.points) return;
    fill(byId("legend"), state.colour === "region" ? regions() : scale());
    byId("fidelity").textContent = [fidelity(), info.why_not].filter(Boolean).join(" ");
  }
}

function scale() {
  const ramp = make("i", { class: "scale" });
  ramp.style.background = `linear-gradient(90deg, ${variable("rare")}, ${variable("frequent")})`;
  return make("li", {}, "rare", ramp, "frequent");
}

const regions = () =>
  shown.points.regions.filter((one) => one.level === 0 && one.words.length).map((region) => {
    const dot = make("i");
    dot.style.background = hue(region.id);
    const show = () => change({ tab: "area", area: writeRegion(shown.layout, region), view: "" });
    return make("li", {}, make("button", { type: "button", title: region.words.join(", "), onclick: show }, dot, region.words[0]));
  });

function fidelity() {
  const { points, layout } = shown;
  if (points.fidelity == null) return "";
  const share = points.fidelity * 100;
  return `${TITLES[layout]}: of a word’s ten nearest words, ${share.toFixed(share < 10 ? 1 : 0)} % are among its ten nearest dots.`;
}
