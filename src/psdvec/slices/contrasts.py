"""How far apart two groups of blocks are, less what blocks of one group differ among themselves; and tests of it.

All statistics of a word are functions of its Gram matrix ``G = S Sᵀ`` over the K blocks and of the amounts ``n`` that
were added up in each: the mean of a group is ``m = Σ s_b / Σ n_b``, so that permutations of blocks and resamples are
products with 0 and 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control, gamma

from psdvec.arrays import Float64s, Int64s

ENOUGH = 10  # permutations beyond a value, above which their share is its chance
LEAST_SKEW = 0.05  # of the null distribution; below it the gamma distribution is next to normal
WIDTH = 1.959964  # of a 95 % interval, in standard errors


class Contrast(NamedTuple):
    """Of each word and each way to choose two groups, (words, ways).

    ``apart``: the squared distance of the two means, less what chance adds to it. ``noise``: what was taken off.
    ``inner``: their inner product. ``size``: the product of their lengths, less what chance adds to it too.
    """

    apart: Float64s
    noise: Float64s
    inner: Float64s
    size: Float64s

    @property
    def cosine(self) -> Float64s:
        """The cosine of the two means, as if each were known without chance; nan where chance is all there is."""
        return np.divide(self.inner, self.size, out=np.full_like(self.inner, np.nan), where=self.size > 0)

    def distance(self, typical: float) -> Float64s:
        """The squared distance by what two means of these lengths could be apart, half of it a ``typical`` word's.

        For means of one length L it is (1 - cosine) L² / (L² + typical): a word whose contexts are those of any word,
        and whose mean is therefore short, does not count as changed because of a turn of that short vector.
        """
        return self.apart / (2 * (self.size + typical))


def contrast(grams: Float64s, amounts: Float64s, left: Float64s, right: Float64s) -> Contrast:
    """Compare two groups of blocks, ``left`` and ``right`` (K, ways) of 0 and 1.

    ``grams`` (words, K, K), ``amounts`` (words, K).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        (square, left_noise, one), (other, right_noise, two) = (
            _mean_square(grams, amounts, group) for group in (left, right)
        )
        inner = np.einsum("km,wkm->wm", right, grams @ left) / (one * two)
        noise = left_noise + right_noise
        size = np.sqrt(np.maximum(square - left_noise, 0) * np.maximum(other - right_noise, 0))
    return Contrast(square + other - 2 * inner - noise, noise, inner, size)


def _mean_square(grams: Float64s, amounts: Float64s, group: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """Return |m|², the variance of m over blocks, and Σ n, of a group in each way to choose it."""
    total = amounts @ group
    blocks = np.einsum("km,wk->wm", group, (amounts > 0).astype(float))
    products = grams @ group
    square = np.einsum("km,wkm->wm", group, products) / total**2
    own = np.einsum("wkk->wk", grams) @ group
    cross = np.einsum("km,wk,wkm->wm", group, amounts, products) / total
    spread = own - 2 * cross + (amounts**2 @ group) * square
    return square, np.maximum(spread, 0) / total**2 * blocks / np.maximum(blocks - 1, 0), total


def steps(slices: Int64s) -> list[tuple[Float64s, Float64s]]:
    """Return the two groups of each step from a slice to the next, as columns of 0 and 1."""
    groups = [(slices == number).astype(float)[:, None] for number in range(int(slices.max()) + 1)]
    return list(pairwise(groups))


def permuted(slices: Int64s, number: int, *, seed: int) -> list[Int64s]:
    """Return the blocks' slices in ``number`` random orders."""
    generator = np.random.default_rng(seed)
    return [generator.permutation(slices) for _ in range(number)]


def jackknife(left_out: Float64s, groups: Int64s) -> tuple[Float64s, Float64s]:
    """Return the standard error of a statistic from its values without each part, (words, K), group by group.

    With its degrees of freedom, by Satterthwaite's approximation.
    """
    variance, squares = np.zeros(len(left_out)), np.zeros(len(left_out))
    for group in np.unique(groups):
        own = left_out[:, groups == group]
        size = own.shape[1]
        part = (size - 1) / size * ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        variance += part
        squares += part**2 / max(size - 1, 1)
    return np.sqrt(variance), np.divide(variance**2, squares, out=np.ones_like(variance), where=squares > 0)


def chances(values: Float64s, null: Float64s) -> Float64s:
    """Return how likely a value at least as high is, by its permutations ``null`` (words, permutations).

    Where hardly any permutation reaches a value, a gamma distribution with the mean, variance and skewness of all of
    them tells how far out it is.

    >>> null = np.random.default_rng(0).gamma(4.0, size=(1, 1000))
    >>> bool(chances(np.array([3.67]), null)[0] > 0.4), bool(chances(np.array([25.0]), null)[0] < 1e-5)
    (True, True)
    """
    beyond = (null >= values[:, None]).sum(axis=1)
    counted = (1 + beyond) / (1 + null.shape[1])
    mean, spread = null.mean(axis=1), null.std(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.maximum(((null - mean[:, None]) ** 3).mean(axis=1) / spread**3, LEAST_SKEW)
        shape = 4 / skew**2
        smooth = gamma.sf((values - mean) / spread * np.sqrt(shape) + shape, shape)
    found = np.where((beyond >= ENOUGH) | ~np.isfinite(smooth), counted, np.minimum(smooth, counted))
    return np.asarray(np.clip(found, 1e-300, 1.0))


def false_discoveries(p: Float64s) -> Float64s:
    """Return for each p the share of false discoveries among all that are no larger (Benjamini and Hochberg 1995)."""
    return np.asarray(false_discovery_control(p)) if p.size else p
