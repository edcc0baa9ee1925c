"""The models being explored: vectors and, where they are known, the scales of their fit and their counts.

:func:`open_model` makes an :class:`ExploredModel` out of the paths that the command line was given. A missing part is
not an error: the page offers what can be done, and ``no_extending`` and ``no_contexts`` say why something cannot.

:func:`add_words` counts a text that was pasted into the page as the model's own text was counted, and solves the new
words by the closed form of :func:`psdvec.solver.extend.extend`. The model and every old vector in it stay as they are;
:class:`LearnedWords` keeps the new ones while the server runs, so that they can be asked about like any other.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.errors import InputError
from psdvec.explore.contexts import ContextIndex
from psdvec.formats import load
from psdvec.maps.drawing import WORDS, MappedWords, take_words
from psdvec.progress import LogProgress, Progress
from psdvec.search.index import DocumentIndex, read_index
from psdvec.slices.page import read_change
from psdvec.solver.extend import Extension, extend
from psdvec.text.corpus import Texts
from psdvec.topic_model.page import read_topics
from psdvec.topic_model.topics import Topics
from psdvec.vectors.embeddings import Embeddings, append_words
from psdvec.vectors.model import Model

# Words that begin as somebody types, the most frequent first, over a whole vocabulary.

_LAST = "\U0010ffff"  # no word that begins with a prefix comes after the prefix with this behind it


class Suggestions:
    """The words of ``e`` in alphabetical order, in which all with the same beginning stand together."""

    def __init__(self, e: Embeddings) -> None:
        self.e = e
        words = list(e.words)
        self._order = np.array(sorted(range(len(e)), key=words.__getitem__), np.int64)
        self._words = [words[i] for i in self._order.tolist()]
        by_count = np.arange(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable")
        self._rank = np.empty(len(e), np.int64)
        self._rank[by_count] = np.arange(len(e))

    def beginning_with(self, prefix: str, *, topn: int) -> list[dict[str, Any]]:
        """Return the most frequent words that begin with ``prefix``, as it is or as the tokenizer writes it."""
        cut = self.e.tokenize(prefix)
        forms = {prefix, *(cut if len(cut) == 1 else ())}
        ends = [(bisect_left(self._words, form), bisect_right(self._words, form + _LAST)) for form in forms]
        found = np.unique(np.concatenate([self._order[first:last] for first, last in ends]))
        best = found[np.argsort(self._rank[found], kind="stable")[:topn]]
        counts = self.e.counts
        return [
            {"word": self.e.words[i], "count": None if counts is None else int(counts[i])}
            for i in best.tolist()
        ]


@dataclass(frozen=True, eq=False)
class ExploredModel:
    """Vectors from ``path``, shown as ``name``, and what else is known: ``None``, or why there is no such thing."""

    path: Path
    embeddings: Embeddings
    model: Model | None = None
    contexts: ContextIndex | None = None
    no_extending: str = ""
    no_contexts: str = ""
    map_words: int = WORDS
    topics: Topics | None = None
    change: Mapping[str, Any] | None = None
    documents: DocumentIndex | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.absolute().name

    @cached_property
    def mapped(self) -> MappedWords:
        """The words on the map: the most frequent ones."""
        return take_words(self.embeddings, words=self.map_words)


def open_model(
    path: str | Path,
    *,
    counts: str | Path | None = None,
    topics: str | Path | None = None,
    change: str | Path | None = None,
    index: str | Path | None = None,
    map_words: int = WORDS,
    progress: Progress = LogProgress(),
) -> ExploredModel:
    """Open the vectors at ``path``, in any format psdvec reads, and what lies beside them."""
    embeddings = load(path, progress=progress)
    model = embeddings if isinstance(embeddings, Model) else None
    no_extending = "" if model else "these vectors come without the scales of a fit; fit them with psdvec"
    contexts, no_contexts = None, no_extending
    if counts is None:
        no_contexts = "start the explorer with counts=FOLDER, the counts that the model was made from"
    elif model is not None:
        contexts = ContextIndex(model, load_counts(counts))
    found = None if topics is None else read_topics(topics)
    changed = None if change is None else read_change(change)
    documents = None if index is None else read_index(index)
    return ExploredModel(
        Path(path), embeddings, model, contexts, no_extending, no_contexts, map_words, found, changed, documents,
    )  # fmt: skip


# New words from sentences that were pasted into the page.

FILLED_LINE = re.compile(r"\S[^\n]*")  # with something in it, from its first word
MAX_WORDS = 20  # learned at once if none is named: the most frequent ones of the text
EVIDENCE = 20  # contexts at most that are told of each
KEPT_WORDS = 1_000  # learned words at most that are kept
KEPT_PAIRS = 10_000_000  # of words, counted in the texts that placed them, at most
UNIGRAMS = "model"  # the old words' frequencies are the model's own, as a few sentences say little about them


class LearnedWords:
    """The words that were learned since the server started.

    ``embeddings`` are those of the model with the learned words after them; ``contexts`` say of each learned word why
    it is where it is. A word that is learned again is replaced. Only the latest are kept, ``words`` of them at most,
    from texts with ``pairs`` counted pairs at most.
    """

    def __init__(self, embeddings: Embeddings, *, words: int = KEPT_WORDS, pairs: int = KEPT_PAIRS) -> None:
        self.embeddings = embeddings
        self._most_words, self._most_pairs = words, pairs
        self._first = embeddings
        self._rows: dict[str, tuple[Float32s, int, float]] = {}
        self.contexts: dict[str, ContextIndex] = {}
        self._lock = threading.Lock()

    def learn(self, extension: Extension, contexts: ContextIndex) -> tuple[Embeddings, list[str]]:
        """Keep the words of an ``extension`` of the model, and the ``contexts`` that placed them.

        Return the vectors with them, and the words that were forgotten for them, the oldest first.
        """
        with self._lock:
            for word in extension.learned:
                self._rows.pop(word, None)  # so that one learned again is among the latest
                row = extension.get_index(word)
                known = int(extension.counts[row]), float(extension.deviations[row])
                self._rows[word] = (np.array(extension.vectors[row]), *known)
                self.contexts[word] = contexts
            forgotten = self._forget(keep=len(extension.learned))
            if extension.learned:
                vectors, counts, deviations = map(np.array, zip(*self._rows.values(), strict=True))
                new = vectors, counts, deviations.astype(np.float32)
                self.embeddings = append_words(self._first, self._rows, *new)
            return self.embeddings, forgotten

    def _forget(self, *, keep: int) -> list[str]:
        """Drop the oldest words until the others are few enough, but never the ``keep`` latest, and return them."""
        forgotten = []
        for word in list(self._rows)[: len(self._rows) - keep]:
            texts = {id(contexts): contexts.counts.indices.size for contexts in self.contexts.values()}
            if len(self._rows) <= self._most_words and sum(texts.values()) <= self._most_pairs:
                break
            del self._rows[word], self.contexts[word]
            forgotten.append(word)
        return forgotten


def add_words(model: Model, text: str, *, word: str | None = None) -> tuple[Extension, Cooccurrence]:
    """Learn ``word`` from ``text``, or its most frequent words that the model lacks; each line is a sentence."""
    if not text.strip():
        raise InputError("there is no text; paste sentences that use the new word")
    token = None if word is None else _as_token(model, word)
    if token is not None and token in model.key_to_index:
        raise InputError(f"'{token}' is in the model already, and its vector stays as it is; name a new word")
    counts = _count(model, text)
    if token is not None and token not in counts.vocabulary:
        raise InputError(f"'{token}' does not occur in the text; paste sentences that use it")
    named = counts.vocabulary.words if token is None else [token]
    new = [other for other in named if other not in model.key_to_index]
    if not new:
        raise InputError("the model already knows every word of the text; paste sentences with a new word")
    return extend(model, counts, words=new[:MAX_WORDS], unigrams=UNIGRAMS), counts


def evidence_for(contexts: ContextIndex, word: str) -> list[dict[str, Any]]:
    """Return the contexts that pulled a learned word hardest, each with its share of all pulls as its ``weight``."""
    found = contexts.of_word(word, topn=len(contexts.words))["contexts"]
    total = sum(abs(one["pull"]) for one in found) or 1.0
    return [{"word": one["word"], "weight": one["pull"] / total} for one in found[:EVIDENCE]]


def sentences_with(model: Model, text: str, words: tuple[str, ...]) -> dict[str, list[int]]:
    """Return for each of ``words`` the numbers of the lines of ``text`` that it occurs in, from 0.

    A text may be a million empty lines: only those with something in them are looked at, one at a time.
    """
    found: dict[str, list[int]] = {word: [] for word in words}
    number = end = 0
    for line in FILLED_LINE.finditer(text):
        number += text.count("\n", end, line.start())
        end = line.start()
        for word in found.keys() & set(model.tokenize(line[0])):
            found[word].append(number)
    return found


def _count(model: Model, text: str) -> Cooccurrence:
    """Count the text as the model's was; if that came from Python as lists of words, so must this."""
    options = {name: model.counting[name] for name in ("window", "weighting", "gaps")}
    tokenizer = model.counting["tokenizer"]
    pasted: Texts | list[list[str]] = (
        Texts([text], model.tokenizer)  # never a name: what is pasted must not open a file
        if model.tokenizer is not None and model.tokenizer == tokenizer
        else [model.tokenize(line[0]) for line in FILLED_LINE.finditer(text)]
    )
    return count_pairs(pasted, min_count=1, workers=1, phrases=model.phrases, **options)


def _as_token(model: Model, word: str) -> str:
    """Return ``word`` as the model's tokenizer would cut it out of a text."""
    tokens = model.tokenize(word)
    if len(tokens) != 1:
        found = "no word" if not tokens else f"{len(tokens)} words"
        raise InputError(f"the model's tokenizer finds {found} in '{word}'; name one word")
    return tokens[0]
