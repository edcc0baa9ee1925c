"""Ridge solves on a cluster: words are solved in blocks, and what all of them share goes to every worker once.

A :class:`Solver` takes a :class:`~psdvec.solver.ridge.Setting` and a folder of counts that all workers see, and
returns what was found for each word. Every word is solved on its own, so the vectors are the same, bit for bit, as on
one machine. Solved blocks are files in the workspace of the output, where a later attempt finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from psdvec.cluster.client import (
    ABSENCE,
    Likeness,
    LostWorkError,
    check_workers,
    demand_arithmetic,
    hand_out,
    run_jobs,
    wait_for_workers,
)
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.progress import Progress
from psdvec.solver import ridge as cpu_ridge
from psdvec.solver.ridge import BATCH, Setting
from psdvec.storage.artefact import open_artefact
from psdvec.storage.workspace import PLAN, Placed, blocks_in, open_workspace, read_block, write_block

MOST_WORDS = BATCH  # words in a block: their columns are looked up in one pass over the counts
_FEWEST_WORDS = 512  # with fewer, that pass takes a tenth of the time or more
_BLOCKS = 8  # blocks to make if there are words enough, so that several workers have some
_ATTEMPTS = 3  # at handing out the setting, in case all workers that hold it are lost


@contextmanager
def open_solver(
    client: Any,
    counts: Path,
    output: Path,
    *,
    plan: Mapping[str, Any],
    allow_unlike: bool,
    progress: Progress,
) -> Iterator[Solver]:
    """Lock the workspace of ``output`` and yield what :func:`psdvec.solver.extend.extend` solves words with."""
    with open_workspace(output, plan=plan, progress=progress) as work:
        likeness = Likeness(allowed=allow_unlike, say=progress.say)
        check_workers(client, work.absolute() / PLAN, likeness=likeness)
        yield Solver(client, counts.absolute(), work.absolute(), likeness)


@dataclass(frozen=True)
class Solver:
    """Solves words on the workers of ``client``, from the folder ``counts``; solved blocks are kept in ``work``.

    Jobs refuse workers that joined since all were checked, where ``likeness`` would.
    """

    client: Any
    counts: Path
    work: Path
    likeness: Likeness

    def __call__(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None]
    ) -> list[Placed]:
        """Solve all words of ``setting``, in order; the workers read ``counts`` themselves, from the folder."""
        blocks = blocks_in(self.work, setting.ids.size, size=block_size(setting.ids.size))
        advance(sum(part.stop - part.start for path, part in blocks.items() if path.exists()))
        for attempt in range(1, _ATTEMPTS + 1):
            missing = {path: part for path, part in blocks.items() if not path.exists()}
            try:
                self._solve(setting, missing, advance)
                break
            except LostWorkError:
                if attempt == _ATTEMPTS:
                    raise
        return [placed for path in blocks for placed in read_block(path)]

    def _solve(self, setting: Setting, missing: Mapping[Path, slice], advance: Callable[[int], None]) -> None:
        if not missing:
            return
        wait_for_workers(self.client, patience=ABSENCE)
        handed = hand_out(self.client, setting)
        digest = open_artefact(self.counts).digest
        expected = self.likeness.expected()
        jobs = [(handed, self.counts, digest, part, path, expected) for path, part in missing.items()]
        results = run_jobs(self.client, solve_block, jobs, label="solving block")
        for part, _ in zip(missing.values(), results, strict=True):
            advance(part.stop - part.start)


def block_size(n: int) -> int:
    """Return how many of ``n`` words make a block, the same for any cluster.

    >>> block_size(100), block_size(8000), block_size(10**6)
    (512, 1000, 2048)
    """
    return min(max(-(-n // _BLOCKS), _FEWEST_WORDS), MOST_WORDS)


def solve_block(
    setting: Setting,
    counts: Path,
    digest: str,
    part: slice,
    path: Path,
    expected: Mapping[str, str] | None,
) -> None:
    """Solve some words of ``setting`` and write the results to ``path``."""
    from distributed import get_worker

    demand_arithmetic(expected, get_worker().address)
    found = cpu_ridge.solve_words(setting.take(part), open_counts(counts, digest), workers=1)
    write_block(path, found)


@lru_cache(maxsize=1)
def open_counts(path: Path, digest: str) -> Cooccurrence:
    """Open counts, and keep them open for the next job that needs the same."""
    return load_counts(path)
