"""Rows of large sparse matrices: counted from numbered text, added up, kept on disk in between.

:class:`Rows` are some consecutive rows in memory. :func:`count_rows` makes them from text, :func:`add_rows`
adds those of several matrices; both yield them in order, computed block by block on threads, so that memory
does not grow with the matrix. A :class:`Run` is a whole matrix on disk between two passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from psdvec.counts.matrix import Rows
from psdvec.kernels import pairs
from psdvec.parallel import map_ordered
from psdvec.storage.atomic import whole_folder

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Words64 = npt.NDArray[np.uint64]

CELL_BYTES = 12  # of a cell in memory and on disk: int32 column, int64 value


class Range(NamedTuple):
    """Rows from ``begin`` up to, not including, ``end``."""

    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.end - self.begin


class Workbench:
    """What a thread needs to sum one row of ``n`` columns; each thread gets its own."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._local = threading.local()

    def take(self) -> tuple[Int64s, Words64, Words64]:
        """Return this thread's sums of a row and bit maps of its columns, all zero."""
        if not hasattr(self._local, "arrays"):
            n = self.n
            self._local.arrays = (
                np.zeros(n, np.int64),
                np.zeros(n // 64 + 1, np.uint64),
                np.zeros(n // 4096 + 1, np.uint64),
            )
        arrays: tuple[Int64s, Words64, Words64] = self._local.arrays
        return arrays

    @staticmethod
    def memory(n: int) -> int:
        """Bytes that one thread takes."""
        return 8 * n + n // 7


def cut_ranges(sizes: Int64s, *, cells: int) -> list[Range]:
    """Cut rows of the given ``sizes`` into ranges of about ``cells`` cells, one row at least.

    >>> cut_ranges(np.array([5, 1, 1, 9]), cells=7)
    [Range(begin=0, end=3), Range(begin=3, end=4)]
    """
    ends = np.cumsum(sizes)
    ranges, begin, before = [], 0, 0
    while begin < len(sizes):
        end = max(begin + 1, int(np.searchsorted(ends, before + cells, side="right")))
        ranges.append(Range(begin, end))
        begin, before = end, int(ends[end - 1])
    return ranges


def count_rows(
    pool: Executor,
    tokens: Int32s,
    own: int,
    *,
    rows: Range,
    n: int,
    weights: Int64s,
    cells: int,
    workers: int,
) -> Iterator[Rows]:
    """Count the pairs whose first word is among ``tokens[:own]``; yield ``rows`` of the ``n`` words in order."""
    positions, starts = index_positions(pool, tokens, own, rows=rows, workers=workers)
    bound = np.minimum(np.diff(starts) * len(weights), n)
    bench = Workbench(n)

    def count(part: Range) -> Rows:
        room = int(bound[part.begin : part.end].sum())
        columns, values = np.empty(room, np.int32), np.empty(room, np.int64)
        sizes = np.empty(part.size, np.int64)
        used = pairs.count_rows(
            tokens, positions, starts, *part, weights, *bench.take(), columns, values, sizes
        )
        return Rows(columns[:used], values[:used], sizes)

    return map_ordered(pool, count, cut_ranges(bound, cells=cells), ahead=2 * workers)


def index_positions(
    pool: Executor, tokens: Int32s, own: int, *, rows: Range, workers: int
) -> tuple[Int32s, Int64s]:
    """Return the places of the first word of ``rows``, of the next, ... in ``tokens[:own]``, and where each's start."""
    cuts = np.linspace(0, own, workers + 1).astype(np.int64)
    histograms = np.zeros((workers, rows.size + 1), np.int64)
    first = np.int32(rows.begin)

    def count(part: int) -> None:
        pairs.count_tokens_into(histograms[part], tokens, cuts[part], cuts[part + 1], first)

    list(pool.map(count, range(workers)))
    histograms[:, -1] = 0
    starts = np.zeros(rows.size + 1, np.int64)
    np.cumsum(histograms[:, :-1].sum(axis=0), out=starts[1:])
    cursors = starts + np.cumsum(histograms, axis=0) - histograms
    positions = np.empty(int(starts[-1]) + 1, np.int32)

    def place(part: int) -> None:
        pairs.place_positions_into(positions, cursors[part], tokens, cuts[part], cuts[part + 1], first)

    list(pool.map(place, range(workers)))
    return positions[:-1], starts


RowReader = Callable[[Range], Rows]


def add_rows(
    pool: Executor,
    readers: Sequence[RowReader],
    *,
    signs: Sequence[int],
    n: int,
    sizes: Int64s,
    cells: int,
    workers: int,
) -> Iterator[Rows]:
    """Add matrices of ``n`` columns, each taken ``signs`` times (+1 before -1); yield the rows in order.

    ``sizes``: int64[rows], cells of each row in all matrices together.
    """
    bench = Workbench(n)

    def add(rows: Range) -> Rows:
        parts = [read(rows) for read in readers]
        bounds = np.zeros((len(parts), rows.size + 1), np.int64)
        before = 0
        for part, bound in zip(parts, bounds, strict=True):
            np.cumsum(part.sizes, out=bound[1:])
            bound += before
            before += len(part.columns)
        room = int(np.minimum(sizes[rows.begin : rows.end], n).sum())
        columns, values = np.empty(room, np.int32), np.empty(room, np.int64)
        out_sizes = np.empty(rows.size, np.int64)
        used = pairs.add_rows(
            np.concatenate([part.columns for part in parts]), np.concatenate([part.values for part in parts]),
            bounds, np.array(signs, np.int64), *bench.take(), columns, values, out_sizes,
        )  # fmt: skip
        return Rows(columns[:used], values[:used], out_sizes)

    return map_ordered(pool, add, cut_ranges(sizes, cells=cells), ahead=2 * workers)


class Run:
    """A matrix, or some of its rows, on disk: ``columns``, ``values`` and ``offsets`` as bare numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether it was written to its end."""
        return self.folder.exists()

    def write(self, blocks: Iterable[Rows], extra: dict[str, Int64s] | None = None) -> None:
        """Write ``blocks`` of rows, and small ``extra`` arrays beside them."""
        with (
            whole_folder(self.folder) as new,
            (new / "columns").open("wb") as columns,
            (new / "values").open("wb") as values,
        ):
            sizes = [np.zeros(1, np.int64)]
            for block in blocks:
                columns.write(block.columns.data)
                values.write(block.values.data)
                sizes.append(block.sizes)
            np.cumsum(np.concatenate(sizes)).tofile(new / "offsets")
            for name, array in (extra or {}).items():
                array.tofile(new / name)

    def extra(self, name: str) -> Int64s:
        """Return a small array written beside the rows."""
        return np.fromfile(self.folder / name, np.int64)

    def sizes(self, rows: Range | None = None) -> Int64s:
        """Return the number of cells in each row, or in some rows."""
        begin, count = (0, -1) if rows is None else (rows.begin, rows.size + 1)
        offsets = np.fromfile(self.folder / "offsets", np.int64, count, offset=8 * begin)
        return offsets[1:] - offsets[:-1]

    def blocks(self, *, cells: int) -> Iterator[Rows]:
        """Yield all rows in order, about ``cells`` cells at a time, mapped into memory."""
        sizes = self.sizes()
        if not sizes.any():
            yield Rows(np.empty(0, np.int32), np.empty(0, np.int64), sizes)
            return
        columns = np.memmap(self.folder / "columns", np.int32, "r")
        values = np.memmap(self.folder / "values", np.int64, "r")
        begin = 0
        for rows in cut_ranges(sizes, cells=cells):
            own = sizes[rows.begin : rows.end]
            end = begin + int(own.sum())
            yield Rows(columns[begin:end], values[begin:end], own)
            begin = end

    def read(self, rows: Range) -> Rows:
        """Return some rows."""
        offsets = np.fromfile(self.folder / "offsets", np.int64, rows.size + 1, offset=8 * rows.begin)
        begin, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        columns = np.fromfile(self.folder / "columns", np.int32, count, offset=4 * begin)
        values = np.fromfile(self.folder / "values", np.int64, count, offset=8 * begin)
        return Rows(columns, values, np.diff(offsets))
