"""Rows of the count matrix: counted from numbered text, or added up from several matrices.

:func:`count_rows` makes rows from text, :func:`add_rows` adds those of several matrices. Both yield them in order,
computed block by block on threads, so that memory does not grow with the matrix.

The kernels at the end run in numba. The text is ``tokens``, int32 ids with SENTENCE_END and GAP among them;
``positions`` holds the places of the first of some consecutive words, then of the next, and so on, cut by ``starts``. A
row is summed in a dense accumulator that is small enough for the cache, and written out in order of its columns; each
row is owned by one thread, so any number of threads gives the same bytes. The definitions are in
:mod:`psdvec.reference.counting`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Int32s, Int64s, UInt64s
from psdvec.counts.matrix import Rows
from psdvec.counts.word_table import SENTENCE_END
from psdvec.kernels import kernel
from psdvec.kernels.machine import prefetch
from psdvec.parallel import map_ordered

CELL_BYTES = 12  # of a cell in memory and on disk: int32 column, int64 value
BENCH_BYTES = 8 + 1 / 7  # of a workbench, per column: its sum, and its bits in two maps
_AHEAD = 16  # positions, so that what follows a position is in the cache when its turn comes
_LINE = 16  # tokens that are fetched together
_ONE = np.uint64(1)
_SIX_BITS = np.uint64(58)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its 64 windows of six bits are all different
_BIT_NUMBER = np.zeros(64, np.int64)
_BIT_NUMBER[(_DE_BRUIJN << np.arange(64, dtype=np.uint64)) >> _SIX_BITS] = np.arange(64)


class Range(NamedTuple):
    """Rows from ``begin`` up to, not including, ``end``."""

    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.end - self.begin


class Workbench:
    """The accumulators in which threads sum rows of ``n`` columns; each thread gets its own."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._local = threading.local()

    def take(self) -> tuple[Int64s, UInt64s, UInt64s]:
        """Return this thread's accumulator of a row: the sums and two bit maps of its columns, all zero."""
        if not hasattr(self._local, "arrays"):
            n = self.n
            self._local.arrays = (
                np.zeros(n, np.int64),
                np.zeros(n // 64 + 1, np.uint64),
                np.zeros(n // 4096 + 1, np.uint64),
            )
        arrays: tuple[Int64s, UInt64s, UInt64s] = self._local.arrays
        return arrays


def cut_ranges(sizes: Int64s, *, cells: int) -> list[Range]:
    """Cut rows of the given ``sizes`` into ranges of about ``cells`` cells, each of at least one row.

    >>> cut_ranges(np.array([5, 1, 1, 9]), cells=7)
    [Range(begin=0, end=3), Range(begin=3, end=4)]
    """
    ends = np.cumsum(sizes)
    ranges, begin, before = [], 0, 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(ends, before + cells, side="right")))
        ranges.append(Range(begin, end))
        begin, before = end, int(ends[end - 1])
    return ranges


def count_rows(
    pool: Executor,
    tokens: Int32s,
    own: int,
    *,
    rows: Range,
    n: int,
    weights: Int64s,
    cells: int,
    workers: int,
) -> Iterator[Rows]:
    """Count the pairs whose first word is among ``tokens[:own]``; yield ``rows`` of the ``n`` words in order."""
    positions, starts = index_positions(pool, tokens, own, rows=rows, workers=workers)
    bound = np.minimum(np.diff(starts) * len(weights), n)
    bench = Workbench(n)

    def count(part: Range) -> Rows:
        room = int(bound[part.begin : part.end].sum()) + 1
        columns, values = np.empty(room, np.int32), np.empty(room, np.int64)
        sizes = np.empty(part.size, np.int64)
        used = _count_rows(tokens, positions, starts, *part, weights, *bench.take(), columns, values, sizes)
        return Rows(columns[:used], values[:used], sizes)

    return map_ordered(pool, count, cut_ranges(bound, cells=cells), ahead=2 * workers)


