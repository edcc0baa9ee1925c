// Which arrangement of the words is shown. A good one takes a while the first time; until it is there, PCA is shown.

import { ask, send, Trouble } from "/static/api.js";
import { info, state, tell } from "/static/state.js";

const PAUSE = 700; // milliseconds between two looks at a layout that is being made
const AT_ONCE = "pca"; // the layout that needs no waiting

export const TITLES = { neighbours: "Neighbours", pca: "PCA" };
export const shown = { points: null, layout: "", model: "" };

export class Layouts {
  constructor(map) {
    this.map = map;
  }

  // Show the layout that the state asks for.
  async update() {
    const wanted = info.layouts.includes(state.layout) ? state.layout : info.layouts[0];
    const key = `${state.model} ${wanted}`;
    if (key === this.key) return;
    this.key = key;
    try {
      await this.load(wanted, key);
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      if (key !== this.key) return;
      this.map.note("layout", trouble.message);
      if (shown.model !== state.model && wanted !== AT_ONCE) this.put(await this.get(AT_ONCE), AT_ONCE);
    }
  }

  async load(wanted, key) {
    let found = await this.get(wanted);
    const begun = found.state;
    if (begun !== "done" && (shown.model !== state.model || shown.layout !== AT_ONCE)) {
      const meanwhile = await this.get(AT_ONCE);
      if (key === this.key) this.put(meanwhile, AT_ONCE);
    }
    if (begun === "absent") await send("map", { layout: wanted, model: state.model });
    while (found.state !== "done") {
      if (key !== this.key) return;
      this.map.note("layout", waiting(found.progress || 0));
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (key !== this.key) return;
      found = await this.get(wanted);
    }
    if (key === this.key) this.put(found, wanted);
  }

  get(layout) {
    return ask("map", { layout, model: state.model });
  }

  put(points, layout) {
    Object.assign(shown, { points, layout, model: state.model });
    this.map.note("layout", "");
    this.map.show(points, layout);
    tell("map");
  }
}

const waiting = (progress) =>
  `The words are being arranged by their neighbours${progress ? `, ${Math.round(progress * 100)}\u00a0% done` : ""}; until then the map shows PCA.`;
