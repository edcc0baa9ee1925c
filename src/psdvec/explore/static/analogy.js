// a is to b as c is to what?

import { ask } from "/static/api.js";
import { announce, make } from "/static/dom.js";
import { field, form, Panel } from "/static/panel.js";
import { empty, ranking } from "/static/pieces.js";
import { state, tell } from "/static/state.js";

export class AnalogyPanel extends Panel {
  constructor() {
    super("analogy", "Analogy");
    this.method = "3cosadd";
  }

  show() {
    if (this.answer) return;
    this.fields = ["a", "b", "c"].map((name, place) =>
      field({ id: `analogy-${name}`, "aria-label": `Word ${name}`, placeholder: ["man", "king", "woman"][place] }));
    const [a, b, c] = this.fields;
    this.ways = ["3CosAdd", "3CosMul"].map((title) =>
      make("button", { type: "button", "aria-pressed": title.toLowerCase() === this.method,
        onclick: () => this.choose(title.toLowerCase()) }, title));
    this.furnish(form(() => this.ask(),
      make("div", { class: "sentence" }, a, make("span", {}, "is to"), b, c, make("span", { class: "asks" }, "is to … ?")),
      make("div", { class: "actions" },
        make("div", { class: "segment", role: "group", "aria-label": "Way of answering" }, this.ways),
        make("button", { class: "primary", type: "submit" }, "Answer"))));
    this.put(empty("An analogy", "Three words: a is to b as c is to what? 3CosAdd adds cosines, 3CosMul multiplies them."));
  }

  choose(method) {
    this.method = method;
    this.ways.forEach((way) => way.setAttribute("aria-pressed", way.textContent.toLowerCase() === method));
    if (this.fields.every((one) => one.value.trim())) this.ask();
  }

  ask() {
    const missing = this.fields.find((one) => !one.value.trim());
    if (missing) {
      missing.focus();
      this.put(empty("Three words are needed", "Fill in the field that is still empty."));
      return;
    }
    const [a, b, c] = this.fields.map((one) => one.value.trim());
    this.run(async () => {
      const found = await ask("analogy", { a, b, c, method: this.method, model: state.model });
      if (!found.answers.length) return [empty("No answer", "The model has no words other than these three.")];
      const best = found.answers[0].word;
      tell("near", { word: best, words: [a, b, c], frame: true });
      announce(`${a} is to ${b} as ${c} is to ${best}`);
      return [
        make("h2", {}, best),
        make("p", { class: "facts" }, `${a} is to ${b} as ${c} is to ${best}`),
        ranking(found.answers, { largest: Math.max(found.answers[0].score, this.method === "3cosadd" ? 1 : 0) }),
      ];
    }, (word, unknown) => {
      this.fields.filter((one) => one.value.trim() === unknown).forEach((one) => { one.value = word; });
      this.ask();
    });
  }
}
