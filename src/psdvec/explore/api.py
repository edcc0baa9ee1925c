"""The API: one method per address, which takes the parameters of a request and returns a value that JSON can hold.

Whatever a browser or anything else sends becomes a word, a number or a choice within limits, or an
:class:`~psdvec.errors.InputError` of one sentence; nothing of it names a file. What is kept between requests: maps,
words that were learned, and what takes long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, cast, get_args

import numpy as np

from psdvec.errors import InputError
from psdvec.explore.contexts import ContextIndex
from psdvec.explore.maps import Maps, describe_shared, fit_plane
from psdvec.explore.models import (
    FILLED_LINE,
    UNIGRAMS,
    ExploredModel,
    LearnedWords,
    Suggestions,
    add_words,
    evidence_for,
    sentences_with,
)
from psdvec.maps.drawing import LAYOUTS, LayoutName
from psdvec.text.readers import as_written
from psdvec.topic_model.topics import describe_topics
from psdvec.vectors import answers
from psdvec.vectors.embeddings import ANALOGY, AnalogyMethod, Embeddings
from psdvec.vectors.subwords import Unseen

MAX_WORD_LENGTH = 100
MAX_QUESTION_LENGTH = 1_000
MAX_TEXT_LENGTH = 1_000_000
MAX_LINES = 20_000
MAX_WORDS = 50
MAX_TOPN = 100
MAX_IDS = 5_000
_WHOLE_FILES = "or use 'psdvec count' and 'psdvec extend' for whole files"


class Parameters:
    """The parameters of a request: for each name, the values given for it."""

    def __init__(self, values: dict[str, list[Any]]) -> None:
        self._values = values

    def word(self, name: str) -> str:
        """Return a word, without the blanks around it."""
        word = self.optional_word(name)
        if word is None:
            raise InputError(f"the field '{name}' is empty; type a word")
        return word

    def optional_word(self, name: str) -> str | None:
        """Return a word, or None if the field is empty."""
        word = self._text(name).strip()
        _check_length(word)
        return word or None

    def words(self, name: str) -> list[str]:
        """Return all words given under a name."""
        words = [as_written(word).strip() for word in self._values.get(name, []) if isinstance(word, str)]
        words = [word for word in words if word]
        if len(words) > MAX_WORDS:
            raise InputError(f"{len(words)} words were given; give at most {MAX_WORDS}")
        for word in words:
            _check_length(word)
        return words

    def question(self, name: str) -> str:
        """Return a question, a text that is not long."""
        text = self._text(name).strip()
        if not text or len(text) > MAX_QUESTION_LENGTH:
            raise InputError(f"a question has {len(text):,} characters; type 1 to {MAX_QUESTION_LENGTH:,}")
        return text

    def text(self, name: str) -> str:
        """Return a long text."""
        text = self._text(name)
        if len(text) > MAX_TEXT_LENGTH:
            raise InputError(
                f"the text has {len(text):,} characters; paste at most {MAX_TEXT_LENGTH:,}, {_WHOLE_FILES}"
            )
        lines = sum(1 for _ in FILLED_LINE.finditer(text))
        if lines > MAX_LINES:
            raise InputError(
                f"the text has {lines:,} lines with words; paste at most {MAX_LINES:,}, {_WHOLE_FILES}"
            )
        return text

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return a whole number between 1 and ``most``."""
        given = self._last(name)
        if given in (None, ""):
            return default
        text = str(given)
        if not (text.isascii() and text.isdigit() and len(text) < 10) or not 1 <= int(text) <= most:
            raise InputError(f"'{name}' is '{_shortened(text)}'; give a number from 1 to {most}")
        return int(text)

    def positions(self, name: str, *, below: int) -> list[int]:
        """Return different whole numbers from 0 to less than ``below``, given as a list; at least one."""
        given = self._last(name)
        if not isinstance(given, list) or not given or len(given) > MAX_IDS:
            raise InputError(f"'{name}' is not a list of 1 to {MAX_IDS:,} numbers; choose that many words")
        if not all(type(one) is int and 0 <= one < below for one in given):
            raise InputError(
                f"'{name}' has something other than numbers from 0 to {below - 1}; give only these"
            )
        return list(dict.fromkeys(given))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return one of ``choices``; the first, if none is given."""
        given = self._last(name)
        if given in (None, ""):
            return choices[0]
        if given not in choices:
            raise InputError(f"'{name}' is '{_shortened(str(given))}'; choose one of: {', '.join(choices)}")
        return str(given)

    def _last(self, name: str) -> Any:
        values = self._values.get(name)
        return values[-1] if values else None

    def _text(self, name: str) -> str:
        given = self._last(name)
        if given is not None and not isinstance(given, str):
            raise InputError(f"'{name}' is not text; give a string")
        return as_written(given or "")


def _check_length(word: str) -> None:
    if len(word) > MAX_WORD_LENGTH:
        raise InputError(f"'{_shortened(word)}' is longer than {MAX_WORD_LENGTH} characters; type one word")


def _shortened(text: str) -> str:
    text = as_written(text)
    return text if len(text) <= 20 else f"{text[:20]}…"


Answer = Callable[[Parameters], dict[str, Any]]


class Api:
    """Answers requests about one or two models: ``queries`` by GET, ``actions`` by POST, each under its name."""

    def __init__(self, models: list[ExploredModel]) -> None:
        self.models = models
        self._maps = [Maps(explored) for explored in models]
        self._learned = [LearnedWords(explored.embeddings) for explored in models]
        self._suggestions: dict[LearnedWords, Suggestions] = {}
        self._lock = threading.Lock()
        queries = (
            self.info, self.similar, self.analogy, self.odd, self.contexts, self.compare, self.change,
            self.documents, self.words, self.topics, self.map,
        )  # fmt: skip
        self.queries: dict[str, Answer] = {answer.__name__: answer for answer in queries}
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
                "word": MAX_WORD_LENGTH, "text": MAX_TEXT_LENGTH, "lines": MAX_LINES,
                "words": MAX_WORDS, "topn": MAX_TOPN, "ids": MAX_IDS,
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
        explored, _, learned = self._model(parameters)
        word, other, topn = parameters.word("word"), parameters.optional_word("other"), _topn(parameters)
        for one in (word, other or word):
            placed = learned.contexts.get(one)
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
        explored = self._model(parameters)[0]
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

    def change(self, parameters: Parameters) -> dict[str, Any]:
        """Return which words are used differently in slices of documents, as ``change.json`` describes them."""
        explored = self._model(parameters)[0]
        if explored.change is None:
            raise InputError(
                f"no change is open beside '{explored.name}'; start the explorer with change=FOLDER"
            )
        return dict(explored.change)

    def documents(self, parameters: Parameters) -> dict[str, Any]:
        """Return the documents that answer a question best, and why."""
        explored = self._model(parameters)[0]
        if explored.documents is None:
            raise InputError(
                f"no documents are open beside '{explored.name}'; start the explorer with index=FOLDER"
            )
        exact = parameters.choice("ways", ("near", "exact")) == "exact"
        hits = explored.documents.search(parameters.question("question"), topn=_topn(parameters), exact=exact)
        return {"hits": [asdict(hit) for hit in hits]}

    def words(self, parameters: Parameters) -> dict[str, Any]:
        """Return the most frequent words that begin as a prefix does."""
        _, _, learned = self._model(parameters)
        e = learned.embeddings
        with self._lock:
            suggestions = self._suggestions.get(learned)
            if suggestions is None or suggestions.e is not e:
                suggestions = self._suggestions[learned] = Suggestions(e)
        prefix = parameters.optional_word("prefix") or ""
        return {"words": suggestions.beginning_with(prefix, topn=_topn(parameters))}

    def map(self, parameters: Parameters) -> dict[str, Any]:
        """Return the map of words, or how much of it is done while it is being drawn."""
        return self._model(parameters)[1].answer(_layout(parameters))

    def start_map(self, parameters: Parameters) -> dict[str, Any]:
        """Start to draw a map, unless it is there."""
        return self._model(parameters)[1].start(_layout(parameters))

    def shared(self, parameters: Parameters) -> dict[str, Any]:
        """Return what some words of the map have in common."""
        explored, _, learned = self._model(parameters)
        rows = parameters.positions("ids", below=len(explored.mapped.ids))
        return describe_shared(explored, learned.embeddings, rows, topn=_topn(parameters))

    def extend(self, parameters: Parameters) -> dict[str, Any]:
        """Learn new words from a pasted text and keep the latest of them; the model's own stay as they are."""
        explored, maps, learned = self._model(parameters)
        model = explored.model
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
                "places": maps.places_of(extension[new]),
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
        return self._model(parameters)[2].embeddings

    def _model(self, parameters: Parameters) -> tuple[ExploredModel, Maps, LearnedWords]:
        """Return the model that a request is about, with its maps and what was learned since the start."""
        place = parameters.number("model", 1, most=len(self.models)) - 1
        return self.models[place], self._maps[place], self._learned[place]

    def _both(self) -> tuple[ExploredModel, ExploredModel]:
        if len(self.models) < 2:
            raise InputError(
                "there is only one model; start the explorer with two: psdvec explore MODEL MODEL2"
            )
        return self.models[0], self.models[1]


def _topn(parameters: Parameters) -> int:
    return parameters.number("topn", 10, most=MAX_TOPN)


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
        "change": explored.change is not None,
        "documents": len(explored.documents) if explored.documents is not None else 0,
        "spelling": e.subwords is not None,
    }
