// Colours and sizes of points: by frequency, between two greens of the page, or by region, twelve muted hues.

const HUES = {
  light: ["#2f6f6a", "#b0682c", "#5a63a8", "#6f7d2c", "#a6496b", "#34749f", "#8461a0", "#4a7f43", "#94681a", "#7a6a5a", "#b54d43", "#3c7b83"],
  dark: ["#6fc2b8", "#e0a06a", "#98a1ea", "#bccb6a", "#e08aa8", "#7dbbe6", "#c3a0e0", "#8fcb86", "#e8c26a", "#b8a898", "#f09a90", "#86c9d1"],
};
const SOLID = 215; // of 255: dots shine through a little where they lie on each other
const DIM = 22; // the same of a dot that is not meant
const MANY = 20000; // points from which on they are drawn smaller

const theme = () => document.documentElement.dataset.theme;
export const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const hue = (region) => HUES[theme()][region % HUES[theme()].length];

const bytes = (hex) => [1, 3, 5].map((from) => parseInt(hex.slice(from, from + 2), 16));

// How each point is drawn: its size in pixels and its red, green, blue and opacity. `meant`: which are, or null for all.
export function paint(points, { by, meant }) {
  const count = points.words.length;
  const small = Math.max(Math.min(Math.sqrt(MANY / count), 1), 0.45);
  const sizes = Float32Array.from({ length: count }, (_, i) => small * (3.8 + 5 / (1 + i / 250)));
  const colours = new Uint8Array(4 * count);
  const colourOf = by === "region" ? byRegion(points) : byFrequency(count);
  for (let i = 0; i < count; i += 1) {
    const [red, green, blue] = colourOf(i);
    colours[4 * i] = red;
    colours[4 * i + 1] = green;
    colours[4 * i + 2] = blue;
    colours[4 * i + 3] = !meant || meant[i] ? SOLID : DIM;
  }
  return { sizes, colours };
}

function byRegion(points) {
  const hues = HUES[theme()].map(bytes);
  return (i) => hues[points.clusters[i] % hues.length];
}

const STEPS = 24;

function byFrequency(count) {
  const [rare, frequent] = [bytes(variable("rare")), bytes(variable("frequent"))];
  const ramp = Array.from({ length: STEPS + 1 }, (_, step) => rare.map((one, k) => Math.round(one + ((frequent[k] - one) * step) / STEPS)));
  const most = Math.log(count + 10) - Math.log(10);
  return (i) => ramp[Math.round(STEPS * (1 - (Math.log(i + 10) - Math.log(10)) / most))];
}
