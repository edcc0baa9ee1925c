"""How good topics are: the coherence of their words in the documents.

Coherence is the mean NPMI of all pairs of a topic's top words (Röder et al. 2015, ``c_npmi``): words are together if
they are in one window of ten words, and a pair that never is has as good as the lowest value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.kernels.topics import count_windows
from psdvec.topic_model.documents import Documents

WINDOW = 10
_NEVER = 1e-12  # added to probabilities, as everyone who publishes this measure does


def coherence(documents: Documents, topics: Sequence[Int64s], *, words: int) -> Float64s:
    """Return the NPMI of each topic, given by the numbers of its top words; ``words`` is the size of the vocabulary."""
    asked = np.unique(np.concatenate([*topics, np.zeros(0, np.int64)]))
    slots = np.full(words, -1, np.int32)
    slots[asked] = np.arange(len(asked))
    together = np.zeros((len(asked), len(asked)), np.int64)
    windows = count_windows(documents.tokens, documents.starts, slots, together, WINDOW)
    found = npmi(together / max(windows, 1))
    return np.array([_mean_of_pairs(found[np.ix_(slots[ids], slots[ids])]) for ids in topics])


def npmi(joint: Float64s) -> Float64s:
    """Return normalised PMI of all pairs, from the probability of each pair and, on the diagonal, of each word.

    >>> npmi(np.array([[0.5, 0.25], [0.25, 0.5]]))[0, 1].round(6).tolist()
    0.0
    """
    alone = np.maximum(np.diag(joint), _NEVER)
    return np.asarray(np.log((joint + _NEVER) / np.outer(alone, alone)) / -np.log(joint + _NEVER))


def _mean_of_pairs(table: Float64s) -> float:
    size = len(table)
    return float((table.sum() - np.trace(table)) / (size * (size - 1))) if size > 1 else float("nan")
