"""The models being explored: vectors and, where they are known, the scales of their fit and their counts.

:func:`open_model` makes an :class:`ExploredModel` out of the paths that the command line was given. A missing part is
not an error: the page offers what can be done, and ``no_extending`` and ``no_contexts`` say why something cannot.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.explore.contexts import ContextIndex
from psdvec.formats import load
from psdvec.maps.drawing import WORDS, MappedWords, take_words
from psdvec.progress import LogProgress, Progress
from psdvec.search.index import DocumentIndex, read_index
from psdvec.slices.page import read_change
from psdvec.topic_model.page import read_topics
from psdvec.topic_model.topics import Topics
from psdvec.vectors.embeddings import Embeddings
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
        from psdvec.counts.matrix import load_counts

        contexts = ContextIndex(model, load_counts(counts))
    found = None if topics is None else read_topics(topics)
    changed = None if change is None else read_change(change)
    documents = None if index is None else read_index(index)
    return ExploredModel(
        Path(path),
        embeddings,
        model,
        contexts,
        no_extending,
        no_contexts,
        map_words,
        found,
        changed,
        documents,
    )
