// A part of the map: the words in it, and what they share.

import { membersOf, readArea, writeRegion } from "/static/area.js";
import { make, whole } from "/static/dom.js";
import { shown, TITLES } from "/static/layouts.js";
import { Panel } from "/static/panel.js";
import { chips, empty, ranking } from "/static/pieces.js";
import { change, state } from "/static/state.js";

const MOST = 5000; // words asked about at once, the most frequent

export class AreaPanel extends Panel {
  constructor() {
    super("area", "Area");
  }

  question() {
    return state.area && shown.points ? { area: state.area, model: state.model, layout: shown.layout, of: shown.model } : null;
  }

  idle() {
    const regions = shown.points ? shown.points.regions.filter((one) => one.level === 0 && one.words.length) : [];
    const titles = regions.map((one) => one.words.join(", "));
    return [
      empty("A part of the map", "Draw around words with the shift key held down or after pressing “Select”, or take one of the regions that the map names."),
      chips(titles, (title) => change({ area: writeRegion(shown.layout, regions[titles.indexOf(title)]), view: "" })),
    ];
  }

  async answer(question, notes) {
    const area = readArea(question.area);
    if (!area || area.layout !== question.layout || question.of !== question.model) return elsewhere(area);
    const members = membersOf(area, shown.points);
    const ids = [...members.keys()].filter((i) => members[i]);
    if (!ids.length) return { children: [empty("No words here", "Draw around some dots."), clear()] };
    const found = await notes.send("shared", { ids: ids.slice(0, MOST), model: question.model, topn: 10 });
    const region = shown.points.regions.find((one) => !area.corners && one.level === area.level && one.id === area.id);
    const title = region ? region.words.join(", ") : `${whole(ids.length)} words`;
    return {
      children: [
        make("h2", {}, title),
        make("p", { class: "facts" }, `${whole(ids.length)} of the map’s ${whole(shown.points.words.length)} words`, clear()),
        make("h3", {}, "What they share"),
        make("p", { class: "hint" }, "The words nearest to what these have in common and the others do not."),
        chips(found.shared.map((one) => one.word)),
        make("h3", {}, "The words, the most typical first"),
        ranking(found.words),
      ],
      said: `${whole(ids.length)} words; they share ${found.shared.slice(0, 3).map((one) => one.word).join(", ")}`,
      table: {
        name: `area ${title}`,
        columns: ["word", "x", "y", "count"],
        rows: ids.map((i) => [shown.points.words[i], shown.points.x[i], shown.points.y[i], shown.points.counts?.[i]]),
      },
    };
  }
}

const clear = () => make("button", { type: "button", class: "quiet", onclick: () => change({ area: "", view: "" }) }, "Show all");

function elsewhere(area) {
  const layout = area && TITLES[area.layout];
  return { children: [empty("Not on this map",
    layout ? `This area was chosen on the map “${layout}”; it is shown there.` : "The address names no area; choose one on the map."), clear()] };
}
