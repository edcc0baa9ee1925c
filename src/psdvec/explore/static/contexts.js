// Why a word is where it is: the contexts that pulled hardest, on one word or on two, as bars.

import { make, number, whole } from "/static/dom.js";
import { choice, field, form, Panel } from "/static/panel.js";
import { bounds, empty, swing, wordButton } from "/static/pieces.js";
import { change, look, model, state } from "/static/state.js";

const ASKED = 60; // contexts, the hardest pulls
const LISTED = 20; // of them, the first in the order chosen
const ORDERS = { pull: "Pull", pmi: "PMI" };
const COLUMNS = ["count", "pmi", "fitted", "weight"];

export class ContextsPanel extends Panel {
  constructor() {
    super("contexts", "Contexts", ["other", "order"]);
  }

  unavailable() {
    return model().contexts ? "" : `No contexts can be shown: ${model().no_contexts}`;
  }

  form() {
    const [input, list] = field({ id: "other", "aria-label": "Another word", placeholder: "another word: why are they close?" });
    this.other = input;
    this.order = choice("Order", ORDERS, (order) => change({ order }));
    return form(() => change({ other: this.other.value.trim() }),
      make("div", { class: "beside" }, input, list, make("button", { class: "primary", type: "submit" }, "Why?")),
      make("div", { class: "actions" }, make("span", { class: "hint" }, "Bars and order by"), this.order.element));
  }

  sync() {
    this.other.value = state.other;
    this.order.press(state.order);
  }

  question() {
    if (!state.word) return null;
    const question = { word: state.word, model: state.model, topn: ASKED, order: state.order };
    return state.other ? { ...question, other: state.other } : question;
  }

  idle() {
    return [empty("Why is a word where it is?", "Type a word above to see which contexts pulled hardest on it.")];
  }

  async answer({ order, ...question }, notes) {
    const found = await notes.ask("contexts", question);
    return found.other ? pair(found, order) : single(found, order);
  }

  // A suggestion replaces the word that was misspelled.
  correct(word, unknown) {
    if (unknown === state.other) change({ other: word });
    else look(word);
  }
}

const first = (rows, value) => rows.slice().sort((one, two) => value(two) - value(one)).slice(0, LISTED);

const details = (cell) => cell.count === 0 ? "not seen near it" :
  `count ${number(cell.count, 1)} · PMI ${number(cell.pmi)} · fitted ${number(cell.fitted)} · weight ${number(cell.weight)}`;

const list = (rows, values, digits, below) => {
  const ends = bounds(rows.flatMap(values));
  return make("ol", { class: "reasons" }, rows.map((row) =>
    make("li", {}, wordButton(row.word), swing(values(row), ends),
      make("span", { class: "score" }, values(row).map((value) => make("span", {}, number(value, digits)))),
      make("span", { class: "sub" }, below(row)))));
};

function single(found, order) {
  const rows = first(found.contexts, (row) => row[order]);
  return {
    children: [
      make("h2", {}, found.word),
      make("p", { class: "facts" }, `seen near ${whole(found.seen)} words; ${order === "pull" ? "these pulled hardest" : `of the ${found.contexts.length} that pulled hardest, these have the largest PMI`}`),
      list(rows, (row) => [row[order]], order === "pull" ? 1 : 2, (row) => [make("span", {}, details(row))]),
      make("p", { class: "hint" }, LEGEND),
    ],
    marks: { self: found.word, near: rows.map((row) => row.word) },
    table: {
      name: `contexts of ${found.word}`,
      columns: ["context", "pull", ...COLUMNS],
      rows: found.contexts.map((row) => [row.word, row.pull, ...COLUMNS.map((name) => row[name])]),
    },
  };
}

function pair(found, order) {
  const direct = found.direct
    ? `They occur near each other: ${details(found.direct)}.`
    : "They were never seen near each other.";
  const values = order === "pull" ? (row) => [row.share] : (row) => row.cells.map((cell) => cell.pmi ?? 0);
  const rows = first(found.contexts, (row) => values(row).reduce((sum, value) => sum + value, 0));
  const below = (row) => row.cells.map((cell, side) => make("span", {}, `${side ? found.other : found.word}: ${details(cell)}`));
  return {
    children: [
      make("h2", {}, `${found.word} and ${found.other}`),
      make("div", { class: "figure" }, make("strong", {}, number(found.similarity)), make("span", {}, "is the similarity of the two words")),
      make("p", { class: "facts" }, direct),
      make("p", { class: "facts" }, `It is the sum of the shares of the contexts below (${number(sum(found.contexts), 3)}) and: ${Object.entries(found.parts).map(([part, share]) => `${part} ${number(share, 3)}`).join(", ")}.`),
      list(rows, values, order === "pull" ? 3 : 2, below),
      make("p", { class: "hint" }, order === "pull"
        ? `Bars are what each context adds to the similarity. ${LEGEND}`
        : `Upper bars belong to ${found.word}, lower ones to ${found.other}. ${LEGEND}`),
    ],
    marks: { self: found.word, near: [found.other], spread: true },
    table: {
      name: `contexts of ${found.word} and ${found.other}`,
      columns: ["context", "share", ...[found.word, found.other].flatMap((word) => COLUMNS.map((name) => `${name} ${word}`))],
      rows: found.contexts.map((row) => [row.word, row.share, ...row.cells.flatMap((cell) => COLUMNS.map((name) => cell[name]))]),
    },
  };
}

const sum = (rows) => rows.reduce((total, row) => total + row.share, 0);

const LEGEND = "Count: both orders, weighted by distance. PMI: what was asked for. Fitted: what the vectors give; "
  + "a dash if the word was placed from other counts. Weight: how much the pair mattered.";
