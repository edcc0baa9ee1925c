"""The seen pairs of a problem on the CPU: blocks in memory as far as there is room, the others in a file.

:class:`CpuPairs` has the methods of :class:`psdvec.solver.devices.Pairs`. Threads take one block after the other, and
what the blocks add to a sum is added in their order, so that any number of threads and any memory give the same bits.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.errors import ResourceError
from psdvec.parallel import map_ordered
from psdvec.resources import disk_errors_explained
from psdvec.solver.devices.cpu_blocks import Block
from psdvec.solver.devices.cpu_layout import Place
from psdvec.storage.arrays import Scratch

Found = TypeVar("Found")

_AHEAD = 2  # blocks of the file that the system is asked to read before they are needed


@dataclass
class StoredBlock:
    """A block whose pairs lie in a ``file``: the fixed ones from ``start``, their values after them."""

    block: Block  # without pairs
    file: IO[bytes]
    start: int
    sizes: tuple[int, int]  # of the fixed numbers and of the values

    def load(self, scratch: Scratch) -> Block:
        """Read the pairs, into ``scratch``."""
        fixed, values = np.split(scratch.array(np.uint16, sum(self.sizes)), [self.sizes[0]])
        _read_into(self.file, self.start, fixed)
        _read_into(self.file, self.start + fixed.nbytes, values)
        return replace(self.block, fixed=fixed, values=values)

    def save_values(self, block: Block) -> None:
        """Write the values of the loaded ``block`` back."""
        _write(self.file, self.start + 2 * self.sizes[0], block.values)

    def expect(self) -> None:
        """Ask the system to read the pairs soon."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.file.fileno(), self.start, 2 * sum(self.sizes), os.POSIX_FADV_WILLNEED)


def _read_into(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = os.preadv(file.fileno(), [view], start)
        if not size:
            raise ResourceError("the file of pairs has become shorter; fit again")
        view, start = view[size:], start + size


def _write(file: IO[bytes], start: int, array: Array) -> None:
    view = memoryview(array.data).cast("B")
    while view.nbytes:
        size = os.pwrite(file.fileno(), view, start)
        view, start = view[size:], start + size


class CpuPairs:
    """Pairs of a problem, or of some of its rows, block by block; see :class:`psdvec.solver.devices.Pairs`.

    Takes consecutive ``blocks`` as they are built, and keeps as many as take at most ``room`` bytes in memory, the
    others in a file in ``folder`` that has no name, so that nothing is left of it whatever happens.
    """

    def __init__(
        self,
        blocks: Iterable[Block],
        *,
        pool: ThreadPoolExecutor,
        threads: int,
        room: float = np.inf,
        folder: Path | None = None,
    ) -> None:
        self._pool, self._threads, self._scratch = pool, threads, Scratch()
        self._kept: list[Block | StoredBlock] = []
        self.squares_each: list[float] = []
        self.in_memory = self.on_disk = 0
        self._folder = Path(tempfile.gettempdir()) if folder is None else folder
        with disk_errors_explained(self._folder):
            self._keep(blocks, room)
        self.squares = sum(self.squares_each)
        self._first, self._last = _place(self._kept[0]).lo, _place(self._kept[-1]).hi

    def _keep(self, blocks: Iterable[Block], room: float) -> None:
        file: IO[bytes] | None = None
        for block in blocks:
            self.squares_each.append(block.squares)
            size = block.fixed.nbytes + block.values.nbytes
            if file is None and self.in_memory + size <= room:
                self._kept.append(block)
                self.in_memory += size
                continue
            if file is None:
                file = tempfile.TemporaryFile(dir=self._folder, prefix="pairs-")  # noqa: SIM115
                weakref.finalize(self, file.close)
            _write(file, self.on_disk, block.fixed)
            _write(file, self.on_disk + block.fixed.nbytes, block.values)
            sizes = block.fixed.size, block.values.size
            nothing = np.empty(0, np.uint16)
            self._kept.append(
                StoredBlock(replace(block, fixed=nothing, values=nothing), file, self.on_disk, sizes)
            )
            self.on_disk += size

    def times(self, block: Float32s) -> Float32s:
        """Return values · block, for the rows of the blocks that are here."""
        m, first = block.shape[0], self._first
        product = np.zeros((max(min(self._last, m) - first, 0), block.shape[1]), np.float32)

        def multiply(one: Block) -> None:
            one.times(block, product[one.place.lo - first : one.place.hi - first], self._scratch)

        for _ in self._each(multiply, [kept for kept in self._kept if _place(kept).lo < m]):
            pass
        return product

    def renew(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.Pairs.renew`."""
        image, sums = self.renew_each(Q, values, momentum=momentum, with_image=with_image)
        return image, *added_up(sums)

    def renew_each(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, list[tuple[float, float]]]:
        """Do as :meth:`renew` for the rows of the blocks that are here, and return the sums of each block."""
        first = self._first
        image = np.zeros((self._last - first, Q.shape[1]), np.float32) if with_image else None
        factors = values.astype(np.float32)

        def renew(one: Block) -> tuple[float, float]:
            lo, hi = one.place.lo, one.place.hi
            part = None if image is None else image[lo - first : hi - first]
            return one.renew(Q[lo:hi] * factors, Q, part, self._scratch, momentum=momentum)

        with disk_errors_explained(self._folder):
            return image, list(self._each(renew, self._kept, changed=True))

    def _each(
        self, work: Callable[[Block], Found], kept: Sequence[Block | StoredBlock], *, changed: bool = False
    ) -> Iterator[Found]:
        """Yield what ``work`` makes of each block, in their order; write the values back where they are ``changed``."""

        def do(number: int) -> Found:
            one = kept[number]
            if isinstance(one, Block):
                return work(one)
            for later in kept[number + 1 : number + 1 + _AHEAD]:
                if isinstance(later, StoredBlock):
                    later.expect()
            block = one.load(self._scratch)
            found = work(block)
            if changed:
                one.save_values(block)
            return found

        return map_ordered(self._pool, do, range(len(kept)), ahead=4 * self._threads)


def _place(kept: Block | StoredBlock) -> Place:
    return kept.place if isinstance(kept, Block) else kept.block.place


def added_up(sums: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return Σ T x and Σ W x² over blocks, added in their order: the same bits wherever the blocks are."""
    tx = wxx = 0.0
    for one, other in sums:
        tx, wxx = tx + one, wxx + other
    return tx, wxx
