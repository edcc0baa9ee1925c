// Pieces that several panels use: words one can click, rankings with bars, troubles with suggestions, empty states.

import { make, number } from "/static/dom.js";
import { look } from "/static/state.js";

export const wordButton = (word, how = {}) => make("button", { type: "button", class: "word", onclick: () => look(word, how) }, word);

const chip = (word, action = (chosen) => look(chosen)) =>
  make("button", { type: "button", class: "chip", onclick: () => action(word) }, word);

export const chips = (words, action) => make("div", { class: "chips" }, words.map((word) => chip(word, action)));

function thin(record) {
  if (record.spelled) return make("span", { class: "thin", title: "Not in the model; the vector is what the spelling tells." }, "by spelling");
  return record.thin ? make("span", { class: "thin", title: "The vector rests on few occurrences." }, "thin") : null;
}

function bar(record, largest = 1) {
  const share = (value) => `${Math.max(0, Math.min(1, value / largest)) * 100}%`;
  const fillPart = make("i");
  fillPart.style.width = share(record.score);
  const whole = make("span", { class: "bar", "aria-hidden": "true" }, fillPart);
  if (record.low != null) {
    const whisker = make("b");
    whisker.style.left = share(record.low);
    whisker.style.right = `${100 - parseFloat(share(record.high))}%`;
    whole.append(whisker);
  }
  return whole;
}

// Bars that go both ways from a common zero: `values` of one row, and the `[low, high]` that all rows share.
export function swing(values, [low, high]) {
  const share = (value) => (100 * (value - low)) / (high - low || 1);
  const zero = make("b");
  zero.style.left = `${share(0)}%`;
  return make("span", { class: "swing", "aria-hidden": "true" }, values.map((value) => {
    const part = make("i", { class: value < 0 ? "less" : null });
    part.style.left = `${share(Math.min(value, 0))}%`;
    part.style.width = `${share(Math.abs(value)) - share(0)}%`;
    return make("span", {}, part);
  }), zero);
}

export const bounds = (values) => [Math.min(0, ...values), Math.max(0, ...values)];

export function ranking(records, { largest = 1 } = {}) {
  return make("ol", { class: "ranking" }, records.map((record) =>
    make("li", {},
      make("span", {}, rowWord(record)),
      bar(record, largest),
      make("span", { class: "score", title: interval(record) }, number(record.score, 3), hiddenInterval(record)))));
}

// A ranking as a table to be kept.
export const rankingTable = (name, records) => ({
  name,
  columns: ["word", "score", "low", "high", "count"],
  rows: records.map((one) => [one.word, one.score, one.low, one.high, one.count]),
});

function rowWord(record) {
  const button = wordButton(record.word, record.spelled ? { unseen: "spelling" } : {});
  const mark = thin(record);
  if (mark) button.append(mark);
  return button;
}

const interval = (record) =>
  record.low == null ? null : `with 95 % confidence between ${number(record.low, 3)} and ${number(record.high, 3)}`;

const hiddenInterval = (record) =>
  record.low == null ? null : make("span", { class: "hidden" }, `, ${interval(record)}`);

export function troubleBox(trouble, action = (word) => look(word)) {
  const found = trouble.suggestions || [];
  const sentence = trouble.word
    ? `There is no vector for “${trouble.word}”.` + (found.length ? " Did you mean:" : " No word is spelled like it.")
    : capital(trouble.message);
  return make("div", { class: "trouble", role: "alert" },
    make("p", {}, sentence),
    found.length ? chips(found, (word) => action(word, trouble.word)) : null);
}

export const empty = (title, text, ...more) =>
  make("div", { class: "empty" }, make("strong", {}, title), make("p", {}, capital(text)), ...more);

const capital = (sentence) => {
  const text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text}.`;
};
