"""Rows of the count matrix: counted from numbered text, or added up from several matrices.

:func:`count_rows` makes rows from text, :func:`add_rows` adds those of several matrices. Both yield them in order,
computed block by block on threads, so that memory does not grow with the matrix.

The kernels at the end run in numba. The text is ``tokens``, int32 ids with SENTENCE_END and GAP among them;
``positions`` holds the places of the first of some consecutive words, then of the next, and so on, cut by ``starts``. A
row is summed in a dense accumulator that is small enough for the cache, and written out in order of its columns; each
row is owned by one thread, so any number of threads gives the same bytes. The definitions are in
:mod:`tests.reference.counting`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.matrix import UNIT, Rows
from psdvec.counts.segments import SENTENCE_END, WordTable
from psdvec.errors import ResourceError
from psdvec.kernels import kernel, prefetch
from psdvec.options import BASKET, Counting
from psdvec.progress import Progress
from psdvec.resources import format_size, map_ordered, memory_in_use
from psdvec.storage.artefact import read_numbers
from psdvec.storage.files import discard_folder
from psdvec.storage.workspace import piece_folder

CELL_BYTES = 12  # of a cell in memory and on disk: int32 column, int64 value
BENCH_BYTES = 8 + 1 / 7  # of a workbench, per column: its sum, and its bits in two maps
_POSITIONS = 1 << 20  # that one thread counts at a time
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


class Workbench(threading.local):
    """Each thread's accumulator of a row of ``n`` columns: the sums and two bit maps of its columns, all zero."""

    def __init__(self, n: int) -> None:
        self.arrays = (
            np.zeros(n, np.int64), np.zeros(n // 64 + 1, np.uint64), np.zeros(n // 4096 + 1, np.uint64),
        )  # fmt: skip


def room_for(cells: int, rows: int) -> Rows:
    """Return arrays that so many ``rows``, of at most so many ``cells`` in all, can be written into."""
    return Rows(np.empty(cells, np.int32), np.empty(cells, np.int64), np.empty(rows, np.int64))


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
    pool: Executor, tokens: Int32s, own: int, *, weights: Int64s | None, portions: Portions
) -> Iterator[Rows]:
    """Count the pairs whose first word is among ``tokens[:own]``; yield the rows of ``portions`` in order.

    Without ``weights``, sentences are baskets, and all their items are pairs, in both directions.
    """
    positions, starts = index_positions(pool, tokens, own, rows=portions.rows, workers=portions.workers)
    reach = len(weights) if weights is not None else _longest_basket(tokens)
    bench = Workbench(portions.n)

    def count(stretch: Stretch) -> Rows:
        bound = np.minimum(np.diff(stretch.starts) * reach, portions.n)
        room = room_for(int(bound.sum()) + 1, bound.size)
        if weights is None:
            used = _count_baskets(tokens, positions, stretch.starts, reach, *bench.arrays, *room)
        else:
            used = _count_rows(tokens, positions, stretch.starts, weights, *bench.arrays, *room)
        return Rows(room.columns[:used], room.values[:used], room.sizes)

    stretches = cut_stretches(starts, reach, n=portions.n, cells=portions.cells)
    counted = map_ordered(pool, count, stretches, ahead=2 * portions.workers)
    held: list[Rows] = []
    for stretch, rows in zip(stretches, counted, strict=True):
        held.append(rows)
        if stretch.is_last:
            yield rows if len(held) == 1 else add_parts(held, [1] * len(held), bench)
            held = []


class Stretch(NamedTuple):
    """What one thread counts at a time: positions of consecutive words, cut by ``starts``, or some of one word.

    ``is_last``: whether the positions of the last word end here.
    """

    starts: Int64s
    is_last: bool = True


