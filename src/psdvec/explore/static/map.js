// The map: points by plotly, rings and everything that is text by us. Plotly is given numbers only.

import { announce, byId, fill, make, whole } from "/static/dom.js";
import { markers } from "/static/colours.js";
import { Gestures } from "/static/gestures.js";
import { Labels } from "/static/labels.js";
import { Rings } from "/static/rings.js";
import { look } from "/static/state.js";
import { View } from "/static/view.js";

const FLIGHT = 650; // milliseconds
const FEW = 3000; // points drawn where there is no WebGL
const REST = 140; // milliseconds after which a moved map is drawn anew
const WIDER = 1.5; // times the screen that is drawn, so that there is something to move
const REACH = 12; // pixels from a dot at which it is meant
const CONFIG = { staticPlot: true, responsive: false };
const AXIS = { visible: false, zeroline: false, showgrid: false };

export class WordMap {
  constructor() {
    this.plot = byId("plot");
    this.canvas = byId("canvas");
    this.labels = new Labels(byId("labels"));
    this.rings = new Rings(byId("rings"));
    this.points = null;
    this.ids = new Map();
    this.near = { word: null, words: [] };
    this.added = [];
    this.colour = "frequency";
    this.flight = 0;
    this.flying = false;
    this.gl = hasWebGL();
    new ResizeObserver(() => this.points && this.draw()).observe(this.canvas);
    document.addEventListener("psdvec:theme", () => this.points && this.draw());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.listen();
    byId("closer").addEventListener("click", () => this.points && this.fly(this.view.zoomed(0.5)));
    byId("farther").addEventListener("click", () => this.points && this.fly(this.view.zoomed(2)));
    byId("whole").addEventListener("click", () => this.points && this.fly(this.everything()));
  }

  get box() {
    const { clientWidth, clientHeight } = this.canvas;
    return { width: Math.max(clientWidth, 1), height: Math.max(clientHeight, 1) };
  }

  // Show points, all of them at first: {words, x, y, counts, clusters}.
  async show(points, layout) {
    this.points = this.gl ? points : firstOf(points, FEW);
    this.layout = layout;
    this.ids = new Map(this.points.words.map((word, i) => [word, i]));
    this.flight += 1; // one that is under way was over other points
    this.flying = false;
    this.view = this.drawn = this.everything();
    await this.draw();
    byId("veil").hidden = true;
    this.canvas.setAttribute("aria-label", `Map of ${whole(this.points.words.length)} words`);
    this.note(this.gl ? "" : `Without WebGL the map shows the ${whole(FEW)} most frequent words only.`);
  }

  everything() {
    return View.around(this.points.x, this.points.y, this.box);
  }

  // Draw everything, by the present colours and at the present size.
  async draw() {
    const { points, box, view } = this;
    const [width, height] = [box.width * WIDER, box.height * WIDER];
    Object.assign(this.plot.style, { width: `${width}px`, height: `${height}px` });
    const ranges = this.drawnRanges(view);
    const layout = {
      width, height, margin: { l: 0, r: 0, t: 0, b: 0 }, dragmode: false, hovermode: false, showlegend: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: { ...AXIS, range: ranges["xaxis.range"] }, yaxis: { ...AXIS, range: ranges["yaxis.range"] },
    };
    const all = { mode: "markers", hoverinfo: "none", type: this.gl ? "scattergl" : "scatter", x: points.x, y: points.y, marker: markers(points, this.colour) };
    await window.Plotly.react(this.plot, [all], layout, CONFIG);
    this.drawn = view;
    this.shift();
  }