def index_positions(
    pool: Executor, tokens: Int32s, own: int, *, rows: Range, workers: int
) -> tuple[Int32s, Int64s]:
    """Return the positions of each word of ``rows`` in ``tokens[:own]``, word by word, and where each begins."""
    cuts = np.linspace(0, own, workers + 1).astype(np.int64)
    histograms = np.zeros((workers, rows.size + 1), np.int64)
    first = np.int32(rows.begin)

    def count(part: int) -> None:
        _count_tokens_into(histograms[part], tokens, cuts[part], cuts[part + 1], first)

    list(pool.map(count, range(workers)))
    histograms[:, -1] = 0
    starts = np.zeros(rows.size + 1, np.int64)
    np.cumsum(histograms[:, :-1].sum(axis=0), out=starts[1:])
    cursors = starts + np.cumsum(histograms, axis=0) - histograms
    positions = np.empty(int(starts[-1]) + 1, np.int32)

    def place(part: int) -> None:
        _place_positions_into(positions, cursors[part], tokens, cuts[part], cuts[part + 1], first)

    list(pool.map(place, range(workers)))
    return positions[:-1], starts


RowReader = Callable[[Range], Rows]


def add_rows(
    pool: Executor,
    readers: Sequence[RowReader],
    *,
    signs: Sequence[int],
    n: int,
    sizes: Int64s,
    cells: int,
    workers: int,
) -> Iterator[Rows]:
    """Add matrices of ``n`` columns, each taken ``signs`` times (+1 before -1); yield the rows in order.

    ``sizes``: int64[rows], how many cells each row has in all matrices together.
    """
    bench = Workbench(n)

    def add(rows: Range) -> Rows:
        parts = [read(rows) for read in readers]
        bounds = np.zeros((len(parts), rows.size + 1), np.int64)
        before = 0
        for part, bound in zip(parts, bounds, strict=True):
            np.cumsum(part.sizes, out=bound[1:])
            bound += before
            before += len(part.columns)
        room = int(np.minimum(sizes[rows.begin : rows.end], n).sum())
        columns, values = np.empty(room, np.int32), np.empty(room, np.int64)
        out_sizes = np.empty(rows.size, np.int64)
        used = _add_rows(
            np.concatenate([part.columns for part in parts]), np.concatenate([part.values for part in parts]),
            bounds, np.array(signs, np.int64), *bench.take(), columns, values, out_sizes,
        )  # fmt: skip
        return Rows(columns[:used], values[:used], out_sizes)

    return map_ordered(pool, add, cut_ranges(sizes, cells=cells), ahead=2 * workers)


@kernel(inline="always")
def _row_of(word, first, rows):
    """Return ``word - first``, or ``rows`` for all other words; a branch would be mispredicted too often."""
    return min(np.uint32(word - first), np.uint32(rows))


# tokens int32[t]; first int32; histogram int64[rows + 1], changed; its last entry is for all other words
@kernel
def _count_tokens_into(histogram, tokens, begin, end, first):
    """Add how often word ``first``, and each that follows it, occurs in ``tokens[begin:end]``."""
    rows = len(histogram) - 1
    for p in range(begin, end):
        histogram[_row_of(tokens[p], first, rows)] += 1


# cursors int64[rows + 1], changed: the next free place of each word; positions int32 out, its last place for the rest
@kernel
def _place_positions_into(positions, cursors, tokens, begin, end, first):
    """Enter the positions of word ``first``, and of those that follow it, in ``tokens[begin:end]``."""
    rows = len(cursors) - 1
    for p in range(begin, end):
        row = _row_of(tokens[p], first, rows)
        positions[cursors[row]] = p
        cursors[row] += row < rows


# marks uint64[n/64 + 1]: one bit per column; tops uint64[n/4096 + 1]: one bit per entry of marks, set if not 0
@kernel(inline="always")
def _mark(marks, tops, column):
    marks[column >> 6] |= _ONE << np.uint64(column & 63)
    tops[column >> 12] |= _ONE << np.uint64((column >> 6) & 63)


