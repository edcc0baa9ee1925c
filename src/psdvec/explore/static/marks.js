// What an answer draws over the points: rings around its words, lines between them, arrows, and what the hand draws.

import { draw, fill } from "/static/dom.js";

const HEAD = 9; // pixels, of an arrow
const GAP = 7; // pixels between a word's place and the end of an arrow
const RADII = { self: 6.5, near: 5, meant: 7 };

export class Marks {
  constructor(layer) {
    this.layer = layer;
  }

  // `marked`: [{x, y, kind}], the first of them on top; `lines` and `arrows`: [[from, to]], each {x, y}; `trace`: [[x, y]]
  // in pixels.
  draw({ marked, lines, arrows, trace }, view, box) {
    const at = ({ x, y }) => view.place(x, y, box);
    fill(this.layer,
      lines.map(([from, to]) => line("tie", at(from), at(to))),
      arrows.map(([from, to]) => arrow(at(from), at(to))),
      marked.slice().reverse().map((mark) => ring(mark.kind, at(mark))),
      trace.length > 1 && draw("path", { class: "trace", d: `M${trace.map((one) => one.join()).join("L")}Z` }));
  }
}

const line = (kind, [x1, y1], [x2, y2]) => draw("line", { class: kind, x1, y1, x2, y2 });

function ring(kind, [x, y]) {
  if (kind !== "added") return draw("circle", { class: kind, cx: x, cy: y, r: RADII[kind] });
  return draw("rect", { class: kind, x: x - 5.5, y: y - 5.5, width: 11, height: 11, rx: 2, transform: `rotate(45 ${x} ${y})` });
}

// From the edge of one ring to the edge of another, or from middle to middle where there is little room.
export function arrow([x1, y1], [x2, y2]) {
  const long = Math.hypot(x2 - x1, y2 - y1);
  if (long <= HEAD) return null;
  const gap = Math.min(GAP, (long - HEAD) / 2);
  const [right, down] = [(x2 - x1) / long, (y2 - y1) / long];
  const [fromX, fromY, toX, toY] = [x1 + gap * right, y1 + gap * down, x2 - gap * right, y2 - gap * down];
  const [backX, backY] = [toX - HEAD * right, toY - HEAD * down];
  const wide = HEAD / 2.4;
  return draw("g", { class: "arrow" },
    line("shaft", [fromX, fromY], [backX, backY]),
    draw("path", { class: "head", d: `M${toX},${toY}L${backX - wide * down},${backY + wide * right}L${backX + wide * down},${backY - wide * right}Z` }));
}
