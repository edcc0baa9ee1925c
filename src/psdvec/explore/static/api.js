// Asking the server: JSON in, JSON out, and one kind of error that carries a sentence for the reader.

export class Trouble extends Error {
  constructor(sentence, { word = null, suggestions = [] } = {}) {
    super(sentence);
    this.word = word;
    this.suggestions = suggestions;
  }
}

export function ask(name, parameters = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(key, one);
  }
  return receive(`/api/${name}?${query}`, {});
}

export function send(name, body) {
  return receive(`/api/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function receive(address, options) {
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
