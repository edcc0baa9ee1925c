// What a hand does on the map, with mouse, pen or fingers: drag, wheel, pinch, point, tap, draw around.

const TAP = 4; // pixels that a hand may tremble
const WHEEL = 0.0015; // of a pixel's turn, in powers of e
const LINE = 16; // pixels that a wheel means by a line

export class Gestures {
  // `on`: {move(right, down), zoom(factor, x, y), point(x, y), leave(), tap(x, y), trace(path), enclose(path), drawing()},
  // in pixels from the element's corner; `drawing` says whether a drag draws around words even without the shift key.
  constructor(element, on) {
    this.element = element;
    this.on = on;
    this.held = new Map();
    this.travelled = 0;
    this.path = null;
    element.addEventListener("pointerdown", (event) => this.down(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, (event) => this.up(event));
    element.addEventListener("pointerleave", () => on.leave());
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  at(event) {
    const { left, top } = this.element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  down(event) {
    if (event.button !== 0) return;
    this.element.setPointerCapture(event.pointerId);
    if (!this.held.size) this.travelled = 0;
    const here = this.at(event);
    this.held.set(event.pointerId, here);
    this.path = this.held.size === 1 && (event.shiftKey || this.on.drawing()) ? [[here.x, here.y]] : null;
    this.on.leave();
  }

  move(event) {
    const here = this.at(event);
    if (!this.held.has(event.pointerId)) {
      if (!this.held.size) this.on.point(here.x, here.y);
      return;
    }
    const before = grip([...this.held.values()]);
    this.held.set(event.pointerId, here);
    const after = grip([...this.held.values()]);
    this.travelled += Math.hypot(after.x - before.x, after.y - before.y) + Math.abs(after.spread - before.spread);
    if (this.travelled < TAP) return;
    if (this.path) {
      this.path.push([here.x, here.y]);
      this.on.trace(this.path);
      return;
    }
    this.on.move(after.x - before.x, after.y - before.y);
    if (before.spread && after.spread) this.on.zoom(before.spread / after.spread, after.x, after.y);
  }

  up(event) {
    if (!this.held.delete(event.pointerId) || this.held.size) return;
    const { path } = this;
    this.path = null;
    if (path) this.on.trace([]);
    if (event.type === "pointercancel") return;
    const { x, y } = this.at(event);
    if (this.travelled < TAP) this.on.tap(x, y);
    else if (path && path.length > 2) this.on.enclose(path);
  }

  wheel(event) {
    event.preventDefault();
    const { x, y } = this.at(event);
    this.on.zoom(Math.exp(event.deltaY * (event.deltaMode ? LINE : 1) * WHEEL), x, y);
  }
}

// The middle of the fingers, and how far they are apart.
function grip(places) {
  const mean = (axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length;
  const [x, y] = [mean("x"), mean("y")];
  return { x, y, spread: places.length > 1 ? Math.hypot(places[0].x - places[1].x, places[0].y - places[1].y) : 0 };
}
