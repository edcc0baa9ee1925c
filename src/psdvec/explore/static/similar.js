// The neighbours of a word.

import { ask } from "/static/api.js";
import { announce, make, whole } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { chips, empty, ranking } from "/static/pieces.js";
import { model, on, state, tell } from "/static/state.js";

export class SimilarPanel extends Panel {
  constructor() {
    super("similar", "Similar");
    this.examples = [];
    on("examples", (words) => { this.examples = words; if (!state.word && this.answer) this.show(); });
  }

  show() {
    if (!this.answer) this.furnish();
    if (!state.word) {
      this.put(empty("Which words are alike?", "Type a word above, or pick one on the map."),
        this.examples.length ? chips(this.examples) : null);
      return;
    }
    if (this.shown === `${state.model} ${state.word}`) return;
    this.run(async () => {
      const found = await ask("similar", { word: state.word, model: state.model, topn: 20 });
      this.shown = `${state.model} ${found.word}`;
      tell("near", { word: found.word, words: found.neighbours.map((neighbour) => neighbour.word) });
      announce(`Neighbours of ${found.word}: ${found.neighbours.slice(0, 5).map((one) => one.word).join(", ")}`);
      return [
        make("h2", {}, found.word),
        make("p", { class: "facts" }, facts(found)),
        ranking(found.neighbours),
        make("p", { class: "hint" }, confidence(found)),
      ];
    });
    this.shown = null;
  }
}

function facts(found) {
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
