"""How far apart groups of blocks are, less what blocks of one group differ among themselves; and tests of it.

All statistics of a word are functions of its Gram matrix ``G = S Sᵀ`` over the K blocks and of the amounts ``n`` that
were added up in each: the mean of a group is ``m = Σ s_b / Σ n_b``, so that permutations of blocks and resamples are
products with 0 and 1. :func:`measure` does all of this for many words, strip by strip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.progress import Progress
from psdvec.slices.blocks import CHUNK, Uses
from psdvec.storage.workspace import read_piece, write_piece

FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 20, 100_000
ENOUGH = 10  # permutations beyond a value, above which their share is its chance
WIDTH, BEYOND = 1.959964, 0.025  # of a 95 % interval: standard errors, and the share beyond either end
_AT_ONCE = 1 << 22  # numbers of the products of Gram matrices that are held at once


class Contrast(NamedTuple):
    """Of each word and each way to choose groups, (words, ways): the mean over all pairs of groups.

    ``apart``: the squared distance of two means, less what chance adds to it. ``noise``: what was taken off.
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


def contrast(grams: Float64s, amounts: Float64s, groups: Float64s) -> Contrast:
    """Compare two or more ``groups`` of blocks, (groups, K, ways) of 0 and 1.

    ``grams`` (words, K, K), ``amounts`` (words, K). Squared distances of all pairs of S means add up to
    S Σ |m|² - |Σ m|², so that no pair is looked at by itself.
    """
    number, shape = len(groups), (*amounts.shape, groups.shape[2])
    # Of Σ m: how much of each block, and that times the grams.
    members, images = np.zeros(shape), np.zeros(shape)
    squares, noises = [], []
    with np.errstate(divide="ignore", invalid="ignore"):
        for group in groups:
            total, products = amounts @ group, grams @ group
            square, noise = _mean_square(grams, amounts, group, total, products)
            squares.append(square)
            noises.append(noise)
            members += group / total[:, None]
            images += products / total[:, None]
        lengths = np.sqrt(np.maximum(np.subtract(squares, noises), 0))
        together, square = np.einsum("wkm,wkm->wm", members, images), np.sum(squares, axis=0)
        pairs = number * (number - 1) / 2
        noise = 2 / number * np.sum(noises, axis=0)
        size = (np.sum(lengths, axis=0) ** 2 - np.sum(lengths**2, axis=0)) / (2 * pairs)
    inner = (together - square) / (2 * pairs)
    return Contrast((number * square - together) / pairs - noise, noise, inner, size)


def _mean_square(
    grams: Float64s, amounts: Float64s, group: Float64s, total: Float64s, products: Float64s
) -> tuple[Float64s, Float64s]:
    """Return |m|² and the variance of m over blocks, of a group in each way to choose it.

    A block that holds a share h of the group's amounts has pulled the mean towards itself: what it differs from the
    mean is divided by 1 - h (MacKinnon and White 1985), or rare words, which few blocks have, would be too far apart.
    """
    square = np.einsum("km,wkm->wm", group, products) / total**2
    weights = amounts[:, :, None] / total[:, None]
    np.divide(group, 1 - weights, out=weights)
    weights[:, group == 0] = 0
    spread = np.einsum("wkk,wkm->wm", grams, weights) - 2 / total * np.einsum(
        "wk,wkm,wkm->wm", amounts, products, weights
    )
    spread += square * np.einsum("wk,wkm->wm", amounts**2, weights)
    return square, np.maximum(spread, 0) / total**2


def groups_of(orders: Sequence[Int64s]) -> Float64s:
    """Return which blocks are of which slice in each of some orders, (slices, K, orders) of 0 and 1."""
    every = np.stack(orders, axis=1)
    return np.stack([(every == number).astype(np.float64) for number in range(int(every.max()) + 1)])


def check_permutations(number: int) -> None:
    """Refuse a number of permutations that makes no test, or takes all memory."""
    if not FEWEST_PERMUTATIONS <= number <= MOST_PERMUTATIONS:
        raise InputError(
            f"permutations={number} does not do; give {FEWEST_PERMUTATIONS} to {MOST_PERMUTATIONS:,}"
        )


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


