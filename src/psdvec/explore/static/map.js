// The map: points, what an answer marks among them, and labels; drawn from the page's state and from nothing else.

import { coveredBy, membersOf, readArea, writeCorners, writeRegion } from "/static/area.js";
import { hue, paint } from "/static/colours.js";
import { announce, byId, fill, make, whole } from "/static/dom.js";
import { Gestures } from "/static/gestures.js";
import { Labels } from "/static/labels.js";
import { Marks } from "/static/marks.js";
import { Painter } from "/static/painter.js";
import { change, look, on, same, state } from "/static/state.js";
import { about, around, everythingBelow, Flight, View } from "/static/view.js";

const REST = 250; // milliseconds after which a moved map is written into the address
const REACH = 12; // pixels from a dot at which it is meant
const CLOSER = 2.2; // times as close as the whole map, from which on the smaller regions are named
const TALL = 400; // pixels, the least height of a map that leaves room for the tools above it
const OVER = ".tools > *, .options, .zoom"; // what lies over the map and hides parts of it
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const NOTHING = { self: null, near: [] };

export class WordMap {
  constructor() {
    this.canvas = byId("canvas");
    this.painter = new Painter(byId("plot"), () => this.points && this.refresh());
    this.labels = new Labels(byId("labels"));
    this.marks = new Marks(byId("marks"));
    this.flight = new Flight((view) => this.see(view));
    this.points = null;
    // What the answer that is shown is about, null while there is none: {self, near: [words], spread: whether they are
    // equals, not one word and those around it, arrows: [[word, word]]}.
    this.answer = null;
    this.added = new Map(); // new words and where they belong, by model and word
    this.meant = null; // what the hand points at
    this.trace = [];
    this.drawing = false; // whether a drag draws around words
    this.moving = false; // whether the hand moves the map
    this.notes = {};
    new ResizeObserver(() => this.points && this.resized()).observe(this.canvas);
    document.addEventListener("psdvec:theme", () => this.points && this.recolour());
    on("tools", () => this.points && this.resized());
    on("added", ({ model, learned }) => learned.forEach((one) => this.added.set(`${model} ${one.word}`, one)));
    this.listen();
  }

  get box() {
    const { clientWidth, clientHeight } = this.canvas;
    return { width: Math.max(clientWidth, 1), height: Math.max(clientHeight, 1) };
  }

  // Show points: {words, x, y, counts, clusters, fine, regions}, the most frequent first.
  show(points, layout) {
    this.flight.stop();
    this.points = points;
    this.layout = layout;
    this.ids = new Map(points.words.map((word, i) => [word, i]));
    this.measure();
    this.members = this.readMembers();
    this.view = this.goal() || this.everything;
    this.recolour();
    this.noteMissing();
    byId("veil").hidden = true;
    this.canvas.setAttribute("aria-label", `Map of ${whole(points.words.length)} words`);
    this.note("painter", this.painter.gl ? "" : "This browser has no WebGL; while it moves, the map shows the frequent words only.");
  }

  // Draw what the state says now, with the answer that belongs to it.
  update(answer, before) {
    this.answer = answer;
    if (!this.points) return;
    if (!same(before, state)) this.rest();
    if (before.area !== state.area || before.tab !== state.tab) this.members = this.readMembers();
    if (before.area !== state.area || before.tab !== state.tab || before.colour !== state.colour) this.recolour();
    else this.refresh();
    this.noteMissing();
    const goal = this.goal();
    if (goal && !this.moving && String(goal) !== String(this.flight.goal || this.view)) this.flight.go(this.view, goal);
  }

  // Where the state wants the map to be: where the reader moved it, or where the answer is; null: where it is.
  goal() {
    const [layout, text] = state.view.split(":");
    const moved = layout === this.layout && View.read(text);
    if (moved) return moved;
    if (this.members) return around([...this.members.keys()].filter((i) => this.members[i]).map((i) => this.point(i)), 1, this);
    if (!this.answer) return null;
    const marked = this.marked();
    if (!marked.length) return this.answer.self || this.answer.near.length ? null : this.everything;
    return this.answer.spread || marked[0].kind === "near" ? around(marked, 1.4, this) : about(marked, this);
  }

  point(i) {
    return { x: this.points.x[i], y: this.points.y[i] };
  }

  // Where a word is: {word, kind, x, y}; null if it is not on the map.
  locate(word, kind) {
    const i = this.ids.get(word);
    if (i != null) return { word, kind, ...this.point(i) };
    const one = this.added.get(`${state.model} ${word}`);
    return one ? this.locateAdded(one) : null;
  }

