"""The CPU as a device: blocks of pairs and rows of tall matrices are dealt to threads, each with a BLAS of one thread.

:class:`Cpu` has the methods of :class:`psdvec.solver.devices.Device`. What a thread is given does not depend on how
many there are, and sums are taken in order, so that one thread and many give the same bits. Nor does a thread ever spin
while it waits for another, as those of BLAS do within a product: a busy machine costs time and nothing else.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import ResourceError
from psdvec.options import Recipe
from psdvec.parallel import map_ordered
from psdvec.progress import memory_in_use
from psdvec.resources import (
    available_memory,
    current_memory,
    disk_errors_explained,
    format_size,
    limit_blas,
    limit_threads,
    resolve_workers,
)
from psdvec.solver.devices import AMPLE, Room, Size
from psdvec.solver.devices.cpu_kernels import (
    SPAN,
    STRIP,
    add_tiles,
    build_rows,
    cell_residual_into,
    count_columns,
    fill_columns,
    product_into,
    residual_into,
    seek_column,
    unpack_into,
)
from psdvec.solver.eigen import iterated_pairs, krylov_width
from psdvec.solver.pmi import SparseCounts, WordScales, release_pairs, sums_over_rows, target_unit
from psdvec.solver.ridge import BATCH, Setting, solve_words
from psdvec.solver.rounds import TILE, lay_out
from psdvec.storage.arrays import Scratch, own_memory
from psdvec.storage.workspace import Placed
from psdvec.vectors.model import Constants

# Which seen pairs make a block: rows of consecutive words, given by the counts alone, whatever machine works on them.

MOST_PAIRS = 1 << 22  # of a block, unless one row has more
BYTES = 8  # of a sparse pair; a cell has no column and takes 6
MOST_BYTES = MOST_PAIRS * BYTES


class Place(NamedTuple):
    """Rows ``lo`` to ``hi`` of a problem of ``words`` words; the first ``width`` columns are cells.

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


