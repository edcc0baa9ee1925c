// Which word does not belong?

import { ask } from "/static/api.js";
import { announce, make } from "/static/dom.js";
import { field, form, Panel } from "/static/panel.js";
import { empty, ranking } from "/static/pieces.js";
import { state, tell } from "/static/state.js";

export class OddPanel extends Panel {
  constructor() {
    super("odd", "Odd one out");
  }

  show() {
    if (this.answer) return;
    this.field = field({ id: "odd-words", placeholder: "breakfast cereal dinner lunch" });
    this.furnish(form(() => this.ask(),
      make("label", {}, "Three or more words, separated by spaces", this.field),
      make("div", { class: "actions" }, make("button", { class: "primary", type: "submit" }, "Find it"))));
    this.put(empty("Odd one out", "The word that lies farthest from the mean of all of them."));
  }

  ask() {
    const words = this.field.value.split(/[\s,;]+/).filter(Boolean);
    if (words.length < 3) {
      this.field.focus();
      this.put(empty("Three words are needed", "Type at least three, separated by spaces."));
      return;
    }
    this.run(async () => {
      const found = await ask("odd", { word: words, model: state.model });
      tell("near", { word: found.odd, words, frame: true });
      announce(`The odd one out is ${found.odd}`);
      return [
        make("h2", {}, found.odd),
        make("p", { class: "facts" }, "does not belong; cosines with the mean of all:"),
        ranking(found.words),
      ];
    }, (word, unknown) => {
      this.field.value = words.map((one) => (one === unknown ? word : one)).join(" ");
      this.ask();
    });
  }
}
