// Any table as a file of comma-separated values.

import { download } from "/static/download.js";
import { make } from "/static/dom.js";

export const csvButton = (table) =>
  make("p", { class: "keeping" },
    make("button", { type: "button", class: "quiet csv", onclick: () => download(`${table.name}.csv`, writeCsv(table), "text/csv") }, "Save as CSV"));

export const writeCsv = ({ columns, rows }) => [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

const cell = (value) => {
  const text = value == null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
