// Add a word: paste sentences, get its vector by the closed form. Old vectors never move.

import { send } from "/static/api.js";
import { announce, make, number, whole } from "/static/dom.js";
import { field, form, Panel } from "/static/panel.js";
import { empty, ranking, troubleBox } from "/static/pieces.js";
import { model, state, tell } from "/static/state.js";

export class ExtendPanel extends Panel {
  constructor() {
    super("extend", "New word");
  }

  show() {
    if (this.answer) return;
    this.text = make("textarea", { id: "pasted", placeholder: "Sentences that use the new word, one per line." });
    this.field = field({ id: "new-word", placeholder: "all new words in the text" });
    this.button = make("button", { class: "primary", type: "submit" }, "Add");
    this.furnish(form(() => this.ask(),
      make("label", {}, "Text", this.text),
      make("label", {}, "New word, if you want only one", this.field),
      make("div", { class: "actions" },
        make("span", { class: "hint" }, "The old vectors do not move."), this.button)));
    this.put(empty("A word the model has never seen",
      "Paste sentences that use it. Its vector follows in closed form from the words around it."));
  }

  ask() {
    const text = this.text.value;
    const trouble = this.objection(text);
    if (trouble) {
      this.put(troubleBox({ message: trouble }));
      return;
    }
    this.button.disabled = true;
    this.run(async () => {
      const body = { text, model: String(state.model) };
      const word = this.field.value.trim();
      const found = await send("extend", word ? { ...body, word } : body);
      tell("added", found.learned);
      announce(`Added ${found.learned.map((one) => one.word).join(", ")}`);
      return [...found.learned.map(card), leftOut(found.thin)];
    }).finally(() => { this.button.disabled = false; });
  }

  // What can be said without asking the server.
  objection(text) {
    const most = state.info.limits.text;
    if (!model().extend) return `No word can be added here: ${model().no_extending}`;
    if (!text.trim()) return "There is no text yet; paste sentences that use the new word";
    if (text.length > most) {
      return `The text has ${whole(text.length)} characters; paste at most ${whole(most)}, or use 'psdvec count' `
        + "and 'psdvec extend' for whole files";
    }
    return null;
  }
}

const card = (one) =>
  make("section", { class: "card" },
    make("h2", {}, one.word),
    make("p", { class: "facts" },
      `seen ${whole(one.count)} ${one.count === 1 ? "time" : "times"} · deviation ${number(one.deviation, 3)}`
      + (one.thin ? " · thin evidence" : "")),
    ranking(one.neighbours));

const leftOut = (thin) =>
  thin.length ? make("p", { class: "hint" }, `Seen too rarely to be placed: ${thin.join(", ")}.`) : null;
