// Tabs with the keyboard's manners: arrows move between them, Tab goes on into the panel.

import { byId, make } from "/static/dom.js";
import { change, state } from "/static/state.js";

export class Tabs {
  constructor(panels) {
    this.panels = panels;
    this.buttons = panels.map((panel) =>
      make("button", {
        type: "button", role: "tab", id: `tab-${panel.name}`, "aria-controls": `panel-${panel.name}`,
        onclick: () => change({ tab: panel.name, view: "" }),
      }, panel.title));
    panels.forEach((panel) => {
      panel.element = make("div", {
        class: "panel", role: "tabpanel", id: `panel-${panel.name}`, "aria-labelledby": `tab-${panel.name}`,
      });
      byId("panels").append(panel.element);
    });
    byId("tabs").append(...this.buttons);
    byId("tabs").addEventListener("keydown", (event) => this.move(event));
  }

  get current() {
    return this.panels.find((panel) => panel.name === state.tab) || this.panels[0];
  }

  // Show the panel of the state; if the focus was in the one that goes, the new one takes it.
  update(again) {
    const { current } = this;
    const held = this.panels.some((panel) => panel !== current && panel.element.contains(document.activeElement));
    this.panels.forEach((panel, place) => {
      const chosen = panel === current;
      const button = this.buttons[place];
      panel.element.hidden = !chosen;
      if (chosen && button.getAttribute("aria-selected") !== "true") button.scrollIntoView({ block: "nearest", inline: "nearest" });
      button.setAttribute("aria-selected", chosen);
      button.tabIndex = chosen ? 0 : -1;
    });
    current.focused ||= held;
    current.update(again);
    if (held && current.marks) current.takeFocus();
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const shown = this.panels.filter((panel, place) => !this.buttons[place].hidden);
    let place = shown.indexOf(this.current);
    if (step) place = (place + step + shown.length) % shown.length;
    else if (event.key === "Home") place = 0;
    else if (event.key === "End") place = shown.length - 1;
    else return;
    event.preventDefault();
    change({ tab: shown[place].name, view: "" }, { replace: true });
    byId(`tab-${shown[place].name}`).focus();
  }
}
