// a is to b as c is to what? The four words are shown in the plane that fits them best.

import { draw, make } from "/static/dom.js";
import { analogies } from "/static/examples.js";
import { arrow } from "/static/marks.js";
import { choice, field, form, Panel, unseen } from "/static/panel.js";
import { chips, empty, ranking, rankingTable } from "/static/pieces.js";
import { change, state } from "/static/state.js";
import { View } from "/static/view.js";

const WAYS = { "3cosadd": "3CosAdd", "3cosmul": "3CosMul" };
const BOX = { width: 400, height: 210 };

export class AnalogyPanel extends Panel {
  constructor() {
    super("analogy", "Analogy", ["a", "b", "c", "method"], { spells: true });
  }

  form() {
    const parts = ["a", "b", "c"].map((name, place) =>
      field({ id: `analogy-${name}`, "aria-label": `Word ${name}`, placeholder: ["man", "king", "woman"][place] }));
    this.inputs = parts.map(([input]) => input);
    const [a, b, c] = this.inputs;
    this.ways = choice("Way of answering", WAYS, (method) => change({ method }));
    return form(() => this.ask(),
      make("div", { class: "sentence" }, a, make("span", {}, "is to"), b, c, make("span", { class: "asks" }, "is to … ?")),
      parts.map(([, list]) => list),
      make("div", { class: "actions" }, this.ways.element, make("button", { class: "primary", type: "submit" }, "Answer")));
  }

  sync() {
    ["a", "b", "c"].forEach((name, place) => { this.inputs[place].value = state[name]; });
    this.ways.press(state.method);
  }

  ask() {
    const [a, b, c] = this.inputs.map((one) => one.value.trim());
    const missing = this.inputs.find((one) => !one.value.trim());
    if (!missing) {
      change({ a, b, c, view: "", unseen: "" });
      return;
    }
    missing.focus();
    this.hint("Three words are needed", "Fill in the field that is still empty.");
  }

  question() {
    const { a, b, c, method } = state;
    return a && b && c ? { a, b, c, method, model: state.model, ...unseen() } : null;
  }

  idle() {
    const examples = analogies();
    const titles = examples.map(([a, b, c]) => `${a} : ${b} = ${c} : ?`);
    return [empty("An analogy", "Three words: a is to b as c is to what? 3CosAdd adds cosines, 3CosMul multiplies them."),
      chips(titles, (title) => {
        const [a, b, c] = examples[titles.indexOf(title)];
        change({ a, b, c, view: "", unseen: "" });
      })];
  }

  async answer(question, notes) {
    const found = await notes.ask("analogy", question);
    const { a, b, c } = found;
    if (!found.answers.length) return { children: [empty("No answer", "The model has no words other than these three.")] };
    const best = found.answers[0].word;
    return {
      children: [
        make("h2", {}, best),
        make("p", { class: "facts" }, `${a} is to ${b} as ${c} is to ${best}`),
        found.spelled.length ? make("p", { class: "hint" }, `Not in the model, and placed by spelling alone: ${found.spelled.join(", ")}.`) : null,
        found.plane && picture([a, b, c, best], found.plane),
        ranking(found.answers, { largest: Math.max(found.answers[0].score, question.method === "3cosadd" ? 1 : 0) }),
      ],
      marks: { self: best, near: [a, b, c], spread: true, arrows: [[a, b], [c, best]] },
      said: `${a} is to ${b} as ${c} is to ${best}`,
      table: rankingTable(`${a} is to ${b} as ${c} is to`, found.answers),
    };
  }

  correct(word, unknown) {
    const part = Object.fromEntries(["a", "b", "c"].filter((name) => state[name] === unknown).map((name) => [name, word]));
    change({ ...part, view: "" });
  }
}

// Two arrows: were the analogy perfect, they would be parallel and equally long.
function picture(words, { places, kept }) {
  const around = View.around(places.map(([x]) => x), places.map(([, y]) => y), { width: BOX.width - 130, height: BOX.height - 60 });
  const view = new View(around.x, around.y, (around.width * BOX.width) / (BOX.width - 130));
  const at = places.map(([x, y]) => view.place(x, y, BOX));
  return make("figure", { class: "plane" },
    draw("svg", { viewBox: `0 0 ${BOX.width} ${BOX.height}`, "aria-hidden": true },
      arrow(at[0], at[1]), arrow(at[2], at[3]),
      at.map(([x, y], place) => [
        draw("circle", { class: place === 3 ? "self" : "near", cx: x, cy: y, r: 5 }),
        draw("text", { x, y: y + (y < at[place ^ 1][1] ? -11 : 20), "text-anchor": "middle" }, words[place])])),
    make("figcaption", { class: "hint" },
      `The plane that fits the four words best; it keeps ${Math.round(kept * 100)} % of their spread.`));
}
