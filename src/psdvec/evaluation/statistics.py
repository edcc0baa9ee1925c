"""How sure scores are, and whether two models differ: of rank correlations, means, F1, and analogies.

The test of a difference in rank correlation rests on the influence function of Spearman's correlation. Let u and v be
the ranks of an item in the two variables, divided by their number and centred, C the mean of uv, V and W those of
u² and v², so that ρ = C / √(VW). One more item at (x, y) changes C in three ways: by its own product uv, because it
raises the rank of every item above x, and because it raises that of every item above y; it changes V and W in the same
manner:

    c = uv − C + A(x; v) + A(y; u) − 2C     A(x; h) = mean over items j of h_j [x_j > x], half if x_j = x
    a = u² − V + 2 A(x; u) − 2V             b = v² − W + 2 A(y; v) − 2W
    influence = c / √(VW) − ρ/2 (a/V + b/W)

Without A, these are the influence values of a Pearson correlation of ranks, which are right only if both models err in
the same manner: see ``benchmarks/bench/bench_statistics.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float64s, Int64s

CONFIDENCE = 0.95  # of all intervals
CELLS = 4_000_000  # numbers drawn at a time
SMALL = 350  # items up to which the test swaps the models' ranks; above it, the t distribution is as good


def spearman(first: Float64s, second: Float64s) -> float:
    """Return Spearman's rank correlation, equal values sharing their mean rank; NaN if it is not defined.

    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.5
    """
    return float(_correlations(_sort(first), _sort(second))) if len(first) > 1 else float("nan")


def spearman_values(first: Float64s, second: Float64s) -> Float64s:
    """Return the part of each item in the rank correlation: the correlation plus the item's influence on it.

    Their mean is the correlation, and their variance divided by their number is, nearly, the variance of the
    correlation over sets of items of this size. Both arrays are (..., n); the last axis holds the items.

    >>> spearman_values(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    return _values(_sort(first), _sort(second))


def bootstrap_spearman(
    gold: Float64s, outcomes: Float64s, *, resamples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Return the bootstrap interval, by percentiles, of :func:`spearman` over resampled items.

    ``outcomes`` is (n,), or (s, n) for s seeds, whose correlations are averaged.
    """
    generator = np.random.default_rng(seed)
    rows = np.atleast_2d(outcomes)
    draws = np.empty(resamples)
    at_once = max(1, CELLS // max(len(gold), 1))
    for start in range(0, resamples, at_once):
        chosen = generator.integers(len(gold), size=(min(at_once, resamples - start), len(gold)))
        drawn = _sort(gold[chosen])
        found = [_correlations(drawn, _sort(row[chosen])) for row in rows]
        draws[start : start + len(chosen)] = np.mean(found, axis=0)
    return _percentiles(draws)


def paired_spearman_test(
    gold: Float64s, first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0
) -> float:
    """Return the p-value of a difference between two models' correlations with ``gold``.

    ``first`` and ``second`` are (s, n), one row per seed; the means over seeds are compared. The statistic is the
    difference divided by its standard error, from :func:`spearman_values`. Up to 350 items, and with one seed each, a
    permutation test compares it with what it becomes when the models' ranks are swapped at random items. That is exact
    for models that err in the same manner, and nearly right for others, because the difference is divided by its
    standard error. Otherwise it is compared with the t distribution. The test is two-sided and counts the observed
    arrangement as one of the draws. NaN if one of the correlations is not defined.

    >>> paired_spearman_test(np.arange(4.0), np.ones((1, 4)) * [1, 2, 3, 4], np.ones((1, 4)) * [1, 2, 3, 4])
    1.0
    """
    from scipy import stats  # takes half a second to import, which commands that only query need not pay

    sorted_gold, n = _sort(gold), len(gold)
    values = [_values(sorted_gold, _sort(rows)).mean(axis=0) for rows in (first, second)]
    observed = float(_studentised(values[0] - values[1]))
    if np.isnan(observed):
        return float("nan")
    if n > SMALL or len(first) > 1 or len(second) > 1:
        return float(2 * stats.t.sf(abs(observed), n - 1))
    generator = np.random.default_rng(seed)
    ranks = [stats.rankdata(rows[0]) for rows in (first, second)]
    at_least, at_once = 0, max(1, CELLS // (8 * n))
    for start in range(0, resamples, at_once):
        swapped = generator.integers(2, size=(min(at_once, resamples - start), n), dtype=np.int8) == 1
        one, other = (np.where(swapped, ranks[1 - i], ranks[i]) for i in (0, 1))
        drawn = _studentised(_values(sorted_gold, _sort(one)) - _values(sorted_gold, _sort(other)))
        at_least += int((np.abs(drawn) >= abs(observed) * (1 - 1e-9)).sum())
    return (at_least + 1) / (resamples + 1)


@dataclass(frozen=True)
class _Sorted:
    """Values in order along the last axis: who is where, where each run of equals starts and stops, and the ranks."""

    order: Int64s
    starts: Int64s
    stops: Int64s
    ranks: Float64s  # divided by n and centred, in the original order

    def above(self, h: Float64s) -> Float64s:
        """Return for each item the mean over all items of ``h`` where they are above it, half where they are equal."""
        n = self.order.shape[-1]
        shape = np.broadcast_shapes(self.order.shape, h.shape)
        order, starts, stops = (
            np.broadcast_to(part, shape) for part in (self.order, self.starts, self.stops)
        )
        sums = np.zeros((*shape[:-1], n + 1))
        np.cumsum(np.take_along_axis(np.broadcast_to(h, shape), order, axis=-1), axis=-1, out=sums[..., 1:])
        below = (np.take_along_axis(sums, starts, axis=-1) + np.take_along_axis(sums, stops, axis=-1)) / 2
        found = np.empty(shape)
        np.put_along_axis(found, order, (sums[..., -1:] - below) / n, axis=-1)
        return found


def _sort(values: Float64s) -> _Sorted:
    n = values.shape[-1]
    order = np.argsort(values, axis=-1)
    in_order = np.take_along_axis(values, order, axis=-1)
    places = np.broadcast_to(np.arange(n), in_order.shape)
    differs = in_order[..., 1:] != in_order[..., :-1]
    starts, stops = np.zeros(in_order.shape, dtype=np.int64), np.full(in_order.shape, n, dtype=np.int64)
    starts[..., 1:] = np.where(differs, places[..., 1:], 0)
    starts = np.maximum.accumulate(starts, axis=-1)
    stops[..., :-1] = np.where(differs, places[..., 1:], n)
    stops = np.minimum.accumulate(stops[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(in_order.shape)
    np.put_along_axis(ranks, order, (starts + stops) / (2 * n) - 0.5, axis=-1)
    return _Sorted(order, starts, stops, ranks)


def _correlations(x: _Sorted, y: _Sorted) -> Float64s:
    u, v = x.ranks, y.ranks
    with np.errstate(invalid="ignore"):
        return np.asarray((u * v).mean(axis=-1) / np.sqrt((u**2).mean(axis=-1) * (v**2).mean(axis=-1)))


def _values(x: _Sorted, y: _Sorted) -> Float64s:
    """Return the formula at the head of this module, with the correlation added."""
    u, v = x.ranks, y.ranks
    C, V, W = (np.mean(part, axis=-1, keepdims=True) for part in (u * v, u**2, v**2))
    c = u * v + x.above(v) + y.above(u) - 3 * C
    a = u**2 + 2 * x.above(u) - 3 * V
    b = v**2 + 2 * y.above(v) - 3 * W
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = C / np.sqrt(V * W)
        return np.asarray(rho + c / np.sqrt(V * W) - rho / 2 * (a / V + b / W))


def _studentised(differences: Float64s) -> Float64s:
    """Return the mean divided by its standard error, 0 if there is no difference at all."""
    n = differences.shape[-1]
    mean, error = differences.mean(axis=-1), differences.std(axis=-1, ddof=1) / np.sqrt(n)
    noise = 1e-12  # sums of rounded numbers are not exactly zero
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.abs(mean) < noise, 0.0, mean / np.where(error < noise, 0.0, error))


# Resampling items that are independent of one another: bootstrap intervals, and paired permutation tests.


def bootstrap_mean(outcomes: Float64s, *, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval, by percentiles, of the mean over ``outcomes``.

    Resampling n items with few distinct values is one multinomial draw.

    >>> bootstrap_mean(np.ones(10))
    (1.0, 1.0)
    """
    values, counts = np.unique(outcomes, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(outcomes), counts / len(outcomes), size=resamples)
    return _percentiles(drawn @ values / len(outcomes))


def paired_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the p-value of a mean difference by a permutation test that swaps the two models at random items.

    The values are 1 or 0 for right or wrong, or means of them over seeds. The test is two-sided and counts the
    observed arrangement as one of the draws.

    >>> paired_test(np.ones(4), np.ones(4))
    1.0
    """
    difference = first - second
    difference = difference[difference != 0].astype(np.float32)
    if not len(difference):
        return 1.0
    generator = np.random.default_rng(seed)
    observed = abs(float(difference.sum()))
    at_least = 0
    at_once = max(1, CELLS // len(difference))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), len(difference))
        swapped = generator.integers(2, size=size, dtype=np.int8).astype(np.float32) @ difference
        at_least += int((np.abs(2 * swapped - difference.sum()) >= observed * (1 - 1e-6)).sum())
    return (at_least + 1) / (resamples + 1)


def bootstrap_f1(table: Float64s, *, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval, by percentiles, of F1 over sentences, the rows (right, found, gold) of ``table``.

    >>> bootstrap_f1(np.array([[1.0, 1.0, 1.0]] * 5))
    (1.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    sums = np.stack(
        [table[generator.integers(len(table), size=len(table))].sum(axis=0) for _ in range(resamples)]
    )
    return _percentiles(_f1(sums))


def paired_f1_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the p-value of a difference in F1 by a permutation test that swaps the models at random sentences.

    >>> paired_f1_test(np.array([[1.0, 1.0, 1.0]] * 5), np.array([[1.0, 1.0, 1.0]] * 5))
    1.0
    """
    observed = abs(float(_f1(first.sum(axis=0)) - _f1(second.sum(axis=0))))
    difference = second - first
    differs = difference.any(axis=1)
    if not differs.any():
        return 1.0
    generator = np.random.default_rng(seed)
    at_least = 0
    at_once = max(1, CELLS // int(differs.sum()))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), int(differs.sum()))
        moved = generator.integers(2, size=size, dtype=np.int8).astype(np.float64) @ difference[differs]
        swapped = _f1(first.sum(axis=0) + moved) - _f1(second.sum(axis=0) - moved)
        at_least += int((np.abs(swapped) >= observed - 1e-12).sum())
    return (at_least + 1) / (resamples + 1)


def f1_values(table: Float64s) -> Float64s:
    """Return the part of each sentence in F1: F1 plus the sentence's influence on it, so that their mean is F1.

    F1 is a ratio, 2 right / (found + gold), and the influence of a row on a ratio r of two sums is
    (numerator − r denominator) / mean denominator.

    >>> f1_values(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    denominators = table[:, 1] + table[:, 2]
    f1 = float(_f1(table.sum(axis=0)))
    return np.asarray(f1 + (2 * table[:, 0] - f1 * denominators) / max(float(denominators.mean()), 1e-300))


def _percentiles(draws: Float64s) -> tuple[float, float]:
    """Return the ends between which the middle 95 % of the finite ``draws`` lie."""
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _f1(sums: Float64s) -> Float64s:
    return np.asarray(2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1))


# Standard errors, intervals and tests where items hang together: analogies are made of few pairs of words.
#
# Google's 19,544 questions are made of 549 pairs of words, and each pair is in about 70 of them: a pair whose vectors
# are poor spoils them all. A question ``a a* b b*`` belongs to two pairs, (a, a*) and (b, b*), and may hang together
# with every question that has one of them, in either place. The variance of a mean over questions is therefore summed
# over all couples of questions with a pair in common (the dyadic cluster-robust variance of Fafchamps and Gubert, 2007;
# the two-way one of Cameron, Gelbach and Miller, 2011, in which a pair is the same cluster in both places):
#
#     n² var = Σ over pairs p of (Σ values of questions with p)² − Σ over {p, q} of (Σ values of questions with both)²
#
# It needs no draws. A bootstrap that draws pairs, and takes the questions whose two pairs were drawn, counts the noise
# of single questions up to three times; it loses power where pairs are in few questions, as in MSR.


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


def cluster_interval(outcomes: Float64s, pairs: Int64s) -> tuple[float, float]:
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
    t2 = float(stats.t.isf((1 - CONFIDENCE) / 2, _freedom(pairs))) ** 2 / worth
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
