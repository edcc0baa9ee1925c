// Pieces that several panels use: words one can click, rankings with bars, troubles with suggestions, empty states.

import { make, number } from "/static/dom.js";
import { look } from "/static/state.js";

export const wordButton = (word) => make("button", { type: "button", class: "word", onclick: () => look(word) }, word);

export const chip = (word, action = (chosen) => look(chosen)) =>
  make("button", { type: "button", class: "chip", onclick: () => action(word) }, word);

export const chips = (words, action) => make("div", { class: "chips" }, words.map((word) => chip(word, action)));

const thin = (record) =>
  record.thin ? make("span", { class: "thin", title: "The vector rests on few occurrences." }, "thin") : null;

export function bar(record, largest = 1) {
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

export function ranking(records, { largest = 1 } = {}) {
  return make("ol", { class: "ranking" }, records.map((record) =>
    make("li", {},
      make("span", {}, rowWord(record)),
      bar(record, largest),
      make("span", { class: "score", title: bounds(record) }, number(record.score, 3), hiddenBounds(record)))));
}

function rowWord(record) {
  const button = wordButton(record.word);
  const mark = thin(record);
  if (mark) button.append(mark);
  return button;
}

const bounds = (record) =>
  record.low == null ? null : `with 95 % confidence between ${number(record.low, 3)} and ${number(record.high, 3)}`;

const hiddenBounds = (record) =>
  record.low == null ? null : make("span", { class: "hidden" }, `, ${bounds(record)}`);

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
  make("div", { class: "empty" }, make("strong", {}, title), text, ...more);

const capital = (sentence) => {
  const text = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return /[.?!…]$/.test(text) ? text : `${text}.`;
};
