// Making elements. Text becomes text nodes, always: no word is ever read as HTML.

const LISTENED = ["onclick", "onsubmit", "oninput"];
const SVG = "http://www.w3.org/2000/svg";

const kept = (children) => children.flat(2).filter((child) => child != null && child !== false);

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (LISTENED.includes(name)) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...kept(children));
  return element;
}

export const make = (tag, attributes = {}, ...children) => dress(document.createElement(tag), attributes, children);
export const draw = (tag, attributes = {}, ...children) => dress(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

export function fill(element, ...children) {
  element.replaceChildren(...kept(children));
}

// Tells a screen reader what just appeared.
export function announce(sentence) {
  byId("live").textContent = sentence;
}

export const number = (value, digits = 2) => (value == null ? "–" : (Number(value.toFixed(digits)) || 0).toFixed(digits).replace("-", "−")); // no −0.00
export const whole = (value) => value.toLocaleString("en");
