"""Which seen pairs make a block: rows of consecutive words, given by the counts alone, whatever machine works on them.

Frequent words meet nearly all others, so the first columns of the rows are dense cells, multiplied by BLAS, and only
the tail is sparse: at a density of about a third both take the same time. A :class:`Place` says where a block begins
and how many columns of it are dense.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.kernels.pair_columns import add_tiles
from psdvec.solver.pmi import SparseCounts, sums_over_rows
from psdvec.solver.problem import TILE, lay_out

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
