"""Coherence of topics to the digit of OCTIS, that is of gensim's ``CoherenceModel`` with ``c_npmi``.

gensim moves its window along a document and forgets a word as soon as an occurrence of it leaves, even where the window
holds another one (docs/topic-model.md). Published figures are of this kind; it makes coherence a little lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from psdvec.arrays import Int64s
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.topics import WINDOW, npmi


def octis_coherence(documents: Documents, topics: Sequence[Int64s], *, words: int) -> float:
    """Return the mean NPMI of topics, given by the numbers of their top words; ``words`` is how many there are."""
    asked = np.unique(np.concatenate(topics))
    slots = np.full(words, -1, np.int64)
    slots[asked] = np.arange(len(asked))
    together = np.zeros((len(asked), len(asked)), np.int64)
    windows = _count_windows(slots[documents.tokens], documents.starts, together, WINDOW)
    found = npmi(together / windows)
    return float(np.mean([_mean_of_pairs(found[np.ix_(slots[ids], slots[ids])]) for ids in topics]))


def _mean_of_pairs(table: Any) -> float:
    return float(table[np.triu_indices(len(table), 1)].mean())


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _count_windows(tokens: Any, starts: Any, together: Any, window: int) -> int:
    windows = 0
    for document in range(starts.size - 1):
        begin, end = starts[document], starts[document + 1]
        held = np.zeros(len(together), np.bool_)
        for last in range(begin, end):
            if last >= begin + window and tokens[last - window] >= 0:
                held[tokens[last - window]] = False
            if tokens[last] >= 0:
                held[tokens[last]] = True
            if last >= min(begin + window, end) - 1:
                windows += 1
                present = np.flatnonzero(held)
                for i in present:
                    for j in present:
                        together[i, j] += 1
    return windows
