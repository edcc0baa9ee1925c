// Colours of points: by frequency, between two greens of the page, or by cluster, twelve muted hues.

const HUES = {
  light: ["#2f6f6a", "#b0682c", "#5a63a8", "#8a9a3b", "#a6496b", "#3f83b0", "#8d6aa8", "#57924f", "#c08a2e", "#7a6a5a", "#c2594f", "#4d8f97"],
  dark: ["#6fc2b8", "#e0a06a", "#98a1ea", "#bccb6a", "#e08aa8", "#7dbbe6", "#c3a0e0", "#8fcb86", "#e8c26a", "#b8a898", "#f09a90", "#86c9d1"],
};

export const theme = () => document.documentElement.dataset.theme;
export const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const hue = (cluster) => HUES[theme()][cluster % HUES[theme()].length];

// What plotly wants of the markers of all points, the most frequent first.
export function markers(points, by) {
  const count = points.words.length;
  const sizes = Float32Array.from({ length: count }, (_, i) => 3.8 + 5 / (1 + i / 250));
  if (by === "cluster") return { size: sizes, color: points.clusters.map(hue), opacity: 0.8, line: { width: 0 } };
  return {
    size: sizes,
    color: Array.from({ length: count }, (_, i) => -Math.log(i + 10)),
    colorscale: [[0, variable("rare")], [1, variable("frequent")]],
    opacity: 0.85,
    line: { width: 0 },
  };
}
