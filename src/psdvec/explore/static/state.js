// What the parts of the page share: the models, the one looked at, the word, and who wants to know of changes.

const target = new EventTarget();

export const state = { info: null, model: 1, word: "" };

export const model = () => state.info.models[state.model - 1];

export function on(event, listener) {
  target.addEventListener(event, (message) => listener(message.detail));
}

export function tell(event, detail) {
  target.dispatchEvent(new CustomEvent(event, { detail }));
}

// Look at a word; `fly` says whether the map moves there.
export function look(word, { fly = true } = {}) {
  state.word = word;
  tell("word", { word, fly });
}
