// The names of the models, one of which is looked at.

import { saved } from "/static/api.js";
import { byId, fill, make, whole } from "/static/dom.js";
import { change, info, model, state } from "/static/state.js";

export class Models {
  constructor() {
    this.facts = make("span", { class: "facts" });
    this.buttons = info.models.map((one, place) =>
      make("button", { type: "button", onclick: () => change({ model: String(place + 1), view: "", area: "" }) }, one.name));
    fill(byId("models"), make("div", { class: "segment" }, this.buttons), this.facts);
  }

  update() {
    this.buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place + 1) === state.model));
    const name = saved ? `${model().name} · ` : ""; // where there is no choice, there are no buttons with names
    this.facts.textContent = `${name}${whole(model().words)} words · ${model().dim} dimensions`;
    document.title = [state.word, model().name, "psdvec explore"].filter(Boolean).join(" · ");
  }
}
