// Rings around the marked words, above the points.

import { make } from "/static/dom.js";

export class Rings {
  constructor(layer) {
    this.layer = layer;
  }

  // `marked`: [{x, y, kind}], the first of them on top.
  draw(marked, view, box) {
    while (this.layer.children.length < marked.length) this.layer.append(make("i"));
    for (const [place, ring] of [...this.layer.children].entries()) {
      const mark = marked[marked.length - 1 - place];
      ring.hidden = !mark;
      if (!mark) continue;
      const [left, top] = view.place(mark.x, mark.y, box);
      ring.className = mark.kind;
      ring.style.translate = `${left}px ${top}px`;
    }
  }
}
