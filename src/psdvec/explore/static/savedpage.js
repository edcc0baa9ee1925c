// "Save this page": one HTML file with the page's own scripts, the map and the answers that are shown, which opens
// anywhere, without a server and without a network.

import { addressOf } from "/static/api.js";
import { byId } from "/static/dom.js";
import { download } from "/static/download.js";
import { shown } from "/static/layouts.js";
import { info, model, state } from "/static/state.js";

const POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:";
const IMPORTED = /"\/static\/([\w.-]+\.js)"/g;

export function listenToSaving(panels) {
  byId("save-page").addEventListener("click", async () => {
    const name = ["psdvec", model().name, state.word].filter(Boolean).join(" ");
    download(`${name}.html`, await write(panels), "text/html");
  });
}

async function write(panels) {
  const page = await read("/");
  const shownPanels = panels.filter((panel) => Object.keys(panel.notes.answers).length);
  const saved = {
    state: { ...state, layout: shown.layout },
    tabs: shownPanels.map((panel) => panel.name),
    answers: Object.assign({
      [addressOf("info", {})]: { ...info, layouts: [shown.layout] },
      [addressOf("map", { layout: shown.layout, model: shown.model })]: shown.points,
    }, ...shownPanels.map((panel) => panel.notes.answers)),
  };
  let text = page;
  for (const [tag, name] of page.matchAll(/<link rel="stylesheet" href="\/static\/([\w.-]+)">/g)) {
    text = put(text, tag, `<style>\n${await read(`/static/${name}`)}</style>`);
  }
  text = put(text, '<link rel="icon" href="/static/icon.svg">', `<meta http-equiv="content-security-policy" content="${POLICY}">`);
  text = put(text, '<script src="/static/theme.js"></script>', `<script>\n${await read("/static/theme.js")}</script>`);
  return put(text, '<script src="/static/main.js" type="module"></script>', [
    `<script id="saved" type="application/json">${plain(saved)}</script>`,
    `<script type="importmap">${plain({ imports: await modules("main.js") })}</script>`,
    '<script type="module">import "page/main.js";</script>',
  ].join("\n"));
}

// A name as what it stands for, whatever that contains.
const put = (text, tag, content) => text.replace(tag, () => content);

// JSON that no parser of HTML can take for the end of a script.
const plain = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");

const read = async (address) => (await fetch(address)).text();

// The scripts, each as an address that holds its own text, under names that do not depend on where the page lies.
async function modules(first) {
  const found = new Map();
  const add = async (name) => {
    if (found.has(name)) return;
    found.set(name, "");
    const text = await read(`/static/${name}`);
    const parts = new TextEncoder().encode(text.replaceAll(IMPORTED, '"page/$1"'));
    found.set(name, `data:text/javascript;base64,${btoa(Array.from(parts, (byte) => String.fromCharCode(byte)).join(""))}`);
    await Promise.all([...text.matchAll(IMPORTED)].map(([, wanted]) => add(wanted)));
  };
  await add(first);
  return Object.fromEntries([...found].map(([name, address]) => [`page/${name}`, address]));
}
