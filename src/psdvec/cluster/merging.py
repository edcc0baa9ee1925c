"""Adding up count matrices on a cluster, as a tree, by ranges of rows.

The matrices, each a :class:`Matrix`, lie on a disk that all workers share; :func:`merge_matrices` yields the rows of
their sum in order. At most FAN_IN matrices are added at once, and the sum of each range of rows is a
:class:`~psdvec.counts.pairs.Run` on the same disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.cluster.client import memory_of_job, run_jobs
from psdvec.counts import pairs as out_of_core
from psdvec.counts.matrix import Rows
from psdvec.counts.pairs import Range, RowReader, Run, add_rows, cut_ranges
from psdvec.progress import Progress

RANGE_CELLS = 1 << 21  # cells of the sum per job: 25 megabytes on disk
_CELLS = 1 << 19  # cells of the sum that are passed on at a time


class Matrix(NamedTuple):
    """A matrix on disk in pieces: ``ranges`` of its rows, and for each the name of its :class:`Run` in ``folder``."""

    folder: Path
    ranges: tuple[Range, ...]
    names: tuple[str, ...]

    @property
    def cells(self) -> int:
        """The number of its cells."""
        return sum(int(Run(self.folder / name).sizes().sum()) for name in self.names)

    def overlapping(self, rows: Range) -> Matrix:
        """Return only the pieces that hold some of ``rows``."""
        kept = [
            (piece, name)
            for piece, name in zip(self.ranges, self.names, strict=True)
            if piece.begin < rows.end and rows.begin < piece.end
        ]
        return Matrix(self.folder, tuple(piece for piece, _ in kept), tuple(name for _, name in kept))

    def read(self, rows: Range) -> Rows:
        """Return some rows."""
        parts = [run.read(own) for run, own in self._parts(rows)]
        return Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def sizes(self, rows: Range) -> Int64s:
        """Return the number of cells in some rows."""
        return np.concatenate([run.sizes(own) for run, own in self._parts(rows)])

    def _parts(self, rows: Range) -> Iterator[tuple[Run, Range]]:
        """Yield the runs that hold ``rows``, and which of their own rows these are."""
        _, ranges, names = self.overlapping(rows)
        for piece, name in zip(ranges, names, strict=True):
            begin, end = max(rows.begin, piece.begin), min(rows.end, piece.end)
            yield Run(self.folder / name), Range(begin - piece.begin, end - piece.begin)


def merge_matrices(
    client: Any, matrices: list[Matrix], n: int, *, memory: int | None, progress: Progress
) -> Iterator[Rows]:
    """Add matrices of ``n`` rows level by level until one is left; its first rows are yielded while others are added.

    How full the rows are is taken from the first matrix, so the ranges are even if the texts are alike. A level of many
    groups is cut into few ranges, so that each level has about as many jobs as the last.
    """
    level, folder = 0, matrices[0].folder
    while len(matrices) > 1:
        groups = [
            matrices[first : first + out_of_core.FAN_IN]
            for first in range(0, len(matrices), out_of_core.FAN_IN)
        ]
        filled = np.minimum(matrices[0].sizes(Range(0, n)) * len(groups[0]), n)
        ranges = tuple(cut_ranges(filled, cells=RANGE_CELLS * len(groups)))
        matrices = [
            Matrix(folder, ranges, tuple(f"merged/{level}-{group}-{r}" for r in range(len(ranges))))
            for group in range(len(groups))
        ]
        jobs = [
            ([matrix.overlapping(rows) for matrix in group], rows, n, folder / name, memory)
            for group, target in zip(groups, matrices, strict=True)
            for rows, name in zip(target.ranges, target.names, strict=True)
        ]
        ready = _merge_level(client, jobs, f"adding up {sum(map(len, groups))} matrices", progress)
        if len(groups) == 1:
            for path in ready:
                yield from Run(path).blocks(cells=_CELLS)
            return
        deque(ready, maxlen=0)
        level += 1
    for name in matrices[0].names:
        yield from Run(folder / name).blocks(cells=_CELLS)


def _merge_level(client: Any, jobs: list[tuple[Any, ...]], label: str, progress: Progress) -> Iterator[Path]:
    """Do the jobs of a level that are not done yet; yield the path of each, in order, as soon as it is ready."""
    done = [job[3].exists() for job in jobs]
    results = run_jobs(
        client,
        merge_range,
        [job for job, is_done in zip(jobs, done, strict=True) if not is_done],
        label="adding up, job",
    )
    with progress.stage(label, total=len(jobs), unit="ranges") as stage:
        for job, is_done in zip(jobs, done, strict=True):
            if not is_done:
                next(results)
            yield job[3]
            stage.advance(1)
    for _ in results:
        pass


def merge_range(matrices: Sequence[Matrix], rows: Range, n: int, path: Path, memory: int | None) -> None:
    """Add up some rows of several matrices of ``n`` columns into the :class:`Run` ``path``."""
    sizes = sum((matrix.sizes(rows) for matrix in matrices), np.zeros(rows.size, np.int64))

    def reader(matrix: Matrix) -> RowReader:
        return lambda own: matrix.read(Range(own.begin + rows.begin, own.end + rows.begin))

    import distributed

    budget = memory_of_job(memory, distributed.get_worker())
    plan = out_of_core.plan_runs(0, n=n, memory=budget, workers=1)
    with ThreadPoolExecutor(1) as pool:
        added = add_rows(
            pool, [reader(matrix) for matrix in matrices],
            signs=[1] * len(matrices), n=n, sizes=sizes, cells=plan.cells, workers=1,
        )  # fmt: skip
        Run(path).write(added)