  // An added word stands where the server put it, on a layout that came later amid its neighbours.
  locateAdded(one) {
    const known = one.neighbours.map((neighbour) => this.ids.get(neighbour.word)).filter((i) => i != null).slice(0, 5);
    const mean = (values) => known.reduce((sum, i) => sum + values[i], 0) / Math.max(known.length, 1);
    const [x, y] = one.places[this.layout] || [mean(this.points.x), mean(this.points.y)];
    return { word: one.word, kind: "added", x, y };
  }

  marked() {
    const { self, near } = this.answer || NOTHING;
    const places = [self && this.locate(self, "self"), ...near.filter((word) => word !== self).map((word) => this.locate(word, "near"))];
    return places.filter(Boolean);
  }

  readMembers() {
    const area = state.tab === "area" ? readArea(state.area) : null;
    if (!area || area.layout !== this.layout) return null;
    const members = membersOf(area, this.points);
    this.covered = coveredBy(members, this.points);
    return members;
  }

  recolour() {
    this.painter.set(this.points, paint(this.points, { by: state.colour, meant: this.members }));
    this.refresh();
  }

  // A map that showed everything still does.
  resized() {
    const showed = !state.view && !this.flight.flying && String(this.view) === String(this.everything);
    this.measure();
    this.see(showed ? this.everything : this.view);
  }

  // Find out what the screen leaves to the map.
  measure() {
    const { box } = this;
    const { left, top } = this.canvas.getBoundingClientRect();
    this.hidden = [...document.querySelectorAll(OVER)].map((one) => one.getBoundingClientRect()).filter((one) => one.width)
      .map((one) => ({ left: one.left - left, top: one.top - top, width: one.width, height: one.height }));
    const tools = byId("tools");
    const edge = box.height < TALL ? 0 : tools.offsetTop + tools.offsetHeight;
    this.everything = everythingBelow(edge, this.points, box);
  }

  // Look at another part of the plane.
  see(view) {
    this.view = view;
    this.refresh();
  }

  // Draw in the next frame, once however often it is asked for.
  refresh() {
    this.canvas.setAttribute("aria-busy", "true");
    this.awaited ||= requestAnimationFrame(() => {
      this.awaited = 0;
      this.draw();
    });
  }

  draw() {
    const { view, box } = this;
    const moving = this.flight.flying || this.moving;
    this.painter.draw(view, box, { whole: this.everything.width, moving });
    const marked = this.marked();
    const { self, spread, arrows = [] } = this.answer || NOTHING;
    const tied = self && !spread && marked[0]?.word === self;
    const ends = arrows.map((pair) => pair.map((word) => this.locate(word))).filter(([from, to]) => from && to);
    const pointed = this.meant?.word && this.locate(this.meant.word);
    this.marks.draw({
      marked: pointed ? [...marked, { ...pointed, kind: "meant" }] : marked,
      lines: tied ? marked.slice(1).map((one) => [marked[0], one]) : [],
      arrows: ends,
      trace: this.trace,
    }, view, box);
    this.labels.draw({ points: this.points, marked, regions: this.regions(), meant: this.members, hidden: this.hidden }, view, box);
    this.canvas.dataset.view = JSON.stringify(view.ranges(box));
    this.canvas.setAttribute("aria-busy", String(moving));
  }

  // The regions to be named: large ones from afar, small ones from near.
  regions() {
    const level = this.everything.width / this.view.width < CLOSER ? 0 : 1;
    return this.points.regions
      .filter((one) => one.level === level && one.words.length && (!this.members || this.covered.has(one)))
      .map((one) => ({ ...one, colour: state.colour === "region" && level === 0 ? hue(one.id) : "" }));
  }

