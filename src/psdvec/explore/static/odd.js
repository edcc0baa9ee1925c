// Which word does not belong?

import { make } from "/static/dom.js";
import { oddOnes } from "/static/examples.js";
import { field, form, Panel, unseen } from "/static/panel.js";
import { chips, empty, ranking, rankingTable } from "/static/pieces.js";
import { change, state } from "/static/state.js";

const split = (text) => text.split(/[\s,;]+/).filter(Boolean);

export class OddPanel extends Panel {
  constructor() {
    super("odd", "Odd one out", ["odd"], { spells: true });
  }

  form() {
    const [input, list] = field({ id: "odd-words", several: true, placeholder: "breakfast cereal dinner lunch" });
    this.field = input;
    return form(() => this.ask(this.field.value),
      make("label", {}, "Three or more words, separated by spaces", input), list,
      make("div", { class: "actions" }, make("button", { class: "primary", type: "submit" }, "Find it")));
  }

  sync() {
    this.field.value = state.odd;
  }

  ask(text) {
    const words = split(text);
    if (words.length > 2) {
      change({ odd: words.join(" "), view: "", unseen: "" });
      return;
    }
    this.field.focus();
    this.hint("Three words are needed", "Type at least three, separated by spaces.");
  }

  question() {
    return state.odd ? { word: split(state.odd), model: state.model, ...unseen() } : null;
  }

  idle() {
    return [empty("Odd one out", "The word that lies farthest from the mean of all of them."),
      chips(oddOnes(), (text) => this.ask(text))];
  }

  async answer(question, notes) {
    const found = await notes.ask("odd", question);
    return {
      children: [
        make("h2", {}, found.odd),
        make("p", { class: "facts" }, "does not belong; cosines with the mean of all:"),
        ranking(found.words),
      ],
      marks: { self: found.odd, near: found.words.map((one) => one.word), spread: true },
      said: `The odd one out is ${found.odd}`,
      table: rankingTable(`odd one out of ${question.word.join(" ")}`, found.words),
    };
  }

  correct(word, unknown) {
    change({ view: "", odd: split(state.odd).map((one) => (one === unknown ? word : one)).join(" ") });
  }
}