@kernel(inline="always")
def _lowest_bit(bits):
    """Return the lowest set bit, and its number."""
    bit = bits & (~bits + _ONE)
    return bit, _BIT_NUMBER[(bit * _DE_BRUIJN) >> _SIX_BITS]


# columns int32, values int64: out; sums int64[n], marks, tops: the row, zero afterwards
@kernel
def _emit_row(columns, values, at, sums, marks, tops):
    """Write the marked cells in order of column, leaving out zeros; return the next free place."""
    for k in range(len(tops)):
        while tops[k]:
            top, number = _lowest_bit(tops[k])
            tops[k] ^= top
            block = (k << 6) + number
            bits = marks[block]
            marks[block] = np.uint64(0)
            while bits:
                bit, number = _lowest_bit(bits)
                bits ^= bit
                column = (block << 6) + number
                if sums[column] != 0:
                    columns[at] = column
                    values[at] = sums[column]
                    sums[column] = 0
                    at += 1
    return at


# columns int32, values int64: out, with a place to spare; sums int64[n]: the row, zero afterwards
@kernel
def _emit_full_row(columns, values, at, sums):
    """Write all cells in order of column, leaving out zeros; return the next free place."""
    for column in range(len(sums)):
        columns[at] = column
        values[at] = sums[column]
        at += sums[column] != 0  # a branch would be mispredicted too often
        sums[column] = 0
    return at


# weights int64[window], all positive; sizes int64[rows] out: cells of each row; returns the number of cells
@kernel
def _count_rows(tokens, positions, starts, begin, end, weights, sums, marks, tops, columns, values, sizes):
    """Count, for the context words of rows ``begin`` to ``end``, the words that follow them within the window.

    Columns are marked only in rows that have fewer pairs than there are columns.
    """
    at, window = 0, len(weights)
    for row in range(begin, end):
        is_marked = (starts[row + 1] - starts[row]) * window < len(sums)
        for k in range(starts[row], starts[row + 1]):
            later = np.int64(positions[min(k + _AHEAD, len(positions) - 1)])
            for distance in range(1, window, _LINE):
                prefetch(tokens, later + distance)
            prefetch(tokens, later + window)
            p = positions[k] + 1
            for distance in range(min(window, len(tokens) - p)):
                focus = tokens[p + distance]
                if focus >= 0:
                    sums[focus] += weights[distance]
                    if is_marked:
                        _mark(marks, tops, focus)
                elif focus == SENTENCE_END:
                    break
        before = at
        if is_marked:
            at = _emit_row(columns, values, at, sums, marks, tops)
        else:
            at = _emit_full_row(columns, values, at, sums)
        sizes[row - begin] = at - before
    return at


# in_columns int32, in_values int64: cells of all parts end to end; bounds int64[parts, rows + 1]: where each row lies
@kernel
def _add_rows(in_columns, in_values, bounds, signs, sums, marks, tops, columns, values, sizes):
    """Add the same rows of several matrices, each taken ``signs[part]`` times."""
    at = 0
    for row in range(bounds.shape[1] - 1):
        for part in range(bounds.shape[0]):
            for k in range(bounds[part, row], bounds[part, row + 1]):
                column = in_columns[k]
                sums[column] += signs[part] * in_values[k]
                _mark(marks, tops, column)
        before = at
        at = _emit_row(columns, values, at, sums, marks, tops)
        sizes[row] = at - before
    return at


# indptr int64[n+1], in_columns int32, in_values int64; rows int64[m], -1 for none; column_map int32[n]
@kernel
def gather_rows(indptr, in_columns, in_values, rows, column_map, columns, values):
    """Copy chosen rows end to end, their columns renamed by ``column_map``."""
    at = 0
    for row in rows:
        if row >= 0:
            for k in range(indptr[row], indptr[row + 1]):
                columns[at] = column_map[in_columns[k]]
                values[at] = in_values[k]
                at += 1