def layout_of(counts: SparseCounts, n: int) -> list[Place]:
    """Return how the pairs of the first n words are cut into blocks, in order."""

    def add(first: int, last: int, squares: Int64s, lengths: Int64s) -> None:
        add_tiles(counts.indptr, counts.indices, first, last, TILE, squares, lengths)

    tiles = -(-n // TILE)
    squares, column_lengths = sums_over_rows(counts, n, add, (tiles, tiles), (n,))
    widths = lay_out(squares, n)
    lengths = np.diff(counts.indptr[: n + 1]) + column_lengths
    room = np.minimum(lengths, n - widths)
    places = []
    for first in range(0, n, TILE):
        last, width = min(first + TILE, n), int(widths[first])
        parts = -(-int(room[first:last].sum() + (last - first) * width) // MOST_PAIRS)
        step = -(-(last - first) // max(parts, 1))
        for lo in range(first, last, step):
            hi = min(lo + step, last)
            places.append(Place(lo, hi, width, int(room[lo:hi].sum()), n))
    return places


# The seen pairs of a problem on the CPU: blocks in memory as far as there is room, the others in a file.

Result = TypeVar("Result")

_AHEAD = 2  # blocks of the file that the system is asked to read before they are needed


@dataclass
class StoredBlock:
    """A block whose pairs lie in a ``file``: the fixed ones from ``start``, their values after them."""

    block: Block  # without pairs
    file: IO[bytes]
    start: int
    sizes: tuple[int, int]  # of the fixed numbers and of the values

    def load(self, scratch: Scratch) -> Block:
        """Read the pairs, into ``scratch``."""
        fixed, values = np.split(scratch.array(np.uint16, sum(self.sizes)), [self.sizes[0]])
        _read_into(self.file, self.start, fixed)
        _read_into(self.file, self.start + fixed.nbytes, values)
        return replace(self.block, fixed=fixed, values=values)

    def save_values(self, block: Block) -> None:
        """Write the values of the loaded ``block`` back."""
        _write(self.file, self.start + 2 * self.sizes[0], block.values)

    def expect(self) -> None:
        """Ask the system to read the pairs soon."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.file.fileno(), self.start, 2 * sum(self.sizes), os.POSIX_FADV_WILLNEED)


def _read_into(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = os.preadv(file.fileno(), [view], start)
        if not size:
            raise ResourceError("the file of pairs has become shorter; fit again")
        view, start = view[size:], start + size


def _write(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = os.pwrite(file.fileno(), view, start)
        view, start = view[size:], start + size


class CpuPairs:
    """Pairs of a problem, or of some of its rows, block by block; see :class:`psdvec.solver.devices.Pairs`.

    Takes consecutive ``blocks`` as they are built, and keeps as many as take at most ``room`` bytes in memory, the
    others in a file in ``folder`` that has no name, so that nothing is left of it whatever happens.
    """

    def __init__(
        self,
        blocks: Iterable[Block],
        *,
        pool: ThreadPoolExecutor,
        threads: int,
        room: float = np.inf,
        folder: Path | None = None,
    ) -> None:
        self._pool, self._threads, self._scratch = pool, threads, Scratch()
        self._kept: list[Block | StoredBlock] = []
        self.squares_each: list[float] = []
        self.in_memory = self.on_disk = 0
        self._folder = Path(tempfile.gettempdir()) if folder is None else folder
        with disk_errors_explained(self._folder):
            self._keep(blocks, room)
        self.squares = sum(self.squares_each)
        self._first, self._last = _place(self._kept[0]).lo, _place(self._kept[-1]).hi

    def _keep(self, blocks: Iterable[Block], room: float) -> None:
        file: IO[bytes] | None = None
        for block in blocks:
            self.squares_each.append(block.squares)
            size = block.fixed.nbytes + block.values.nbytes
            if file is None and self.in_memory + size <= room:
                self._kept.append(block)
                self.in_memory += size
                continue
            if file is None:
                file = tempfile.TemporaryFile(dir=self._folder, prefix="pairs-")  # noqa: SIM115
                weakref.finalize(self, file.close)
            _write(file, self.on_disk, block.fixed)
            _write(file, self.on_disk + block.fixed.nbytes, block.values)
            sizes = block.fixed.size, block.values.size
            nothing = np.empty(0, np.uint16)
            self._kept.append(
                StoredBlock(replace(block, fixed=nothing, values=nothing), file, self.on_disk, sizes)
            )
            self.on_disk += size

    def times(self, block: Float32s) -> Float32s:
        """Return values · block, for the rows of the blocks that are here."""
        m, first = block.shape[0], self._first
        product = np.zeros((max(min(self._last, m) - first, 0), block.shape[1]), np.float32)

        def multiply(one: Block) -> None:
            one.times(block, product[one.place.lo - first : one.place.hi - first], self._scratch)

        for _ in self._each(multiply, [kept for kept in self._kept if _place(kept).lo < m]):
            pass
        return product

    def renew(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.Pairs.renew`."""
        image, sums = self.renew_each(Q, values, momentum=momentum, with_image=with_image)
        return image, *added_up(sums)

    def renew_each(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, list[tuple[float, float]]]:
        """Do as :meth:`renew` for the rows of the blocks that are here, and return the sums of each block."""
        first = self._first
        image = np.zeros((self._last - first, Q.shape[1]), np.float32) if with_image else None
        factors = values.astype(np.float32)

        def renew(one: Block) -> tuple[float, float]:
            lo, hi = one.place.lo, one.place.hi
            part = None if image is None else image[lo - first : hi - first]
            return one.renew(Q[lo:hi] * factors, Q, part, self._scratch, momentum=momentum)

        with disk_errors_explained(self._folder):
            return image, list(self._each(renew, self._kept, changed=True))

    def _each(
        self, work: Callable[[Block], Result], kept: Sequence[Block | StoredBlock], *, changed: bool = False
    ) -> Iterator[Result]:
        """Yield what ``work`` makes of each block, in their order; write the values back where they are ``changed``."""

        def do(number: int) -> Result:
            one = kept[number]
            if isinstance(one, Block):
                return work(one)
            for later in kept[number + 1 : number + 1 + _AHEAD]:
                if isinstance(later, StoredBlock):
                    later.expect()
            block = one.load(self._scratch)
            found = work(block)
            if changed:
                one.save_values(block)
            return found

        return map_ordered(self._pool, do, range(len(kept)), ahead=4 * self._threads)


def _place(kept: Block | StoredBlock) -> Place:
    return kept.place if isinstance(kept, Block) else kept.block.place


def added_up(sums: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return Σ T x and Σ W x² over blocks, added in their order: the same bits wherever the blocks are."""
    tx = wxx = 0.0
    for one, other in sums:
        tx, wxx = tx + one, wxx + other
    return tx, wxx


# A block of the seen pairs of a problem: what one thread, one read from disk or one worker of a cluster works on.

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
        columns = _gather(counts, cursor, group[0].lo, group[-1].hi, ranges, pool)
        cursor = columns.ends
        build = partial(_build, counts, columns, formula, scratch)
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
    counts: SparseCounts,
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
    return Columns(first, starts, rows, befores, ends)


def _build(counts: SparseCounts, columns: Columns, formula: Formula, scratch: Scratch, place: Place) -> Block:
    starts = columns.starts[place.lo - columns.first : place.hi - columns.first + 1]
    inside = slice(starts[0], starts[-1])
    spans, cells = -(-place.words // SPAN), place.rows * place.width
    pointers = np.zeros(place.rows * spans + 1, np.int64)
    numbers = scratch.array(np.uint16, 4 * place.room + 3 * cells)
    tail, dense = numbers[: 4 * place.room].reshape(4, -1), numbers[4 * place.room :].reshape(3, -1)
    dense[:] = 0
    squares = build_rows(
        (counts.indptr, counts.indices, counts.values, 1 / UNIT),
        (starts - starts[0], columns.rows[inside], columns.befores[inside]), place.lo, place.hi, place.width,
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


# How much memory a fit takes besides its pairs.

TALL = 5  # matrices as large as X's basis that are alive together in the rounds
AFTERWARDS = 7.5  # matrices as large as the vectors, while n-grams and deviations are computed
LIBRARIES = 150_000_000  # what kernels, BLAS and SciPy take once they are used
PAIR = 16  # for a directed pair: both directions are kept, in 8 bytes if they are sparse
COLUMNS = GATHERED << 22  # bytes of columns that are gathered together, at least
MARGIN = 1.05  # for what is not predicted
ADVISED = 1.02  # times what is needed now: a process grows a little between two attempts


def _besides(size: Size, threads: int) -> tuple[int, int]:
    """Return the most bytes taken at a time by everything but the pairs, and what of it columns may take."""
    n, count = size.words, iterated_pairs(size.rank, size.words)
    head = min(size.head or n, n)
    block = threads * min(MOST_BYTES, PAIR * size.pairs)
    start = 8 * head * min(krylov_width(count), head) + block
    rounds = TALL * 4 * n * count + block
    solving = max(start, rounds, AFTERWARDS * 4 * n * size.dim)
    columns = min(max(COLUMNS, int(solving) - 3 * block), GATHERED * size.pairs)
    total = memory_in_use() + LIBRARIES + max(columns + 3 * block, solving)
    return int(MARGIN * total), columns


def _most_words(size: Size, threads: int, limit: int) -> int:
    """Return the largest core, in steps of a tenth, that would be accepted; 0 if none."""
    words = size.words
    while words and _besides(replace(size, words=words), threads)[0] > limit:
        words = words * 9 // 10
    return words


CHUNK = 2048  # rows that are worked on together, and whose products are summed in float32 before float64


class Cpu:
    """The CPU, with this many threads, one per core if None; see :class:`psdvec.solver.devices.Device`."""

    words_at_once = BATCH  # some seconds of work, and one pass over the counts
    others: Sequence[Mapping[str, str]] = ()

    def __init__(self, workers: int | None = None) -> None:
        self.threads = resolve_workers(workers)
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="psdvec")

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Use the device's threads, and one of them in a BLAS."""
        with limit_threads(self.threads), limit_blas(1):
            yield

    def find_room(self, size: Size, *, limit: int | None, folder: Path | None) -> Room:
        """Return what the pairs of a fit may take, of ``limit`` bytes or of all that are free.

        Raises :class:`ResourceError` where that is too little even if no pair stays in memory.
        """
        most = available_memory() + current_memory() if limit is None else limit
        besides, building = _besides(size, self.threads)
        if besides <= most:
            return Room(most - besides, folder, building, PAIR * size.pairs, besides)
        fewer = _most_words(size, self.threads, most)
        core = (
            f", or fit {fewer:,} words together (core={fewer}) and place the others by ridge" if fewer else ""
        )
        raise ResourceError(
            f"fitting {size.words:,} words in {size.dim} dimensions needs {format_size(besides)} of memory even if all "
            f"pairs are on disk, and {format_size(most)} is allowed; "
            f"give memory={10 * math.ceil(ADVISED * besides / 10**7)}M{core}"
        )

    def solve_words(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None] = lambda _: None
    ) -> list[Placed]:
        """Solve each word of ``setting`` on its own, by threads."""
        return solve_words(setting, counts, workers=self.threads, advance=advance)

    def open_pairs(
        self,
        counts: SparseCounts,
        scales: WordScales,
        constants: Constants,
        *,
        recipe: Recipe,
        room: Room = AMPLE,
    ) -> CpuPairs:
        """Return the seen pairs of the first ``len(scales)`` words of ``counts``."""
        blocks = build_blocks(
            counts,
            formula_of(scales, constants, recipe=recipe),
            layout_of(counts, len(scales)),
            pool=self.pool,
            threads=self.threads,
            building=room.building,
        )
        return CpuPairs(blocks, pool=self.pool, threads=self.threads, room=room.bytes, folder=room.folder)

    def put(self, array: Array) -> Float32s:
        """Return ``array`` as contiguous float32."""
        return np.ascontiguousarray(array, np.float32)

    def get(self, block: Float32s) -> Float32s:
        """Return ``block`` itself."""
        return block

    def zeros(self, n: int, k: int) -> Float32s:
        """Return an (n, k) block of zeros."""
        return np.zeros((n, k), np.float32)

    def join(self, *blocks: Float32s) -> Float32s:
        """Return the columns of all blocks side by side."""
        return np.concatenate(blocks, axis=1)

    def gram(self, left: Float32s, right: Float32s, *, weights: Float32s | None = None) -> Float64s:
        """Return leftᵀ diag(weights) right, a chunk of rows at a time, summed in float64."""

        def part(rows: slice) -> Float32s:
            one = left[rows] if weights is None else left[rows] * weights[rows, None]
            return np.asarray(one.T @ right[rows], np.float32)

        total = np.zeros((left.shape[1], right.shape[1]))
        for product in self._each(part, left.shape[0]):
            total += product
        return total

    def combine(self, block: Float32s, matrix: Array) -> Float32s:
        """Return block · matrix in float32."""
        small = matrix.astype(np.float32)
        product = np.empty((block.shape[0], small.shape[1]), np.float32)
        for _ in self._each(lambda rows: np.matmul(block[rows], small, out=product[rows]), block.shape[0]):
            pass
        return product

    def add_products(
        self,
        target: Float32s,
        parts: Sequence[tuple[Float32s, Array]],
        *,
        weights: Float32s | None = None,
        keep: float = 1.0,
    ) -> None:
        """Set target = keep · target + diag(weights) Σ block · matrix; a matrix of one dimension is a diagonal."""
        small = [(block, matrix.astype(np.float32)) for block, matrix in parts]

        def part(rows: slice) -> None:
            total = sum(_product(block[rows], matrix) for block, matrix in small)
            if weights is not None:
                total *= weights[rows, None]
            if keep != 1:
                target[rows] *= np.float32(keep)
            target[rows] += total

        for _ in self._each(part, target.shape[0]):
            pass

    def _each(self, work: Callable[[slice], Result], rows: int) -> Iterator[Result]:
        """Yield what ``work`` makes of each chunk of rows, in order."""
        chunks = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
        return map_ordered(self.pool, work, chunks, ahead=2 * self.threads)


def _product(block: Float32s, matrix: Float32s) -> Any:
    return block * matrix if matrix.ndim == 1 else block @ matrix
