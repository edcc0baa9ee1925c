"""The loops over documents of a topic model, in numba; :mod:`tests.reference.topics` says what they compute."""

from __future__ import annotations

import math

import numpy as np

from psdvec.kernels import kernel

# Sums over topics may be taken in any order, the same each time. With "nsz" too, LLVM made other code of what was just
# compiled than of the same out of the cache: the first run then had other last bits than the next.
_SUMS = {"reassoc", "contract"}


@kernel
def digamma(x):
    """Return ψ(x) for x > 0: the recurrence up to 6, then the asymptotic series."""
    below = 0.0
    while x < 6.0:
        below += 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132)))
    )
    return math.log(x) - 0.5 / x - series - below


@kernel
def _weigh_topics(gamma, weights):
    """Put exp E[log θ] of a document into ``weights``, and return the sum of ``gamma``."""
    total = gamma.sum()
    below = digamma(total)
    for k in range(gamma.size):
        weights[k] = math.exp(digamma(gamma[k]) - below)
    return total


# starts int64[m + 1]; words int32[p], counts float64[p]: the words of each document; chances float64[n, K]: of a
# word under a topic; prior float64[K]; gamma float64[m, K], changed in place; expected float64[n, K], added to
@kernel(fastmath=_SUMS)
def expect_topics(starts, words, counts, chances, prior, gamma, expected, steps, tolerance):
    """Take the E-step of each document; add its expected counts of words to ``expected``; return the bound.

    A document stops after ``steps``, or when a step moves fewer than ``tolerance`` of its words.
    """
    topics = prior.size
    weights, pulled = np.empty(topics), np.empty(topics)
    total_prior, bound = prior.sum(), 0.0
    for k in range(topics):
        bound -= math.lgamma(prior[k])
    bound = (bound + math.lgamma(total_prior)) * (starts.size - 1)
    for document in range(starts.size - 1):
        begin, end = starts[document], starts[document + 1]
        mine = gamma[document]
        for _ in range(steps):
            length = _weigh_topics(mine, weights) - total_prior
            pulled[:] = 0.0
            for place in range(begin, end):
                chance = chances[words[place]]
                likely = 0.0
                for k in range(topics):
                    likely += weights[k] * chance[k]
                share = counts[place] / likely
                for k in range(topics):
                    pulled[k] += share * chance[k]
            moved = 0.0
            for k in range(topics):
                new = prior[k] + weights[k] * pulled[k]
                moved += abs(new - mine[k])
                mine[k] = new
            if moved <= tolerance * length:
                break
        total = _weigh_topics(mine, weights)
        for place in range(begin, end):
            chance, row = chances[words[place]], expected[words[place]]
            likely = 0.0
            for k in range(topics):
                likely += weights[k] * chance[k]
            bound += counts[place] * math.log(likely)
            share = counts[place] / likely
            for k in range(topics):
                row[k] += share * weights[k] * chance[k]
        bound -= math.lgamma(total)
        for k in range(topics):
            bound += math.lgamma(mine[k]) + (prior[k] - mine[k]) * math.log(weights[k])
    return bound


# tokens int32[t], numbers of words; starts int64[m + 1]; slot_of int32[n], -1 of words that are not looked for;
# together int64[slots, slots], added to: its diagonal counts the windows that hold a word
@kernel
def count_windows(tokens, starts, slot_of, together, window):
    """Count the windows of ``window`` tokens that hold each pair of words; return how many windows there are.

    A shorter document is one window.
    """
    windows = 0
    held = np.empty(window, np.int64)
    for document in range(starts.size - 1):
        begin, end = starts[document], starts[document + 1]
        if begin == end:
            continue
        for first in range(begin, max(end - window, begin) + 1):
            windows += 1
            size = 0
            for place in range(first, min(first + window, end)):
                slot = slot_of[tokens[place]] if tokens[place] >= 0 else -1
                if slot >= 0:
                    for other in range(size):
                        if held[other] == slot:
                            slot = -1
                            break
                if slot >= 0:
                    held[size] = slot
                    size += 1
            for i in range(size):
                for j in range(size):
                    together[held[i], held[j]] += 1
    return windows
