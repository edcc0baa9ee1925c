"""Resampling items that are independent of one another: bootstrap intervals, and paired tests by swapping.

For right and wrong answers, and for the F1 of tagging. Rank correlations are in :mod:`psdvec.evaluation.ranks`,
analogies, whose questions are not independent, in :mod:`psdvec.evaluation.clusters`. Every random draw comes from the
``seed``.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float64s

CELLS = 4_000_000  # numbers drawn at a time


def bootstrap_mean(
    outcomes: Float64s, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of the mean over ``outcomes`` resampled with replacement.

    Resampling n items with few distinct values is one multinomial draw.

    >>> bootstrap_mean(np.ones(10))
    (1.0, 1.0)
    """
    values, counts = np.unique(outcomes, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(outcomes), counts / len(outcomes), size=resamples)
    return percentiles(drawn @ values / len(outcomes), confidence)


def paired_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the probability of a mean difference this large if the two models are swapped at random items.

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


def bootstrap_f1(
    table: Float64s, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of F1 over resampled sentences, the rows (right, found, gold) of ``table``.

    >>> bootstrap_f1(np.array([[1.0, 1.0, 1.0]] * 5))
    (1.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    sums = np.stack(
        [table[generator.integers(len(table), size=len(table))].sum(axis=0) for _ in range(resamples)]
    )
    return percentiles(_f1(sums), confidence)


def paired_f1_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the probability of a difference in F1 this large if the models are swapped at random sentences.

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


def percentiles(draws: Float64s, confidence: float) -> tuple[float, float]:
    """Return the ends between which the middle ``confidence`` of the finite ``draws`` lies."""
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _f1(sums: Float64s) -> Float64s:
    return np.asarray(2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1))
