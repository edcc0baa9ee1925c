// The map as a picture: everything that is seen of it, as SVG or as PNG.

import { paint, variable } from "/static/colours.js";
import { byId, draw } from "/static/dom.js";
import { download } from "/static/download.js";
import { seen } from "/static/flat.js";
import { growthOf } from "/static/painter.js";
import { model, state } from "/static/state.js";

const SHARP = 2; // pixels of a PNG to one of the page
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity"];

export function listenToPictures(map) {
  const name = () => ["map", model().name, state.word].filter(Boolean).join(" ");
  byId("save-svg").addEventListener("click", () => map.points && download(`${name()}.svg`, write(map), "image/svg+xml"));
  byId("save-png").addEventListener("click", async () => map.points && download(`${name()}.png`, await rasterise(map)));
}

function write(map) {
  return new XMLSerializer().serializeToString(compose(map));
}

// One SVG of points, marks and labels, each with its colours written out.
function compose(map) {
  const { view, box, points } = map;
  const { sizes, colours } = paint(points, { by: state.colour, meant: map.members });
  const growth = growthOf(view, map.everything.width, box);
  const ids = [...points.x.keys()].reverse();
  const dots = draw("g", {});
  for (const i of ids) {
    for (const [cx, cy, size] of seen(points, sizes, [i], view, box, growth)) {
      const [red, green, blue, alpha] = colours.subarray(4 * i, 4 * i + 4);
      dots.append(draw("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: (size / 2).toFixed(1), fill: `rgb(${red},${green},${blue})`, "fill-opacity": (alpha / 255).toFixed(2) }));
    }
  }
  const { width, height } = box;
  return draw("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    draw("rect", { width, height, fill: variable("ground") }), dots, styledCopy(byId("marks")), map.labels.boxes.map(label));
}

function styledCopy(layer) {
  const copy = draw("g", {}, [...layer.childNodes].map((one) => one.cloneNode(true)));
  const originals = layer.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, place) => {
    const style = getComputedStyle(originals[place]);
    for (const name of STYLES) one.setAttribute(name, style.getPropertyValue(name));
    one.removeAttribute("class");
  });
  return copy;
}

function label({ left, top, width, height, text, kind, label: element }) {
  const style = getComputedStyle(element);
  const filled = kind === "self" || kind === "added";
  return draw("g", { opacity: style.opacity },
    filled && draw("rect", { x: left, y: top, width, height, rx: 6, fill: style.backgroundColor }),
    draw("text", {
      x: left + (filled ? 7 : 0), y: top + 13, fill: style.color, "font-size": style.fontSize, "font-weight": style.fontWeight,
      "font-family": "system-ui, sans-serif", ...(filled ? {} : { stroke: variable("ground"), "stroke-width": 3, "paint-order": "stroke" }),
    }, text));
}

async function rasterise(map) {
  const address = URL.createObjectURL(new Blob([write(map)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: map.box.width * SHARP, height: map.box.height * SHARP });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
