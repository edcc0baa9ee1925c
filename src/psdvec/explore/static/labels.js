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
    const taken = new Grid(box);
    let used = 0;
    const put = (word, x, y, kind) => {
      const [left, top] = view.place(x, y, box);
      if (left < 0 || top < 0 || left > box.width || top > box.height) return;
      const always = kind === "self" || kind === "added";
      if (!always && taken.has(left, top)) return;
      const width = this.width(word) + (kind ? 16 : 4);
      const from = Math.max(Math.min(left + 6, box.width - width), 0);
      if (!taken.take(from, Math.max(top - HEIGHT / 2, 0), width, always)) return;
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

// Which parts of the screen are taken, in cells.
class Grid {
  constructor(box) {
    this.columns = Math.floor(box.width / CELL) + 1;
    this.rows = Math.floor((box.height + HEIGHT) / CELL) + 1;
    this.cells = new Uint8Array(this.columns * this.rows);
  }

  has(left, top) {
    return this.cells[Math.floor(top / CELL) * this.columns + Math.floor(left / CELL)] === 1;
  }

  // Take a part as high as a label, if all of it is free or it must be; say whether it was taken.
  take(left, top, width, must) {
    const [from, to] = [Math.floor(left / CELL), Math.min(Math.floor((left + width) / CELL), this.columns - 1)];
    const [first, last] = [Math.floor(top / CELL), Math.floor((top + HEIGHT) / CELL)];
    let free = true;
    for (let y = first; y <= last; y += 1) for (let x = from; x <= to; x += 1) free &&= !this.cells[y * this.columns + x];
    if (!free && !must) return false;
    for (let y = first; y <= last; y += 1) this.cells.fill(1, y * this.columns + from, y * this.columns + to + 1);
    return true;
  }
}