  drawnRanges(view) {
    return view.zoomed(WIDER).ranges(this.box);
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

  // Mark a word and those near it; say so where it is not on the map.
  mark(near) {
    this.near = near;
    if (!this.points) return;
    this.shift();
    if (near.frame) this.frame();
    const missing = near.words.length && !this.ids.has(near.word);
    this.note(missing ? `“${near.word}” is not among the ${whole(this.points.words.length)} words on the map.` : "");
  }

  markAdded(words) {
    const fresh = new Set(words.map((one) => one.word));
    this.added = [...this.added.filter((one) => !fresh.has(one.word)), ...words];
    this.near = { word: null, words: words.length === 1 ? words[0].neighbours.map((one) => one.word) : [] };
    this.shift();
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
    this.flying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!this.flying) {
      this.see(goal);
      return;
    }
    const begun = performance.now();
    this.canvas.setAttribute("aria-busy", "true");
    const step = (now) => {
      if (turn !== this.flight) return;
      const share = Math.min(Math.max((now - begun) / FLIGHT, 0), 1);
      this.flying = share < 1;
      this.see(start.towards(goal, share * share * (3 - 2 * share)));
      if (this.flying) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // Look at another part of the plane: the picture is moved at once, and made anew when the hand rests or it falls short.
  see(view) {
    this.view = view;
    this.canvas.setAttribute("aria-busy", "true");
    this.awaited ||= requestAnimationFrame(() => {
      this.awaited = 0;
      this.shift();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.redraw(), REST);
  }

  shift() {
    this.plot.style.transform = this.drawn.transform(this.view, this.box);
    const marks = this.marks();
    this.rings.draw(marks, this.view, this.box);
    this.labels.draw(this.points, marks, this.view, this.box);
    this.canvas.dataset.view = JSON.stringify(this.view.ranges(this.box)["xaxis.range"]);
    if (!this.drawn.zoomed(WIDER).suffices(this.view, this.box)) this.redraw();
    this.canvas.setAttribute("aria-busy", String(this.flying || this.drawn !== this.view));
  }

  async redraw() {
    if (this.drawing || this.drawn === this.view) return;
    this.drawing = true;
    const view = this.view;
    try {
      await window.Plotly.relayout(this.plot, this.drawnRanges(view));
      this.drawn = view;
    } finally {
      this.drawing = false;
    }
    this.see(this.view);
  }

  // The reader's hand ends a flight.
  steer(view) {
    if (!this.points) return;
    this.flight += 1;
    this.flying = false;
    this.tip(null);
    const most = this.everything().width;
    if (view.width < 4 * most && view.width > most / 1e5) this.see(view);
  }

  listen() {
    new Gestures(this.canvas, {
      move: (right, down) => this.points && this.steer(this.view.moved(-right / this.box.width, down / this.box.width)),
      zoom: (factor, x, y) => this.points && this.steer(this.view.zoomedAt(factor, x, y, this.box)),
      point: (x, y) => this.tip(this.wordAt(x, y)),
      leave: () => this.tip(null),
      tap: (x, y) => {
        const word = this.wordAt(x, y);
        if (this.ids.has(word)) look(word, { fly: false });
      },
    });
  }

  // The word whose dot is nearest to a place on the screen, the marked ones first; null if none is near.
  wordAt(left, top) {
    if (!this.points) return null;
    const { words, x, y } = this.points;
    const [a, b] = this.view.at(left, top, this.box);
    const reach = (REACH * this.view.width) / this.box.width;
    const mark = this.marks().find((one) => Math.hypot(one.x - a, one.y - b) < reach / 2);
    if (mark) return mark.word;
    let [nearest, least] = [null, reach * reach];
    for (let i = 0; i < words.length; i += 1) {
      const distance = (x[i] - a) ** 2 + (y[i] - b) ** 2;
      if (distance < least) [nearest, least] = [i, distance];
    }
    return nearest === null ? null : words[nearest];
  }

  tip(word) {
    byId("tip").hidden = word === null;
    this.canvas.classList.toggle("meant", word !== null);
    if (word === null) return;
    const mark = this.marks().find((one) => one.word === word);
    const i = this.ids.get(word);
    const [left, top] = mark ? this.view.place(mark.x, mark.y, this.box) : this.view.place(this.points.x[i], this.points.y[i], this.box);
    const count = this.points.counts?.[i];
    fill(byId("tip"), word, count == null ? null : make("em", {}, whole(count)));
    byId("tip").style.transform = `translate(${Math.min(left + 12, this.box.width - 180)}px, ${top + 12}px)`;
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
