// Two models side by side: a word's neighbours in both, and what moved between them.

import { draw, make } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { empty, wordButton } from "/static/pieces.js";
import { info, state } from "/static/state.js";

export class ComparePanel extends Panel {
  constructor() {
    super("compare", "Compare");
  }

  unavailable() {
    return info.models.length > 1 ? "" : "Two models can be seen side by side if the page is started with both: psdvec explore MODEL MODEL2";
  }

  question() {
    return { word: state.word, topn: 15, model: state.model };
  }

  async answer({ word, topn, model }, notes) {
    if (!word) return { children: [empty("What moved?", "Type a word above to see its neighbours in both models. Two models of the same text differ too, "
      + "so that which words changed between texts is asked with psdvec change, and shown in the tab Change")] };
    const found = await notes.ask("compare", { word, topn });
    return {
      children: [
        make("h2", {}, found.word),
        make("div", { class: "figure" },
          make("strong", {}, `${found.shared.length} of ${found.neighbours[0].length}`),
          make("span", {}, "neighbours are shared")),
        sides(found.neighbours, new Set(found.shared)),
        make("p", { class: "hint" }, "Lines join the words that both have; where they slope, a word moved up or down. "
          + "“New” words are known to the other model, but farther away."),
      ],
      marks: { self: found.word, near: found.neighbours[Number(model) - 1].map((one) => one.word) },
      said: `${found.shared.length} of ${found.neighbours[0].length} neighbours are shared`,
      table: {
        name: `compare ${found.word}`,
        columns: ["model", "place", "word", "score", "place in the other"],
        rows: found.neighbours.flatMap((records, side) =>
          records.map((one, place) => [info.models[side].name, place + 1, one.word, one.score, one.place_in_other])),
      },
    };
  }
}

function sides(neighbours, shared) {
  const [left, right] = neighbours.map((records, side) =>
    make("div", {}, make("h3", {}, info.models[side].name), column(records, shared)));
  return make("div", { class: "pair" }, left, slopes(neighbours), right);
}

const column = (records, shared) =>
  make("ol", { class: "ranking plain" }, records.map((record, place) =>
    make("li", { class: shared.has(record.word) ? "shared" : null },
      wordButton(record.word),
      make("span", { class: "place" }, movement(record, place + 1)))));

// A line for each shared word, from its place on the left to its place on the right.
function slopes([left, right]) {
  const rows = Math.max(left.length, right.length);
  const lines = left.map((record, place) => [place, record.place_in_other]).filter(([, other]) => other != null);
  return draw("svg", { class: "slopes", viewBox: `0 0 10 ${rows}`, preserveAspectRatio: "none", "aria-hidden": true },
    lines.map(([place, other]) => draw("line", {
      class: place + 1 === other ? "still" : null, x1: 0, y1: place + 0.5, x2: 10, y2: other - 0.5,
    })));
}

function movement(record, place) {
  if (!record.known_in_other) return "only here";
  if (record.place_in_other == null) return "new";
  const step = record.place_in_other - place;
  if (step === 0) return "=";
  return step > 0 ? `↑${step}` : `↓${-step}`;
}
