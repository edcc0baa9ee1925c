"""New words on the CPU: each is looked up in the counts and solved by its own ridge regression, by threads.

Takes a :class:`~psdvec.solver.setting.Setting` and the counts it was measured on. Every word is solved on its own from
stored scales, so that no vector depends on which other words are solved with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from psdvec.arrays import Array, Float64s, Int32s, Int64s
from psdvec.counts.weighting import UNIT
from psdvec.parallel import map_ordered
from psdvec.resources import limit_blas, resolve_workers
from psdvec.solver.ridge import solve_word, word_cells
from psdvec.solver.setting import Placed, Setting

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

Pairs = tuple[
    Array, Float64s, Array, Float64s
]  # the columns of a word's row, counts; the rows of its column, counts

BATCH = 2048  # words whose columns are looked up together; no result depends on it
_PIECE = 1 << 16  # columns that are searched at a time


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
    with limit_blas(1), ThreadPoolExecutor(threads) as pool:
        items = enumerate(pairs_of(counts, setting.ids))
        for result in map_ordered(pool, lambda item: _solve_one(setting, *item), items, ahead=4 * threads):
            results.append(result)
            advance(1)
    return results


def _solve_one(setting: Setting, place: int, pairs: Pairs) -> Placed | None:
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
    x, deviation = solve_word(cells, one, setting.regressors, setting.constants, ridges=ridges)
    return x.astype(np.float32), deviation


def pairs_of(counts: Cooccurrence, ids: Int64s) -> Iterator[Pairs]:
    """Yield for each word: the columns of its row, their counts, the rows of its column, their counts."""
    for start in range(0, ids.size, BATCH):
        batch = ids[start : start + BATCH]
        places = _places_of(counts.indices, batch, n=len(counts.vocabulary))
        columns = counts.indices[places]
        order = np.argsort(columns, kind="stable")
        places, columns = places[order], columns[order]
        rows = np.searchsorted(counts.indptr, places, side="right") - 1
        before = counts.values[places] / UNIT
        bounds = np.searchsorted(columns, batch), np.searchsorted(columns, batch, side="right")
        for word, lo, hi in zip(batch, *bounds, strict=True):
            row = slice(counts.indptr[word], counts.indptr[word + 1])
            yield counts.indices[row], counts.values[row] / UNIT, rows[lo:hi], before[lo:hi]


def _places_of(columns: Int32s, words: Int64s, *, n: int) -> Int64s:
    """Return the places in ``columns`` of any of ``words``, rising.

    Words that are solved together mostly have neighbouring ids: whatever lies outside their range is left out first,
    which needs no table, in pieces that stay in the cache.
    """
    chosen = np.zeros(n, bool)
    chosen[words] = True
    low, width = np.int32(words.min()), np.uint32(words.max() - words.min())
    found = [np.empty(0, np.int64)]
    for begin in range(0, len(columns), _PIECE):
        piece = columns[begin : begin + _PIECE]
        near = np.flatnonzero((piece - low).view(np.uint32) <= width)
        found.append(near[chosen[piece[near]]] + begin)
    return np.concatenate(found)
