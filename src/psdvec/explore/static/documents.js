// Which documents answer a question, and why: the words that met, and what each gave.

import { make, number } from "/static/dom.js";
import { choice, form, Panel } from "/static/panel.js";
import { empty } from "/static/pieces.js";
import { change, look, model, state } from "/static/state.js";

const WAYS = { near: "Near words, too", exact: "Only these words" };
const TOLD = 6; // reasons that are shown of each document

export class DocumentsPanel extends Panel {
  constructor() {
    super("documents", "Documents", ["question", "ways"]);
  }

  unavailable() {
    return model().documents ? "" : "No documents are open: index some with psdvec index, and start the explorer with --index FOLDER";
  }

  form() {
    this.field = make("input", { type: "text", id: "question", enterkeyhint: "search", maxlength: "1000", placeholder: "a question, or some words" });
    this.ways = choice("Which words", WAYS, (ways) => change({ ways }));
    return form(() => this.ask(),
      make("label", { for: "question" }, "Words in any order; what is in double quotes must stand there so"),
      make("div", { class: "beside" }, this.field, make("button", { class: "primary", type: "submit" }, "Find")),
      make("div", { class: "actions" }, this.ways.element));
  }

  sync() {
    this.field.value = state.question;
    this.ways.press(state.ways);
  }

  ask() {
    const question = this.field.value.trim();
    if (question) change({ question, view: "" });
    else this.hint("A question is needed", "Type some words.");
  }

  question() {
    return state.question ? { question: state.question, ways: state.ways, model: state.model } : null;
  }

  idle() {
    return [empty("Search documents", `${model().documents.toLocaleString("en")} documents are open; the best ten are shown, each with why.`)];
  }

  async answer(question, notes) {
    const { hits } = await notes.ask("documents", question);
    const many = hits.length === 1 ? "One document" : `The best ${hits.length} documents`;
    const heading = make("h2", {}, hits.length ? many : "No document has what is asked for");
    return {
      children: [heading, make("ol", { class: "hits" }, hits.map(one))],
      marks: { self: null, near: [...new Set(hits.flatMap((hit) => hit.why.map((met) => met.document)))].slice(0, 50), spread: true },
      said: hits.length ? `${many}; the first is ${hits[0].id}` : "No document was found",
      table: {
        name: `documents ${question.question}`,
        columns: ["id", "score", "meaning", "snippet"],
        rows: hits.map((hit) => [hit.id, hit.score, hit.meaning, hit.snippet]),
      },
    };
  }
}

function one(hit) {
  const fields = Object.entries(hit.fields).map(([name, value]) => `${name} ${value}`);
  return make("li", {},
    make("h3", {}, make("span", {}, hit.id), make("span", { class: "score" }, number(hit.score))),
    fields.length ? make("p", { class: "facts" }, fields.join(", ")) : null,
    make("p", {}, marked(hit.snippet)),
    make("p", { class: "why" }, "Why: ", reasons(hit)));
}

// The snippet, in which words that met the question stand between two stars.
const marked = (snippet) => snippet.split("**").map((text, place) => (place % 2 ? make("mark", {}, text) : text));

function reasons(hit) {
  const button = (word) => make("button", { type: "button", class: "met", onclick: () => look(word) }, word);
  const told = hit.why.slice(0, TOLD).map((met) => [
    button(met.document), ` ${met.question === met.document ? "" : `for ${met.question} `}${number(met.score)}`,
  ]);
  const rest = hit.why.slice(TOLD);
  if (rest.length) told.push([`${rest.length} more ${rest.length === 1 ? "word" : "words"} ${number(rest.reduce((sum, met) => sum + met.score, 0))}`]);
  if (hit.meaning) told.push([`meaning ${number(hit.meaning)}`]);
  return told.flatMap((one, place) => (place ? [", ", ...one] : one));
}
