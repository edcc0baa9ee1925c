"""How much memory a fit takes, how many of its pairs stay there and how many go to disk.

:func:`plan_memory` takes the :class:`Size` of a problem and the most memory that the process may take, and returns a
:class:`MemoryPlan`, or says in one sentence what would be enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from psdvec.errors import ResourceError
from psdvec.progress import memory_in_use
from psdvec.resources import format_size
from psdvec.solver.devices.cpu import GATHERED, MOST_BYTES
from psdvec.solver.eigen import iterated_pairs, krylov_width

TALL = 5  # matrices as large as X's basis that are alive together in the rounds
AFTERWARDS = 7.5  # matrices as large as the vectors, while n-grams and deviations are computed
LIBRARIES = 150_000_000  # what kernels, BLAS and SciPy take once they are used
PAIR = 16  # for a directed pair: both directions are kept, in 8 bytes if they are sparse
COLUMNS = GATHERED << 22  # bytes of columns that are gathered together, at least
MARGIN = 1.05  # for what is not predicted
ADVISED = 1.02  # times what is needed now: a process grows a little between two attempts


@dataclass(frozen=True)
class Size:
    """What the memory that a fit needs depends on.

    ``words`` n, the directed ``pairs`` among them, and how many words, the ``head``, are solved before the others
    (0: all).
    """

    words: int
    pairs: int
    rank: int
    dim: int
    head: int
    threads: int


@dataclass(frozen=True)
class MemoryPlan:
    """What a fit of some ``size`` holds, in bytes: its ``pairs``, and all that there is ``besides``, of a ``limit``.

    ``building`` is what columns of the counts may take of it, while the pairs are built.
    """

    size: Size
    limit: int
    besides: int
    building: int

    @property
    def pairs(self) -> int:
        """What the pairs take, at most."""
        return PAIR * self.size.pairs

    @property
    def room(self) -> int:
        """What is left for the pairs."""
        return self.limit - self.besides

    @property
    def on_disk(self) -> int:
        """How much of the pairs has no room in memory, at most."""
        return max(self.pairs - self.room, 0)

    @property
    def peak(self) -> int:
        """The most that is in memory at a time."""
        return self.besides + min(self.pairs, self.room)

    def describe(self) -> str:
        """Say in a few words what is held where."""
        text = f"peak memory about {format_size(self.peak)} of {format_size(self.limit)}"
        if not self.on_disk:
            return f"{text}, all pairs in memory"
        return (
            f"{text}; up to {format_size(self.on_disk)} of the pairs go to disk and are read in every round"
        )


def plan_memory(size: Size, *, limit: int) -> MemoryPlan:
    """Return what a fit of this ``size`` holds.

    Raises :class:`ResourceError` where the ``limit`` is too low even if no pair stays in memory.
    """
    besides, building = _besides(size)
    if besides > limit:
        fewer = _most_words(size, limit)
        core = (
            f", or fit {fewer:,} words together (core={fewer}) and place the others by ridge" if fewer else ""
        )
        raise ResourceError(
            f"fitting {size.words:,} words in {size.dim} dimensions needs {format_size(besides)} of memory even if all "
            f"pairs are on disk, and {format_size(limit)} is allowed; "
            f"give memory={10 * math.ceil(ADVISED * besides / 10**7)}M{core}"
        )
    return MemoryPlan(size, limit, besides, building)


def _besides(size: Size) -> tuple[int, int]:
    """Return the most bytes taken at a time by everything but the pairs, and what of it columns may take."""
    n, count = size.words, iterated_pairs(size.rank, size.words)
    head = min(size.head or n, n)
    block = size.threads * min(MOST_BYTES, PAIR * size.pairs)
    start = 8 * head * min(krylov_width(count), head) + block
    rounds = TALL * 4 * n * count + block
    solving = max(start, rounds, AFTERWARDS * 4 * n * size.dim)
    columns = min(max(COLUMNS, int(solving) - 3 * block), GATHERED * size.pairs)
    total = memory_in_use() + LIBRARIES + max(columns + 3 * block, solving)
    return int(MARGIN * total), columns


def _most_words(size: Size, limit: int) -> int:
    """Return the largest core, in steps of a tenth, that would be accepted; 0 if none."""
    words = size.words
    while words and _besides(replace(size, words=words))[0] > limit:
        words = words * 9 // 10
    return words
