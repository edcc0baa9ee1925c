// Good words to start with: those that name the regions of the map, and questions whose words the map has.

import { shown } from "/static/layouts.js";

const ANALOGIES = [["man", "king", "woman"], ["france", "paris", "italy"], ["big", "bigger", "small"], ["germany", "german", "spain"]];
const ODD = ["breakfast lunch dinner car", "red green blue seven", "guitar piano violin bread", "river lake ocean king"];
const LONG = 4; // letters of a word that says something by itself
export const NEW_WORD = { // of such a spelling that it tells nothing, and the sentences all
  word: "zumzik",
  text: [
    "she played the zumzik and sang songs with a band",
    "the zumzik is a musical instrument with strings like the guitar and the violin",
    "he learned to play the zumzik and the piano when he was a child",
    "a concert for zumzik and orchestra was played on the stage",
  ].join("\n"),
};

const known = () => new Set(shown.points ? shown.points.words : []);

export function startingWords(most = 10) {
  if (!shown.points) return [];
  return shown.points.regions.filter((one) => one.level === 0 && one.words.length)
    .map((one) => one.words.find((word) => word.length >= LONG) || one.words[0]).slice(0, most);
}

export function analogies() {
  const words = known();
  return ANALOGIES.filter((three) => three.every((word) => words.has(word)));
}

export function oddOnes() {
  const words = known();
  return ODD.filter((all) => all.split(" ").every((word) => words.has(word)));
}

// Whether the example of a new word means anything to the model: most of its words are on the map.
export function newWordFits() {
  const words = known();
  const used = [...new Set(NEW_WORD.text.split(/\s+/))];
  return used.filter((word) => words.has(word)).length > 0.8 * used.length;
}
