// A part of the map: a region by its number, or what was drawn around. As text it is LAYOUT:LEVEL-ID or LAYOUT:x,y,x,y,…

const CORNERS = 40; // of what was drawn, at most

export function readArea(text) {
  const [layout, rest = ""] = text.split(":");
  const region = /^([01])-(\d+)$/.exec(rest);
  if (region) return { layout, level: Number(region[1]), id: Number(region[2]) };
  const numbers = rest.split(",").map(Number);
  if (numbers.length < 6 || numbers.some(Number.isNaN)) return null;
  const corners = Array.from({ length: Math.floor(numbers.length / 2) }, (_, k) => [numbers[2 * k], numbers[2 * k + 1]]);
  return { layout, corners };
}

export const writeRegion = (layout, region) => `${layout}:${region.level}-${region.id}`;

export function writeCorners(layout, corners) {
  const step = Math.max(corners.length / CORNERS, 1);
  const kept = Array.from({ length: Math.floor(corners.length / step) }, (_, k) => corners[Math.floor(k * step)]);
  return `${layout}:${kept.flat().map((value) => Number(value.toPrecision(5))).join()}`;
}

// Which points lie in an area: 1 or 0 for each.
export function membersOf(area, points) {
  if (!area.corners) {
    const of = area.level === 0 ? points.clusters : points.fine;
    return Uint8Array.from(of, (one) => one === area.id);
  }
  return Uint8Array.from(points.x, (x, i) => inside(area.corners, x, points.y[i]));
}

// The regions most of whose words are among the members.
export function coveredBy(members, points) {
  const found = [points.clusters, points.fine].map((of) => {
    const counts = new Map();
    for (let i = 0; i < of.length; i += 1) if (members[i]) counts.set(of[i], (counts.get(of[i]) || 0) + 1);
    return counts;
  });
  return new Set(points.regions.filter((one) => (found[one.level].get(one.id) || 0) > one.size / 2));
}

// Whether a ray to the right crosses the outline an odd number of times.
function inside(corners, x, y) {
  let odd = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [[ax, ay], [bx, by]] = [corners[i], corners[j]];
    if (ay > y !== by > y && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) odd = !odd;
  }
  return odd;
}
