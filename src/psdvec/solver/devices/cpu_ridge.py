"""New words on the CPU: each is looked up in the counts and solved by its own ridge regression, by threads.

Takes a :class:`~psdvec.solver.setting.Setting` and the counts it was measured on. Every word is solved on its own from
stored scales, so that no vector depends on which other words are solved with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from psdvec.arrays import Array, Float64s, Int64s
from psdvec.counts.matrix import UNIT
from psdvec.kernels.contexts import count_contexts, count_slots, fill_slots
from psdvec.parallel import in_stretches, map_ordered
from psdvec.resources import limit_blas, limit_threads, resolve_workers, thread_limit
from psdvec.solver.pmi import release_pairs, row_chunks
from psdvec.solver.ridge import solve_word, word_cells
from psdvec.solver.setting import Placed, Setting

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

# The columns of a word's row, and their counts; the rows of its column, and their counts.
Pairs = tuple[Array, Float64s, Array, Float64s]

_RELEASED = 16  # words after which the memory of mapped counts is given back: a row brings megabytes with it
BATCH = 2048  # words whose columns are looked up together; no result depends on it


def solve_words(
    setting: Setting,
    counts: Cooccurrence,
    *,
    workers: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Placed | None]:
    """Solve each word of ``setting`` on its own, by threads; None for those with too few contexts."""
    threads = resolve_workers(workers)
    results: list[Placed | None] = []
    with limit_threads(workers), limit_blas(1), ThreadPoolExecutor(threads) as pool:
        items = zip(range(setting.ids.size), pairs_of(counts, setting.ids), _means_of(setting), strict=True)
        for result in map_ordered(pool, lambda item: _solve_one(setting, *item), items, ahead=4 * threads):
            results.append(result)
            advance(1)
    return results


def _means_of(setting: Setting) -> Iterator[Float64s | None]:
    """Yield the mean of each word's prior."""
    for start in range(0, setting.ids.size, BATCH):
        part = slice(start, min(start + BATCH, setting.ids.size))
        means = setting.means(part)
        yield from [None] * (part.stop - start) if means is None else means


def _solve_one(setting: Setting, place: int, pairs: Pairs, mean: Float64s | None) -> Placed | None:
    columns, after, rows, before = pairs
    one = setting.scales.take(slice(place, place + 1))
    itself, core_of = setting.ids[place], setting.core_of
    keep_after = np.where(columns == itself, -1, core_of[columns])
    keep_before = np.where(rows == itself, -1, core_of[rows])
    cells = word_cells(
        one, setting.old, setting.constants,
        keep_after[keep_after >= 0], after[keep_after >= 0],
        keep_before[keep_before >= 0], before[keep_before >= 0],
    )  # fmt: skip
    if cells.rows.size < setting.min_contexts:
        return None
    ridges = setting.choose(int(itself) + 1)
    x, deviation = solve_word(cells, one, setting.regressors, setting.constants, ridges=ridges, mean=mean)
    return x.astype(np.float32), deviation


def pairs_of(counts: Cooccurrence, ids: Int64s) -> Iterator[Pairs]:
    """Yield for each word: the columns of its row, their counts, the rows of its column, their counts."""
    for start in range(0, ids.size, BATCH):
        batch = ids[start : start + BATCH]
        slots, starts, rows, values = _columns_of(counts, batch)
        before = values / UNIT
        for word, slot in zip(batch.tolist(), slots.tolist(), strict=True):
            row = slice(counts.indptr[word], counts.indptr[word + 1])
            column = slice(starts[slot], starts[slot + 1])
            yield np.array(counts.indices[row]), counts.values[row] / UNIT, rows[column], before[column]
            if slot % _RELEASED == 0:
                release_pairs(counts)


def contexts_of(counts: Cooccurrence, ids: Int64s, core_of: Int64s) -> Int64s:
    """Return with how many different core words, themselves left out, the different words ``ids`` were seen.

    ``core_of`` (n,) is the core row of each word of the counts, or -1.
    """
    found, threads = np.zeros(ids.size, np.int64), thread_limit()
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, ids.size, BATCH):
            batch, here = ids[start : start + BATCH], found[start : start + BATCH]
            _, starts, rows, _ = _columns_of(counts, batch)
            given = (here, counts.indptr, counts.indices, batch, starts, rows, core_of)
            in_stretches(pool, functools.partial(count_contexts, *given), batch.size, threads=threads)
    return found


def _columns_of(counts: Cooccurrence, batch: Int64s) -> tuple[Array, Int64s, Int64s, Int64s]:
    """Return the slot of each word of ``batch``, where the column of each slot starts, its rows, and their values.

    Ranges of rows are looked through by threads, first to count and then to fill; mapped memory is given back.
    """
    slot_of = np.full(len(counts.vocabulary), -1, np.int32)
    slot_of[batch] = np.arange(batch.size)
    ranges = list(row_chunks(counts.indptr, len(counts)))

    def count(part: tuple[int, int]) -> Int64s:
        found: Int64s = count_slots(counts.indptr, counts.indices, slot_of, batch.size, *part)
        release_pairs(counts)
        return found

    with ThreadPoolExecutor(thread_limit()) as pool:
        sizes = np.array(list(pool.map(count, ranges)), np.int64).reshape(-1, batch.size)
        starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
        rows, values = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)

        def fill(part: tuple[int, int], free: Int64s) -> None:
            fill_slots(counts.indptr, counts.indices, counts.values, slot_of, *part, free, rows, values)
            release_pairs(counts)

        for _ in pool.map(fill, ranges, starts[:-1] + np.cumsum(sizes, axis=0) - sizes):
            pass
    return slot_of[batch], starts, rows, values
