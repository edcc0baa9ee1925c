// Two models side by side: a word's neighbours in both, and the words whose neighbours changed most.

import { ask } from "/static/api.js";
import { announce, make, number, whole } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { chips, empty, troubleBox, wordButton } from "/static/pieces.js";
import { state } from "/static/state.js";

export class ComparePanel extends Panel {
  constructor() {
    super("compare", "Compare");
  }

  show() {
    if (!this.answer) this.furnish();
    if (state.info.models.length < 2) {
      this.put(empty("Two models side by side", "Start the page with a second one: psdvec explore MODEL MODEL2"));
      return;
    }
    if (state.word) this.compareWord();
    else this.showMoved();
  }

  compareWord() {
    this.run(async () => {
      const found = await ask("compare", { word: state.word, topn: 15 });
      announce(`${found.shared.length} of ${found.neighbours[0].length} neighbours are shared`);
      const shared = new Set(found.shared);
      return [
        make("h2", {}, found.word),
        make("div", { class: "figure" },
          make("strong", {}, `${Math.round(found.overlap * 100)} %`),
          make("span", {}, `of the neighbours are shared: ${found.shared.length} of ${found.neighbours[0].length}`)),
        make("div", { class: "pair" }, found.neighbours.map((records, side) =>
          make("div", {}, make("h3", {}, state.info.models[side].name), column(records, shared)))),
        make("p", { class: "hint" }, "Shared words are bold. Arrows show how many places higher or lower a word ranks "
          + "than in the other model; “new” words are known there, but farther away."),
        this.movedList(),
      ];
    });
  }

  showMoved() {
    this.put(empty("What moved?", "Type a word above to see its neighbours in both models."), this.movedList());
  }

  // Computed once by the server; the list fills in when it is there.
  movedList() {
    const box = make("section", { class: "card", id: "moved" }, make("h3", {}, "Words that moved most"),
      make("p", { class: "hint" }, "Comparing neighbours …"));
    ask("moved").then(
      (found) => box.lastChild.replaceWith(
        make("div", {},
          make("p", { class: "hint" },
            `Of ${whole(found.compared)} frequent common words, these keep the fewest of their ${found.topn} neighbours; `
            + `on average, a word keeps ${number(found.mean_overlap * 100, 0)} %.`)),
        chips(found.words.slice(0, 24).map((one) => one.word))),
      (trouble) => box.lastChild.replaceWith(troubleBox(trouble)));
    return box;
  }
}

const column = (records, shared) =>
  make("ol", { class: "ranking plain" }, records.map((record, place) =>
    make("li", { class: shared.has(record.word) ? "shared" : null },
      wordButton(record.word),
      make("span", { class: "place" }, movement(record, place + 1)))));

function movement(record, place) {
  if (!record.known_in_other) return "only here";
  if (record.place_in_other == null) return "new";
  const step = record.place_in_other - place;
  if (step === 0) return "=";
  return step > 0 ? `↑${step}` : `↓${-step}`;
}
