"""The CPU as a device: blocks of pairs and rows of tall matrices are dealt to threads, each with a BLAS of one thread.

:class:`Cpu` has the methods of :class:`psdvec.solver.devices.Device`. What a thread is given does not depend on how
many there are, and sums are taken in order, so that one thread and many give the same bits. Nor does a thread ever spin
while it waits for another, as those of BLAS do within a product: a busy machine costs time and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import ResourceError
from psdvec.options import Recipe
from psdvec.resources import (
    available_memory,
    format_size,
    limit_blas,
    limit_threads,
    map_ordered,
    memory_in_use,
    resolve_workers,
)
from psdvec.solver.devices import Room, Size
from psdvec.solver.devices.cpu_pairs import (
    GATHERED,
    MOST_BYTES,
    CpuPairs,
    Result,
    build_blocks,
    formula_of,
    layout_of,
)
from psdvec.solver.pmi import WordScales
from psdvec.solver.ridge import BATCH, Setting, solve_words
from psdvec.solver.rounds import iterated_pairs, krylov_width
from psdvec.storage.workspace import Placed
from psdvec.system import current_memory
from psdvec.vectors.model import Constants

# How much memory a fit takes besides its pairs.

TALL = 4  # matrices as large as X's basis that are alive together in the rounds; one more if they are exact
AFTERWARDS = 7.5  # matrices as large as the vectors, while n-grams and deviations are computed
LIBRARIES = 150_000_000  # what kernels, BLAS and SciPy take once they are used
PAIR = 16  # for a directed pair: both directions are kept, in 8 bytes if they are sparse
COLUMNS = (
    GATHERED << 22
)  # bytes of columns that are gathered together, at least; where there is room, for two threads
MARGIN = 1.05  # for what is not predicted
ADVISED = 1.02  # times what is needed now: a process grows a little between two attempts


def _besides(size: Size, threads: int, used: int, *, roomy: bool = False) -> tuple[int, int]:
    """Return the most bytes taken at a time by everything but the pairs, ``used`` now, and what columns may take.

    They are more where there is room: the blocks whose columns are gathered together are those that threads share.
    """
    n, count = size.words, iterated_pairs(size.rank, size.words)
    head = min(size.head or n, n)
    block = threads * min(MOST_BYTES, PAIR * size.pairs)
    start = 8 * head * min(krylov_width(count), head) + block
    rounds = (TALL + size.exact) * 4 * n * count + block
    solving = max(start + rounds if size.exact else max(start, rounds), AFTERWARDS * 4 * n * size.dim)
    least = COLUMNS * (-(-threads // 2) if roomy else 1)
    columns = min(max(least, int(solving) - 3 * block), GATHERED * size.pairs)
    total = used + LIBRARIES + size.halves + max(columns + 3 * block, solving)
    return int(MARGIN * total), columns


CHUNK = 2048  # rows that are worked on together, and whose products are summed in float32 before float64

Item = TypeVar("Item")


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
        used = memory_in_use()
        for roomy in (True, False):
            besides, building = _besides(size, self.threads, used, roomy=roomy)
            room = Room(most - besides, folder, building, PAIR * size.pairs, besides)
            if besides <= most and not (roomy and room.on_disk):
                return room
        fewer = size.words  # the largest core, in steps of a tenth, that would be accepted
        while fewer and _besides(replace(size, words=fewer), self.threads, used)[0] > most:
            fewer = fewer * 9 // 10
        core = f", or fit {fewer:,} words together (core={fewer}) and place the others by ridge"
        raise ResourceError(
            f"fitting {size.words:,} words in {size.dim} dimensions needs {format_size(besides)} of memory even if all "
            f"pairs are on disk, and {format_size(most)} is allowed; "
            f"give memory={10 * math.ceil(ADVISED * besides / 10**7)}M{core if fewer else ''}"
        )

    def solve_words(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None] = lambda _: None
    ) -> list[Placed]:
        """Solve each word of ``setting`` on its own, by threads."""
        return solve_words(setting, counts, workers=self.threads, advance=advance)

    def open_pairs(
        self, counts: Cooccurrence, scales: WordScales, constants: Constants, *, recipe: Recipe, room: Room
    ) -> CpuPairs:
        """Return the seen pairs of the first ``len(scales)`` words of ``counts``."""
        formula, extents = formula_of(scales, constants, recipe=recipe), layout_of(counts, len(scales))
        own: dict[str, Any] = {"pool": self.pool, "threads": self.threads}
        blocks = build_blocks(counts, formula, extents, **own, building=room.building)
        return CpuPairs(blocks, **own, room=room.bytes, folder=room.folder)

    def regression(self) -> None:
        """Leave it to threads."""

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
        for product in self._each(part, _cut(left.shape[0], CHUNK)):
            total += product
        return total

    def combine(self, block: Float32s, matrix: Array) -> Float32s:
        """Return block · matrix in float32."""
        small = matrix.astype(np.float32)
        product = np.empty((block.shape[0], small.shape[1]), np.float32)

        def part(rows: slice) -> None:
            np.matmul(block[rows], small, out=product[rows])

        self._each_rows(part, block.shape[0])
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
            total: Any = sum(
                block[rows] * matrix if matrix.ndim == 1 else block[rows] @ matrix for block, matrix in small
            )
            if weights is not None:
                total *= weights[rows, None]
            if keep != 1:
                target[rows] *= np.float32(keep)
            target[rows] += total

        self._each_rows(part, target.shape[0])

    def eigh(self, matrix: Float64s) -> tuple[Float64s, Float64s]:
        """Return the eigenvalues, rising, and the eigenvectors of a small symmetric matrix."""
        found = np.linalg.eigh(matrix)
        return found.eigenvalues, found.eigenvectors

    def _each_rows(self, work: Callable[[slice], None], rows: int) -> None:
        """Do ``work`` for a chunk of rows at a time."""
        for _ in self._each(work, _cut(rows, CHUNK)):
            pass

    def _each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Yield what ``work`` makes of each item, in order."""
        return map_ordered(self.pool, work, items, ahead=2 * self.threads)


def _cut(rows: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, rows)) for first in range(0, rows, size)]
