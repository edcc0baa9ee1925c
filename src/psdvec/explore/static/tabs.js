// Tabs with the keyboard's manners: arrows move between them, Tab goes on into the panel.

import { byId, make } from "/static/dom.js";

export class Tabs {
  constructor(panels) {
    this.panels = panels;
    this.buttons = panels.map((panel) =>
      make("button", {
        type: "button", role: "tab", id: `tab-${panel.name}`, "aria-controls": `panel-${panel.name}`,
        onclick: () => this.show(panel.name),
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

  show(name, { focus = false } = {}) {
    this.current = this.panels.find((panel) => panel.name === name);
    this.panels.forEach((panel, place) => {
      const chosen = panel === this.current;
      panel.element.hidden = !chosen;
      this.buttons[place].setAttribute("aria-selected", chosen);
      this.buttons[place].tabIndex = chosen ? 0 : -1;
      if (chosen && focus) this.buttons[place].focus();
      if (chosen) this.buttons[place].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
    this.current.show();
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const last = this.panels.length - 1;
    let place = this.panels.indexOf(this.current);
    if (step) place = (place + step + last + 1) % (last + 1);
    else if (event.key === "Home") place = 0;
    else if (event.key === "End") place = last;
    else return;
    event.preventDefault();
    this.show(this.panels[place].name, { focus: true });
  }
}
