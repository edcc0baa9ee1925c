"""The API: one method per address, which takes the parameters of a request and returns a value that JSON can hold.

What is kept between requests: maps, words that were learned, and what takes long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast, get_args

import numpy as np

from psdvec.errors import InputError
from psdvec.explore import request
from psdvec.explore.contexts import ContextIndex
from psdvec.explore.maps import Maps, describe_shared, fit_plane
from psdvec.explore.models import ExploredModel, Suggestions
from psdvec.explore.new_words import UNIGRAMS, LearnedWords, add_words, evidence_for, sentences_with
from psdvec.explore.request import Parameters
from psdvec.maps.drawing import LAYOUTS, LayoutName
from psdvec.topic_model.folder import describe_topics
from psdvec.vectors import answers
from psdvec.vectors.embeddings import ANALOGY, AnalogyMethod, Embeddings
from psdvec.vectors.subwords import Unseen

Answer = Callable[[Parameters], dict[str, Any]]


class Api:
    """Answers requests about one or two models: ``queries`` by GET, ``actions`` by POST, each under its name."""

    def __init__(self, models: list[ExploredModel]) -> None:
        self.models = models
        self._maps = [Maps(explored) for explored in models]
        self._learned = [LearnedWords(explored.embeddings) for explored in models]
        self._suggestions: dict[int, tuple[Embeddings, Suggestions]] = {}
        self._moved: dict[str, Any] | None = None
        self._lock, self._moving = threading.Lock(), threading.Lock()
        self.queries: dict[str, Answer] = {
            "info": self.info,
            "similar": self.similar,
            "analogy": self.analogy,
            "odd": self.odd,
            "contexts": self.contexts,
            "compare": self.compare,
            "moved": self.moved,
            "words": self.words,
            "topics": self.topics,
            "map": self.map,
        }
        self.actions: dict[str, Answer] = {
            "extend": self.extend,
            "map": self.start_map,
            "shared": self.shared,
        }

    def close(self) -> None:
        """Stop what is still being computed."""
        for maps in self._maps:
            maps.stop()

    def info(self, parameters: Parameters) -> dict[str, Any]:
        """Return which models are open, what can be asked of them, and within which limits."""
        return {
            "models": [_describe_model(explored) for explored in self.models],
            "layouts": list(LAYOUTS),
            "limits": {
                "word": request.MAX_WORD_LENGTH, "text": request.MAX_TEXT_LENGTH, "lines": request.MAX_LINES,
                "words": request.MAX_WORDS, "topn": request.MAX_TOPN, "ids": request.MAX_IDS,
            },
        }  # fmt: skip

    def similar(self, parameters: Parameters) -> dict[str, Any]:
        """Return the neighbours of a word."""
        known, unseen = self._known(parameters), _unseen(parameters)
        (word,) = _look_up(known, [parameters.word("word")], unseen)
        return answers.similar(known, word, topn=_topn(parameters), unseen=unseen)

    def analogy(self, parameters: Parameters) -> dict[str, Any]:
        """Return the words that are to c as b is to a, and the plane that fits the three and the first of them."""
        known, unseen = self._known(parameters), _unseen(parameters)
        a, b, c = three = _look_up(known, [parameters.word(name) for name in "abc"], unseen)
        method = cast(AnalogyMethod, parameters.choice("method", (ANALOGY, "3cosmul")))
        found = answers.analogy(known, a, b, c, method=method, topn=_topn(parameters), unseen=unseen)
        four = [*three, *(one["word"] for one in found["answers"][:1])]
        spelled = [word for word in dict.fromkeys(three) if word not in known]
        return {**found, "spelled": spelled, "plane": fit_plane(known.vectors_of(four, unseen=unseen))}

    def odd(self, parameters: Parameters) -> dict[str, Any]:
        """Return the word that does not belong with the others."""
        known, unseen = self._known(parameters), _unseen(parameters)
        words = list(dict.fromkeys(_look_up(known, parameters.words("word"), unseen)))
        if len(words) < 3:
            raise InputError(f"give at least 3 different words; only {len(words)} given")
        return answers.odd(known, words, unseen=unseen)

    def contexts(self, parameters: Parameters) -> dict[str, Any]:
        """Return the contexts that pulled hardest on a word, or on a word and another."""
        explored, number = self._model(parameters)
        word, other, topn = parameters.word("word"), parameters.optional_word("other"), _topn(parameters)
        for one in (word, other or word):
            placed = self._learned[number - 1].contexts_of(one)
            if placed is not None and word != (other or word):
                raise InputError(
                    f"'{one}' was learned from pasted sentences, and what placed it cannot be compared with another "
                    "word's contexts; ask about one word"
                )
            if placed is not None:
                return placed.of_word(one, topn=topn)
        if explored.contexts is None:
            raise InputError(f"no contexts can be shown for '{explored.name}'; {explored.no_contexts}")
        if other is None or other == word:
            return explored.contexts.of_word(word, topn=topn)
        return explored.contexts.of_pair(word, other, topn=topn)

    def topics(self, parameters: Parameters) -> dict[str, Any]:
        """Return the topics beside a model, as ``topics.json`` describes them, and how many documents they are of."""
        explored, _ = self._model(parameters)
        if explored.topics is None:
            raise InputError(
                f"there are no topics beside '{explored.name}'; start the explorer with topics=FOLDER"
            )
        return {"documents": len(explored.topics.names), "topics": describe_topics(explored.topics)}

    def compare(self, parameters: Parameters) -> dict[str, Any]:
        """Return the neighbours of a word in both models."""
        first, second = self._both()
        word, (one, two) = parameters.word("word"), (learned.embeddings for learned in self._learned)
        for here, there, found in ((first, second, word in one), (second, first, word in two)):
            if found and not (word in one and word in two):
                raise InputError(
                    f"'{word}' is in '{here.name}' but not in '{there.name}'; compare another word"
                )
        return answers.compare(one, two, word, topn=_topn(parameters))

    def moved(self, parameters: Parameters) -> dict[str, Any]:
        """Return the words whose neighbours changed most between the two models."""
        first, second = self._both()
        with self._moving:  # which may take minutes, for which no other question waits
            if self._moved is None:
                self._moved = answers.moved(first.embeddings, second.embeddings)
            return self._moved

    def words(self, parameters: Parameters) -> dict[str, Any]:
        """Return the most frequent words that begin as a prefix does."""
        _, number = self._model(parameters)
        e = self._known(parameters)
        with self._lock:
            if number not in self._suggestions or self._suggestions[number][0] is not e:
                self._suggestions[number] = (e, Suggestions(e))
            suggestions = self._suggestions[number][1]
        prefix = parameters.optional_word("prefix") or ""
        return {"words": suggestions.beginning_with(prefix, topn=_topn(parameters))}

    def map(self, parameters: Parameters) -> dict[str, Any]:
        """Return the map of words, or how much of it is done while it is being drawn."""
        _, number = self._model(parameters)
        return self._maps[number - 1].answer(_layout(parameters))

    def start_map(self, parameters: Parameters) -> dict[str, Any]:
        """Start to draw a map, unless it is there."""
        _, number = self._model(parameters)
        return self._maps[number - 1].start(_layout(parameters))

    def shared(self, parameters: Parameters) -> dict[str, Any]:
        """Return what some words of the map have in common."""
        explored, _ = self._model(parameters)
        rows = parameters.positions("ids", below=len(explored.mapped.ids))
        return describe_shared(explored, self._known(parameters), rows, topn=_topn(parameters))

    def extend(self, parameters: Parameters) -> dict[str, Any]:
        """Learn new words from a pasted text and keep the latest of them; the model's own stay as they are."""
        explored, number = self._model(parameters)
        model, learned = explored.model, self._learned[number - 1]
        if model is None:
            raise InputError(f"no word can be added to '{explored.name}': {explored.no_extending}")
        text, word = parameters.text("text"), parameters.optional_word("word")
        extension, counts = add_words(model, text, word=word)
        contexts = ContextIndex(model, counts, unigrams=UNIGRAMS)
        known, forgotten = learned.learn(extension, contexts)
        sentences = sentences_with(model, text, extension.learned)
        spelling = {placed.word: placed.spelling for placed in extension.report()}
        records = [
            {
                **answers.similar(known, new, topn=_topn(parameters)),
                "places": self._maps[number - 1].places_of(extension[new]),
                "vector": [round(float(x), 6) for x in extension[new]],
                "evidence": evidence_for(contexts, new),
                "spelling": spelling[new],
                "sentences": sentences[new],
            }
            for new in extension.learned
        ]
        return {
            "learned": records,
            "thin": list(extension.unplaced),
            "words_read": counts.tally.tokens,
            "forgotten": forgotten,
        }

    def _known(self, parameters: Parameters) -> Embeddings:
        """Return the vectors that a request is about, with the words learned since the start."""
        _, number = self._model(parameters)
        return self._learned[number - 1].embeddings

    def _model(self, parameters: Parameters) -> tuple[ExploredModel, int]:
        """Return the model that a request is about, and its number, 1 or 2."""
        number = parameters.number("model", 1, most=len(self.models))
        return self.models[number - 1], number

    def _both(self) -> tuple[ExploredModel, ExploredModel]:
        if len(self.models) < 2:
            raise InputError(
                "there is only one model; start the explorer with two: psdvec explore MODEL MODEL2"
            )
        return self.models[0], self.models[1]


def _topn(parameters: Parameters) -> int:
    return parameters.number("topn", 10, most=request.MAX_TOPN)


def _unseen(parameters: Parameters) -> Unseen:
    return cast(Unseen, parameters.choice("unseen", get_args(Unseen)))


def _look_up(e: Embeddings, words: list[str], unseen: Unseen) -> list[str]:
    """Return the words as they were given or, if their spelling may tell, as the vocabulary would write them."""
    return words if unseen == "error" else [e.look_up(word, unseen=unseen) for word in words]


def _layout(parameters: Parameters) -> LayoutName:
    return cast(LayoutName, parameters.choice("layout", LAYOUTS))


def _describe_model(explored: ExploredModel) -> dict[str, Any]:
    e = explored.embeddings
    deviations = e.deviations is not None and bool(np.isfinite(e.deviations).any())
    return {
        "name": explored.name,
        "words": len(e),
        "dim": e.dim,
        "counts": e.counts is not None,
        "deviations": deviations,
        "extend": explored.model is not None,
        "no_extending": explored.no_extending,
        "contexts": explored.contexts is not None,
        "no_contexts": explored.no_contexts,
        "topics": explored.topics is not None,
        "spelling": e.subwords is not None,
    }
