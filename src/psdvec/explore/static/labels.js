// Labels over the map: names of regions, and as many words as fit without touching, the most frequent first.
//
// Each label remembers where it is, so that pointing at it means what it names.

import { make } from "/static/dom.js";

const MOST = 90; // words named at once
const FAR = 36; // the same where the names of large regions are read
const HEIGHT = 18;
const CELL = 12;
const BOLDER = 1.12; // times as wide as a word is when it is marked
const SIZES = { region: 15, district: 13, word: 12.5 };

export class Labels {
  constructor(layer) {
    this.layer = layer;
    this.pool = [];
    this.boxes = [];
    this.widths = new Map();
    this.measure = document.createElement("canvas").getContext("2d");
    this.font = getComputedStyle(document.body).fontFamily;
  }

  // `marked`: [{word, x, y, kind}], named before all others; `regions`: [{words, x, y, level, colour}]; `points`, most
  // frequent first; `meant`: which of them may be named, or null for all; `hidden`: parts of the screen that are not seen.
  draw({ points, marked, regions, meant, hidden }, view, box) {
    this.taken = new Grid(box);
    for (const part of hidden) this.taken.take(part, true);
    this.boxes = [];
    const [mx, my, scale] = [box.width / 2, box.height / 2, box.width / view.width];
    for (const mark of marked) this.put(mark.word, mx + (mark.x - view.x) * scale, my - (mark.y - view.y) * scale, box, mark.kind);
    for (const mark of marked) this.taken.keepFree(mx + (mark.x - view.x) * scale, my - (mark.y - view.y) * scale);
    for (const region of regions) this.name(region, mx + (region.x - view.x) * scale, my - (region.y - view.y) * scale, box);
    const most = this.boxes.length + (regions.some((one) => one.level === 0) ? FAR : MOST);
    const { words, x, y } = points;
    for (let i = 0; i < words.length && this.boxes.length < most; i += 1) {
      if (meant && !meant[i]) continue;
      const left = mx + (x[i] - view.x) * scale;
      const top = my - (y[i] - view.y) * scale;
      if (left > 0 && top > 0 && left < box.width && top < box.height) this.put(words[i], left, top, box, "");
    }
    for (let i = this.boxes.length; i < this.pool.length; i += 1) this.pool[i].hidden = true;
  }

  put(word, left, top, box, kind) {
    if (left < 0 || top < 0 || left > box.width || top > box.height) return;
    const always = kind === "self" || kind === "added";
    if (!always && this.taken.has(left, top)) return;
    const width = kind ? this.width(word, SIZES.word) * BOLDER + 16 : this.width(word, SIZES.word) + 4;
    const from = Math.max(Math.min(left + 7, box.width - width), 0);
    const place = { left: from, top: Math.max(top - HEIGHT / 2, 0), width, height: HEIGHT };
    if (this.taken.take(place, always)) this.show({ ...place, text: word, kind, word });
  }

  // The name of a region stands in its middle, with as many of its words as there is room for.
  name(region, left, top, box) {
    const kind = region.level === 0 ? "region" : "district";
    for (let count = region.words.length; count > 0; count -= 1) {
      const text = region.words.slice(0, count).join(", ");
      const width = this.width(text, SIZES[kind]) * 1.04 + 10;
      const place = { left: left - width / 2, top: top - HEIGHT / 2, width, height: HEIGHT };
      const inside = place.left > 0 && place.top > 0 && place.left + width < box.width && place.top + HEIGHT < box.height;
      if (inside && this.taken.take(place, false)) {
        this.show({ ...place, text, kind, region });
        return;
      }
    }
  }

  show(one) {
    if (this.boxes.length === this.pool.length) {
      this.pool.push(make("span"));
      this.layer.append(this.pool.at(-1));
    }
    const label = this.pool[this.boxes.length];
    label.hidden = false;
    if (label.textContent !== one.text) label.textContent = one.text;
    if (label.className !== one.kind) label.className = one.kind;
    label.style.color = one.region?.colour || "";
    label.style.transform = `translate(${Math.round(one.left)}px, ${Math.round(one.top)}px)`;
    this.boxes.push({ ...one, label });
  }

  // What the label at a place names: {word} or {region}, or null.
  at(left, top) {
    return this.boxes.find((one) => left >= one.left && left <= one.left + one.width && top >= one.top && top <= one.top + one.height) || null;
  }

  width(text, size) {
    const key = `${size} ${text}`;
    if (!this.widths.has(key)) {
      this.measure.font = `${size === SIZES.word ? 400 : 650} ${size}px ${this.font}`;
      this.widths.set(key, Math.min(this.measure.measureText(text).width, size === SIZES.word ? 170 : 400));
    }
    return this.widths.get(key);
  }
}

// Which parts of the screen are taken, in cells.
class Grid {
  constructor(box) {
    this.columns = Math.floor(box.width / CELL) + 1;
    this.rows = Math.floor((box.height + HEIGHT) / CELL) + 2;
    this.cells = new Uint8Array(this.columns * this.rows);
  }

  has(left, top) {
    return this.cells[Math.floor(top / CELL) * this.columns + Math.floor(left / CELL)] === 1;
  }

  // Let no label cover a marked dot.
  keepFree(left, top) {
    if (left > 0 && top > 0 && left < this.columns * CELL && top < (this.rows - 2) * CELL) this.take({ left: left - 6, top: top - 6, width: 12, height: 12 }, true);
  }

  // Take a part, if all of it is free or it must be; say whether it was taken.
  take({ left, top, width, height }, must) {
    const [from, to] = [Math.max(Math.floor(left / CELL), 0), Math.min(Math.floor((left + width) / CELL), this.columns - 1)];
    const [first, last] = [Math.max(Math.floor(top / CELL), 0), Math.min(Math.floor((top + height) / CELL), this.rows - 1)];
    let free = true;
    for (let y = first; y <= last; y += 1) for (let x = from; x <= to; x += 1) free &&= !this.cells[y * this.columns + x];
    if (!free && !must) return false;
    for (let y = first; y <= last; y += 1) this.cells.fill(1, y * this.columns + from, y * this.columns + to + 1);
    return true;
  }
}
