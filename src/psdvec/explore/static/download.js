// Handing the reader a file, such as any table as comma-separated values.

import { make } from "/static/dom.js";

const LONGEST = 80; // characters of a name

export function download(name, content, kind) {
  const blob = content instanceof Blob ? content : new Blob([content], { type: kind });
  const address = URL.createObjectURL(blob);
  const safe = name.replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^[-.]+/, "").slice(-LONGEST);
  make("a", { href: address, download: safe }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export const csvButton = (table) =>
  make("p", { class: "keeping" },
    make("button", { type: "button", class: "quiet csv", onclick: () => download(`${table.name}.csv`, writeCsv(table), "text/csv") }, "Save as CSV"));

export const writeCsv = ({ columns, rows }) => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

const cell = (value) => {
  const text = value == null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
