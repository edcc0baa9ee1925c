"""Runs: counting text that need not fit into memory, as sorted runs on disk that are merged in passes.

Goes in: segments and a vocabulary. Comes out: the rows of the count matrix, in order. As much text as the
plan allows is counted at a time; if that is not all of it, each part becomes a run, and at most FAN_IN runs
are merged at once. Finished runs are found again after an interruption.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from psdvec.counts.matrix import Rows
from psdvec.counts.pair_rows import CELL_BYTES, Range, Run, Workbench, add_rows, count_rows
from psdvec.counts.segments import SegmentChain, SegmentFolder, Translation
from psdvec.errors import ResourceError
from psdvec.kernels.hashing import SENTENCE_END
from psdvec.parallel import map_ordered
from psdvec.progress import Progress
from psdvec.resources import current_memory, format_size

FAN_IN = 64

_TOKEN_BYTES = 8  # of a token being counted: its id, and its place
_MIN_CHUNK = 1 << 18
_CELLS = 1 << 20
_RESERVE = 48_000_000  # for segments on their way in, and the allocator

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RunPlan:
    """Which ``rows`` of ``n`` are counted, and how much at a time: ``chunk`` ids of text, ``cells`` of the matrix."""

    n: int
    rows: Range
    ids: int
    chunk: int
    cells: int
    workers: int

    @property
    def is_one_pass(self) -> bool:
        """Whether all text fits into memory at once."""
        return self.ids <= self.chunk


def plan_runs(ids: int, *, n: int, memory: int, workers: int, rows: Range | None = None) -> RunPlan:
    """Plan the counting of ``ids`` of text over ``n`` words, or only of some ``rows``, within ``memory``.

    ``memory`` includes what is in use now.
    """
    chunk, cells = room_for_text(memory - current_memory(), n=n, workers=workers)
    if chunk < min(_MIN_CHUNK, ids):
        needed = memory + _TOKEN_BYTES * (_MIN_CHUNK - chunk)
        raise ResourceError(
            f"counting {n:,} words with {workers} workers does not fit into {format_size(memory)}; "
            f"give --memory {format_size(needed)} or more, fewer --workers, or fewer words (--max-words)"
        )
    return RunPlan(n, rows or Range(0, n), ids, chunk, cells, workers)


def room_for_text(free: int, *, n: int, workers: int) -> tuple[int, int]:
    """Return how many ids of text, and cells of the matrix in a block, fit into ``free`` bytes; none fit if below 0."""
    free -= _RESERVE
    benches = workers * (Workbench.memory(n) + 16 * n) + 4 * 8 * n
    blocks = 4 * workers  # on their way at a time, each with its input and its output
    cells = int(np.clip((free - benches) // 3 // (blocks * 2 * CELL_BYTES), 1 << 14, _CELLS))
    chunk = (free - benches - blocks * cells * CELL_BYTES) // _TOKEN_BYTES
    return min(chunk, 2**31 - 2**20), cells


def count_text(
    folder: SegmentFolder | SegmentChain,
    translation: Translation,
    work: Path,
    *,
    plan: RunPlan,
    weights: Int64s,
    pool: Executor,
    progress: Progress,
) -> Iterator[Rows]:
    """Yield the plan's rows of the count matrix of all text in ``folder``."""
    chunks = _Chunks(folder, translation, plan, pool, halo=len(weights))
    if plan.is_one_pass:
        with progress.stage("counting pairs", total=plan.rows.size, unit="words") as stage:
            for chunk in chunks.read(0, 0):
                for rows in _count_chunk(chunk, plan, weights, pool):
                    yield rows
                    stage.advance(len(rows.sizes))
        return
    runs = _count_runs(chunks, work / f"chunk-{plan.chunk}", plan, weights, pool, progress)
    yield from _merge_runs(runs, work / "merged", plan, pool, progress)


@dataclass(frozen=True)
class _Chunk:
    """Text in ids: pairs are counted for ``tokens[:own]``, what follows is there to be looked at."""

    tokens: Int32s
    own: int
    next_segment: int
    next_offset: int


class _Chunks:
    """Reads segments into chunks, cut at sentence ends, or anywhere in a sentence that is longer."""

    def __init__(
        self,
        folder: SegmentFolder | SegmentChain,
        translation: Translation,
        plan: RunPlan,
        pool: Executor,
        *,
        halo: int,
    ) -> None:
        self.folder, self.translation, self.plan, self.pool, self.halo = folder, translation, plan, pool, halo

    def _translate(self, number: int) -> Int32s:
        return self.translation.translate(self.folder.read(number, with_ids=True))

    def read(self, segment: int, offset: int) -> Iterator[_Chunk]:
        """Yield chunks from a place on; each is valid until the next is asked for."""
        capacity = min(self.plan.chunk, self.plan.ids) + self.halo + 1
        buffer, fill = np.empty(capacity, np.int32), 0
        marks = [(0, segment, offset)]
        numbers = range(segment, len(self.folder))
        texts = map_ordered(self.pool, self._translate, numbers, ahead=self.plan.workers)
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
            yield _Chunk(buffer[:fill], fill, len(self.folder), 0)


def _last_sentence_end(tokens: Int32s) -> int:
    """Return the place behind the last sentence end, 0 if there is none."""
    for end in range(len(tokens), 0, -(1 << 16)):
        found = np.flatnonzero(tokens[max(end - (1 << 16), 0) : end] == SENTENCE_END)
        if len(found):
            return max(end - (1 << 16), 0) + int(found[-1]) + 1
    return 0


def _count_chunk(chunk: _Chunk, plan: RunPlan, weights: Int64s, pool: Executor) -> Iterator[Rows]:
    return count_rows(
        pool, chunk.tokens, chunk.own,
        rows=plan.rows, n=plan.n, weights=weights, cells=plan.cells, workers=plan.workers,
    )  # fmt: skip


def _count_runs(
    chunks: _Chunks, work: Path, plan: RunPlan, weights: Int64s, pool: Executor, progress: Progress
) -> list[Run]:
    """Count chunk after chunk into runs below ``work``, going on behind those that are there."""
    for other in work.parent.glob("chunk-*"):
        if other != work:
            shutil.rmtree(other)
    runs = _existing_runs(work)
    segment, offset = runs[-1].extra("next").tolist() if runs else (0, 0)
    with progress.stage("counting pairs", total=plan.ids, unit="tokens") as stage:
        stage.advance(sum(int(run.extra("own")[0]) for run in runs))
        if segment < len(chunks.folder):
            for chunk in chunks.read(segment, offset):
                run = Run(work / f"{len(runs):06d}")
                place = {
                    "next": np.array([chunk.next_segment, chunk.next_offset]),
                    "own": np.array([chunk.own]),
                }
                run.write(_count_chunk(chunk, plan, weights, pool), place)
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
