// Puts the page together: asks what there is, makes the panels and the map, and passes words between them.

import { ask, Trouble } from "/static/api.js";
import { AnalogyPanel } from "/static/analogy.js";
import { ComparePanel } from "/static/compare.js";
import { ContextsPanel } from "/static/contexts.js";
import { byId, fill, make, whole } from "/static/dom.js";
import { ExtendPanel } from "/static/extend.js";
import { WordMap } from "/static/map.js";
import { MapTools } from "/static/maptools.js";
import { OddPanel } from "/static/odd.js";
import { SimilarPanel } from "/static/similar.js";
import { look, model, on, state } from "/static/state.js";
import { Tabs } from "/static/tabs.js";

const OF_A_WORD = ["similar", "contexts", "compare"]; // panels that show the word searched for
const SPELLINGS = 8;

async function start() {
  try {
    state.info = await ask("info");
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    byId("veil").textContent = trouble.message;
    return;
  }
  const map = new WordMap();
  const tools = new MapTools(map);
  const tabs = new Tabs([
    new SimilarPanel(), new ContextsPanel(), new AnalogyPanel(), new OddPanel(), new ExtendPanel(), new ComparePanel(),
  ]);

  on("word", ({ word, fly }) => {
    byId("word").value = word;
    map.mark({ word, words: [] });
    tabs.show(OF_A_WORD.includes(tabs.current.name) ? tabs.current.name : "similar");
    if (fly) map.flyTo(word);
  });
  on("near", (near) => map.mark(near));
  on("added", (words) => map.markAdded(words));

  listModels(() => {
    map.forgetAdded();
    tabs.show(tabs.current.name);
    tools.choose("pca");
  });
  listenToSearch();
  tabs.show("similar");
  await tools.start();
  document.body.dataset.ready = "true";
}

function listModels(changed) {
  const facts = make("span", { class: "facts" });
  const describe = () => {
    facts.textContent = `${whole(model().words)} words · ${model().dim} dimensions`;
    document.title = `${model().name} · psdvec explore`;
  };
  const buttons = state.info.models.map((one, place) =>
    make("button", {
      type: "button", "aria-pressed": place === 0,
      onclick: () => {
        state.model = place + 1;
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === place));
        describe();
        changed();
      },
    }, one.name));
  fill(byId("models"), make("div", { class: "segment" }, buttons), facts);
  describe();
}

function listenToSearch() {
  const input = byId("word");
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const word = input.value.trim();
    if (word) look(word);
    else input.focus();
  });
  let words = [];
  on("map", (points) => { words = points.words; });
  input.addEventListener("input", () => {
    const typed = input.value.trim();
    const fitting = [];
    for (let i = 0; typed && i < words.length && fitting.length < SPELLINGS; i += 1) {
      if (words[i].startsWith(typed) && words[i] !== typed) fitting.push(words[i]);
    }
    fill(byId("spellings"), fitting.map((word) => make("option", { value: word })));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

start();
