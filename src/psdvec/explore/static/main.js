// Puts the page together: asks what there is, makes the parts, and has each drawn anew when the state changes.

import { AnalogyPanel } from "/static/analogy.js";
import { ask, saved, Trouble } from "/static/api.js";
import { AreaPanel } from "/static/areapanel.js";
import { ChangePanel } from "/static/change.js";
import { ComparePanel } from "/static/compare.js";
import { ContextsPanel } from "/static/contexts.js";
import { DocumentsPanel } from "/static/documents.js";
import { byId } from "/static/dom.js";
import { ExtendPanel } from "/static/extend.js";
import { Layouts } from "/static/layouts.js";
import { WordMap } from "/static/map.js";
import { MapTools } from "/static/maptools.js";
import { Models } from "/static/models.js";
import { OddPanel } from "/static/odd.js";
import { listenToPictures } from "/static/picture.js";
import { listenToSaving } from "/static/savedpage.js";
import { Search } from "/static/search.js";
import { SimilarPanel } from "/static/similar.js";
import { change, info, on, same, state } from "/static/state.js";
import { Tabs } from "/static/tabs.js";
import { TopicsPanel } from "/static/topics.js";

async function start() {
  try {
    Object.assign(info, await ask("info"));
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    byId("veil").textContent = trouble.message;
    return;
  }
  if (!info.models[Number(state.model) - 1]) change({ model: "1" }, { replace: true });
  const panels = [
    new SimilarPanel(), new ContextsPanel(), new AnalogyPanel(), new OddPanel(), new ExtendPanel(), new ComparePanel(), new AreaPanel(),
    new TopicsPanel(), new ChangePanel(), new DocumentsPanel(),
  ];
  const map = new WordMap();
  const layouts = new Layouts(map);
  const tabs = new Tabs(panels);
  const [models, search, tools] = [new Models(), new Search(), new MapTools()];
  listenToPictures(map);
  listenToSaving(panels);
  if (saved) hideWhatNeedsAServer(tabs);

  const update = (before) => {
    models.update();
    search.update(before);
    tools.update();
    tabs.update(same(before, state));
    map.update(tabs.current.marks, before);
    layouts.update();
  };
  on("state", update);
  on("answer", (panel) => panel === tabs.current && map.update(panel.marks, state));
  on("map", () => {
    panels.forEach((panel) => panel.refreshIdle());
    tabs.update();
    map.update(tabs.current.marks, state);
    document.body.dataset.ready = "true";
  });
  update({});
}

function hideWhatNeedsAServer(tabs) {
  document.body.dataset.saved = "true";
  tabs.panels.forEach((panel, place) => { tabs.buttons[place].hidden = !saved.tabs.includes(panel.name); });
}

start();
