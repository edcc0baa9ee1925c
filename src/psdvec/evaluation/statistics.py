"""How sure a score is: bootstrap intervals, and a paired test for a difference between two models.

Goes in: what happened at each item of a task. Comes out: bounds between which the score lies, or the
probability that a difference as large would come from chance. Every random draw comes from the ``seed``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

_CELLS = 4_000_000


def spearman(first: Doubles, second: Doubles) -> float:
    """Return the rank correlation, equal values given their mean rank; NaN where it is not defined.

    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.5
    """
    return float(item_products(first, second).mean()) if len(first) > 1 else float("nan")


def item_products(first: Doubles, second: Doubles) -> Doubles:
    """Return each item's part in the rank correlation: products of standardised ranks, whose mean it is."""
    return _standard_ranks(first) * _standard_ranks(second)


def bootstrap_spearman(
    first: Doubles, second: Doubles, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of :func:`spearman` when the pairs are drawn again with replacement."""
    generator = np.random.default_rng(seed)
    draws = np.empty(resamples)
    at_once = max(1, _CELLS // max(len(first), 1))
    for start in range(0, resamples, at_once):
        chosen = generator.integers(len(first), size=(min(at_once, resamples - start), len(first)))
        products = _standard_ranks(first[chosen]) * _standard_ranks(second[chosen])
        draws[start : start + len(chosen)] = products.mean(axis=1)
    return _percentiles(draws, confidence)


def bootstrap_mean(
    outcomes: Doubles, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of the mean when the ``outcomes`` are drawn again with replacement.

    Drawing n items among few distinct values is one multinomial draw.

    >>> bootstrap_mean(np.ones(10))
    (1.0, 1.0)
    """
    values, counts = np.unique(outcomes, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(outcomes), counts / len(outcomes), size=resamples)
    return _percentiles(drawn @ values / len(outcomes), confidence)


def paired_test(first: Doubles, second: Doubles, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the chance of a mean difference this large when the two models are swapped at random items.

    The items are what each contributes to a score (1 or 0 for right and wrong, :func:`item_products` for a
    rank correlation). The test is two-sided and counts the observed arrangement itself.

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
    at_once = max(1, _CELLS // len(difference))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), len(difference))
        swapped = generator.integers(2, size=size, dtype=np.int8).astype(np.float32) @ difference
        at_least += int((np.abs(2 * swapped - difference.sum()) >= observed * (1 - 1e-6)).sum())
    return (at_least + 1) / (resamples + 1)


def bootstrap_f1(
    table: Doubles, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of F1 when sentences, rows (right, found, gold), are drawn again.

    >>> bootstrap_f1(np.array([[1.0, 1.0, 1.0]] * 5))
    (1.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    sums = np.stack(
        [table[generator.integers(len(table), size=len(table))].sum(axis=0) for _ in range(resamples)]
    )
    return _percentiles(_f1(sums), confidence)


def paired_f1_test(first: Doubles, second: Doubles, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the chance of a difference in F1 this large when two models are swapped at random sentences.

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
    at_once = max(1, _CELLS // int(differs.sum()))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), int(differs.sum()))
        moved = generator.integers(2, size=size, dtype=np.int8).astype(np.float64) @ difference[differs]
        swapped = _f1(first.sum(axis=0) + moved) - _f1(second.sum(axis=0) - moved)
        at_least += int((np.abs(swapped) >= observed - 1e-12).sum())
    return (at_least + 1) / (resamples + 1)


def _f1(sums: Doubles) -> Doubles:
    return np.asarray(2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1))


def _standard_ranks(values: Doubles) -> Doubles:
    from scipy import stats  # takes half a second to import, which commands that only query should not pay

    ranks = stats.rankdata(values, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(ranks / np.sqrt((ranks**2).mean(axis=-1, keepdims=True)))


def _percentiles(draws: Doubles, confidence: float) -> tuple[float, float]:
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
