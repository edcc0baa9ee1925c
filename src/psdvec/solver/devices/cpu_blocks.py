"""A block of the seen pairs of a problem: what one thread, one read from disk or one worker of a cluster works on.

:func:`build_blocks` makes the blocks of some places from counts. A :class:`Block` multiplies its pairs and renews their
residual. It depends on the counts and on X alone, never on who works on it or what is worked on beside it.
Equations (5) to (8) of ``docs/theory.md``; the loops are in :mod:`psdvec.kernels.pair_blocks`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Int64s
from psdvec.counts.matrix import UNIT
from psdvec.kernels.pair_blocks import (
    SPAN,
    STRIP,
    build_rows,
    cell_residual_into,
    product_into,
    residual_into,
    unpack_into,
)
from psdvec.kernels.pair_columns import count_columns, fill_columns, seek_column
from psdvec.options import Recipe
from psdvec.parallel import map_ordered
from psdvec.solver.devices import AMPLE
from psdvec.solver.devices.cpu_layout import Place
from psdvec.solver.pmi import Constants, SparseCounts, WordScales, release_pairs, target_unit
from psdvec.storage.arrays import Scratch, own_memory

GATHERED = 10  # bytes of a pair whose column is gathered, at most: columns may have more pairs than rows
LOOKED_AT = 1 << 22  # pairs of rows that are looked through before memory is given back


@dataclass(frozen=True)
class Formula:
    """The numbers from which weights and targets follow, as the kernels take them.

    ``scales`` (n, 6) float32: r, u, f / √Σc, a, s, ρ. ``unit``: what targets are kept in units of, 1 unless they would
    not fit into half precision.
    """

    scales: Float32s
    constants: tuple[np.float32, ...]
    half_start: bool
    step: np.float32
    negligible: np.float32
    unit: np.float32


def formula_of(scales: WordScales, constants: Constants, *, recipe: Recipe) -> Formula:
    """Return the numbers of ``recipe`` for words with these ``scales``."""
    s, k = scales, constants
    columns = (s.row_sums, s.unigrams, s.frequencies / np.sqrt(k.total), s.majorisers, s.emphases, s.rho)
    return Formula(
        scales=np.column_stack(columns).astype(np.float32),
        constants=tuple(np.float32(x) for x in (k.smoothing, k.background, k.exponent, k.cap, k.diagonal)),
        half_start=recipe.start == "half",
        step=np.float32(recipe.relaxation),
        negligible=np.float32(recipe.negligible),
        unit=np.float32(target_unit(s, k)),
    )


@dataclass
class Block:
    """The pairs of some rows, in half precision, as uint16.

    ``pointers``: where the pairs of each row and span of columns begin, int64. ``fixed``: one after the other, columns,
    weights and targets of the sparse pairs, then weights and targets of the cells. ``values``: of the sparse pairs,
    then of the cells; at first those of the first matrix to factorise, then the residual. ``squares`` is Σ R G².
    """

    place: Place
    pointers: Int64s
    fixed: Array
    values: Array
    unit: np.float32
    squares: float

    def times(self, block: Float32s, out: Float32s, scratch: Scratch) -> None:
        """Add values · block to ``out``, for as many rows as ``out`` has, and columns as ``block`` has rows."""
        indices, _, _, values, _, _, cells = self._parts()
        m, rows = block.shape[0], self.place.rows
        for first, last, part in self._strips():
            if first < m and out.shape[0]:
                matrix = scratch.array(np.float32, rows, last - first)
                unpack_into(cells[part], self.unit, matrix.reshape(-1))
                out += matrix[: out.shape[0], : m - first] @ block[first : min(last, m)]
        product_into(self._spans, self.pointers, indices, values, self.unit, block, out)

    def renew(
        self, P: Float32s, Q: Float32s, image: Float32s | None, scratch: Scratch, *, momentum: float
    ) -> tuple[float, float]:
        """Set the values to T - W∘(P Qᵀ), P being that of the rows, and return Σ T x and Σ W x².

        ((1 + θ) new - θ old) · Q is added to the ``image``.
        """
        indices, weights, targets, values, cell_weights, cell_targets, cells = self._parts()
        theta, sums = np.float32(momentum), np.zeros(2)
        for first, last, part in self._strips():
            X = np.matmul(P, Q[first:last].T, out=scratch.array(np.float32, P.shape[0], last - first))
            cell_residual_into(
                X.reshape(-1), cell_weights[part], cell_targets[part], cells[part], self.unit, theta, sums
            )
            if image is not None:
                image += X @ Q[first:last]
        Y = np.zeros((P.shape[0], 0), np.float32) if image is None else image
        residual_into(
            self._spans, self.pointers, indices, weights, targets, values, self.unit, P, Q, theta, Y, sums
        )
        return float(sums[0]), float(sums[1])

    @property
    def _spans(self) -> int:
        return -(-self.place.words // SPAN)

    def _parts(self) -> tuple[Array, ...]:
        """Return columns, weights, targets and values of the sparse pairs; weights, targets and values of the cells."""
        m, c = int(self.pointers[-1]), self.place.rows * self.place.width
        indices, weights, targets, cell_weights, cell_targets = np.split(
            self.fixed, [m, 2 * m, 3 * m, 3 * m + c]
        )
        return indices, weights, targets, self.values[:m], cell_weights, cell_targets, self.values[m:]

    def _strips(self) -> Iterator[tuple[int, int, slice]]:
        """Yield the columns of each strip of cells, and where the cells are."""
        rows, width = self.place.rows, self.place.width
        for first in range(0, width, STRIP):
            last = min(first + STRIP, width)
            yield first, last, slice(rows * first, rows * last)


def build_blocks(
    counts: SparseCounts,
    formula: Formula,
    places: Sequence[Place],
    *,
    pool: ThreadPoolExecutor,
    threads: int,
    building: int = AMPLE.building,
) -> Iterator[Block]:
    """Yield the blocks of consecutive ``places``, built by threads; the columns of some blocks are gathered together.

    They take about ``building`` bytes, and the counts are passed through once for each time. The memory of mapped
    counts is given back again and again.
    """
    n = places[0].words
    lengths = np.diff(counts.indptr[: n + 1])
    cursor = seek_column(counts.indptr, counts.indices, n, places[0].lo)
    ranges = _equal_ranges(counts.indptr[: n + 1], max(4 * threads, int(counts.indptr[n]) // LOOKED_AT))
    scratch = Scratch()
    for group in _groups(places, lengths, building // GATHERED):
        first, last = group[0].lo, group[-1].hi
        columns, cursor = _gather(counts, cursor, first, last, ranges, pool)

        def build(place: Place, columns: Any = columns, first: int = first) -> Block:
            starts, rows, befores = columns
            cut = starts[place.lo - first : place.hi - first + 1]
            inside = slice(cut[0], cut[-1])
            return _build(counts, (cut - cut[0], rows[inside], befores[inside]), formula, place, scratch)

        for block in map_ordered(pool, build, group, ahead=threads):
            yield block
            release_pairs(counts)


def _groups(places: Sequence[Place], lengths: Int64s, most: int) -> Iterator[list[Place]]:
    """Cut places into groups whose rows, and so about whose columns, have at most so many pairs."""
    group: list[Place] = []
    held = 0
    for place in places:
        size = int(lengths[place.lo : place.hi].sum())
        if group and held + size > most:
            yield group
            group, held = [], 0
        group.append(place)
        held += size
    yield group


def _equal_ranges(indptr: Int64s, parts: int) -> list[tuple[int, int]]:
    """Cut rows into ranges with about equally many pairs."""
    n = indptr.size - 1
    cuts = np.searchsorted(indptr, indptr[-1] * np.arange(1, parts) / parts)
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, n), [n]])).tolist()
    return list(itertools.pairwise(bounds))


def _gather(
    counts: SparseCounts,
    cursor: Int64s,
    first: int,
    last: int,
    ranges: Sequence[tuple[int, int]],
    pool: ThreadPoolExecutor,
) -> tuple[tuple[Int64s, Array, Float32s], Int64s]:
    """Return the pairs of columns ``first`` to ``last`` by column, and where the next column begins in each row."""
    ends = np.empty_like(cursor)

    def count(part: tuple[int, int]) -> Int64s:
        found: Int64s = count_columns(counts.indptr, counts.indices, cursor, ends, *part, first, last)
        release_pairs(counts)
        return found

    lengths = np.array(list(pool.map(count, ranges)))
    starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    free = starts[:-1] + np.cumsum(lengths, axis=0) - lengths
    rows, befores = own_memory(starts[-1], np.int32), own_memory(starts[-1], np.float32)

    def fill(part: tuple[int, int], places: Int64s) -> None:
        fill_columns(
            counts.indices, counts.values, 1 / UNIT, cursor, ends, *part, first, places, rows, befores
        )
        release_pairs(counts)

    for _ in pool.map(fill, ranges, free):
        pass
    return (starts, rows, befores), ends


def _build(
    counts: SparseCounts,
    columns: tuple[Int64s, Array, Float32s],
    formula: Formula,
    place: Place,
    scratch: Scratch,
) -> Block:
    spans, cells = -(-place.words // SPAN), place.rows * place.width
    pointers = np.zeros(place.rows * spans + 1, np.int64)
    numbers = scratch.array(np.uint16, 4 * place.room + 3 * cells)
    tail, dense = numbers[: 4 * place.room].reshape(4, -1), numbers[4 * place.room :].reshape(3, -1)
    dense[:] = 0
    squares = build_rows(
        (counts.indptr, counts.indices, counts.values, 1 / UNIT), columns, place.lo, place.hi, place.width,
        formula.scales, formula.constants, formula.half_start, formula.step, formula.negligible, formula.unit,
        (pointers, *tail), tuple(dense),
    )  # fmt: skip
    m = int(pointers[-1])
    return Block(
        place,
        pointers,
        fixed=np.concatenate([*tail[:3, :m], *dense[:2]], out=own_memory(3 * m + 2 * cells, np.uint16)),
        values=np.concatenate([tail[3, :m], dense[2]], out=own_memory(m + cells, np.uint16)),
        unit=formula.unit,
        squares=float(squares),
    )
