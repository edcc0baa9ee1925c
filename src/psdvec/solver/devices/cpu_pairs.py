"""The seen pairs of a problem on the CPU: which make a block, how blocks are built, kept, multiplied and renewed.

:class:`CpuPairs` has the methods of :class:`psdvec.solver.devices.DevicePairs`. Blocks are given by the counts alone,
and each compiled loop, at the end, owns what it writes, so that any number of threads or machines gives the same bits.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s, Scratch, own_memory
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import ResourceError
from psdvec.kernels import kernel
from psdvec.options import Recipe
from psdvec.resources import map_ordered
from psdvec.solver.devices import AMPLE
from psdvec.solver.pmi import WordScales, release_pairs, sums_over_rows, target_unit
from psdvec.storage.files import disk_errors_explained
from psdvec.system import read_at, write_at
from psdvec.vectors.model import Constants

# Which seen pairs make a block: rows of consecutive words, given by the counts alone, whatever machine works on them.

TILE = 512  # words per side of a square of pairs
DENSE = 0.3  # share of seen pairs from which a dense square is faster than a sparse one
OVERLAP = 0.75  # share of the pairs of both directions that is left when they are put together
MOST_PAIRS = 1 << 22  # of a block, unless one row has more
BYTES = 8  # of a sparse pair; a cell has no column and takes 6
MOST_BYTES = MOST_PAIRS * BYTES


class Extent(NamedTuple):
    """What a block covers: rows ``lo`` to ``hi`` of ``words`` words; the first ``width`` columns are cells.

    ``room`` is the largest number of sparse pairs that the rows may have.
    """

    lo: int
    hi: int
    width: int
    room: int
    words: int

    @property
    def rows(self) -> int:
        """How many rows the block has."""
        return self.hi - self.lo

    @property
    def most_bytes(self) -> int:
        """The most bytes that the pairs of the block can take."""
        return BYTES * self.room + (BYTES - 2) * self.rows * self.width


def layout_of(counts: Cooccurrence, n: int) -> list[Extent]:
    """Return how the pairs of the first n words are cut into blocks, in order."""
    tiles = -(-n // TILE)
    add = partial(add_tiles, counts.indptr, counts.indices, TILE)
    squares, column_lengths = sums_over_rows(counts, n, add, (tiles, tiles), (n,))
    widths = lay_out(squares, n)
    room = np.minimum(np.diff(counts.indptr[: n + 1]) + column_lengths, n - widths)
    extents = []
    for first in range(0, n, TILE):
        last, width = min(first + TILE, n), int(widths[first])
        parts = -(-int(room[first:last].sum() + (last - first) * width) // MOST_PAIRS)
        step = -(-(last - first) // max(parts, 1))
        for lo in range(first, last, step):
            hi = min(lo + step, last)
            extents.append(Extent(lo, hi, width, int(room[lo:hi].sum()), n))
    return extents


def lay_out(squares: Int64s, n: int) -> Int64s:
    """Return how many of the first columns of each row are kept dense, (n,), the same on every device.

    ``squares`` counts the directed pairs of each square of words. Widths are chosen so that dense products gain most
    over sparse ones. Pairs in these columns are kept however small they are, so that dropping negligible pairs
    elsewhere means the same on every device.
    """
    sizes = np.minimum(TILE, n - TILE * np.arange(len(squares)))
    gain = np.cumsum(OVERLAP * (squares + squares.T) - DENSE * np.outer(sizes, sizes), axis=1)
    tiles = np.where(gain.max(axis=1) > 0, gain.argmax(axis=1) + 1, 0)
    widths: Int64s = np.minimum(TILE * tiles, n)[np.arange(n) // TILE]
    return widths


# The pairs themselves: blocks in memory as far as there is room, the others in a file.

Result = TypeVar("Result")

_AHEAD = 2  # blocks of the file that the system is asked to read before they are needed


class CpuPairs:
    """Pairs of a problem, or of some of its rows, block by block; see :class:`psdvec.solver.devices.DevicePairs`.

    Takes consecutive ``blocks`` as they are built, and keeps as many as take at most ``room`` bytes in memory, the
    others in a file in ``folder`` that has no name, so that nothing is left of it whatever happens.
    """

    def __init__(
        self,
        blocks: Iterable[PairBlock],
        *,
        pool: ThreadPoolExecutor,
        threads: int,
        room: float = np.inf,
        folder: Path | None = None,
    ) -> None:
        self._pool, self._threads, self._scratch = pool, threads, Scratch()
        self._folder = Path(tempfile.gettempdir()) if folder is None else folder
        self._file: IO[bytes] | None = None
        self.in_memory = self.on_disk = 0
        with disk_errors_explained(self._folder):
            self._kept = [self._keep(block, room) for block in blocks]
        self.squares_each = [block.squares for block in self._kept]
        self.squares = sum(self.squares_each)
        self._first, self._last = self._kept[0].extent.lo, self._kept[-1].extent.hi

    def _keep(self, block: PairBlock, room: float) -> PairBlock:
        """Return ``block``, or one without numbers where they were written to the file."""
        size = block.fixed.nbytes + block.values.nbytes
        if self._file is None and self.in_memory + size <= room:
            self.in_memory += size
            return block
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix="pairs-")  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        start, nothing = self.on_disk, np.empty(0, np.uint16)
        _write(self._file, start, block.fixed)
        _write(self._file, start + block.fixed.nbytes, block.values)
        self.on_disk += size
        return replace(block, fixed=nothing, values=nothing, file=self._file, start=start)

    def times(self, block: Float32s) -> Float32s:
        """Return values · block, for the rows of the blocks that are here."""
        m, first = block.shape[0], self._first
        product = np.zeros((max(min(self._last, m) - first, 0), block.shape[1]), np.float32)

        def multiply(one: PairBlock) -> None:
            one.times(block, product[one.extent.lo - first : one.extent.hi - first], self._scratch)

        self._each(multiply, [kept for kept in self._kept if kept.extent.lo < m], columns=m)
        return product

    def renew(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
        image, sums = self.renew_each(Q, values, momentum=momentum, with_image=with_image)
        return image, *added_up(sums)

    def renew_each(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, list[tuple[float, float]]]:
        """Do as :meth:`renew` for the rows of the blocks that are here, and return the sums of each block."""
        first = self._first
        image = np.zeros((self._last - first, Q.shape[1]), np.float32) if with_image else None
        factors = values.astype(np.float32)

        def renew(one: PairBlock) -> tuple[float, float]:
            lo, hi = one.extent.lo, one.extent.hi
            part = None if image is None else image[lo - first : hi - first]
            return one.renew(Q[lo:hi] * factors, Q, part, self._scratch, momentum=momentum)

        with disk_errors_explained(self._folder):
            return image, self._each(renew, self._kept, columns=Q.shape[0], changed=True)

    def _each(
        self, work: Callable[[PairBlock], Result], kept: Sequence[PairBlock],
        *, columns: int, changed: bool = False,
    ) -> list[Result]:  # fmt: skip
        """Return what ``work`` makes of each block, in their order; write the values back where they are ``changed``.

        Blocks with the most work in the first so many ``columns`` are begun first, or some thread would have one of
        them when all others are done; those of a file are read in their order.
        """

        def do(number: int) -> Result:
            one = kept[number]
            if one.file is None:
                return work(one)
            if hasattr(os, "posix_fadvise"):
                for later in kept[number + 1 : number + 1 + _AHEAD]:
                    size = 2 * sum(later.sizes)
                    os.posix_fadvise(one.file.fileno(), later.start, size, os.POSIX_FADV_WILLNEED)
            numbers = self._scratch.array(np.uint16, sum(one.sizes))
            _read_into(one.file, one.start, numbers)
            fixed, values = np.split(numbers, one.sizes[:1])
            found = work(replace(one, fixed=fixed, values=values))
            if changed:
                _write(one.file, one.start + fixed.nbytes, values)
            return found

        work_in = [min(one.sizes[1], one.extent.rows * columns) for one in kept]
        order = sorted(range(len(kept)), key=lambda number: (kept[number].start, -work_in[number]))
        found = map_ordered(self._pool, do, order, ahead=len(order))
        results = dict(zip(order, found, strict=True))
        return [results[number] for number in range(len(kept))]


def _read_into(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = read_at(file.fileno(), start, view)
        if not size:
            raise ResourceError("the file of pairs has become shorter; fit again")
        view, start = view[size:], start + size


def _write(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = write_at(file.fileno(), start, view)
        view, start = view[size:], start + size


def added_up(sums: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return Σ T x and Σ W x² over blocks, added in their order: the same bits wherever the blocks are."""
    tx = wxx = 0.0
    for one, other in sums:
        tx, wxx = tx + one, wxx + other
    return tx, wxx


