"""Ridge solves on a cluster: words are solved in blocks, and what all of them share goes to every worker once.

A :class:`Solver` takes a :class:`~psdvec.solver.setting.Setting` and a folder of counts that all workers see, and
returns a vector or None for each word. Every word is solved on its own, so the vectors are the same, bit for bit, as on
one machine. Solved blocks are files in the workspace of the output, where a later attempt finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.cluster.client import (
    LostWorkError,
    check_workers,
    hand_out,
    run_jobs,
    wait_for_workers,
)
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.progress import Progress
from psdvec.solver import noncore
from psdvec.solver.noncore import BATCH
from psdvec.solver.setting import Placed, Setting
from psdvec.storage.artefact import open_artefact
from psdvec.storage.atomic import beside
from psdvec.storage.workspace import open_workspace

MOST_WORDS = BATCH  # words in a block: their columns are looked up in one pass over the counts
_FEWEST_WORDS = 512  # with fewer, that pass takes a tenth of the time or more
_BLOCKS = 8  # blocks to make if there are words enough, so that several workers have some
_ATTEMPTS = 3  # at handing out the setting, in case all workers that hold it are lost


@contextmanager
def open_solver(
    client: Any, counts: Path, output: Path, *, plan: Mapping[str, Any], progress: Progress
) -> Iterator[Solver]:
    """Lock the workspace of ``output`` and yield what :func:`psdvec.solver.extend.extend` solves words with."""
    with open_workspace(output, plan=plan, progress=progress) as work:
        check_workers(client, work.absolute())
        yield Solver(client, counts.absolute(), work.absolute())


@dataclass(frozen=True)
class Solver:
    """Solves words on the workers of ``client``, from the folder ``counts``; solved blocks are kept in ``work``."""

    client: Any
    counts: Path
    work: Path

    def __call__(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None]
    ) -> list[Placed | None]:
        """Solve all words of ``setting``, in order; the workers read ``counts`` themselves, from the folder."""
        parts = cut_words(setting.ids.size)
        blocks = {self.work / f"{part.start:09d}-{part.stop:09d}.npz": part for part in parts}
        advance(sum(part.stop - part.start for path, part in blocks.items() if path.exists()))
        for attempt in range(1, _ATTEMPTS + 1):
            missing = {path: part for path, part in blocks.items() if not path.exists()}
            try:
                self._solve(setting, missing, advance)
                break
            except LostWorkError:
                if attempt == _ATTEMPTS:
                    raise
        return [placed for path in blocks for placed in _read_placed(path)]

    def _solve(self, setting: Setting, missing: Mapping[Path, slice], advance: Callable[[int], None]) -> None:
        if not missing:
            return
        wait_for_workers(self.client)
        handed = hand_out(self.client, setting)
        digest = open_artefact(self.counts).digest
        jobs = [(handed, self.counts, digest, part, path) for path, part in missing.items()]
        results = run_jobs(self.client, solve_block, jobs, label="solving block")
        for part, _ in zip(missing.values(), results, strict=True):
            advance(part.stop - part.start)


def cut_words(n: int) -> list[slice]:
    """Cut ``n`` words into blocks, the same for any cluster.

    >>> cut_words(1200)
    [slice(0, 512, None), slice(512, 1024, None), slice(1024, 1200, None)]
    """
    size = min(max(-(-n // _BLOCKS), _FEWEST_WORDS), MOST_WORDS)
    return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]


def solve_block(setting: Setting, counts: Path, digest: str, part: slice, path: Path) -> None:
    """Solve some words of ``setting`` and write the results to ``path``."""
    found = noncore.solve_words(setting.take(part), _open_counts(counts, digest), workers=1)
    places = np.array([i for i, placed in enumerate(found) if placed is not None], np.int64)
    solved = [placed for placed in found if placed is not None]
    width = setting.regressors.features.shape[1]
    vectors = np.array([vector for vector, _ in solved], np.float32).reshape(-1, width)
    deviations = np.array([deviation for _, deviation in solved], np.float64)
    with beside(path, replace=False) as new, new.open("wb") as file:
        np.savez(file, words=np.int64(len(found)), places=places, vectors=vectors, deviations=deviations)


@lru_cache(maxsize=1)
def _open_counts(path: Path, digest: str) -> Cooccurrence:
    """Open counts, and keep them open for the next block that needs the same."""
    return load_counts(path)


def _read_placed(path: Path) -> list[Placed | None]:
    with np.load(path, allow_pickle=False) as file:
        placed: list[Placed | None] = [None] * int(file["words"])
        for place, vector, deviation in zip(
            file["places"].tolist(), file["vectors"], file["deviations"].tolist(), strict=True
        ):
            placed[place] = vector, deviation
    return placed
