// What documents are about: the topics beside a model, each with its words, its size and its documents.

import { make, number } from "/static/dom.js";
import { Panel } from "/static/panel.js";
import { chips, empty } from "/static/pieces.js";
import { change, model, state } from "/static/state.js";

export class TopicsPanel extends Panel {
  constructor() {
    super("topics", "Topics");
  }

  unavailable() {
    return model().topics ? "" : "No topics are open: find some with psdvec topics, and start the explorer with --topics FOLDER";
  }

  question() {
    return { topic: state.topic, model: state.model };
  }

  async answer(question, notes) {
    const found = await notes.ask("topics", { model: question.model });
    const chosen = question.topic && found.topics[Number(question.topic)];
    return chosen ? one(chosen) : all(found);
  }
}

const share = (value) => `${number(100 * value, 1)} %`;

function all(found) {
  const titles = found.topics.map((topic) => `${topic.topic}: ${topic.label}`);
  return {
    children: [
      make("h2", {}, `${found.topics.length} topics`),
      make("p", { class: "facts" }, `of ${found.documents.toLocaleString("en")} documents, the largest first`),
      chips(titles, (title) => change({ topic: String(titles.indexOf(title)), view: "" })),
    ],
    said: `${found.topics.length} topics`,
    table: {
      name: "topics",
      columns: ["topic", "label", "size", "coherence", "words"],
      rows: found.topics.map((topic) => [topic.topic, topic.label, topic.size, topic.coherence, topic.words.join(" ")]),
    },
  };
}

function one(topic) {
  const coherence = topic.coherence == null ? "" : `, coherence ${number(topic.coherence, 2)}`;
  const back = make("button", { type: "button", class: "quiet", onclick: () => change({ topic: "", view: "" }) }, "All topics");
  return {
    children: [
      make("h2", {}, topic.label),
      make("p", { class: "facts" }, `topic ${topic.topic}, ${share(topic.size)} of all words${coherence}`, back),
      ...part("What it raises", topic.words), ...part("Mostly here", topic.exclusive), ...part("Nearest", topic.nearest),
      topic.documents.length ? make("h3", {}, "Documents") : null,
      topic.documents.length ? make("ul", {}, topic.documents.map((found) => make("li", {}, `${found.name} (${share(found.share)})`))) : null,
      topic.words.length ? null : empty("No words", "No word names this topic."),
    ],
    marks: { self: null, near: topic.words, spread: true },
    said: `Topic ${topic.label}`,
    table: { name: `topic ${topic.topic}`, columns: ["word"], rows: topic.words.map((word) => [word]) },
  };
}

const part = (title, words) => (words.length ? [make("h3", {}, title), chips(words)] : []);
