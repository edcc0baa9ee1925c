// Who draws the points: WebGL2, or a plain canvas where that is absent, and while it is lost.

import { make } from "/static/dom.js";
import { FlatPainter } from "/static/flat.js";
import { GlPainter } from "/static/gl.js";

const MOST_GROWTH = 4; // times its size that a point is drawn at most
const AMPLE = 600; // pixels, the shorter side of a map on which dots have their full size
const SHARPEST = 2; // pixels of the screen to one of the page, at most

export class Painter {
  // `again` is called when everything must be drawn anew.
  constructor(place, again) {
    this.place = place;
    this.flat = null;
    this.gl = null;
    try {
      this.gl = new GlPainter(this.canvas("points"));
      this.listen(again);
    } catch {
      this.place.replaceChildren();
    }
    this.use(this.gl || this.plain());
  }

  canvas(kind) {
    const canvas = make("canvas", { class: kind, "aria-hidden": true });
    this.place.append(canvas);
    return canvas;
  }

  plain() {
    this.flat ||= new FlatPainter(this.canvas("points"));
    return this.flat;
  }

  use(painter) {
    this.chosen = painter;
    for (const canvas of this.place.children) canvas.hidden = canvas !== painter.canvas;
    this.place.dataset.painter = painter === this.gl ? "webgl2" : "canvas";
    if (this.given) painter.set(...this.given);
  }

  listen(again) {
    this.gl.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // otherwise it is never given back
      this.use(this.plain());
      again();
    });
    this.gl.canvas.addEventListener("webglcontextrestored", () => {
      this.gl.prepare();
      this.use(this.gl);
      again();
    });
  }

  set(points, looks) {
    this.given = [points, looks];
    this.place.dataset.points = points.x.length;
    this.chosen.set(points, looks);
  }

  draw(view, box, { whole, moving }) {
    const ratio = Math.min(devicePixelRatio || 1, SHARPEST);
    this.chosen.draw(view, box, { ratio, growth: growthOf(view, whole, box), moving });
  }
}

// Dots grow as one comes closer, more slowly than the distances between them; on a small screen they are smaller.
export function growthOf(view, whole, box) {
  const closer = Math.min(Math.max(whole / view.width, 1) ** 0.3, MOST_GROWTH);
  return closer * Math.max(Math.min(Math.sqrt(Math.min(box.width, box.height) / AMPLE), 1), 0.6);
}
