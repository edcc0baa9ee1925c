"""How much memory a fit takes, and so how many of its pairs stay in memory and how many go to disk.

:func:`plan_memory` takes the size of a problem and the most memory that the process may take, and returns a
:class:`MemoryPlan`, or says in one sentence what would be enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from psdvec.errors import ResourceError
from psdvec.resources import current_memory, format_size
from psdvec.solver.devices.cpu_blocks import GATHERED
from psdvec.solver.devices.cpu_layout import MOST_BYTES
from psdvec.solver.eigen import iterated_pairs, krylov_width

TALL = 5  # matrices as large as X's basis that are alive together in the rounds
AFTERWARDS = 7.5  # matrices as large as the vectors, while n-grams and deviations are computed
LIBRARIES = 150_000_000  # what kernels, BLAS and SciPy take once they are used
PAIR = 16  # for a directed pair: both directions are kept, in 8 bytes if they are sparse
MARGIN = 1.05  # for what is not predicted
ADVISED = 1.02  # times what is needed now: a process grows a little between two attempts


@dataclass(frozen=True)
class MemoryPlan:
    """What a fit holds, in bytes: its ``pairs``, and all that there is ``besides``, of a ``limit``."""

    limit: int
    besides: int
    pairs: int

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
        return f"{text}; up to {format_size(self.on_disk)} of the pairs are read from disk in every round"


def plan_memory(
    n: int, pairs: int, *, rank: int, dim: int, head: int, threads: int, limit: int
) -> MemoryPlan:
    """Return what a fit of n words and so many directed pairs holds.

    Raises :class:`ResourceError` where the ``limit`` is too low even if no pair stays in memory.
    """
    besides = _besides(n, pairs, rank=rank, dim=dim, head=head, threads=threads)
    if besides > limit:
        fewer = _most_words(limit, n, pairs, rank=rank, dim=dim, head=head, threads=threads)
        core = (
            f", or fit {fewer} words together (core={fewer}) and place the others by ridge" if fewer else ""
        )
        raise ResourceError(
            f"fitting {n} words in {dim} dimensions needs {format_size(besides)} of memory even if all pairs are on "
            f"disk, and {format_size(limit)} is allowed; give memory={10 * math.ceil(ADVISED * besides / 10**7)}M{core}"
        )
    return MemoryPlan(limit, besides, PAIR * pairs)


def _besides(n: int, pairs: int, *, rank: int, dim: int, head: int, threads: int) -> int:
    """Return the most bytes taken at a time by everything but the pairs."""
    count, head = iterated_pairs(rank, n), min(head or n, n)
    block = min(MOST_BYTES, PAIR * pairs)
    building = 10 * min(GATHERED, pairs) + 3 * threads * block
    start = 8 * head * min(krylov_width(count), head) + threads * block
    rounds = TALL * 4 * n * count + threads * block
    afterwards = AFTERWARDS * 4 * n * dim
    return int(MARGIN * (current_memory() + LIBRARIES + max(building, start, rounds, afterwards)))


def _most_words(limit: int, n: int, pairs: int, **options: int) -> int:
    """Return the largest core, in steps of a tenth, that would be accepted; 0 if none."""
    words = n
    while words and _besides(words, pairs, **options) > limit:
        words = words * 9 // 10
    return words
