"""The CPU as a device: blocks of pairs and rows of tall matrices are dealt to threads, each with a BLAS of one thread.

:class:`Cpu` has the methods of :class:`psdvec.solver.devices.Device`. What a thread is given does not depend on how
many there are, and sums are taken in order, so that one thread and many give the same bits. Nor does a thread ever spin
while it waits for another, as those of BLAS do within a product: a busy machine costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.options import Recipe
from psdvec.parallel import map_ordered
from psdvec.resources import available_memory, resolve_workers
from psdvec.solver.devices import AMPLE, Room
from psdvec.solver.devices.cpu_blocks import build_blocks, formula_of
from psdvec.solver.devices.cpu_layout import layout_of
from psdvec.solver.devices.cpu_pairs import CpuPairs
from psdvec.solver.devices.cpu_ridge import solve_words
from psdvec.solver.pmi import Constants, SparseCounts, WordScales

Found = TypeVar("Found")

CHUNK = 2048  # rows that are worked on together, and whose products are summed in float32 before float64


class Cpu:
    """The CPU, with this many threads, one per core if None; see :class:`psdvec.solver.devices.Device`."""

    available_memory = staticmethod(available_memory)
    solve_words = staticmethod(solve_words)

    def __init__(self, workers: int | None = None) -> None:
        self.threads = resolve_workers(workers)
        self.pool = ThreadPoolExecutor(self.threads, thread_name_prefix="psdvec")

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

    def _each(self, work: Callable[[slice], Found], rows: int) -> Iterator[Found]:
        """Yield what ``work`` makes of each chunk of rows, in order."""
        chunks = [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
        return map_ordered(self.pool, work, chunks, ahead=2 * self.threads)


def _product(block: Float32s, matrix: Float32s) -> Any:
    return block * matrix if matrix.ndim == 1 else block @ matrix
