"""Distances of all words between slices, with tests and intervals: strip by strip, each kept as soon as it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.progress import Progress
from psdvec.slices.blocks import CHUNK, Uses
from psdvec.slices.contrasts import Contrast, chances, contrast, lower_end, permuted, steps
from psdvec.storage.workspace import read_piece, write_piece

_AT_ONCE = 1 << 22  # numbers of the products of Gram matrices that are held at once


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found of each word: values with their standard errors, of all words in their order.

    ``low``: the lower end of the interval of ``distance``, which is not as far from it as the upper one. ``distance``,
    ``cosine``: the mean over the steps from each slice to the next. ``from_first`` (words, slices): the
    distance from the first slice. ``vectors`` (slices, words, d).
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
        for number, words in enumerate(uses.blocks.strips(ids, room=room)):
            piece = None if work is None else work / f"strip-{number}"
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
    groups = [(slices == number).astype(float)[:, None] for number in range(int(slices.max()) + 1)]
    ways = [steps(order) for order in orders]
    pairs = range(len(ways[0]))
    left, right = ([np.hstack([way[step][side] for way in ways]) for step in pairs] for side in (0, 1))
    without = 1 - np.eye(blocks)
    shapes = {"from_first": (words, len(groups)), "from_first_error": (words, len(groups))}
    names = ("distance", "distance_error", "low", "cosine", "cosine_error", "p", *shapes)
    found: dict[str, Any] = {name: np.zeros(shapes.get(name, (words,))) for name in names}
    chunk = CHUNK
    while chunk > 1 and chunk * blocks * len(orders) > _AT_ONCE:
        chunk //= 2
    for begin in range(0, words, chunk):
        part = slice(begin, begin + chunk)
        own = sums[:, part].transpose(1, 0, 2)
        grams, some = own @ own.transpose(0, 2, 1), amounts[:, part].T

        def compare(
            one: Float64s, other: Float64s, grams: Float64s = grams, some: Float64s = some
        ) -> Contrast:
            return contrast(grams, some, one, other)

        tested = [compare(left[step], right[step]) for step in pairs]
        noise: Any = sum(one.noise for one in tested)
        ratio = np.divide(
            sum(one.apart for one in tested), noise, out=np.full(noise.shape, -1.0), where=noise > 0
        )
        found["p"][part] = chances(ratio[:, 0], ratio[:, 1:])
        found["distance"][part] = np.mean([one.distance(typical)[:, 0] for one in tested], axis=0)
        found["cosine"][part] = np.mean([one.cosine[:, 0] for one in tested], axis=0)
        left_out = [compare(before * without, after * without) for before, after in ways[0]]
        for name, values in (
            ("distance", [one.distance(typical) for one in left_out]),
            ("cosine", [one.cosine for one in left_out]),
        ):
            found[f"{name}_error"][part] = _jackknife(np.mean(values, axis=0), slices)
        found["low"][part] = lower_end(
            found["distance"][part], found["distance_error"][part],
            np.mean([one.taken_off(typical)[:, 0] for one in tested], axis=0), ratio[:, 1:],
        )  # fmt: skip
        for number, group in enumerate(groups[1:], 1):
            found["from_first"][part, number] = compare(groups[0], group).distance(typical)[:, 0]
            varied = compare(groups[0] * without, group * without).distance(typical)
            found["from_first_error"][part, number] = _jackknife(varied, slices)
    found["vectors"] = np.stack(
        [
            sums[group[:, 0] > 0].sum(axis=0) / amounts[group[:, 0] > 0].sum(axis=0)[:, None]
            for group in groups
        ]
    ).astype(np.float32)
    return found


def _jackknife(left_out: Float64s, slices: Int64s) -> Float64s:
    """Return the standard error of a statistic from its values without each block, (words, K), slice by slice."""
    variance: Float64s = np.zeros(len(left_out))
    for number in range(int(slices.max()) + 1):
        own = left_out[:, slices == number]
        size = own.shape[1]
        variance += (size - 1) / size * ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.sqrt(variance)
