// Asking the server: JSON in, JSON out, and one kind of error that carries a sentence for the reader.
//
// A saved page has no server; it brings the answers that were on it along.

export class Trouble extends Error {
  constructor(sentence, { word = null, suggestions = [] } = {}) {
    super(sentence);
    this.word = word;
    this.suggestions = suggestions;
  }
}

const text = document.getElementById("saved")?.textContent;
export const saved = text ? JSON.parse(text) : null;

export function addressOf(name, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(key, one);
  }
  return `/api/${name}?${query}`;
}

export function ask(name, parameters = {}) {
  const address = addressOf(name, parameters);
  return receive(address, address, {});
}

export function send(name, body) {
  const text = JSON.stringify(body);
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: text };
  return receive(`/api/${name}`, `/api/${name} ${text}`, options);
}

// What a panel asked, and the answers, written down so that the page can be saved with what it shows.
export class Notes {
  constructor() {
    this.answers = {};
  }

  async ask(name, parameters) {
    const body = await ask(name, parameters);
    this.answers[addressOf(name, parameters)] = body;
    return body;
  }

  async send(name, value) {
    const body = await send(name, value);
    this.answers[`/api/${name} ${JSON.stringify(value)}`] = body;
    return body;
  }
}

async function receive(address, key, options) {
  if (saved) {
    if (key in saved.answers) return saved.answers[key];
    throw new Trouble("This page was saved with the answers that were on it; to ask more, open the model with psdvec explore.");
  }
  let response, body;
  try {
    response = await fetch(address, options);
    body = await response.json();
  } catch {
    throw new Trouble("The page cannot reach psdvec; is 'psdvec explore' still running in its terminal?");
  }
  if (!response.ok) throw new Trouble(body.error || "Something went wrong.", body);
  return body;
}