  // The reader's hand ends a flight; when it rests, the address says where.
  steer(view) {
    this.flight.stop();
    this.pointAt(null);
    const most = this.everything.width;
    if (view.width > 4 * most || view.width < most / 2e4) return;
    this.moving = true;
    this.see(view);
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.go(this.view), REST);
  }

  // The hand has let go, or something else is shown.
  rest() {
    clearTimeout(this.resting);
    this.moving = false;
  }

  go(view) {
    this.rest();
    change({ view: `${this.layout}:${view}` }, { replace: true });
  }

  listen() {
    const ready = (action) => (...rest) => this.points && action(...rest);
    new Gestures(this.canvas, {
      move: ready((right, down) => this.steer(this.view.moved(-right / this.box.width, down / this.box.width))),
      zoom: ready((factor, x, y) => this.steer(this.view.zoomedAt(factor, x, y, this.box))),
      point: ready((x, y) => this.pointAt(this.at(x, y))),
      leave: () => this.pointAt(null),
      tap: ready((x, y) => this.tap(this.at(x, y))),
      trace: (path) => { this.trace = path; this.refresh(); },
      enclose: ready((path) => this.enclose(path)),
      drawing: () => this.drawing,
    });
    this.canvas.addEventListener("keydown", ready((event) => this.key(event)));
    byId("closer").addEventListener("click", ready(() => this.go(this.view.zoomed(0.5))));
    byId("farther").addEventListener("click", ready(() => this.go(this.view.zoomed(2))));
    byId("whole").addEventListener("click", ready(() => this.go(this.everything)));
    byId("lasso").addEventListener("click", () => this.draws(!this.drawing));
  }

  draws(drawing) {
    this.drawing = drawing;
    byId("lasso").setAttribute("aria-pressed", drawing);
    this.canvas.classList.toggle("drawing", drawing);
    if (drawing) announce("Drag around words to select them, or press Enter on the map to select what is seen.");
  }

  // Select what lies inside a path of pixels.
  enclose(path) {
    this.draws(false);
    const corners = path.map(([left, top]) => this.view.at(left, top, this.box));
    change({ tab: "area", area: writeCorners(this.layout, corners), view: `${this.layout}:${this.view}` });
  }

  tap(meant) {
    if (meant?.region) change({ tab: "area", area: writeRegion(this.layout, meant.region), view: "" });
    else if (meant?.word) look(meant.word, { view: `${this.layout}:${this.view}` });
  }

  // What is at a place on the screen, {word} or {region}: what a label names, then a marked word, then the nearest dot.
  at(left, top) {
    const label = this.labels.at(left, top);
    if (label) return label;
    const [a, b] = this.view.at(left, top, this.box);
    const reach = (REACH * this.view.width) / this.box.width;
    const mark = this.marked().find((one) => Math.hypot(one.x - a, one.y - b) < reach / 2);
    if (mark) return { word: mark.word };
    const { words, x, y } = this.points;
    let [nearest, least] = [null, reach * reach];
    for (let i = 0; i < words.length; i += 1) {
      const distance = (x[i] - a) ** 2 + (y[i] - b) ** 2;
      if (distance < least && (!this.members || this.members[i])) [nearest, least] = [i, distance];
    }
    return nearest === null ? null : { word: words[nearest] };
  }

  pointAt(meant) {
    if (nameOf(this.meant) === nameOf(meant)) return;
    this.meant = meant;
    this.canvas.classList.toggle("meant", meant !== null);
    byId("tip").hidden = meant === null;
    if (this.points) this.refresh();
    if (meant === null) return;
    const { x, y } = meant.word ? this.locate(meant.word) : meant.region;
    const [left, top] = this.view.place(x, y, this.box);
    const count = meant.word ? this.points.counts?.[this.ids.get(meant.word)] : null;
    const aside = meant.region ? `${whole(meant.region.size)} words` : count == null ? null : whole(count);
    fill(byId("tip"), nameOf(meant), aside && make("em", {}, aside));
    byId("tip").style.transform = `translate(${Math.max(Math.min(left + 12, this.box.width - 180), 4)}px, ${top + 12}px)`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { width, height } = this.box;
    const goals = {
      "+": () => this.go(this.view.zoomed(0.6)), "=": () => this.go(this.view.zoomed(0.6)),
      "-": () => this.go(this.view.zoomed(1 / 0.6)), 0: () => this.go(this.everything),
      l: () => this.draws(!this.drawing), Escape: () => this.draws(false),
      Enter: () => this.drawing && this.enclose([[0, 0], [width, 0], [width, height], [0, height]]),
    };
    const step = KEYS[event.key];
    if (!step && !goals[event.key]) return;
    event.preventDefault();
    if (step) this.go(this.view.moved(0.15 * step[0], 0.15 * step[1]));
    else goals[event.key]();
  }

  noteMissing() {
    const { self, near } = this.answer || NOTHING;
    const missing = self && near.length && !this.locate(self);
    this.note("word", missing ? `“${self}” is not among the ${whole(this.points.words.length)} words on the map.` : "");
  }

  // Say something at the map's edge, or, with an empty sentence, no longer.
  note(about, sentence) {
    if ((this.notes[about] || "") === sentence) return;
    this.notes[about] = sentence;
    const all = Object.values(this.notes).filter(Boolean).join(" ");
    byId("note").textContent = all;
    byId("note").hidden = !all;
  }
}

const nameOf = (meant) => meant && (meant.word || meant.region.words.join(", "));