# A block of the seen pairs of a problem: what one thread, one read from disk or one worker of a cluster works on.


@dataclass
class PairBlock:
    """The pairs of some rows, in half precision, as uint16.

    ``pointers``: where the pairs of each row and span of columns begin, int64. ``fixed``: one after the other, columns,
    weights and targets of the sparse pairs, then weights and targets of the cells. ``values``: of the sparse pairs,
    then of the cells; at first those of the first matrix to factorise, then the residual. ``squares`` is Σ R G².
    Where both are not here, they lie in a ``file`` from ``start``, one after the other.
    """

    extent: Extent
    pointers: Int64s
    fixed: Array
    values: Array
    unit: np.float32
    squares: float
    file: IO[bytes] | None = None
    start: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers are fixed, and how many are values."""
        m, c = int(self.pointers[-1]), self.extent.rows * self.extent.width
        return 3 * m + 2 * c, m + c

    def times(self, block: Float32s, out: Float32s, scratch: Scratch) -> None:
        """Add values · block to ``out``, for as many rows as ``out`` has, and columns as ``block`` has rows."""
        indices, _, _, values, _, _, cells = self._parts()
        m, rows = block.shape[0], self.extent.rows
        for first, last, part in self._strips():
            if first < m and out.shape[0]:
                matrix = scratch.array(np.float32, rows, last - first)
                unpack_into(cells[part], self.unit, matrix.reshape(-1))
                out += matrix[: out.shape[0], : m - first] @ block[first : min(last, m)]
        product_into(self._spans, self._columns, self.pointers, indices, values, self.unit, block, out)

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
            self._spans, self._columns, self.pointers, indices, weights, targets, values, self.unit, P, Q,
            theta, Y, sums,
        )  # fmt: skip
        return float(sums[0]), float(sums[1])

    @property
    def _spans(self) -> int:
        return -(-self.extent.words // SPAN)

    @property
    def _columns(self) -> int:
        """How many columns are taken at a time; like all that sums depend on, it is given by the pairs alone."""
        pairs, columns = int(self.pointers[-1]), COLUMNS
        cells = self.extent.rows * max(self.extent.words - self.extent.width, 1)
        while columns < MOST_COLUMNS and pairs * columns < RUN * cells:
            columns *= 2
        return columns

    def _parts(self) -> tuple[Array, ...]:
        """Return columns, weights, targets and values of the sparse pairs; weights, targets and values of the cells."""
        m, c = int(self.pointers[-1]), self.extent.rows * self.extent.width
        indices, weights, targets, cell_weights, cell_targets = np.split(
            self.fixed, [m, 2 * m, 3 * m, 3 * m + c]
        )
        return indices, weights, targets, self.values[:m], cell_weights, cell_targets, self.values[m:]

    def _strips(self) -> Iterator[tuple[int, int, slice]]:
        """Yield the columns of each strip of cells, and where the cells are."""
        rows, width = self.extent.rows, self.extent.width
        for first in range(0, width, STRIP):
            last = min(first + STRIP, width)
            yield first, last, slice(rows * first, rows * last)


# Building blocks from counts.

GATHERED = 10  # bytes of a pair whose column is gathered, at most: columns may have more pairs than rows
LOOKED_AT = 1 << 22  # pairs of rows that are looked through before memory is given back


class Formula(NamedTuple):
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


def build_blocks(
    counts: Cooccurrence,
    formula: Formula,
    extents: Sequence[Extent],
    *,
    pool: ThreadPoolExecutor,
    threads: int,
    building: int = AMPLE.building,
) -> Iterator[PairBlock]:
    """Yield the blocks of consecutive ``extents``, built by threads; the columns of some blocks are gathered together.

    They take about ``building`` bytes, and the counts are passed through once for each time. The memory of mapped
    counts is given back again and again.
    """
    n = extents[0].words
    lengths = np.diff(counts.indptr[: n + 1])
    cursor = seek_column(counts.indptr, counts.indices, n, extents[0].lo)
    ranges = _equal_ranges(counts.indptr[: n + 1], max(4 * threads, int(counts.indptr[n]) // LOOKED_AT))
    scratch = Scratch()
    for group in groups_of(extents, lengths, building // GATHERED):
        columns = _gather(counts, cursor, group[0].lo, group[-1].hi, ranges, pool)
        cursor = columns.ends
        build = partial(build_block, counts, columns, formula, scratch)
        for block in map_ordered(pool, build, group, ahead=threads):
            yield block
            release_pairs(counts, block.extent.lo, block.extent.hi)


def groups_of(extents: Sequence[Extent], lengths: Int64s, most: int) -> Iterator[list[Extent]]:
    """Cut extents into groups whose rows, and so about whose columns, have at most so many pairs."""
    group: list[Extent] = []
    held = 0
    for extent in extents:
        size = int(lengths[extent.lo : extent.hi].sum())
        if group and held + size > most:
            yield group
            group, held = [], 0
        group.append(extent)
        held += size
    yield group


def _equal_ranges(indptr: Int64s, parts: int) -> list[tuple[int, int]]:
    """Cut rows into ranges with about equally many pairs."""
    n = indptr.size - 1
    cuts = np.searchsorted(indptr, indptr[-1] * np.arange(1, parts) / parts)
    bounds = np.unique(np.concatenate([[0], np.minimum(cuts, n), [n]])).tolist()
    return list(itertools.pairwise(bounds))


class Columns(NamedTuple):
    """The pairs of consecutive columns, from the ``first`` on.

    Those of a column begin at one of ``starts``; ``rows`` are theirs, and ``befores`` their counts. ``ends`` is where
    the column after the last begins in each row of the counts.
    """

    first: int
    starts: Int64s
    rows: Array
    befores: Float32s
    ends: Int64s


def _gather(
    counts: Cooccurrence,
    cursor: Int64s,
    first: int,
    last: int,
    ranges: Sequence[tuple[int, int]],
    pool: ThreadPoolExecutor,
) -> Columns:
    """Return the pairs of columns ``first`` to ``last``; ``cursor`` is where the first begins in each row."""
    ends = np.empty_like(cursor)

    def count(part: tuple[int, int]) -> Int64s:
        found: Int64s = count_columns(counts.indptr, counts.indices, cursor, ends, *part, first, last)
        release_pairs(counts, *part)
        return found

    lengths = np.array(list(pool.map(count, ranges)))
    starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    free = starts[:-1] + np.cumsum(lengths, axis=0) - lengths
    rows, befores = own_memory(starts[-1], np.int32), own_memory(starts[-1], np.float32)

    def fill(part: tuple[int, int], places: Int64s) -> None:
        fill_columns(
            counts.indices, counts.values, 1 / UNIT, cursor, ends, *part, first, places, rows, befores
        )
        release_pairs(counts, *part)

    for _ in pool.map(fill, ranges, free):
        pass
    return Columns(first, starts, rows, befores, ends)


def build_block(
    counts: Cooccurrence, columns: Columns, formula: Formula, scratch: Scratch, extent: Extent
) -> PairBlock:
    """Return the block of ``extent``, whose columns have been gathered."""
    starts = columns.starts[extent.lo - columns.first : extent.hi - columns.first + 1]
    inside = slice(starts[0], starts[-1])
    spans, cells = -(-extent.words // SPAN), extent.rows * extent.width
    pointers = np.zeros(extent.rows * spans + 1, np.int64)
    numbers = scratch.array(np.uint16, 4 * extent.room + 3 * cells)
    tail, dense = numbers[: 4 * extent.room].reshape(4, -1), numbers[4 * extent.room :].reshape(3, -1)
    dense[:] = 0
    squares = build_rows(
        (counts.indptr, counts.indices, counts.values, 1 / UNIT),
        (starts - starts[0], columns.rows[inside], columns.befores[inside]),
        extent, formula, (pointers, *tail), tuple(dense),
    )  # fmt: skip
    m = int(pointers[-1])
    return PairBlock(
        extent,
        pointers,
        fixed=np.concatenate([*tail[:3, :m], *dense[:2]], out=own_memory(3 * m + 2 * cells, np.uint16)),
        values=np.concatenate([tail[3, :m], dense[2]], out=own_memory(m + cells, np.uint16)),
        unit=formula.unit,
        squares=float(squares),
    )


# The pairs of some columns, gathered in one pass over the rows of a count store.


# indptr int64[>n], indices int32[nnz] rising in a row; squares int64[tiles, tiles] and lengths int64[n] are added to
@kernel
def add_tiles(indptr, indices, tile, begin, end, squares, lengths):
    """Count the pairs of rows ``begin`` to ``end`` by (tile, tile) square and by column, among the first n words."""
    n = lengths.size
    for i in range(begin, end):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] >= n:
                break
            squares[i // tile, indices[k] // tile] += 1
            lengths[indices[k]] += 1


# indptr int64[>n], indices int32[nnz] rising in a row; cursor int64[n] comes back
@kernel
def seek_column(indptr, indices, n, column):
    """Return for each of the first n rows the place of its first pair in ``column`` or after it."""
    cursor = np.empty(n, np.int64)
    for i in range(n):
        cursor[i] = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], column)
    return cursor


# cursor int64[n]: where each row has its first pair in the columns; ends int64[n] is filled; int64[last-first] is back
@kernel
def count_columns(indptr, indices, cursor, ends, begin, end, first, last):
    """Count the pairs that rows ``begin`` to ``end`` have in columns ``first`` to ``last``, by column."""
    lengths = np.zeros(last - first, np.int64)
    for i in range(begin, end):
        k, stop = cursor[i], indptr[i + 1]
        while k < stop and indices[k] < last:
            lengths[indices[k] - first] += 1
            k += 1
        ends[i] = k
    return lengths


# values int64[nnz]; free int64[last-first]: where the next pair of a column goes; rows int32[m], counts float32[m]
@kernel
def fill_columns(indices, values, unit, cursor, ends, begin, end, first, free, rows, counts):
    """Put the pairs that :func:`count_columns` counted where they belong: the row of each, and its count."""
    for i in range(begin, end):
        for k in range(cursor[i], ends[i]):
            column = indices[k] - first
            place = free[column]
            free[column] = place + 1
            rows[place] = i
            counts[place] = np.float32(values[k] * unit)


# Blocks built from counts, multiplied, and their residual renewed; loops of one thread each.

SPAN = 1 << 16  # columns that 16 bits can tell apart
STRIP = 2048  # columns of cells that lie together
# Columns taken at a time: 512 rows of a matrix 320 wide are 0.6 MB and stay in a core's own cache. Where rows have few
# pairs in them, more are: going from row to row would take as long as the pairs.
COLUMNS, MOST_COLUMNS = 512, 8192
RUN = 32  # pairs of a row that are wanted in them
AT_ONCE = 512  # pairs of a row that are built together, in the first cache
# Where each number of these pairs begins: how often the other word comes after and before, its six scales, and both
# counts smoothed and raised; of the halves, weights, targets, values, and whether the pair is kept.
AFTER, BEFORE, SCALES, AFTER_RAISED, BEFORE_RAISED, NUMBERS = (k * AT_ONCE for k in (0, 1, 2, 8, 9, 10))
WEIGHTS, TARGETS, VALUES, KEPT, HALVES = (k * AT_ONCE for k in range(5))
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of √½
_GROW = np.float32(2.0**112)  # the exponents of half and single precision differ by so much
_SHRINK = np.float32(2.0**-112)


# half uint16, finite; float32 comes back
@kernel(inline="always")
def from_half(half):
    """Return the number that ``half`` stands for."""
    bits = (np.uint32(half) & np.uint32(0x7FFF)) << np.uint32(13)
    bits |= (np.uint32(half) & np.uint32(0x8000)) << np.uint32(16)
    return np.uint32(bits).view(np.float32) * _GROW


# number float32; uint16 comes back
@kernel(inline="always")
def to_half(number):
    """Return the nearest half of a number; what is too large becomes the largest."""
    bits = np.float32(np.float32(number) * _SHRINK).view(np.uint32)
    size = bits & np.uint32(0x7FFFFFFF)
    size = (size + np.uint32(0xFFF) + ((size >> np.uint32(13)) & np.uint32(1))) >> np.uint32(13)
    return np.uint16(min(size, np.uint32(0x7BFF)) | ((bits >> np.uint32(16)) & np.uint32(0x8000)))


# x float32, positive and finite; the same to one unit of the last place as np.log, which no loop of many can use
@kernel(fastmath=True, error_model="numpy", inline="always")
def natural_log(x):
    """Return log x = e log 2 + 2 artanh z, where x = 2ᵉ m and z = (m - 1) / (m + 1), at most 0.172 in size."""
    bits = np.float32(x).view(np.int32)
    e = (bits - _ROOT_HALF) >> np.int32(23)
    m = np.int32(bits - (e << np.int32(23))).view(np.float32)
    z = (m - np.float32(1)) / (m + np.float32(1))
    y = z * z
    tail = np.float32(1 / 7) + y * np.float32(1 / 9)
    tail = np.float32(1 / 3) + y * (np.float32(1 / 5) + y * tail)
    return np.float32(e) * np.float32(np.log(2)) + np.float32(2) * (z + z * y * tail)


# one and other: r, u, f, a, s, rho of the words; constants: κ, β, p, C, diagonal; all float32, as what comes back
@kernel(fastmath=True, inline="always")
def smoothed_count(H, one, other, constants):
    """Return (1 - β) H + β f f / Σc of equation (3)."""
    beta = constants[1]
    return (np.float32(1) - beta) * max(H, np.float32(0)) + beta * one[2] * other[2]


# raised: the smoothed count to the power p
@kernel(fastmath=True, error_model="numpy", inline="always")
def directed_terms(H, raised, one, other, is_same, constants):
    """Return :func:`psdvec.solver.pmi.pair_terms` of one directed pair: weight, target, square and shift.

    They are 0 where H is less than 0: this direction of the pair was not seen.
    """
    r, _, _, a1, s1, rho1 = one
    _, u, _, a2, s2, rho2 = other
    kappa, _, _, C, diagonal = constants
    unit, half = np.float32(1), np.float32(0.5)
    seen = np.float32(0) if H < 0 else unit
    H = max(H, np.float32(0))
    log_kappa = np.log(kappa)
    G = natural_log((unit - kappa) * H / (r * u) + kappa)
    R = min(raised / (C * a1 * a2), unit) * (diagonal if is_same else unit)
    B, m = rho1 * rho2, s1 * s2
    return (
        seen * half * (R - B),
        seen * half * m * (R * G - B * log_kappa),
        seen * m * m * (R * G * G - B * log_kappa * log_kappa),
        seen * half * m * (G - log_kappa),
    )


# counts is (indptr int64[>n], indices int32[nnz] rising in a row, values int64[nnz], unit float64); columns is
# (starts int64[hi-lo+1], rows int32[m] rising in a column, counts float32[m]); tail is (pointers int64[rows*spans+1],
# indices, weights, targets and values uint16[room]); cells are weights, targets, values uint16
@kernel
def build_rows(counts, columns, extent, formula, tail, cells):
    """Put both directions of each seen pair of the rows of ``extent`` together, and return Σ R G² of what is kept.

    Pairs in the first columns go to the cells, others to the tail, where those whose target differs from the
    background's by less than is negligible are left out. Values are the targets or, after the paper's start X = G/2,
    what a step makes of it.
    """
    indptr, indices, values, count_unit = counts
    starts, rows, befores = columns
    lo, hi, width, scales = extent.lo, extent.hi, extent.width, formula.scales
    spans = (scales.shape[0] + SPAN - 1) // SPAN
    found, numbers = np.empty(AT_ONCE, np.uint32), np.zeros(NUMBERS, np.float32)
    halves = np.empty(HALVES, np.uint16)
    squares, o = 0.0, 0
    for i in range(lo, hi):
        p, q, span = indptr[i], starts[i - lo], 0
        one = (scales[i, 0], scales[i, 1], scales[i, 2], scales[i, 3], scales[i, 4], scales[i, 5])
        tail[0][(i - lo) * spans] = o
        while True:
            c, p, q = _merge_into(
                (indices, values, p, indptr[i + 1], count_unit), (rows, befores, q, starts[i - lo + 1]), scales,
                found, numbers,
            )  # fmt: skip
            if not c:
                break
            dense, itself = np.searchsorted(found[:c], width), np.searchsorted(found[:c], i)
            if itself < c and found[itself] != i:
                itself = c
            _raise_into(c, one, formula.constants, numbers)
            squares += _terms_into(c, dense, itself, one, formula, numbers, halves)
            _put_cells(found[:dense], halves, i - lo, hi - lo, width, cells)
            o, span = _put_tail(found, halves, dense, c, (i - lo) * spans, span, o, tail)
        for later in range(span + 1, spans + 1):
            tail[0][(i - lo) * spans + later] = o
    return squares


@kernel
def _merge_into(row, column, scales, found, numbers):
    """Take the next words that follow or precede a word: which, how often (-1 for never), and their scales."""
    indices, values, p, stop, count_unit = row
    rows, befores, q, end = column
    n = scales.shape[0]
    never = np.float32(-1)
    c = 0
    while c < AT_ONCE and p < stop and q < end:
        left, right = indices[p], rows[q]
        j = min(left, right)
        found[c] = j
        numbers[AFTER + c] = np.float32(values[p] * count_unit) if left == j else never
        numbers[BEFORE + c] = befores[q] if right == j else never
        p += left == j
        q += right == j
        c += 1
    while c < AT_ONCE and p < stop and q == end and indices[p] < n:
        found[c] = indices[p]
        numbers[AFTER + c], numbers[BEFORE + c] = np.float32(values[p] * count_unit), never
        p += 1
        c += 1
    while c < AT_ONCE and p == stop and q < end:
        found[c], numbers[AFTER + c], numbers[BEFORE + c] = rows[q], never, befores[q]
        q += 1
        c += 1
    flat = scales.reshape(-1)
    for x in range(c):
        first = np.uint64(found[x]) * np.uint64(6)
        for k in range(6):
            numbers[SCALES + k * AT_ONCE + x] = flat[first + np.uint64(k)]
    return c, p, q


# numbers float32[NUMBERS]
@kernel(fastmath=True, inline="always")
def _other(numbers, x):
    return (
        numbers[SCALES + x], numbers[SCALES + AT_ONCE + x], numbers[SCALES + 2 * AT_ONCE + x],
        numbers[SCALES + 3 * AT_ONCE + x], numbers[SCALES + 4 * AT_ONCE + x], numbers[SCALES + 5 * AT_ONCE + x],
    )  # fmt: skip


@kernel(fastmath=True)
def _raise_into(c, one, constants, numbers):
    """Smooth both counts of each pair and raise them to the power p; a root is taken many at a time."""
    exponent = constants[2]
    for x in range(c):
        other = _other(numbers, x)
        numbers[AFTER_RAISED + x] = smoothed_count(numbers[AFTER + x], one, other, constants)
        numbers[BEFORE_RAISED + x] = smoothed_count(numbers[BEFORE + x], other, one, constants)
    if exponent == np.float32(0.5):
        for x in range(AFTER_RAISED, NUMBERS):
            numbers[x] = np.sqrt(numbers[x])
    else:
        for x in range(c):
            numbers[AFTER_RAISED + x] **= exponent
            numbers[BEFORE_RAISED + x] **= exponent


@kernel(fastmath=True, error_model="numpy")
def _terms_into(c, dense, itself, one, formula, numbers, halves):
    """Turn what was merged into halves: weight, target, value, and whether the pair is kept; return Σ R G².

    Fields lie ``AT_ONCE`` apart in one array, so that the compiler sees that none overlaps another and takes many
    pairs at a time.
    """
    _, constants, half_start, step, negligible, unit = formula
    squares = np.float32(0)
    log_kappa, nothing = np.log(constants[0]), np.float32(0)
    for x in range(c):
        other, is_same = _other(numbers, x), x == itself
        w, t, square, g = directed_terms(
            numbers[AFTER + x], numbers[AFTER_RAISED + x], one, other, is_same, constants
        )
        w2, t2, _, g2 = directed_terms(
            numbers[BEFORE + x], numbers[BEFORE_RAISED + x], other, one, is_same, constants
        )
        w, t, g = w + w2, t + t2, g + g2
        is_kept = x < dense or abs(t) >= negligible
        squares += square if is_kept else nothing
        first = t
        if half_start:
            background, level = one[5] * other[5], np.float32(-0.5) * log_kappa * one[4] * other[4]
            first = np.float32(0.5) * g * (np.float32(1) - step * (w + background)) + step * (t + level * w)
        halves[WEIGHTS + x] = to_half(w)
        halves[TARGETS + x] = to_half(t / unit)
        halves[VALUES + x] = to_half(first / unit)
        halves[KEPT + x] = np.uint16(is_kept)
    return float(squares)


@kernel
def _put_cells(found, halves, row, rows, width, cells):
    weights, targets, values = cells
    for x in range(found.size):
        strip = found[x] // STRIP
        across = min(STRIP, width - strip * STRIP)
        k = rows * STRIP * strip + row * across + found[x] - strip * STRIP
        weights[k], targets[k], values[k] = halves[WEIGHTS + x], halves[TARGETS + x], halves[VALUES + x]


@kernel
def _put_tail(found, halves, first, last, pointer, span, o, tail):
    """Append the pairs that are kept, and return where the next goes and its span; there is room for all."""
    pointers, indices, weights, targets, values = tail
    for x in range(first, last):
        while span < found[x] // SPAN:
            span += 1
            pointers[pointer + span] = o
        indices[o] = np.uint16(found[x] % SPAN)
        weights[o], targets[o], values[o] = halves[WEIGHTS + x], halves[TARGETS + x], halves[VALUES + x]
        o += np.int64(halves[KEPT + x])
    return o, span


# halves uint16[m]; out float32[m]
@kernel(fastmath=True)
def unpack_into(halves, unit, out):
    """Turn halves in units of ``unit`` into numbers."""
    for k in range(halves.size):
        out[k] = from_half(halves[k]) * unit


# columns: taken at a time; pointers int64[>=rows*spans+1], indices, values uint16[m], Q float32[n, k], Y [rows, k]
@kernel(fastmath=True)
def product_into(spans, columns, pointers, indices, values, unit, Q, Y):
    """Add the sparse pairs of a block times Q to Y, for as many rows as Y has, and columns as Q has rows."""
    n, d = Q.shape
    rows = Y.shape[0]
    for span in range((n + SPAN - 1) // SPAN):
        base = span * SPAN
        cursor = pointers[span::spans][:rows].copy()
        for first in range(0, min(SPAN, n - base), columns):
            last = min(first + columns, n - base)
            for i in range(rows):
                k = end = cursor[i]
                while end < pointers[i * spans + span + 1] and indices[end] < last:
                    end += 1
                cursor[i] = end
                y = Y[i]
                while k + 4 <= end:
                    q0, q1 = Q[base + indices[k]], Q[base + indices[k + 1]]
                    q2, q3 = Q[base + indices[k + 2]], Q[base + indices[k + 3]]
                    v0, v1 = from_half(values[k]) * unit, from_half(values[k + 1]) * unit
                    v2, v3 = from_half(values[k + 2]) * unit, from_half(values[k + 3]) * unit
                    for c in range(d):
                        y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
                    k += 4
                while k < end:
                    q0, v0 = Q[base + indices[k]], from_half(values[k]) * unit
                    for c in range(d):
                        y[c] += v0 * q0[c]
                    k += 1


# as product_into; weights and targets uint16[m], P float32[rows, k]; values are renewed; sums float64[2] are added to
@kernel(fastmath=True)
def residual_into(spans, columns, pointers, indices, weights, targets, values, unit, P, Q, momentum, Y, sums):
    """With X = P Qᵀ: values = T - W∘X on the sparse pairs, Y += ((1 + θ) new - θ old) · Q, sums += Σ T x, Σ W x².

    Y may have no columns where only the residual is wanted.
    """
    n = Q.shape[0]
    rows = P.shape[0]
    for span in range(spans):
        base = span * SPAN
        cursor = pointers[span::spans][:rows].copy()
        for first in range(0, min(SPAN, n - base), columns):
            for i in range(rows):
                k = end = cursor[i]
                while end < pointers[i * spans + span + 1] and indices[end] < first + columns:
                    end += 1
                cursor[i] = end
                _residual_row(
                    base, indices, weights, targets, values, unit, P[i], Q, momentum, Y[i], sums, k, end
                )


@kernel(fastmath=True)
def _residual_row(base, indices, weights, targets, values, unit, p, Q, momentum, y, sums, k, end):
    d = p.size
    while k + 4 <= end:
        q0, q1 = Q[base + indices[k]], Q[base + indices[k + 1]]
        q2, q3 = Q[base + indices[k + 2]], Q[base + indices[k + 3]]
        x0 = x1 = x2 = x3 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
            x1 += p[c] * q1[c]
            x2 += p[c] * q2[c]
            x3 += p[c] * q3[c]
        v0 = _renewed(weights, targets, values, unit, k, x0, momentum, sums)
        v1 = _renewed(weights, targets, values, unit, k + 1, x1, momentum, sums)
        v2 = _renewed(weights, targets, values, unit, k + 2, x2, momentum, sums)
        v3 = _renewed(weights, targets, values, unit, k + 3, x3, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
        k += 4
    while k < end:
        q0 = Q[base + indices[k]]
        x0 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
        v0 = _renewed(weights, targets, values, unit, k, x0, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c]
        k += 1


@kernel(fastmath=True, inline="always")
def _renewed(weights, targets, values, unit, k, x, momentum, sums):
    w, t = from_half(weights[k]), from_half(targets[k]) * unit
    sums[0] += t * x
    sums[1] += w * x * x
    new = t - w * x
    ahead = new + momentum * (new - from_half(values[k]) * unit)
    values[k] = to_half(new / unit)
    return ahead


# X float32[m]; weights, targets, values uint16[m]; sums float64[2] are added to
@kernel(fastmath=True)
def cell_residual_into(X, weights, targets, values, unit, momentum, sums):
    """What residual_into does to the cells of a strip, without the product; X becomes (1 + θ) new - θ old."""
    tx = wxx = 0.0
    for k in range(X.size):
        x, w, t = X[k], from_half(weights[k]), from_half(targets[k]) * unit
        tx += t * x
        wxx += w * x * x
        new = t - w * x
        X[k] = new + momentum * (new - from_half(values[k]) * unit)
        values[k] = to_half(new / unit)
    sums[0] += tx
    sums[1] += wxx
