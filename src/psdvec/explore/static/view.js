// The part of the plane that is seen: ranges of x and y, always in the proportions of the screen.

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
