// Add a word: paste sentences, get its vector by the closed form. Old vectors never move.

import { make, number, whole } from "/static/dom.js";
import { NEW_WORD, newWordFits } from "/static/examples.js";
import { field, form, Panel } from "/static/panel.js";
import { empty, ranking, troubleBox, wordButton } from "/static/pieces.js";
import { change, info, model, state, tell } from "/static/state.js";

export class ExtendPanel extends Panel {
  constructor() {
    super("extend", "New word", ["text", "fresh"]);
  }

  unavailable() {
    return model().extend ? "" : `No word can be added here: ${model().no_extending}`;
  }

  form() {
    this.text = make("textarea", { id: "pasted", placeholder: "Sentences that use the new word, one per line." });
    const [input] = field({ id: "new-word", placeholder: "all new words in the text" });
    this.field = input;
    return form(() => this.ask(),
      make("label", {}, "Text", this.text),
      make("label", {}, "New word, if you want only one", this.field),
      make("div", { class: "actions" },
        make("span", { class: "hint" }, "The old vectors do not move."),
        make("button", { class: "primary", type: "submit" }, "Add")));
  }

  sync() {
    this.text.value = state.text;
    this.field.value = state.fresh;
  }

  ask() {
    const trouble = objection(this.text.value);
    if (trouble) this.put([troubleBox({ message: trouble })]);
    else change({ text: this.text.value, fresh: this.field.value.trim(), view: "" });
  }

  question() {
    if (!state.text) return null;
    const body = { text: state.text, model: state.model };
    return state.fresh ? { ...body, word: state.fresh } : body;
  }

  idle() {
    const example = () => change({ text: NEW_WORD.text, fresh: NEW_WORD.word, view: "" });
    return [
      empty("A word the model has never seen",
        "Paste sentences that use it. Its vector follows in closed form from the words around it and from how it is spelled."),
      newWordFits() && make("div", { class: "chips" },
        make("button", { type: "button", class: "chip", id: "example", onclick: example }, `Try it: “${NEW_WORD.word}” from four sentences`)),
    ];
  }

  async answer(question, notes) {
    const found = await notes.send("extend", question);
    tell("added", { model: question.model, learned: found.learned });
    const words = found.learned.map((one) => one.word);
    const lines = question.text.split("\n");
    return {
      children: [...found.learned.map((one) => card(one, lines)), leftOut(found.thin), forgotten(found.forgotten)],
      marks: words.length === 1
        ? { self: words[0], near: found.learned[0].neighbours.map((one) => one.word) }
        : { self: null, near: words, spread: true },
      said: `Added ${words.join(", ")}`,
      table: {
        name: `new words ${words.join(" ")}`,
        columns: ["new word", "neighbour", "score", "low", "high"],
        rows: found.learned.flatMap((one) => one.neighbours.map((near) => [one.word, near.word, near.score, near.low, near.high])),
      },
    };
  }
}

// What can be said without asking the server.
function objection(text) {
  const most = info.limits.text;
  if (!text.trim()) return "There is no text yet; paste sentences that use the new word";
  if (text.length > most) {
    return `The text has ${whole(text.length)} characters; paste at most ${whole(most)}, or use 'psdvec count' `
      + "and 'psdvec extend' for whole files";
  }
  return null;
}

const card = (one, lines) =>
  make("section", { class: "card" },
    make("h2", {}, wordButton(one.word)),
    make("p", { class: "facts" },
      `seen ${whole(one.count)} ${one.count === 1 ? "time" : "times"} · ${Math.round(100 * one.spelling)} % by its spelling · deviation ${number(one.deviation, 3)}`
      + (one.thin ? " · thin evidence" : "")),
    ranking(one.neighbours),
    one.evidence?.length ? placed(one, lines) : null);

// The words that placed it, as they stand in its sentences: the harder they pulled, the stronger the mark.
function placed(one, lines) {
  const pulls = new Map(one.evidence.map(({ word, weight }) => [word, weight]));
  const most = Math.max(...pulls.values());
  const marked = (line) => line.split(/([\p{L}\p{N}]+)/u).map((part) => {
    const word = part.toLowerCase();
    if (word === one.word.toLowerCase()) return make("strong", {}, part);
    const pull = pulls.get(part) ?? pulls.get(word);
    return pull > 0 ? make("mark", { class: pull > most / 2 ? "much" : null }, part) : part;
  });
  return make("div", {},
    make("h3", {}, "What placed it"),
    make("ul", { class: "sentences" }, (one.sentences || []).map((place) => make("li", {}, marked(lines[place] || "")))),
    make("p", { class: "hint" }, `Marked are the words that pulled: ${one.evidence.slice(0, 8).map(({ word }) => word).join(", ")}.`));
}

const leftOut = (thin) =>
  thin.length ? make("p", { class: "hint" }, `Seen too rarely to be placed: ${thin.join(", ")}.`) : null;

const forgotten = (words = []) =>
  words.length ? make("p", { class: "hint" }, `Forgotten, to make room: ${words.join(", ")}.`) : null;
