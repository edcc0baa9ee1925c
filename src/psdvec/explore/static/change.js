// Which words are used differently in slices of documents: how much at least, and what changed about one of them.

import { make, number } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { chips, empty } from "/static/pieces.js";
import { change, model, state } from "/static/state.js";

const LISTED = 200;

export class ChangePanel extends Panel {
  constructor() {
    super("change", "Change");
  }

  unavailable() {
    return model().change ? "" : "No change is open: find one with psdvec change, and start the explorer with --change FOLDER";
  }

  question() {
    return { word: state.word, model: state.model };
  }

  async answer(question, notes) {
    const found = await notes.ask("change", { model: question.model });
    if (!question.word) return all(found);
    const chosen = found.words.find((one) => one.word === question.word);
    return chosen ? one(chosen) : { children: [unknown(question.word), ...all(found).children] };
  }
}

const between = (record) => `${number(record.distance, 2)}, at least ${number(record.low, 2)}`;

const unknown = (word) =>
  empty(`Nothing is known of how “${word}” changed`, "It is not among the words that changed most, or occurs too seldom in one of the slices.");

function all(found) {
  const words = found.words.slice(0, LISTED);
  return {
    children: [
      make("h2", {}, `${found.slices[0]} and ${found.slices.at(-1)}`),
      make("p", { class: "facts" },
        `${found.changed.toLocaleString("en")} of ${found.compared.toLocaleString("en")} words are used differently at a false discovery rate of 5 %; `
        + "those that surely changed most come first."),
      chips(words.map((one) => one.word)),
    ],
    marks: { self: null, near: words.slice(0, 50).map((one) => one.word), spread: true },
    said: `${found.changed} words are used differently`,
    table: {
      name: "change",
      columns: ["word", ...found.slices.map((name) => `occurrences ${name}`), "distance", "low", "high", "p", "q"],
      rows: found.words.map((one) => [one.word, ...one.occurrences, one.distance, one.low, one.high, one.p, one.q]),
    },
  };
}

function one(record) {
  const names = record.between || [];
  const back = make("button", { type: "button", class: "quiet", onclick: () => change({ word: "", view: "" }) }, "All words");
  const near = record.neighbours ? names.flatMap((name) => record.neighbours[name].map(([word]) => word)) : [];
  return {
    children: [
      make("h2", {}, record.word),
      make("p", { class: "facts" }, `${between(record)}; occurs ${record.occurrences.map((count) => count.toLocaleString("en")).join(", ")} times`, back),
      ...(record.neighbours ? names.flatMap((name) => slice(name, record)) : [empty("Only its distance is known", "More is told of the words that changed most.")]),
    ],
    marks: { self: record.word, near },
    said: `${record.word} changed by ${between(record)}`,
    table: {
      name: `change ${record.word}`,
      columns: ["slice", "neighbour", "cosine"],
      rows: record.neighbours ? names.flatMap((name) => record.neighbours[name].map(([word, cosine]) => [name, word, cosine])) : [],
    },
  };
}

const slice = (name, record) => [
  make("h3", {}, name),
  chips(record.neighbours[name].map(([word]) => word)),
  make("p", { class: "hint" }, `Stands more with ${record.contexts[name].map((one) => `${one.word} (${one.counts.join(" : ")})`).join(", ")}`),
  ...record.passages[name].map((one) => make("blockquote", {}, one.left, make("b", {}, one.word), one.right, make("span", {}, ` (${one.document})`))),
];
