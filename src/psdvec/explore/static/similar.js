// The neighbours of a word.

import { make, number, whole } from "/static/dom.js";
import { startingWords } from "/static/examples.js";
import { Panel, unseen } from "/static/panel.js";
import { chips, empty, ranking, rankingTable } from "/static/pieces.js";
import { model, state } from "/static/state.js";

export class SimilarPanel extends Panel {
  constructor() {
    super("similar", "Similar", [], { spells: true });
  }

  question() {
    return state.word ? { word: state.word, model: state.model, topn: 20, ...unseen() } : null;
  }

  idle() {
    return [empty("Which words are alike?", "Type a word above, or pick one on the map."), chips(startingWords())];
  }

  async answer(question, notes) {
    const found = await notes.ask("similar", question);
    const words = found.neighbours.map((neighbour) => neighbour.word);
    return {
      children: [
        make("h2", {}, found.word),
        make("p", { class: "facts" }, facts(found)),
        ranking(found.neighbours),
        make("p", { class: "hint" }, confidence(found)),
      ],
      marks: { self: found.word, near: words },
      said: `Neighbours of ${found.word}: ${words.slice(0, 5).join(", ")}`,
      table: rankingTable(`similar to ${found.word}`, found.neighbours),
    };
  }
}

function facts(found) {
  if (found.spelled) {
    const deviation = found.deviation == null ? "" : ` · deviation ${number(found.deviation, 3)}`;
    return `not in the model; its vector is what its spelling tells${deviation} · thin evidence`;
  }
  const count = found.count == null ? "" : `seen ${whole(found.count)} times`;
  return found.thin ? `${count}${count ? "; " : ""}its vector rests on little evidence` : count;
}

function confidence(found) {
  if (found.neighbours.some((neighbour) => neighbour.low != null)) {
    return "Bars are cosines; whiskers show their 95 % confidence intervals.";
  }
  if (!model().deviations) return "Bars are cosines. This model has no confidence intervals.";
  return "Bars are cosines. Confidence is known between words that were placed one by one, not between those fitted together.";
}
