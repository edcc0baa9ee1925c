// The map: points by plotly, everything that is text by us. Plotly is given numbers only.

import { announce, byId, fill, make, whole } from "/static/dom.js";
import { markers, variable } from "/static/colours.js";
import { Labels } from "/static/labels.js";
import { look } from "/static/state.js";
import { View } from "/static/view.js";

const FLIGHT = 650; // milliseconds
const FEW = 3000; // points drawn where there is no WebGL
const CONFIG = { scrollZoom: true, displayModeBar: false, doubleClick: false, responsive: false };
const AXIS = { visible: false, fixedrange: false, zeroline: false, showgrid: false };

export class WordMap {
  constructor() {
    this.plot = byId("plot");
    this.labels = new Labels(byId("labels"));
    this.points = null;
    this.ids = new Map();
    this.near = { word: null, words: [] };
    this.added = [];
    this.colour = "frequency";
    this.flight = 0;
    this.gl = hasWebGL();
    new ResizeObserver(() => this.resize()).observe(byId("canvas"));
    document.addEventListener("psdvec:theme", () => this.points && this.draw());
    byId("canvas").addEventListener("keydown", (event) => this.key(event));
    byId("closer").addEventListener("click", () => this.fly(this.view.zoomed(0.5)));
    byId("farther").addEventListener("click", () => this.fly(this.view.zoomed(2)));
    byId("whole").addEventListener("click", () => this.fly(this.everything()));
  }

  get box() {
    const { clientWidth, clientHeight } = byId("canvas");
    return { width: Math.max(clientWidth, 1), height: Math.max(clientHeight, 1) };
  }

  // Show points: {words, x, y, counts, clusters}; the old view is kept only if the layout is the same.
  async show(points, layout) {
    this.points = this.gl ? points : firstOf(points, FEW);
    this.layout = layout;
    this.ids = new Map(this.points.words.map((word, i) => [word, i]));
    this.view = this.everything();
    await this.draw();
    byId("veil").hidden = true;
    byId("canvas").setAttribute("aria-label", `Map of ${whole(this.points.words.length)} words`);
    this.note(this.gl ? "" : `Without WebGL the map shows the ${whole(FEW)} most frequent words only.`);
  }

  everything() {
    return View.around(this.points.x, this.points.y, this.box);
  }

  async draw() {
    const { points, box } = this;
    const ranges = this.view.ranges(box);
    const layout = {
      width: box.width, height: box.height, margin: { l: 0, r: 0, t: 0, b: 0 }, dragmode: "pan", hovermode: "closest",
      hoverdistance: 12, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: { ...AXIS, range: ranges["xaxis.range"] }, yaxis: { ...AXIS, range: ranges["yaxis.range"] },
    };
    const shared = { mode: "markers", hoverinfo: "none" };
    const all = { ...shared, type: this.gl ? "scattergl" : "scatter", x: points.x, y: points.y, marker: markers(points, this.colour) };
    await window.Plotly.react(this.plot, [all, { ...shared, ...this.rings() }], layout, CONFIG);
    if (!this.listening) this.listen();
    this.label();
  }

  // The rings around marked words, in plain SVG above the points.
  rings() {
    const marks = this.marks();
    const colour = { near: variable("accent"), self: variable("accent"), added: variable("warm") };
    return {
      type: "scatter", x: marks.map((mark) => mark.x), y: marks.map((mark) => mark.y),
      marker: {
        opacity: 1,
        size: marks.map((mark) => (mark.kind === "near" ? 9 : 13)),
        symbol: marks.map((mark) => (mark.kind === "added" ? "diamond" : "circle")),
        color: marks.map((mark) => (mark.kind === "near" ? variable("surface") : colour[mark.kind])),
        line: { width: 2, color: marks.map((mark) => (mark.kind === "near" ? colour.near : variable("surface"))) },
      },
    };
  }

  marks() {
    const { x, y } = this.points;
    const known = (word) => this.ids.has(word);
    const at = (word, kind) => ({ word, kind, x: x[this.ids.get(word)], y: y[this.ids.get(word)] });
    const self = this.near.word;
    return [
      ...(known(self) ? [at(self, "self")] : []),
      ...this.added.map((one) => this.addedMark(one)),
      ...this.near.words.filter((word) => word !== self && known(word)).map((word) => at(word, "near")),
    ];
  }

  // An added word stands where the server put it, on a layout that came later amid its neighbours.
  addedMark(one) {
    const known = one.neighbours.map((neighbour) => this.ids.get(neighbour.word)).filter((i) => i != null).slice(0, 5);
    const mean = (values) => known.reduce((sum, i) => sum + values[i], 0) / Math.max(known.length, 1);
    const [x, y] = one.places[this.layout] || [mean(this.points.x), mean(this.points.y)];
    return { word: one.word, kind: "added", x, y };
  }

  async remark() {
    const { x, y, marker } = this.rings();
    await window.Plotly.restyle(this.plot, { x: [x], y: [y], marker: [marker] }, [1]);
    this.label();
  }

