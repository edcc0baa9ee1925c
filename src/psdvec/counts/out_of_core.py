"""Counting text that need not fit into memory, by way of sorted runs on disk that are merged in passes.

:func:`count_text` yields the rows of the count matrix in order. It counts as much text at a time as memory allows; if
that is not all of it, each part becomes a :class:`Run`, a matrix on disk, and at most FAN_IN runs are merged at once.
Finished runs are found again after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.matrix import Rows
from psdvec.counts.pair_rows import BENCH_BYTES, CELL_BYTES, Range, add_rows, count_rows, cut_ranges
from psdvec.counts.plan import Counting
from psdvec.counts.segments import SegmentChain, SegmentFolder
from psdvec.counts.word_table import SENTENCE_END, WordTable
from psdvec.errors import ResourceError
from psdvec.parallel import map_ordered
from psdvec.progress import Progress, memory_in_use
from psdvec.resources import format_size
from psdvec.storage.arrays import read_numbers
from psdvec.storage.files import discard_folder
from psdvec.storage.workspace import piece_folder

FAN_IN = 64

_TOKEN_BYTES = 8  # of a token being counted: its id, and its position
_MIN_CHUNK = 1 << 18
_CELLS = 1 << 20
_RESERVE = 48_000_000  # for segments being read, and the allocator


def count_text(
    text: SegmentFolder | SegmentChain,
    words: tuple[str, ...],
    what: Counting,
    work: Path,
    *,
    ids: int,
    rows: Range | None = None,
    memory: int,
    workers: int,
    progress: Progress,
) -> Iterator[Rows]:
    """Yield the rows of the count matrix of all ``text``, or only some ``rows``, over the chosen ``words``.

    ``ids``: the length of the text, sentence ends and gaps included. The pairs are counted as the rows are asked for.
    """
    plan = plan_runs(ids, n=len(words), rows=rows, memory=memory, workers=workers)
    with ThreadPoolExecutor(workers) as pool:
        count = partial(
            count_rows,
            pool,
            rows=plan.rows,
            n=plan.n,
            weights=what.weights,
            cells=plan.cells,
            workers=workers,
        )
        chunks = _Chunks(text, words, plan, pool, what.gaps == "close", len(what.weights))
        if plan.ids <= plan.chunk:  # all text fits into memory at once
            total = len(words) if rows is None else rows.size
            with progress.stage("counting pairs", total=total, unit="words") as stage:
                for chunk in chunks.read(0, 0):
                    for counted in count(chunk.tokens, chunk.own):
                        yield counted
                        stage.advance(len(counted.sizes))
            return
        runs = _count_runs(chunks, work / f"chunk-{plan.chunk}", count, progress)
        yield from _merge_runs(runs, work / "merged", plan, pool, progress)


@dataclass(frozen=True)
class RunPlan:
    """Which ``rows`` of ``n`` are counted, and how much at a time: ``chunk`` of ``ids``, ``cells`` of the matrix."""

    n: int
    rows: Range
    ids: int
    chunk: int
    cells: int
    workers: int


def plan_runs(ids: int, *, n: int, memory: int, workers: int, rows: Range | None = None) -> RunPlan:
    """Plan the counting of ``ids`` of text over ``n`` words, or only of some ``rows``, within ``memory``."""
    chunk, cells = room_for_text(memory, n=n, workers=workers)
    if chunk < min(_MIN_CHUNK, ids):
        needed = memory + _TOKEN_BYTES * (_MIN_CHUNK - chunk)
        raise ResourceError(
            f"counting {n:,} words with {workers} worker{'s' * (workers > 1)} does not fit into "
            f'{format_size(memory)} of memory; give memory="{format_size(needed).replace(" ", "")}" or more, '
            "use fewer workers, or count fewer words"
        )
    return RunPlan(n, rows or Range(0, n), ids, chunk, cells, workers)


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


@dataclass(frozen=True)
class _Chunk:
    """Text in ids of the vocabulary: pairs are counted for ``tokens[:own]``; what follows is context for the last."""

    tokens: Int32s
    own: int
    next_segment: int
    next_offset: int


@dataclass(frozen=True)
class _Chunks:
    """Reads segments into chunks, cut at sentence ends, or anywhere in a sentence that is longer than a chunk.

    ``halo``: how many ids after its own a chunk needs.
    """

    text: SegmentFolder | SegmentChain
    words: tuple[str, ...]
    plan: RunPlan
    pool: Executor
    close_gaps: bool
    halo: int

    def read(self, segment: int, offset: int) -> Iterator[_Chunk]:
        """Yield the chunks from ``offset`` in a ``segment`` on; each is valid until the next is asked for."""
        capacity = min(self.plan.chunk, self.plan.ids) + self.halo + 1
        buffer, fill = np.empty(capacity, np.int32), 0
        marks = [(0, segment, offset)]
        numbers = range(segment, len(self.text))
        table = WordTable.of(self.words)
        texts = map_ordered(
            self.pool,
            lambda number: table.translate(self.text.read(number, with_ids=True), close_gaps=self.close_gaps),
            numbers,
            ahead=self.plan.workers,
        )
        for number, text in zip(numbers, texts, strict=True):
            at = offset if number == segment else 0
            if number != segment:
                marks.append((fill, number, 0))
            while at < len(text):
                taken = min(len(text) - at, capacity - fill)
                buffer[fill : fill + taken] = text[at : at + taken]
                fill, at = fill + taken, at + taken
                if fill == capacity:
                    own = _last_sentence_end(buffer[: capacity - self.halo]) or capacity - self.halo
                    place, segment_there, offset_there = next(
                        mark for mark in reversed(marks) if mark[0] <= own
                    )
                    offset_there += own - place
                    yield _Chunk(buffer, own, segment_there, offset_there)
                    buffer[: fill - own] = buffer[own:fill].copy()
                    marks = [(0, segment_there, offset_there)] + [
                        (p - own, s, o) for p, s, o in marks if p > own
                    ]
                    fill -= own
        if fill:
            yield _Chunk(buffer[:fill], fill, len(self.text), 0)


def _last_sentence_end(tokens: Int32s) -> int:
    """Return the place after the last sentence end, or 0 if there is none."""
    for end in range(len(tokens), 0, -(1 << 16)):
        found = np.flatnonzero(tokens[max(end - (1 << 16), 0) : end] == SENTENCE_END)
        if len(found):
            return max(end - (1 << 16), 0) + int(found[-1]) + 1
    return 0


def _count_runs(
    chunks: _Chunks, work: Path, count: Callable[[Int32s, int], Iterator[Rows]], progress: Progress
) -> list[Run]:
    """Count chunk after chunk into runs below ``work``, continuing after those that are there."""
    for other in work.parent.glob("chunk-*"):
        if other != work:
            discard_folder(other)
    runs = _existing_runs(work)
    segment, offset = runs[-1].extra("next").tolist() if runs else (0, 0)
    with progress.stage("counting pairs", total=chunks.plan.ids, unit="tokens") as stage:
        stage.advance(sum(int(run.extra("own")[0]) for run in runs))
        if segment < len(chunks.text):
            for chunk in chunks.read(segment, offset):
                run = Run(work / f"{len(runs):06d}")
                place = {
                    "next": np.array([chunk.next_segment, chunk.next_offset]),
                    "own": np.array([chunk.own]),
                }
                run.write(count(chunk.tokens, chunk.own), place)
                runs.append(run)
                stage.advance(chunk.own)
    return runs


def _existing_runs(work: Path) -> list[Run]:
    runs: list[Run] = []
    while (run := Run(work / f"{len(runs):06d}")).exists:
        runs.append(run)
    return runs


def _merge_runs(
    runs: list[Run], work: Path, plan: RunPlan, pool: Executor, progress: Progress
) -> Iterator[Rows]:
    """Merge runs in passes until one pass is left, and yield its rows."""
    level = 0
    while len(runs) > FAN_IN:
        merged = []
        for first in range(0, len(runs), FAN_IN):
            run = Run(work / f"{level}-{plan.chunk}-{first:06d}")
            if not run.exists:
                run.write(_merge_pass(runs[first : first + FAN_IN], plan, pool, progress))
            merged.append(run)
        runs, level = merged, level + 1
    yield from _merge_pass(runs, plan, pool, progress)


def _merge_pass(runs: list[Run], plan: RunPlan, pool: Executor, progress: Progress) -> Iterator[Rows]:
    sizes = sum((run.sizes() for run in runs), np.zeros(plan.rows.size, np.int64))
    readers = [run.read for run in runs]
    signs = [1] * len(runs)
    with progress.stage(f"merging {len(runs)} runs", total=plan.rows.size, unit="words") as stage:
        for rows in add_rows(
            pool, readers, signs=signs, n=plan.n, sizes=sizes, cells=plan.cells, workers=plan.workers
        ):
            yield rows
            stage.advance(len(rows.sizes))


class Run:
    """A matrix, or some of its rows, as a folder: files ``columns``, ``values`` and ``offsets`` of bare numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether it is there; a run is written whole or not at all."""
        return self.folder.exists()

    def write(self, blocks: Iterable[Rows], extra: dict[str, Int64s] | None = None) -> None:
        """Write ``blocks`` of rows, and small ``extra`` arrays beside them."""
        with piece_folder(self.folder, existing="keep") as new:
            sizes = [np.zeros(1, np.int64)]
            with (new / "columns").open("wb") as columns, (new / "values").open("wb") as values:
                for block in blocks:
                    columns.write(block.columns.data)
                    values.write(block.values.data)
                    sizes.append(block.sizes)
            for name, array in {"offsets": np.cumsum(np.concatenate(sizes)), **(extra or {})}.items():
                (new / name).write_bytes(array.data)

    def extra(self, name: str) -> Int64s:
        """Return a small array written beside the rows."""
        return read_numbers(self.folder / name, np.int64)

    def sizes(self, rows: Range | None = None) -> Int64s:
        """Return the number of cells in each row, or in some rows."""
        begin, count = (0, None) if rows is None else (rows.begin, rows.size + 1)
        offsets = read_numbers(self.folder / "offsets", np.int64, count, first=begin)
        return offsets[1:] - offsets[:-1]

    def blocks(self, *, cells: int) -> Iterator[Rows]:
        """Yield all rows in order, about ``cells`` cells at a time, mapped into memory."""
        sizes = self.sizes()
        if not sizes.any():
            yield Rows(np.empty(0, np.int32), np.empty(0, np.int64), sizes)
            return
        columns = np.memmap(self.folder / "columns", np.int32, "r")
        values = np.memmap(self.folder / "values", np.int64, "r")
        begin = 0
        for rows in cut_ranges(sizes, cells=cells):
            own = sizes[rows.begin : rows.end]
            end = begin + int(own.sum())
            yield Rows(columns[begin:end], values[begin:end], own)
            begin = end

    def read(self, rows: Range) -> Rows:
        """Return some rows."""
        offsets = read_numbers(self.folder / "offsets", np.int64, rows.size + 1, first=rows.begin)
        begin, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        columns = read_numbers(self.folder / "columns", np.int32, count, first=begin)
        values = read_numbers(self.folder / "values", np.int64, count, first=begin)
        return Rows(columns, values, np.diff(offsets))
