// Suggestions while one types: words of the whole vocabulary that begin like it, the most frequent first.

import { ask, saved, Trouble } from "/static/api.js";
import { fill, make } from "/static/dom.js";
import { state } from "/static/state.js";

const PAUSE = 120; // milliseconds of not typing
const MOST = 8;

// Make the list that completes `input`; of `several` words the last is completed.
export function suggest(input, { several = false } = {}) {
  const list = make("datalist", { id: `${input.id}-words` });
  let waiting = 0;
  let turn = 0;
  if (saved) return list;
  input.setAttribute("list", list.id);
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => complete((turn += 1)), PAUSE);
  });

  async function complete(mine) {
    const [, before, typed] = several ? /^(.*[\s,;])?([^\s,;]*)$/.exec(input.value) : [null, "", input.value.trim()];
    const words = typed ? await wordsLike(typed) : [];
    if (mine === turn) fill(list, words.filter((word) => word !== typed).map((word) => make("option", { value: (before || "") + word })));
  }
  return list;
}

async function wordsLike(prefix) {
  try {
    return (await ask("words", { prefix, topn: MOST, model: state.model })).words.map((one) => one.word);
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    return []; // whoever asks about the word will be told
  }
}
