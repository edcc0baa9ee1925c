// Points drawn on a plain canvas, where there is no WebGL2, and into pictures. While the map moves, only the most
// frequent ones are.

const MOVING = 4000; // points drawn of a map that moves
const ROUND = 3; // pixels from which on a point is drawn as a circle

export class FlatPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.groups = [];
  }

  // Points of one colour are drawn together.
  set(points, { sizes, colours }) {
    this.points = points;
    this.sizes = sizes;
    const groups = new Map();
    for (let i = points.x.length - 1; i >= 0; i -= 1) {
      const key = colours.subarray(4 * i, 4 * i + 4).join();
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    }
    const weight = ([key]) => Number(key.slice(key.lastIndexOf(",") + 1));
    this.groups = [...groups].sort((one, two) => weight(one) - weight(two));
  }

  draw(view, box, { ratio, growth, moving }) {
    const { canvas, context } = this;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    this.drawInto(context, view, box, { growth, most: moving ? MOVING : Infinity });
  }

  drawInto(context, view, box, { growth, most = Infinity }) {
    for (const [key, ids] of this.groups) {
      const [red, green, blue, alpha] = key.split(",");
      context.fillStyle = `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
      context.beginPath();
      for (const [left, top, size] of seen(this.points, this.sizes, ids, view, box, growth, most)) dot(context, left, top, size);
      context.fill();
    }
  }
}

function dot(context, left, top, size) {
  if (size < ROUND) {
    context.rect(left - size / 2, top - size / 2, size, size);
    return;
  }
  context.moveTo(left + size / 2, top);
  context.arc(left, top, size / 2, 0, 2 * Math.PI);
}

// Place and size on the screen of those points that are seen at all.
export function* seen(points, sizes, ids, view, box, growth, most = Infinity) {
  const scale = box.width / view.width;
  for (const i of ids) {
    if (i >= most) continue;
    const left = box.width / 2 + (points.x[i] - view.x) * scale;
    const top = box.height / 2 - (points.y[i] - view.y) * scale;
    const size = sizes[i] * growth;
    if (left > -size && top > -size && left < box.width + size && top < box.height + size) yield [left, top, size];
  }
}
