// A panel: a place for a form that stays and answers that come and go. Late answers to old questions are dropped.

import { fill, make } from "/static/dom.js";
import { troubleBox } from "/static/pieces.js";
import { Trouble } from "/static/api.js";

const PATIENCE = 300; // milliseconds before an old answer gives way to "One moment"

export class Panel {
  constructor(name, title) {
    this.name = name;
    this.title = title;
    this.element = null;
    this.turn = 0;
  }

  // Put down what stays; answers go below it.
  furnish(...fixed) {
    this.answer = make("div", { class: "panel" });
    fill(this.element, ...fixed, this.answer);
  }

  put(...children) {
    this.turn += 1;
    fill(this.answer, ...children);
  }

  // Run a question; show what it makes, or the trouble.
  async run(question, correct) {
    this.turn += 1;
    const turn = this.turn;
    const patience = setTimeout(() => {
      if (turn === this.turn) fill(this.answer, make("p", { class: "hint", role: "status" }, "One moment …"));
    }, PATIENCE);
    let children;
    try {
      children = await question();
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      children = [troubleBox(trouble, correct)];
    }
    clearTimeout(patience);
    if (turn === this.turn) fill(this.answer, ...children);
  }
}

// A form that asks without leaving the page.
export function form(action, ...children) {
  return make("form", {
    class: "form", autocomplete: "off",
    onsubmit: (event) => { event.preventDefault(); action(); },
  }, ...children);
}

export const field = (attributes) =>
  make("input", { type: "text", spellcheck: "false", autocapitalize: "none", ...attributes });
