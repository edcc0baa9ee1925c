"""How much memory a fit on the CPU takes, how many of its pairs stay there and how many go to disk.

:func:`find_room` takes the size of a problem and the most memory that the process may take, and returns what is left
for the pairs, or says in one sentence what would be enough.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from psdvec.errors import ResourceError
from psdvec.progress import memory_in_use
from psdvec.resources import format_size
from psdvec.solver.devices import Room, Size
from psdvec.solver.eigen import iterated_pairs, krylov_width

TALL = 5  # matrices as large as X's basis that are alive together in the rounds
AFTERWARDS = 7.5  # matrices as large as the vectors, while n-grams and deviations are computed
LIBRARIES = 150_000_000  # what kernels, BLAS and SciPy take once they are used
PAIR = 16  # for a directed pair: both directions are kept, in 8 bytes if they are sparse
MOST_BYTES = 1 << 25  # of the pairs of a block, unless one row has more
GATHERED = 10  # bytes of a pair whose column is gathered, at most: columns may have more pairs than rows
COLUMNS = GATHERED << 22  # bytes of columns that are gathered together, at least
MARGIN = 1.05  # for what is not predicted
ADVISED = 1.02  # times what is needed now: a process grows a little between two attempts


def find_room(size: Size, *, threads: int, limit: int, folder: Path | None = None) -> Room:
    """Return what the pairs of a fit of this ``size`` may take.

    Raises :class:`ResourceError` where the ``limit`` is too low even if no pair stays in memory.
    """
    besides, building = _besides(size, threads)
    if besides > limit:
        fewer = _most_words(size, threads, limit)
        core = (
            f", or fit {fewer:,} words together (core={fewer}) and place the others by ridge" if fewer else ""
        )
        raise ResourceError(
            f"fitting {size.words:,} words in {size.dim} dimensions needs {format_size(besides)} of memory even if all "
            f"pairs are on disk, and {format_size(limit)} is allowed; "
            f"give memory={10 * math.ceil(ADVISED * besides / 10**7)}M{core}"
        )
    return Room(limit - besides, folder, building, PAIR * size.pairs, besides)


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
