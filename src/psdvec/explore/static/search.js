// The search field above the panels, and the key that leads to it.

import { byId } from "/static/dom.js";
import { look, state } from "/static/state.js";
import { suggest } from "/static/suggest.js";

export class Search {
  constructor() {
    this.input = byId("word");
    byId("search").append(suggest(this.input));
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      const word = this.input.value.trim();
      if (word) look(word);
      else this.go();
    });
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.go();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.closest("input, textarea")) return;
      event.preventDefault();
      this.go();
    });
  }

  go() {
    this.input.focus();
    this.input.select();
  }

  update(before) {
    if (before.word !== state.word) this.input.value = state.word;
  }
}
