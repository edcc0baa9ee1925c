// What the page shows, as one value of plain strings, and its mirror in the address: any view is a link.
//
// Everything on the page is drawn from this value; whoever wants something else to be shown changes it.

import { saved } from "/static/api.js";

const DEFAULTS = Object.freeze({
  model: "1", // which of the models, counted from 1
  tab: "similar",
  word: "", // asked about in Similar, Contexts, Compare and Change
  other: "", // the second word of Contexts
  order: "pull", // of the contexts
  unseen: "", // "spelling": a word that the model lacks is asked about by its spelling
  a: "", b: "", c: "", method: "3cosadd", // Analogy
  odd: "", // Odd one out: words, with blanks between
  text: "", fresh: "", // New word: sentences, and the word if only one is wanted
  area: "", // Area: LAYOUT:LEVEL-ID of a region, or LAYOUT:x,y,x,y,… of what was drawn around
  question: "", ways: "near", // Documents
  topic: "", // Topics: the number of one; nothing: all of them
  layout: "", // nothing: the best there is
  colour: "frequency",
  view: "", // LAYOUT:x,y,width where the reader moved the map; nothing: where the answer is
});
const LONGEST = 2000; // characters of a text that goes into the address; a longer one is kept by the browser only
const OF_A_WORD = ["similar", "contexts", "compare", "change"];

const target = new EventTarget();
export const info = {}; // what the server said of itself
export let state = Object.freeze(start());

export const model = () => info.models[Number(state.model) - 1];

export function on(event, listener) {
  target.addEventListener(event, (message) => listener(message.detail));
}

export function tell(event, detail) {
  target.dispatchEvent(new CustomEvent(event, { detail }));
}

// Show something else. `replace`: the step back leads past it, as for a map that was only moved.
export function change(part, { replace = false } = {}) {
  const next = Object.freeze({ ...state, ...part });
  if (!same(next, state)) {
    try {
      history[replace ? "replaceState" : "pushState"](next, "", `#${write(next)}`);
    } catch {
      // A page opened from disk may not have an address of its own in every browser; it still shows what is asked.
    }
  }
  show(next);
}

// Look at a word, in a panel that is about one; the map goes there unless it is to stay.
export function look(word, { view = "", unseen = "" } = {}) {
  change({ word, view, unseen, tab: OF_A_WORD.includes(state.tab) ? state.tab : "similar" });
}

// Whether two values show the same.
export const same = (one, two) => Object.keys(DEFAULTS).every((name) => one[name] === two[name]);

function show(next) {
  const before = state;
  state = next;
  tell("state", before);
}

function start() {
  return { ...DEFAULTS, ...(location.hash.length < 2 && saved ? saved.state : {}), ...(history.state || read(location.hash)) };
}

function read(hash) {
  const found = {};
  for (const [name, value] of new URLSearchParams(hash.slice(1))) if (name in DEFAULTS) found[name] = value;
  return found;
}

function write(value) {
  const parts = Object.entries(value).filter(([name, one]) => one !== DEFAULTS[name] && one.length <= LONGEST);
  return new URLSearchParams(parts).toString();
}

addEventListener("popstate", (event) => show(Object.freeze({ ...DEFAULTS, ...(event.state || read(location.hash)) })));
