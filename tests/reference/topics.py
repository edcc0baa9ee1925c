"""What the loops of :mod:`psdvec.topic_model.kernels` compute, in plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import digamma, gammaln

from psdvec.arrays import Float64s, Int32s, Int64s


def expect_topics(
    starts: Int64s,
    words: Int32s,
    counts: Float64s,
    chances: Float64s,
    prior: Float64s,
    gamma: Float64s,
    expected: Float64s,
    steps: int,
    tolerance: float,
) -> float:
    """See :func:`psdvec.topic_model.kernels.expect_topics`: equations (20) to (22) of ``docs/topic-model.md``."""
    bound = 0.0
    for document, mine in enumerate(gamma):
        here = slice(starts[document], starts[document + 1])
        n, chance = counts[here], chances[words[here]]
        for _ in range(steps):
            weights = np.exp(digamma(mine) - digamma(mine.sum()))
            length = mine.sum() - prior.sum()
            new = prior + weights * (chance.T @ (n / (chance @ weights)))
            moved = np.abs(new - mine).sum()
            mine[:] = new
            if moved <= tolerance * length:
                break
        weights = np.exp(digamma(mine) - digamma(mine.sum()))
        likely = chance @ weights
        np.add.at(expected, words[here], (n / likely)[:, None] * chance * weights)
        bound += n @ np.log(likely)
        bound += gammaln(prior.sum()) - gammaln(prior).sum() - gammaln(mine.sum()) + gammaln(mine).sum()
        bound += ((prior - mine) * np.log(weights)).sum()
    return float(bound)


def count_windows(tokens: Int32s, starts: Int64s, slot_of: Int32s, together: Int64s, window: int) -> int:
    """See :func:`psdvec.topic_model.kernels.count_windows`."""
    windows = 0
    for begin, end in pairwise(starts.tolist()):
        text = tokens[begin:end]
        for first in range(max(len(text) - window, 0) + 1 if len(text) else 0):
            held = sorted({int(slot_of[t]) for t in text[first : first + window] if t >= 0} - {-1})
            together[np.ix_(held, held)] += 1
            windows += 1
    return windows
