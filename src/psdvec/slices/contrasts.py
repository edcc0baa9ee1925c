"""How far apart two groups of blocks are, less what blocks of one group differ among themselves; and tests of it.

All statistics of a word are functions of its Gram matrix ``G = S Sᵀ`` over the K blocks and of the amounts ``n`` that
were added up in each: the mean of a group is ``m = Σ s_b / Σ n_b``, so that permutations of blocks and resamples are
products with 0 and 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from psdvec.arrays import Float64s, Int64s

ENOUGH = 10  # permutations beyond a value, above which their share is its chance
WIDTH, BEYOND = 1.959964, 0.025  # of a 95 % interval: standard errors, and the share beyond either end


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

    def taken_off(self, typical: float) -> Float64s:
        """The noise, as a distance."""
        return self.noise / (2 * (self.size + typical))


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
    """Return |m|², the variance of m over blocks, and Σ n, of a group in each way to choose it.

    A block that holds a share h of the group's amounts has pulled the mean towards itself: what it differs from the
    mean is divided by 1 - h (MacKinnon and White 1985), or rare words, which few blocks have, would be too far apart.
    """
    total = amounts @ group
    products = grams @ group
    square = np.einsum("km,wkm->wm", group, products) / total**2
    weights = amounts[:, :, None] / total[:, None]
    np.divide(group, 1 - weights, out=weights)
    weights[:, group == 0] = 0
    spread = np.einsum("wkk,wkm->wm", grams, weights) - 2 / total * np.einsum(
        "wk,wkm,wkm->wm", amounts, products, weights
    )
    spread += square * np.einsum("wk,wkm->wm", amounts**2, weights)
    return square, np.maximum(spread, 0) / total**2, total


def steps(slices: Int64s) -> list[tuple[Float64s, Float64s]]:
    """Return the two groups of each step from a slice to the next, as columns of 0 and 1."""
    groups = [(slices == number).astype(float)[:, None] for number in range(int(slices.max()) + 1)]
    return list(pairwise(groups))


def permuted(slices: Int64s, number: int, *, seed: int) -> list[Int64s]:
    """Return the blocks' slices in ``number`` random orders."""
    generator = np.random.default_rng(seed)
    return [generator.permutation(slices) for _ in range(number)]


def chances(values: Float64s, null: Float64s) -> Float64s:
    """Return how likely a value at least as high is, by its permutations ``null`` (words, permutations).

    Where hardly any permutation reaches a value, an exponential tail beyond most of them tells how far out it is, and
    allows for what is not known of its slope, which is from k of them: (k/permutations) (1 + z/k)^-k for a value z mean
    excesses beyond the tail's start. A light tail, such as the normal one, would find words where nothing differs.

    >>> null = np.random.default_rng(0).gamma(4.0, size=(1, 1000))
    >>> bool(chances(np.array([3.67]), null)[0] > 0.4), bool(chances(np.array([25.0]), null)[0] < 1e-5)
    (True, True)
    """
    beyond = (null >= values[:, None]).sum(axis=1)
    counted = (1 + beyond) / (1 + null.shape[1])
    start, excess, size = _tail_of(null)
    far = np.divide(np.maximum(values - start, 0), size * excess, out=np.zeros(len(values)), where=excess > 0)
    smooth = np.where(excess > 0, size / null.shape[1] * (1 + far) ** -size, 1.0)
    found = np.where(beyond >= ENOUGH, counted, np.minimum(smooth, counted))
    return np.asarray(np.clip(found, 1e-300, 1.0))


def lower_end(distance: Float64s, error: Float64s, noise: Float64s, null: Float64s) -> Float64s:
    """Return the lower ends of 95 % intervals: the least distances with which so large ones are not rare.

    ``error``: by the jackknife. ``noise``: what was taken off. ``null`` (words, permutations): distances by noise. With
    no distance at all, one value in forty passes the bound b of the permutations; a distance D widens that to
    √(b² + z² e² D / (distance + noise)), and the end is the D to which ``distance`` is just that wide. So it is above 0
    where p is below 0.025. The jackknife alone, e, is too wide where little or nothing changed.
    """
    start, excess, size = _tail_of(null)
    bound = noise * (start + size * excess * ((size / null.shape[1] / BEYOND) ** (1 / size) - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        wider = (WIDTH * error) ** 2 / (distance + noise) / 2
        beyond = distance + wider - np.sqrt(bound**2 + 2 * wider * distance + wider**2)
    found = np.where(distance > bound, beyond, distance - bound)
    return np.where(excess > 0, found, distance - WIDTH * error)


def _tail_of(null: Float64s) -> tuple[Float64s, Float64s, int]:
    """Return where the highest values of each row begin, how far they lie beyond that on average, and their number."""
    size = min(max(null.shape[1] // 20, ENOUGH), null.shape[1] - 1)
    highest = np.sort(null, axis=1)[:, -size - 1 :]
    return highest[:, 0], highest[:, 1:].mean(axis=1) - highest[:, 0], size


def false_discoveries(p: Float64s) -> Float64s:
    """Return for each p the share of false discoveries among all that are no larger (Benjamini and Hochberg 1995)."""
    return np.asarray(false_discovery_control(p)) if p.size else p