def cut_stretches(starts: Int64s, reach: int, *, n: int, cells: int) -> list[Stretch]:
    """Cut positions into stretches of about as much work each, of whole words but for the most frequent ones.

    The most frequent word of a language is one in sixteen; all of it would keep one thread busy while others wait.

    >>> [stretch.starts.tolist() for stretch in cut_stretches(np.array([0, 1 << 21, (1 << 21) + 9]), 5, n=9, cells=99)]
    [[0, 1048576], [1048576, 2097152], [2097152, 2097161]]
    """
    sizes = np.diff(starts)
    loads = np.minimum(sizes * reach, n) + sizes * cells // _POSITIONS
    stretches = []
    for begin, end in cut_ranges(loads, cells=cells):
        pieces = -(-int(sizes[begin]) // _POSITIONS) if end == begin + 1 else 1
        if pieces <= 1:
            stretches.append(Stretch(starts[begin : end + 1]))
            continue
        cuts = starts[begin] + sizes[begin] * np.arange(pieces + 1) // pieces
        stretches += [Stretch(cuts[k : k + 2], is_last=k == pieces - 1) for k in range(pieces)]
    return stretches


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


def add_rows(
    pool: Executor,
    readers: Sequence[Callable[[Range], Rows]],
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
        return add_parts([read(rows) for read in readers], signs, bench)

    return map_ordered(pool, add, cut_ranges(sizes, cells=cells), ahead=2 * workers)


def add_parts(parts: Sequence[Rows], signs: Sequence[int], bench: Workbench) -> Rows:
    """Return the sum of the same rows of several matrices, each taken ``signs`` times."""
    sizes = [part.sizes for part in parts]
    bounds = np.zeros((len(parts), sizes[0].size + 1), np.int64)
    before = 0
    for part, bound in zip(parts, bounds, strict=True):
        np.cumsum(part.sizes, out=bound[1:])
        bound += before
        before += len(part.columns)
    n = bench.arrays[0].size
    room = room_for(int(np.minimum(np.sum(sizes, axis=0), n).sum()), sizes[0].size)
    used = _add_rows(
        np.concatenate([part.columns for part in parts]), np.concatenate([part.values for part in parts]),
        bounds, np.array(signs, np.int64), *bench.arrays, *room,
    )  # fmt: skip
    return Rows(room.columns[:used], room.values[:used], room.sizes)


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
def _count_rows(tokens, positions, starts, weights, sums, marks, tops, columns, values, sizes):
    """Count, for each word whose positions ``starts`` cuts out, the words that follow it within the window.

    Columns are marked only in rows that have fewer pairs than there are columns.
    """
    at, window = 0, len(weights)
    for row in range(len(starts) - 1):
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
        sizes[row] = at - before
    return at


def _longest_basket(tokens: Int32s) -> int:
    """Return how many ids the longest basket has, and at least 1."""
    ends = np.flatnonzero(tokens == SENTENCE_END)
    return int(np.diff(ends, prepend=-1, append=len(tokens)).max())


# reach: ids of the longest basket; sizes int64[rows] out: cells of each row; returns the number of cells
@kernel
def _count_baskets(tokens, positions, starts, reach, sums, marks, tops, columns, values, sizes):
    """Count, for each item whose positions ``starts`` cuts out, the other items of their baskets, once per basket.

    An item is in its own basket, too. That counts the least that can be counted: the fit leaves the pair out, but it
    must not take it for one that never was.
    """
    at = 0
    for row in range(len(starts) - 1):
        is_marked = (starts[row + 1] - starts[row]) * reach < len(sums)
        for k in range(starts[row], starts[row + 1]):
            item = tokens[positions[k]]
            sums[item] += 1
            if is_marked:
                _mark(marks, tops, item)
            for step in (-1, 1):
                p = np.int64(positions[k]) + step
                while 0 <= p < len(tokens) and tokens[p] != SENTENCE_END:
                    other = tokens[p]
                    if other >= 0:
                        sums[other] += UNIT
                        if is_marked:
                            _mark(marks, tops, other)
                    p += step
        before = at
        if is_marked:
            at = _emit_row(columns, values, at, sums, marks, tops)
        else:
            at = _emit_full_row(columns, values, at, sums)
        sizes[row] = at - before
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


# Counting text that need not fit into memory, by way of sorted runs on disk that are merged in passes.

FAN_IN = 64

_TOKEN_BYTES = 8  # of a token being counted: its id, and its position
_MIN_CHUNK = 1 << 18
_CELLS = 1 << 20
_RESERVE = 48_000_000  # for segments being read, and the allocator


def count_text(
    text: Sequence[Path],
    words: tuple[str, ...],
    what: Counting,
    work: Path,
    *,
    ids: int,
    rows: Range | None = None,
    memory: int,
    workers: int,
    progress: Progress,
    count_on_card: Callable[..., Iterator[Rows]] | None = None,
) -> Iterator[Rows]:
    """Yield the rows of the count matrix of the segments ``text``, or only some ``rows``, over the chosen ``words``.

    ``ids``: the length of the text, sentence ends and gaps included. The pairs are counted as the rows are asked for.
    ``count_on_card`` takes the place of :func:`count_rows`.
    """
    portions = choose_portions(ids, n=len(words), rows=rows, memory=memory, workers=workers)
    with ThreadPoolExecutor(workers) as pool:
        weights = None if what.weighting == BASKET else what.weights
        rows_of = partial(count_rows, pool) if count_on_card is None else count_on_card
        count = partial(rows_of, weights=weights, portions=portions)
        chunks = partial(_read_chunks, text, words, what, portions, pool)
        if portions.ids <= portions.chunk:  # all text fits into memory at once
            with progress.stage("counting pairs", total=portions.rows.size, unit="words") as stage:
                for chunk in chunks(0, 0):
                    for counted in count(chunk.tokens, chunk.own):
                        yield counted
                        stage.advance(len(counted.sizes))
            return
        runs = _count_runs(chunks, count, work / f"chunk-{portions.chunk}", portions.ids, progress)
        yield from merge_runs(runs, work / "merged", portions, pool, progress)


@dataclass(frozen=True)
class Portions:
    """Which ``rows`` of ``n`` are counted, and how much at a time: ``chunk`` of ``ids``, ``cells`` of the matrix."""

    n: int
    rows: Range
    ids: int
    chunk: int
    cells: int
    workers: int


def choose_portions(ids: int, *, n: int, memory: int, workers: int, rows: Range | None = None) -> Portions:
    """Choose how much to count at a time: of ``ids`` of text over ``n`` words, or only some ``rows``, in ``memory``."""
    chunk, cells = room_for_text(memory, n=n, workers=workers)
    if chunk < min(_MIN_CHUNK, ids):
        needed = memory + _TOKEN_BYTES * (_MIN_CHUNK - chunk)
        raise ResourceError(
            f"counting {n:,} words with {workers} worker{'s' * (workers > 1)} does not fit into "
            f'{format_size(memory)} of memory; give memory="{format_size(needed).replace(" ", "")}" or more, '
            "use fewer workers, or count fewer words"
        )
    return Portions(n, rows or Range(0, n), ids, chunk, cells, workers)


def room_for_text(memory: int, *, n: int, workers: int) -> tuple[int, int]:
    """Return how many ids of text, and cells of the matrix in a block, fit into ``memory``; none fit if below 0.

    ``memory`` includes what the process uses now.
    """
    free = memory - memory_in_use() - _RESERVE
    benches = int(n * (workers * (BENCH_BYTES + 16) + 32))
    blocks = 4 * workers  # in progress at a time, each with its input and its output
    cells = int(np.clip((free - benches) // 3 // (blocks * 2 * CELL_BYTES), 1 << 14, _CELLS))
    chunk = (free - benches - blocks * cells * CELL_BYTES) // _TOKEN_BYTES
    return min(chunk, 2**31 - 2**20), cells


class _Chunk(NamedTuple):
    """Text in ids of the vocabulary: pairs are counted for ``tokens[:own]``; what follows is context for the last.

    ``next_place``: the segment where the next chunk begins, and at which id of it.
    """

    tokens: Int32s
    own: int
    next_place: tuple[int, int]


def _read_chunks(
    files: Sequence[Path], words: tuple[str, ...], what: Counting, portions: Portions, pool: Executor,
    segment: int, offset: int,
) -> Iterator[_Chunk]:  # fmt: skip
    """Yield the text from ``offset`` in a ``segment`` on; each chunk is valid until the next is asked for.

    It is cut at sentence ends, or anywhere in a sentence that is longer than a chunk, which no basket is.
    """
    halo = len(what.weights)  # ids after its own that a chunk needs
    capacity = min(portions.chunk, portions.ids) + halo + 1
    buffer, fill = np.empty(capacity, np.int32), 0
    copies: list[Future[None]] = []  # under way into the buffer: new memory takes longer to get than to fill
    begins: dict[int, int] = {}  # where each segment begins in the buffer: below 0, if part of it is gone
    read = partial(WordTable.of(words).translate, close_gaps=what.gaps == "close")
    texts = map_ordered(pool, read, files[segment:], ahead=portions.workers)
    for number, text in enumerate(texts, segment):
        begins[number] = fill - offset
        text, offset = text[offset:], 0
        while len(text):
            taken = text[: capacity - fill]
            copies.append(pool.submit(np.copyto, buffer[fill : fill + len(taken)], taken))
            fill, text = fill + len(taken), text[len(taken) :]
            if fill == capacity:
                _wait_for(copies)
                own = _last_sentence_end(buffer[: capacity - halo]) or capacity - halo
                last = max(some for some, begin in begins.items() if begin <= own)
                yield _Chunk(buffer, own, (last, own - begins[last]))
                buffer[: fill - own] = buffer[own:fill].copy()
                fill -= own
                begins = {some: begin - own for some, begin in begins.items() if some >= last}
    _wait_for(copies)
    if fill:
        yield _Chunk(buffer[:fill], fill, (len(files), 0))


def _wait_for(copies: list[Future[None]]) -> None:
    while copies:
        copies.pop().result()


def _last_sentence_end(tokens: Int32s) -> int:
    """Return the place after the last sentence end, or 0 if there is none."""
    for end in range(len(tokens), 0, -(1 << 16)):
        found = np.flatnonzero(tokens[max(end - (1 << 16), 0) : end] == SENTENCE_END)
        if len(found):
            return max(end - (1 << 16), 0) + int(found[-1]) + 1
    return 0


def _count_runs(
    chunks: Callable[[int, int], Iterator[_Chunk]],
    count: Callable[[Int32s, int], Iterator[Rows]],
    work: Path,
    ids: int,
    progress: Progress,
) -> list[Run]:
    """Count chunk after chunk into runs below ``work``, continuing after those that are there."""
    for other in work.parent.glob("chunk-*"):
        if other != work:
            discard_folder(other)
    runs: list[Run] = []
    while (run := Run(work / f"{len(runs):06d}")).folder.exists():
        runs.append(run)
    segment, offset = runs[-1].extra("next").tolist() if runs else (0, 0)
    with progress.stage("counting pairs", total=ids, unit="tokens") as stage:
        stage.advance(sum(int(run.extra("own")[0]) for run in runs))
        for chunk in chunks(segment, offset):
            run = Run(work / f"{len(runs):06d}")
            rows = count(chunk.tokens, chunk.own)
            run.write(rows, next=np.array(chunk.next_place), own=np.array([chunk.own]))
            runs.append(run)
            stage.advance(chunk.own)
    return runs


def merge_runs(
    runs: list[Run], work: Path, portions: Portions, pool: Executor, progress: Progress
) -> Iterator[Rows]:
    """Merge runs in passes until one pass is left, and yield its rows."""
    level = 0
    while len(runs) > FAN_IN:
        merged = []
        for first in range(0, len(runs), FAN_IN):
            run = Run(work / f"{level}-{portions.chunk}-{first:06d}")
            if not run.folder.exists():
                run.write(_merge_pass(runs[first : first + FAN_IN], portions, pool, progress))
            merged.append(run)
        runs, level = merged, level + 1
    yield from _merge_pass(runs, portions, pool, progress)


def _merge_pass(runs: list[Run], portions: Portions, pool: Executor, progress: Progress) -> Iterator[Rows]:
    sizes = sizes_of(runs)
    with progress.stage(f"merging {len(runs)} runs", total=len(sizes), unit="words") as stage:
        for rows in add_rows(
            pool, [run.read for run in runs], signs=[1] * len(runs),
            n=portions.n, sizes=sizes, cells=portions.cells, workers=portions.workers,
        ):  # fmt: skip
            yield rows
            stage.advance(len(rows.sizes))


def sizes_of(runs: Sequence[Run]) -> Int64s:
    """Return the number of cells that each row has in all ``runs`` together."""
    return reduce(np.add, (run.sizes() for run in runs))


@dataclass(frozen=True)
class Run:
    """A matrix, or some rows of one, as a folder: files ``columns``, ``values`` and ``offsets`` of bare numbers.

    ``rows``: those of the folder that are meant, if not all. A run is written whole or not at all.
    """

    folder: Path
    rows: Range | None = None

    def write(self, blocks: Iterable[Rows], **extra: Int64s) -> None:
        """Write ``blocks`` of rows, and small ``extra`` arrays beside them."""
        with piece_folder(self.folder, existing="keep") as new:
            sizes = [np.zeros(1, np.int64)]
            with (new / "columns").open("wb") as columns, (new / "values").open("wb") as values:
                for block in blocks:
                    columns.write(block.columns.data)
                    values.write(block.values.data)
                    sizes.append(block.sizes)
            for name, array in {"offsets": np.cumsum(np.concatenate(sizes)), **extra}.items():
                (new / name).write_bytes(array.data)

    def extra(self, name: str) -> Int64s:
        """Return a small array written beside the rows."""
        return read_numbers(self.folder / name, np.int64)

    def sizes(self) -> Int64s:
        """Return the number of cells in each row."""
        begin, count = (0, None) if self.rows is None else (self.rows.begin, self.rows.size + 1)
        return np.diff(read_numbers(self.folder / "offsets", np.int64, count, first=begin))

    def blocks(self, *, cells: int) -> Iterator[Rows]:
        """Yield all rows in order, about ``cells`` cells at a time."""
        return map(self.read, cut_ranges(self.sizes(), cells=cells))

    def read(self, rows: Range) -> Rows:
        """Return some rows."""
        first = rows.begin if self.rows is None else self.rows.begin + rows.begin
        offsets = read_numbers(self.folder / "offsets", np.int64, rows.size + 1, first=first)
        begin, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        columns = read_numbers(self.folder / "columns", np.int32, count, first=begin)
        values = read_numbers(self.folder / "values", np.int64, count, first=begin)
        return Rows(columns, values, np.diff(offsets))
