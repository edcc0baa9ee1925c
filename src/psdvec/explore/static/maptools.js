// The switches over the map: which layout, which colours, and the legend that says what the colours mean.

import { ask, send, Trouble } from "/static/api.js";
import { hue, variable } from "/static/colours.js";
import { byId, fill, make } from "/static/dom.js";
import { state, tell } from "/static/state.js";

const TITLES = { pca: "PCA", tsne: "t-SNE", umap: "UMAP" };
const PAUSE = 700; // milliseconds between two looks at a layout that is being computed

export class MapTools {
  constructor(map) {
    this.map = map;
    this.layout = "pca";
    this.turn = 0;
    document.addEventListener("psdvec:theme", () => this.legend());
  }

  start() {
    this.layouts = state.info.layouts.map((name) =>
      make("button", { type: "button", onclick: () => this.choose(name) }, TITLES[name]));
    this.busy = make("span", { class: "busy", role: "status", hidden: true });
    fill(byId("layouts"), this.layouts, this.busy);
    this.colours = [["frequency", "Frequency"], ["cluster", "Clusters"]].map(([name, title]) =>
      make("button", { type: "button", onclick: () => this.colourBy(name) }, title));
    fill(byId("colours"), this.colours);
    this.colourBy("frequency");
    return this.choose("pca");
  }

  // Show a layout; one that takes long is begun, and looked at until it is there.
  async choose(name) {
    const turn = (this.turn += 1);
    this.press(name);
    try {
      let found = await ask("map", { layout: name, model: state.model });
      if (found.state === "absent") await send("map", { layout: name, model: String(state.model) });
      while (found.state !== "done") {
        this.say(found.progress ? `${Math.round(found.progress * 100)} %` : "starting …");
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        if (turn !== this.turn) return;
        found = await ask("map", { layout: name, model: state.model });
      }
      if (turn !== this.turn) return;
      this.say("");
      this.layout = name;
      this.names = found.cluster_names;
      tell("examples", found.cluster_names.map((names) => names[0]).filter(Boolean).slice(0, 8));
      await this.map.show(found, name);
      this.legend();
      tell("map", found);
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      this.say("");
      this.map.note(trouble.message);
      this.press(this.layout);
    }
  }

  press(name) {
    this.layouts.forEach((button, i) => button.setAttribute("aria-pressed", state.info.layouts[i] === name));
  }

  say(text) {
    this.busy.textContent = text;
    this.busy.hidden = !text;
  }

  colourBy(name) {
    this.colour = name;
    this.colours.forEach((button, i) => button.setAttribute("aria-pressed", (i === 0) === (name === "frequency")));
    this.map.colourBy(name);
    this.legend();
  }

  legend() {
    if (!this.names) return;
    if (this.colour === "cluster") {
      fill(byId("legend"), this.names.map((names, i) => {
        const dot = make("i");
        dot.style.background = hue(i);
        return make("li", { class: "group" }, dot, make("span", {}, names.join(", ")));
      }));
      return;
    }
    const scale = make("i", { class: "scale" });
    scale.style.background = `linear-gradient(90deg, ${variable("rare")}, ${variable("frequent")})`;
    fill(byId("legend"), make("li", {}, "rare", scale, "frequent"));
  }
}
