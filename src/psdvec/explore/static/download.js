// Handing the reader a file.

import { make } from "/static/dom.js";

const LONGEST = 80; // characters of a name

export function download(name, content, kind) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
  const address = URL.createObjectURL(blob);
  const safe = name.replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^[-.]+/, "").slice(-LONGEST);
  make("a", { href: address, download: safe }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
