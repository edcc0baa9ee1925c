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

Items that share a word err together, and so do all items of one seed; :func:`variance_of` allows for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float64s, Int64s

CONFIDENCE = 0.95  # of all intervals
CELLS = 4_000_000  # numbers drawn at a time
_ROUNDING = 1e-12  # sums of rounded numbers are not exactly zero


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


# Variances, intervals and tests where items hang together: pairs share words, analogies pairs, and all items a seed.
#
# MEN's 3,000 pairs are made of 751 words: a word whose vector is poor spoils the eight pairs that it is in. Google's
# 19,544 questions are made of 549 pairs of words, and each pair is in about 70 of them. So an item has two links, its
# two words or its two pairs, and may hang together with every item that has one of them, in either place and in any
# set. The variance of a mean over items is summed over all couples of items with a link in common (the dyadic
# cluster-robust variance of Fafchamps and Gubert, 2007; the two-way one of Cameron, Gelbach and Miller, 2011, in which
# a link is the same cluster in both places):
#
#     var = Σ over links l of (Σ x of items with l)² − Σ over {l, m} of (Σ x of items with both)²
#
# where x is what an item adds to the mean: its value less the mean of its set, divided by the size of the set, and by
# the number of sets if the mean is over several. It needs no draws. A bootstrap that draws links, and takes the items
# whose two links were drawn, counts the noise of single items up to three times; it loses power where links are in few
# items.


@dataclass(frozen=True, eq=False)
class Parts:
    """What each item contributes to a score, or to a difference of two, and what makes items hang together.

    ``values``: (n,), whose mean is the score. ``links``: (n, 2) int64, the two words or pairs of words of each item,
    numbered alike in all sets; None if items are independent. ``seeds``: for each model, its score with each seed.
    """

    values: Float64s
    links: Int64s | None = None
    seeds: tuple[Float64s, ...] = ()

    @property
    def mean(self) -> float:
        """The score, or the difference."""
        return float(self.values.mean())


@dataclass(frozen=True)
class Variance:
    """The variance of an estimate, and the degrees of freedom with which it is known itself.

    Variances of independent estimates add up; the degrees of freedom of the sum are those of Welch and Satterthwaite.

    >>> Variance(1.0, 10) + Variance(1.0, 10)
    Variance(value=2.0, freedom=20.0)
    >>> round(Variance(1.0, 10**9).p_value(1.96), 3)
    0.05
    """

    value: float
    freedom: float

    def __add__(self, other: Variance) -> Variance:
        total = self.value + other.value
        known = self.value**2 / self.freedom + other.value**2 / other.freedom
        return Variance(total, total**2 / known if known > 0 else min(self.freedom, other.freedom))

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.value)

    @property
    def quantile(self) -> float:
        """So many standard errors to either side is the 95 % interval, by the t distribution."""
        from scipy import stats  # takes half a second to import, which commands that only query need not pay

        return float(stats.t.isf((1 - CONFIDENCE) / 2, self.freedom))

    def p_value(self, difference: float) -> float:
        """Return the two-sided p-value of a difference that has this variance, by the t distribution."""
        from scipy import stats  # takes half a second to import, which commands that only query need not pay

        if abs(difference) < _ROUNDING:
            return 1.0
        return (
            float(2 * stats.t.sf(abs(difference) / self.error, self.freedom))
            if self.value > 0
            else float("nan")
        )


def variance_of(*sets: Parts) -> Variance:
    """Return the variance of the mean over sets of their means, over other items and, where known, other seeds.

    Items of all sets hang together by their links, so a word or a whole pair that two sets share counts. The variance
    is at least that of independent items with a mean of 0: sharing a word does not make items less alike, and a few
    items that all speak for one model are not without error. With several seeds, the variance of their mean is added.

    >>> variance_of(Parts(np.array([1.0, -1.0, 1.0, -1.0]))).value
    0.3333333333333333
    >>> variance_of(Parts(np.array([1.0, 1.0, -1.0, -1.0]), np.array([[0, 1], [0, 2], [3, 4], [3, 5]]))).value
    0.6666666666666666
    """
    total = _variance_over_items(sets)
    for scores in zip(*(one.seeds for one in sets), strict=True):  # of one model
        means = np.mean(np.broadcast_arrays(*scores), axis=0)
        if len(means) > 1:
            total += Variance(float(means.var(ddof=1)) / len(means), len(means) - 1)
    return total


def correlation_interval(correlation: float, variance: Variance) -> tuple[float, float]:
    """Return the 95 % interval of a correlation, on Fisher's scale.

    >>> low, high = correlation_interval(0.8, Variance(0.0016, 100))
    >>> round(low, 3), round(high, 3)
    (0.706, 0.867)
    """
    if not variance.error > _ROUNDING or abs(correlation) >= 1:
        return correlation, correlation
    half = variance.quantile * variance.error / (1 - correlation**2)
    z = math.atanh(correlation)
    return math.tanh(z - half), math.tanh(z + half)


def share_interval(share: float, variance: Variance) -> tuple[float, float]:
    """Return Wilson's 95 % interval of the share of right answers, for as many questions as these are worth.

    That number is share (1 − share) / variance; where nothing can be estimated, because all answers are right, or all
    wrong, or all hang together, it is the number of links. The width is that of the t distribution.

    >>> low, high = share_interval(1.0, Variance(0.0, 2))
    >>> round(low, 2), high
    (0.14, 1.0)
    """
    known = variance.error > _ROUNDING
    worth = share * (1 - share) / variance.value if known else variance.freedom + 1
    t2 = variance.quantile**2 / worth
    middle = (share + t2 / 2) / (1 + t2)
    half = math.sqrt(t2 * share * (1 - share) + t2**2 / 4) / (1 + t2)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _variance_over_items(sets: Sequence[Parts]) -> Variance:
    """Return the sum over items with a link in common, at least that over items alone."""
    names, places = np.unique(_join_links(sets), return_inverse=True)
    low, high = np.sort(places.reshape(-1, 2), axis=1).T
    items, same = np.unique(low * len(names) + high, return_inverse=True)  # the same in two sets is one item
    apart = items // len(names) != items % len(names)  # an analogy may be made of one pair twice
    shares = [one.values / (len(one.values) * len(sets)) for one in sets]
    alone = np.bincount(same, np.concatenate(shares))
    x = np.bincount(same, np.concatenate([one - one.mean() for one in shares]))
    first, second = items // len(names), items % len(names)
    by_link = np.bincount(first, x, len(names)) + np.bincount(second, np.where(apart, x, 0.0), len(names))
    groups = max(min(len(names), len(items)), 2)
    few = groups / (groups - 1)  # centring takes away the share of one group
    dyadic = few * float((by_link**2).sum() - (x[apart] ** 2).sum())
    return Variance(max(float((alone**2).sum()), dyadic), groups - 1)


def _join_links(sets: Sequence[Parts]) -> Int64s:
    """Return the links of all items; an item without any has one of its own."""
    found, own = [], 0
    for one in sets:
        if one.links is None:
            numbers = -1 - own - np.arange(len(one.values))
            own += len(numbers)
            found.append(np.stack([numbers, numbers], axis=1))
        else:
            found.append(one.links)
    return np.concatenate(found)
