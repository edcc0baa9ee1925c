"""Standard errors, intervals and tests where items hang together: analogies are made of few pairs of words.

Google's 19,544 questions are made of 549 pairs of words, and each pair is in about 70 of them: a pair whose vectors
are poor spoils them all. A question ``a a* b b*`` belongs to two pairs, (a, a*) and (b, b*), and may hang together with
every question that has one of them, in either place. The variance of a mean over questions is therefore summed over
all couples of questions with a pair in common (the dyadic cluster-robust variance of Fafchamps and Gubert, 2007; the
two-way one of Cameron, Gelbach and Miller, 2011, in which a pair is the same cluster in both places):

    n² var = Σ over pairs p of (Σ values of questions with p)² − Σ over {p, q} of (Σ values of questions with both)²

It needs no draws. A bootstrap that draws pairs, and takes the questions whose two pairs were drawn, counts the noise of
single questions up to three times; it loses power where pairs are in few questions, as in MSR.
"""

from __future__ import annotations

import math

import numpy as np

from psdvec.arrays import Float64s, Int64s


def error_of_mean(values: Float64s, pairs: Int64s | None = None) -> float:
    """Return the standard error of the mean of ``values``, for a test of whether that mean is 0.

    ``values``: (n,). ``pairs``: (n, 2) int64, the two pairs of words of each question; None if items are independent.
    The error is at least that of independent items with a mean of 0: sharing a pair does not make questions less alike,
    and a few items that all speak for one model are not without error.

    >>> error_of_mean(np.array([1.0, -1.0, 1.0, -1.0]))
    0.5
    >>> error_of_mean(np.array([1.0, 1.0, -1.0, -1.0]), np.array([[0, 1], [0, 2], [3, 4], [3, 5]]))
    0.7745966692414834
    """
    independent = float((values**2).sum())
    total = independent if pairs is None else max(independent, _dyadic_sum(values - values.mean(), pairs))
    return math.sqrt(total) / len(values)


def cluster_interval(outcomes: Float64s, pairs: Int64s, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of the share of right answers, for as many questions as these are worth.

    That number is share (1 − share) / variance, with the variance of :func:`error_of_mean`; where all answers are right
    or all wrong, and nothing can be estimated, it is the number of pairs of words. The width is that of the t
    distribution, as in :func:`paired_cluster_test`.

    >>> low, high = cluster_interval(np.ones(3), np.array([[0, 1], [0, 2], [0, 3]]))
    >>> round(low, 2), high
    (0.23, 1.0)
    """
    from scipy import stats  # takes half a second to import, which commands that only query need not pay

    share = float(outcomes.mean())
    error = error_of_mean(outcomes - share, pairs)
    worth = share * (1 - share) / error**2 if error > 0 else min(len(outcomes), len(np.unique(pairs)))
    t2 = float(stats.t.isf((1 - confidence) / 2, _freedom(pairs))) ** 2 / worth
    middle = (share + t2 / 2) / (1 + t2)
    half = math.sqrt(t2 * share * (1 - share) + t2**2 / 4) / (1 + t2)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def paired_cluster_test(first: Float64s, second: Float64s, pairs: Int64s) -> float:
    """Return the p-value of the mean difference of two models.

    The difference divided by :func:`error_of_mean` is compared with the t distribution with as many degrees of freedom
    as there are pairs of words, less one.

    >>> paired_cluster_test(np.ones(4), np.ones(4), np.array([[0, 1], [0, 2], [0, 3], [1, 2]]))
    1.0
    """
    from scipy import stats  # takes half a second to import, which commands that only query need not pay

    difference = first - second
    if not difference.any():
        return 1.0
    t = abs(float(difference.mean())) / error_of_mean(difference, pairs)
    return float(2 * stats.t.sf(t, _freedom(pairs)))


def normal_test(difference: float, error: float) -> float:
    """Return the two-sided p-value of a difference, by the normal distribution.

    >>> round(normal_test(1.96, 1.0), 3)
    0.05
    """
    if difference == 0:
        return 1.0
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else float("nan")


def _freedom(pairs: Int64s) -> int:
    return max(len(np.unique(pairs)) - 1, 1)


def _dyadic_sum(values: Float64s, pairs: Int64s) -> float:
    """Return the sum of products of centred values over all couples of questions with a pair of words in common."""
    names, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    low, high = places.min(axis=1), places.max(axis=1)
    apart = low != high  # a question may be made of one pair twice
    by_pair = np.bincount(low, values, len(names)) + np.bincount(high[apart], values[apart], len(names))
    _, both = np.unique(low[apart] * len(names) + high[apart], return_inverse=True)
    by_both = np.bincount(both, values[apart])
    few = len(names) / max(len(names) - 1, 1)  # centring takes away the share of one pair
    return few * float((by_pair**2).sum() - (by_both**2).sum())
