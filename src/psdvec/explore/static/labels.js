// Labels over the map: as many words as fit without touching, the most frequent first, more as one zooms in.

import { make } from "/static/dom.js";

const MOST = 90;
const HEIGHT = 18;
const CELL = 24;

export class Labels {
  constructor(layer) {
    this.layer = layer;
    this.pool = [];
    this.widths = new Map();
    this.measure = document.createElement("canvas").getContext("2d");
    this.measure.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  }

  // `points`: {words, x, y}, most frequent first; `marked`: [{word, x, y, kind}], drawn before all others.
  draw(points, marked, view, box) {
    const taken = new Set();
    let used = 0;
    const put = (word, x, y, kind) => {
      const [left, top] = view.place(x, y, box);
      if (left < 0 || top < 0 || left > box.width || top > box.height) return;
      const width = this.width(word) + (kind ? 16 : 4);
      const from = Math.min(left + 6, box.width - width);
      const cells = cellsOf(from, top - HEIGHT / 2, width);
      if (kind !== "self" && kind !== "added" && cells.some((cell) => taken.has(cell))) return;
      cells.forEach((cell) => taken.add(cell));
      this.show(used, word, from, top - HEIGHT / 2, kind);
      used += 1;
    };
    for (const mark of marked) put(mark.word, mark.x, mark.y, mark.kind);
    for (let i = 0; i < points.words.length && used < MOST; i += 1) put(points.words[i], points.x[i], points.y[i], "");
    for (let i = used; i < this.pool.length; i += 1) this.pool[i].hidden = true;
  }

  show(place, word, left, top, kind) {
    if (place === this.pool.length) {
      this.pool.push(make("span"));
      this.layer.append(this.pool[place]);
    }
    const label = this.pool[place];
    label.hidden = false;
    if (label.textContent !== word) label.textContent = word;
    if (label.className !== kind) label.className = kind;
    label.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  width(word) {
    if (!this.widths.has(word)) this.widths.set(word, Math.min(this.measure.measureText(word).width, 170));
    return this.widths.get(word);
  }
}

function cellsOf(left, top, width) {
  const cells = [];
  for (let x = Math.floor(left / CELL); x <= Math.floor((left + width) / CELL); x += 1) {
    for (let y = Math.floor(top / CELL); y <= Math.floor((top + HEIGHT) / CELL); y += 1) cells.push(`${x} ${y}`);
  }
  return cells;
}
