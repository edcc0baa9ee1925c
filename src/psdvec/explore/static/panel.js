// A panel: a form that stays, and the answer to what the state asks. Late answers to old questions are dropped.

import { Notes, Trouble } from "/static/api.js";
import { csvButton } from "/static/download.js";
import { announce, fill, make } from "/static/dom.js";
import { empty, troubleBox } from "/static/pieces.js";
import { suggest } from "/static/suggest.js";
import { change, look, model, state, tell } from "/static/state.js";

const PATIENCE = 300; // milliseconds before an old answer gives way to "One moment"
const NO_MARKS = { self: null, near: [] };

export class Panel {
  // `fields`: the parts of the state that its form shows; `spells`: whether it can ask about a word by its spelling.
  constructor(name, title, fields = [], { spells = false } = {}) {
    this.name = name;
    this.title = title;
    this.fields = fields;
    this.spells = spells;
    this.element = null;
    this.turn = 0;
    this.marks = NO_MARKS; // what the map marks; null while there is no answer
    this.notes = new Notes();
  }

  // What a panel of its own says: why it cannot be used, the form and how it comes to show the state, the question of
  // the state (null: none), what is shown without one, the answer {children, marks, said, table}, and what a better spelling of a word changes.
  unavailable() { return ""; }
  form() { return []; }
  sync() {}
  question() { return null; }
  idle() { return []; }
  async answer() { return { children: [] }; }
  correct(word) { look(word); }

  // Show what the state asks; `again`: ask even if it did not change, after a trouble.
  update(again = false) {
    const why = this.unavailable();
    if (!this.place || why !== this.why) this.furnish(why);
    if (why) return;
    const values = this.fields.map((name) => state[name]).join("\n");
    if (values !== this.synced) this.sync();
    this.synced = values;
    const question = this.question();
    const key = JSON.stringify(question);
    if (key === this.key && !(again && this.failed)) return;
    this.key = key;
    if (question) this.run(question);
    else this.rest();
  }

  furnish(why) {
    this.why = why;
    this.turn += 1; // no answer of before belongs here
    this.key = this.synced = undefined;
    this.marks = NO_MARKS;
    this.place = make("div", { class: "panel" });
    fill(this.element, why ? empty("Not available here", why) : this.form(), this.place);
    this.wait(false);
  }

  // Whether an answer is still to come, as those are told who cannot see it.
  wait(waiting) {
    this.element.setAttribute("aria-busy", waiting);
  }

  rest() {
    this.turn += 1;
    this.failed = false;
    this.marks = NO_MARKS;
    this.notes = new Notes();
    this.wait(false);
    fill(this.place, this.idle());
  }

  // What is shown without a question may depend on the map.
  refreshIdle() {
    if (this.key === "null" && !this.why) fill(this.place, this.idle());
  }

  // Say what is still missing, in place of an answer.
  hint(title, text) {
    this.rest();
    this.key = undefined;
    fill(this.place, empty(title, text));
  }

  async run(question) {
    const turn = (this.turn += 1);
    const notes = new Notes();
    this.marks = null;
    this.failed = false;
    this.wait(true);
    const patience = setTimeout(() => turn === this.turn && this.putOff("One moment …"), PATIENCE);
    let shown;
    try {
      shown = await this.answer(question, notes);
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      shown = { children: [this.excuse(trouble)], failed: true };
    }
    clearTimeout(patience);
    if (turn !== this.turn) return;
    this.notes = notes;
    this.failed = Boolean(shown.failed);
    this.marks = shown.failed ? null : shown.marks || NO_MARKS;
    this.wait(false);
    this.put([shown.children, shown.table && csvButton(shown.table)]);
    if (shown.said) announce(shown.said);
    tell("answer", this);
  }

  // What is said in place of an answer; of a word that is not there, what can be asked instead.
  excuse(trouble) {
    const box = troubleBox(trouble, (word, unknown) => this.correct(word, unknown));
    if (trouble.word && this.spells && model().spelling) box.append(state.unseen ? make("p", {}, "Its spelling tells nothing either.") : spellButton());
    return box;
  }

  putOff(sentence) {
    this.put([make("p", { class: "hint" }, sentence)]);
    announce(sentence);
  }

  // Fill in an answer; if the focus was in the old one, it goes to the heading of the new.
  put(children) {
    this.focused ||= this.place.contains(document.activeElement);
    fill(this.place, children);
    this.takeFocus();
  }

  takeFocus() {
    const heading = this.focused && this.place.querySelector("h2, .trouble");
    if (!heading) return;
    this.focused = false;
    const { activeElement: active, body } = document;
    if (active !== body && active.getClientRects().length) return; // the reader has gone elsewhere meanwhile
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

const spellButton = () =>
  make("button", { type: "button", class: "quiet spell", onclick: () => change({ unseen: "spelling", view: "" }) }, "Ask by its spelling");

// The part of a question that says whether words may be known by their spelling alone.
export const unseen = () => (state.unseen ? { unseen: state.unseen } : {});

// A form that asks without leaving the page.
export function form(action, ...children) {
  return make("form", {
    class: "form", autocomplete: "off",
    onsubmit: (event) => { event.preventDefault(); action(); },
  }, ...children);
}

// A field for words, with suggestions; `several`: it takes many, and the last is completed.
export function field({ several = false, ...attributes }) {
  const input = make("input", { type: "text", spellcheck: "false", autocapitalize: "none", ...attributes });
  return [input, suggest(input, { several })];
}

// A choice among a few, as buttons of which one is pressed: `titles` by name, `choose(name)`.
export function choice(label, titles, choose) {
  const buttons = Object.entries(titles).map(([name, title]) =>
    make("button", { type: "button", "data-name": name, onclick: () => choose(name) }, title));
  const element = make("div", { class: "segment", role: "group", "aria-label": label }, buttons);
  return {
    element,
    press: (chosen) => buttons.forEach((button) => button.setAttribute("aria-pressed", button.dataset.name === chosen)),
  };
}
