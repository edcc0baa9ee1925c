"""Distances of all words between slices, with tests and intervals: strip by strip, each kept as soon as it is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.progress import Progress
from psdvec.slices.blocks import CHUNK, Uses
from psdvec.slices.contrasts import chances, contrast, groups_of, jackknife, lower_end, permuted
from psdvec.storage.workspace import read_piece, write_piece

_AT_ONCE = 1 << 22  # numbers of the products of Gram matrices that are held at once


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
        for words in uses.blocks.strips(
            ids, room=room
        ):  # which may be longer than those of an attempt before
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
