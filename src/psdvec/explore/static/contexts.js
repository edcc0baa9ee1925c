// Why a word is where it is: the contexts that pulled hardest, on one word or on two.

import { ask } from "/static/api.js";
import { byId, make, number, whole } from "/static/dom.js";
import { field, form, Panel } from "/static/panel.js";
import { empty, troubleBox, wordButton } from "/static/pieces.js";
import { look, model, state } from "/static/state.js";

const COLUMNS = [
  ["count", "how often, both orders, weighted by distance"],
  ["PMI", "what was asked for"],
  ["fitted", "what the vectors give"],
  ["weight", "how much it mattered"],
];

export class ContextsPanel extends Panel {
  constructor() {
    super("contexts", "Contexts");
  }

  show() {
    if (!this.answer) {
      this.other = field({
        id: "other", "aria-label": "Another word", placeholder: "another word: why are they close?",
      });
      this.furnish(form(() => this.ask(),
        make("div", { class: "beside" }, this.other, make("button", { class: "primary", type: "submit" }, "Why?"))));
    }
    this.ask();
  }

  ask() {
    if (!model().contexts) {
      this.put(troubleBox({ message: `No contexts can be shown: ${model().no_contexts}` }));
      return;
    }
    if (!state.word) {
      this.put(empty("Why is a word where it is?", "Type a word above to see which contexts pulled hardest on it."));
      return;
    }
    const other = this.other.value.trim();
    this.run(async () => {
      const question = { word: state.word, model: state.model, topn: 15 };
      const found = await ask("contexts", other ? { ...question, other } : question);
      return found.other ? pair(found) : single(found);
    }, (word, unknown) => this.correct(word, unknown === other));
  }

  // A suggestion replaces the word that was misspelled.
  correct(word, isOther) {
    if (isOther) {
      this.other.value = word;
      this.ask();
    } else {
      byId("word").value = word;
      look(word);
    }
  }
}

const head = (first) =>
  make("tr", {}, make("th", { scope: "col" }, first),
    COLUMNS.map(([name, title]) => make("th", { scope: "col", title }, name)));

const numbers = (cell) => [
  make("td", {}, number(cell.count, 1)),
  make("td", {}, number(cell.pmi)),
  make("td", {}, number(cell.fitted)),
  make("td", {}, number(cell.weight)),
];

function single(found) {
  return [
    make("h2", {}, found.word),
    make("p", { class: "facts" }, `seen near ${whole(found.seen)} words; these pulled hardest`),
    make("table", {},
      make("thead", {}, head("context")),
      make("tbody", {}, found.contexts.map((cell) => make("tr", {}, make("td", {}, wordButton(cell.word)), numbers(cell))))),
    legend(),
  ];
}

function pair(found) {
  const share = `${Math.round(found.shared * 100)} %`;
  const direct = found.direct
    ? `They occur near each other: count ${number(found.direct.count, 1)}, PMI ${number(found.direct.pmi)}, `
      + `fitted ${number(found.direct.fitted)}, weight ${number(found.direct.weight)}.`
    : "They were never seen near each other.";
  return [
    make("h2", {}, `${found.word} and ${found.other}`),
    make("div", { class: "figure" }, make("strong", {}, share), make("span", {}, "of their pulls point the same way")),
    make("p", { class: "facts" }, direct),
    make("table", {},
      make("thead", {}, head("shared context")),
      make("tbody", {}, found.contexts.map((row) =>
        make("tr", {}, make("td", {}, wordButton(row.word), make("span", { class: "sub" }, `${number(row.share * 100, 1)} %`)),
          twoLines(row.cells))))),
    make("p", { class: "hint" }, `Upper numbers belong to ${found.word}, lower ones to ${found.other}.`),
    legend(),
  ];
}

const twoLines = ([one, two]) => [["count", 1], ["pmi", 2], ["fitted", 2], ["weight", 2]].map(([name, digits]) =>
  make("td", {}, number(one[name], digits), make("span", { class: "sub" }, number(two[name], digits))));

const legend = () =>
  make("p", { class: "hint" },
    "Count: both orders, weighted by distance. PMI: what was asked for. Fitted: what the vectors give; "
    + "a dash if the word was placed from other counts. Weight: how much the pair mattered.");