  // Mark a word and those near it; say so where it is not on the map.
  mark(near) {
    this.near = near;
    if (!this.points) return;
    this.remark();
    if (near.frame) this.frame();
    const missing = near.words.length && !this.ids.has(near.word);
    this.note(missing ? `“${near.word}” is not among the ${whole(this.points.words.length)} words on the map.` : "");
  }

  markAdded(words) {
    const fresh = new Set(words.map((one) => one.word));
    this.added = [...this.added.filter((one) => !fresh.has(one.word)), ...words];
    this.near = { word: null, words: words.length === 1 ? words[0].neighbours.map((one) => one.word) : [] };
    this.remark();
    const { x, y } = this.addedMark(words[0]);
    this.fly(new View(x, y, this.everything().width / 5));
  }

  forgetAdded() {
    this.added = [];
  }

  colourBy(name) {
    this.colour = name;
    if (this.points) this.draw();
  }

  // Fly to where all marked words are seen.
  frame() {
    const marks = this.marks().filter((mark) => mark.kind !== "added");
    if (!marks.length) return;
    const around = View.around(marks.map((mark) => mark.x), marks.map((mark) => mark.y), this.box);
    const most = this.everything().width;
    this.fly(new View(around.x, around.y, Math.min(Math.max(around.width * 1.4, most / 12), most)));
  }

  flyTo(word) {
    const i = this.ids.get(word);
    if (i == null) return;
    this.fly(new View(this.points.x[i], this.points.y[i], Math.min(this.view.width, this.everything().width / 6)));
  }

  fly(goal) {
    const start = this.view;
    const turn = (this.flight += 1);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.jump(goal);
      return;
    }
    const begun = performance.now();
    const canvas = byId("canvas");
    canvas.setAttribute("aria-busy", "true");
    const step = async (now) => {
      if (turn !== this.flight) return;
      const share = Math.min(Math.max((now - begun) / FLIGHT, 0), 1);
      await this.jump(start.towards(goal, share * share * (3 - 2 * share)));
      if (share < 1) requestAnimationFrame(step);
      else if (turn === this.flight) canvas.setAttribute("aria-busy", "false");
    };
    requestAnimationFrame(step);
  }

  async jump(view) {
    this.view = view;
    this.label();
    await window.Plotly.relayout(this.plot, view.ranges(this.box));
  }

  label() {
    this.labels.draw(this.points, this.marks(), this.view, this.box);
  }

  listen() {
    this.listening = true;
    const follow = (change) => {
      const read = (axis) => change[`${axis}.range`] || [change[`${axis}.range[0]`], change[`${axis}.range[1]`]];
      const [x, y] = [read("xaxis"), read("yaxis")];
      if (x[0] == null || y[0] == null) return;
      this.view = View.ofRanges(x, y);
      this.label();
    };
    this.plot.on("plotly_relayouting", (change) => {
      this.flight += 1; // the reader's hand ends a flight
      byId("canvas").setAttribute("aria-busy", "false");
      follow(change);
    });
    this.plot.on("plotly_relayout", follow);
    this.plot.on("plotly_hover", (event) => this.tip(event.points[0]));
    this.plot.on("plotly_unhover", () => { byId("tip").hidden = true; });
    this.plot.on("plotly_click", (event) => {
      const word = this.wordAt(event.points[0]);
      if (this.ids.has(word)) look(word, { fly: false });
    });
  }

  wordAt(point) {
    return point.curveNumber === 0 ? this.points.words[point.pointIndex] : this.marks()[point.pointIndex]?.word;
  }

  tip(point) {
    const word = this.wordAt(point);
    if (word == null) return;
    const [left, top] = this.view.place(point.x, point.y, this.box);
    const count = this.points.counts?.[this.ids.get(word)];
    fill(byId("tip"), word, count == null ? null : make("em", {}, whole(count)));
    byId("tip").style.transform = `translate(${Math.min(left + 12, this.box.width - 180)}px, ${top + 12}px)`;
    byId("tip").hidden = false;
  }

  key(event) {
    const step = 0.15;
    const goals = {
      ArrowLeft: () => this.view.moved(-step, 0), ArrowRight: () => this.view.moved(step, 0),
      ArrowUp: () => this.view.moved(0, step), ArrowDown: () => this.view.moved(0, -step),
      "+": () => this.view.zoomed(0.6), "=": () => this.view.zoomed(0.6), "-": () => this.view.zoomed(1 / 0.6),
      0: () => this.everything(),
    };
    if (!goals[event.key] || event.ctrlKey || event.metaKey || event.altKey || !this.points) return;
    event.preventDefault();
    this.fly(goals[event.key]());
  }

  async resize() {
    if (!this.points || !this.listening) return;
    await window.Plotly.relayout(this.plot, { ...this.box, ...this.view.ranges(this.box) });
    this.label();
  }

  note(sentence) {
    byId("note").textContent = sentence;
    byId("note").hidden = !sentence;
    if (sentence) announce(sentence);
  }
}

function hasWebGL() {
  return Boolean(document.createElement("canvas").getContext("webgl"));
}

function firstOf(points, count) {
  const cut = (values) => values && values.slice(0, count);
  return { ...points, words: cut(points.words), x: cut(points.x), y: cut(points.y), counts: cut(points.counts), clusters: cut(points.clusters) };
}
