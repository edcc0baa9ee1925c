// Where to look to see an answer: views of a map, given what it shows in all (`everything`) and the `box` of the screen.

import { View } from "/static/view.js";

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