# All words, strip by strip, each strip kept as soon as it is done.


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found of each word: values with their standard errors, of all words in their order.

    ``distance``, ``cosine``: the mean over all pairs of slices. ``low``: the lower end of the interval of ``distance``,
    which is not as far from it as the upper one. ``from_first`` (words, slices): the distance from the first slice.
    ``vectors`` (slices, words, d).
    """

    distance: Float64s
    distance_error: Float64s
    low: Float64s
    cosine: Float64s
    cosine_error: Float64s
    p: Float64s
    from_first: Float64s
    from_first_error: Float64s
    vectors: Float32s


def measure(
    uses: Uses, ids: Int64s, *, permutations: int, seed: int, room: int, work: Path | None, progress: Progress
) -> Measured:
    """Measure and test the words ``ids``; what was done in ``work`` before is not done again."""
    orders = [uses.slices, *permuted(uses.slices, permutations, seed=seed + 1)]
    typical = float(np.median(uses.squares[ids]))
    found: list[dict[str, Any]] = []
    with progress.stage("testing", total=len(ids), unit="words") as stage:
        # These may be longer than those of an attempt before.
        for words in uses.blocks.strips(ids, room=room):
            piece = None if work is None else work / f"strip-{words[0]}-{words[-1]}"
            if piece is not None and piece.exists():
                found.append(read_piece(piece)[1])
            else:
                found.append(_measure(*uses.of(words), uses.slices, orders, typical))
                if piece is not None:
                    write_piece(piece, {}, **found[-1])
            stage.advance(len(words))
    return Measured(
        **{
            name: np.concatenate([one[name] for one in found], axis=int(name == "vectors"))
            for name in found[0]
        }
    )


def _measure(
    sums: Float64s, amounts: Float64s, slices: Int64s, orders: list[Int64s], typical: float
) -> dict[str, Any]:
    """Return what :class:`Measured` holds, of some words: ``sums`` (K, words, d), ``amounts`` (K, words).

    ``orders`` are the slices of the blocks as they are, then those of permutations.
    """
    blocks, words = amounts.shape
    own, every = groups_of([slices]), groups_of(orders)
    without = 1 - np.eye(blocks)
    shapes = {"from_first": (words, len(own)), "from_first_error": (words, len(own))}
    names = ("distance", "distance_error", "low", "cosine", "cosine_error", "p", *shapes)
    found: dict[str, Any] = {name: np.zeros(shapes.get(name, (words,))) for name in names}
    chunk = CHUNK
    while chunk > 1 and chunk * blocks * len(orders) > _AT_ONCE:
        chunk //= 2
    for begin in range(0, words, chunk):
        part = slice(begin, begin + chunk)
        some = sums[:, part].transpose(1, 0, 2)
        given = some @ some.transpose(0, 2, 1), amounts[:, part].T
        all_orders, left_out = contrast(*given, every), contrast(*given, own * without)
        noise = all_orders.noise
        ratio = np.divide(all_orders.apart, noise, out=np.full(noise.shape, -1.0), where=noise > 0)
        error, _ = jackknife(left_out.distance(typical), slices)
        distance = all_orders.distance(typical)[:, 0]
        values = {
            "p": chances(ratio[:, 0], ratio[:, 1:]),
            "distance": distance,
            "distance_error": error,
            "low": lower_end(distance, error, all_orders.taken_off(typical)[:, 0], ratio[:, 1:]),
            "cosine": all_orders.cosine[:, 0],
            "cosine_error": jackknife(left_out.cosine, slices)[0],
        }
        for name, value in values.items():
            found[name][part] = value
        for number in range(1, len(own)):
            two = own[[0, number]]
            found["from_first"][part, number] = contrast(*given, two).distance(typical)[:, 0]
            varied = contrast(*given, two * without).distance(typical)
            found["from_first_error"][part, number], _ = jackknife(varied, slices)
    groups = own[..., 0] > 0
    found["vectors"] = np.stack(
        [sums[group].sum(axis=0) / amounts[group].sum(axis=0)[:, None] for group in groups]
    ).astype(np.float32)
    return found
