"""Words that begin as somebody types, the most frequent first, over a whole vocabulary."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from psdvec.vectors.embeddings import Embeddings

_LAST = "\U0010ffff"  # no word that begins with a prefix comes after the prefix with this behind it


class Suggestions:
    """The words of ``e`` in alphabetical order, in which all with the same beginning stand together."""

    def __init__(self, e: Embeddings) -> None:
        self._e = e
        words = list(e.words)
        self._order = np.array(sorted(range(len(e)), key=words.__getitem__), np.int64)
        self._words = [words[i] for i in self._order.tolist()]
        by_count = np.arange(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable")
        self._rank = np.empty(len(e), np.int64)
        self._rank[by_count] = np.arange(len(e))

    def beginning_with(self, prefix: str, *, topn: int) -> list[dict[str, Any]]:
        """Return the most frequent words that begin with ``prefix``, as it is or as the tokenizer writes it."""
        forms = {prefix, *(form for form in [self._folded(prefix)] if form)}
        found = np.unique(np.concatenate([self._ids(form) for form in forms]))
        best = found[np.argsort(self._rank[found], kind="stable")[:topn]]
        counts = self._e.counts
        return [
            {"word": self._e.words[i], "count": None if counts is None else int(counts[i])}
            for i in best.tolist()
        ]

    def _folded(self, prefix: str) -> str:
        forms = self._e.tokenize(prefix)
        return forms[0] if len(forms) == 1 else ""

    def _ids(self, prefix: str) -> Any:
        first, last = bisect_left(self._words, prefix), bisect_right(self._words, prefix + _LAST)
        return self._order[first:last]
