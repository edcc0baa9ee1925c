// The part of the plane that is seen: its middle and its width; its height follows from the screen.

export class View {
  constructor(x, y, width) {
    this.x = x;
    this.y = y;
    this.width = width;
  }

  // All points, with some room around.
  static around(xs, ys, box) {
    const [left, right] = extent(xs);
    const [low, high] = extent(ys);
    const room = 1.12;
    const width = Math.max((right - left) * room, ((high - low) * room * box.width) / box.height, 1e-6);
    return new View((left + right) / 2, (low + high) / 2, width);
  }

  static read(text) {
    const [x, y, width] = text.split(",").map(Number);
    return Number.isFinite(x + y + width) && width > 0 ? new View(x, y, width) : null;
  }

  toString() {
    return [this.x, this.y, this.width].map((value) => Number(value.toPrecision(8))).join(",");
  }

  // Left, right, low and high end.
  ranges(box) {
    const half = this.width / 2;
    const tall = (half * box.height) / box.width;
    return [this.x - half, this.x + half, this.y - tall, this.y + tall];
  }

  // Where a point of the plane lies on the screen.
  place(x, y, box) {
    const scale = box.width / this.width;
    return [box.width / 2 + (x - this.x) * scale, box.height / 2 - (y - this.y) * scale];
  }

  // The point of the plane at a place on the screen.
  at(left, top, box) {
    const scale = this.width / box.width;
    return [this.x + (left - box.width / 2) * scale, this.y - (top - box.height / 2) * scale];
  }

  // Zoomed with the point at a place on the screen staying there.
  zoomedAt(factor, left, top, box) {
    const [x, y] = this.at(left, top, box);
    return new View(x + (this.x - x) * factor, y + (this.y - y) * factor, this.width * factor);
  }

  moved(right, up) {
    return new View(this.x + right * this.width, this.y + up * this.width, this.width);
  }

  zoomed(factor) {
    return new View(this.x, this.y, this.width * factor);
  }

  // A view on the way to another: the centre moves evenly, the width by even factors.
  towards(other, share) {
    const mix = (from, to) => from + (to - from) * share;
    return new View(mix(this.x, other.x), mix(this.y, other.y), this.width * (other.width / this.width) ** share);
  }
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [-1, 1];
}

// Where to look to see an answer: views of a map, given what it shows in all (`everything`) and the `box` of the screen.

const CLOSEST = { around: 12, about: 18 }; // parts of the whole map's width, at least
const WIDEST = 6; // the same, at most, about a single word

// All points of a map, below what hides its upper `edge` of so many pixels.
export function everythingBelow(edge, { x, y }, { width, height }) {
  const found = View.around(x, y, { width, height: height - edge });
  return new View(found.x, found.y + (edge / 2) * (found.width / width), found.width);
}

// All places, {x, y}, `room` times as wide as they need.
export function around(places, room, { everything, box }) {
  if (!places.length) return everything;
  const found = View.around(places.map((one) => one.x), places.map((one) => one.y), box);
  const most = everything.width;
  return new View(found.x, found.y, Math.min(Math.max(found.width * room, most / CLOSEST.around), most));
}

// The first place in the middle, and as far as the nearer half of the others, within reason.
export function about([self, ...others], { everything, box }) {
  const away = others.map((one) => Math.max(Math.abs(one.x - self.x), (Math.abs(one.y - self.y) * box.width) / box.height));
  const half = away.sort((one, two) => one - two)[Math.floor(away.length / 2)] || 0;
  const most = everything.width;
  return new View(self.x, self.y, Math.min(Math.max(3 * half, most / CLOSEST.about), most / WIDEST));
}

// A camera's way from one view to another, ended by whoever moves the map meanwhile.

const LONG = 650; // milliseconds

export class Flight {
  // `see(view)` is called for every frame.
  constructor(see) {
    this.see = see;
    this.turn = 0;
    this.goal = null;
  }

  get flying() {
    return this.goal !== null;
  }

  stop() {
    this.turn += 1;
    this.goal = null;
  }

  go(start, goal) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.see(goal);
      return;
    }
    const { turn } = this;
    const begun = performance.now();
    this.goal = goal;
    const step = (now) => {
      if (turn !== this.turn) return;
      const share = Math.min(Math.max((now - begun) / LONG, 0), 1);
      if (share === 1) this.goal = null;
      this.see(share === 1 ? goal : start.towards(goal, share * share * (3 - 2 * share)));
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
