// The part of the plane that is seen: ranges of x and y, always in the proportions of the screen.

const COARSE = 6; // times as wide as what is seen of it

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

  static ofRanges(xRange, yRange) {
    return new View((xRange[0] + xRange[1]) / 2, (yRange[0] + yRange[1]) / 2, xRange[1] - xRange[0]);
  }

  ranges(box) {
    const half = this.width / 2;
    const tall = (half * box.height) / box.width;
    return { "xaxis.range": [this.x - half, this.x + half], "yaxis.range": [this.y - tall, this.y + tall] };
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

  // How a picture of this view must be shifted and scaled about its middle to show another.
  transform(other, box) {
    const scale = box.width / other.width;
    const [right, down] = [(this.x - other.x) * scale, (other.y - this.y) * scale];
    return `translate(${right}px, ${down}px) scale(${this.width / other.width})`;
  }

  // Whether a picture of this view shows all of another, and neither too coarsely nor too finely.
  suffices(other, box) {
    const across = (this.width - other.width) / 2;
    const grown = this.width / other.width;
    const inside = Math.abs(this.x - other.x) <= across && Math.abs(this.y - other.y) <= (across * box.height) / box.width;
    return inside && grown < COARSE;
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
