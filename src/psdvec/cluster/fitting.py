"""Fitting and extending on a cluster: its workers hold the pairs of the core, and solve the words after it.

:class:`ClusterCpu` is a device whose pairs live on the workers of a Dask cluster. Each holds a share of consecutive
blocks, built from a folder of counts that all workers see; what comes back are the rows of its blocks and the sums of
each block, which are added in the order of the blocks. So any number of workers gives the same bits as one machine. A
share that was lost with its worker is built again on another, and brought to the X that it had before. The small
eigenproblems, and X itself, stay here.

A :class:`Solver` has words solved in blocks; what all of them share goes to every worker once. Every word is solved on
its own, so the vectors are the same, bit for bit, as on one machine. Solved blocks are files in the workspace of the
output, where a later attempt finds them.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.cluster.client import (
    ABSENCE,
    Likeness,
    LostWorkError,
    check_workers,
    demand_arithmetic,
    hand_out,
    memory_of_job,
    result_of,
    run_jobs,
    wait_for_workers,
    workers_of,
)
from psdvec.cluster.counting import even_ranges
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.options import Recipe
from psdvec.progress import Progress
from psdvec.resources import limit_blas, memory_in_use
from psdvec.solver import ridge
from psdvec.solver.devices import AMPLE, Room, Size
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.devices.cpu_pairs import (
    CpuPairs,
    Extent,
    Formula,
    added_up,
    build_blocks,
    formula_of,
    layout_of,
)
from psdvec.solver.pmi import WordScales
from psdvec.solver.rounds import Eigenpairs
from psdvec.storage.artefact import META, open_artefact
from psdvec.storage.workspace import PLAN, Placed, blocks_in, open_workspace, read_block, write_block
from psdvec.vectors.model import Constants

_TALL = 4  # matrices as large as X that a worker holds beside its pairs
_WIDTH = 512  # columns of X to leave room for: the pairs are built before X is, and few models are wider
_PAUSE = 0.5  # seconds until a share is made again, in which the scheduler notices what else was lost
_LEAVE = 5  # seconds to wait until all workers have dropped their pairs
_FORGOTTEN = 3600.0  # seconds after which a share that nobody asked for is no longer kept
_ATTEMPTS = 5  # at a share, each on another worker

# The image of a share, and the sums of its blocks.
Renewed = tuple[Float32s | None, list[tuple[float, float]]]
# A name for what the values are, and X as it was handed out, None before the first round.
State = tuple[str, Any]


@dataclass(frozen=True)
class Spec:
    """What a worker needs to build any share of a run: the folder of counts, the formula, the extents of each share."""

    run: str
    counts: Path
    digest: str
    formula: Formula
    shares: list[list[Extent]]
    memory: int | None


@dataclass
class Share:
    """The pairs of consecutive blocks on a worker, and what their values are the residual of."""

    pairs: Any = None  # CpuPairs, once they are built
    state: str | None = None
    used: float = 0.0
    lock: Any = field(default_factory=threading.Lock)

    def bring_to(self, name: str, X: Any, spec: Spec, number: int, worker: Any) -> None:
        """Give the pairs the values ``name``; they are built again if they are not here or have other values."""
        if self.pairs is None or self.state != name:
            self.pairs = self.state = None
            self.pairs = _build(spec, number, worker)
            if X is not None:
                self.pairs.renew_each(_own(X.vectors), X.values, momentum=0.0, with_image=False)
            self.state = name


# What this process holds, if it is a worker, by run and number. Dask itself may drop or copy any data at any time.
_shares: dict[tuple[str, int], Share] = {}
_shares_lock = threading.Lock()


def _share_of(run: str, number: int) -> Share:
    """Return a share, an empty one if this process has not worked on it; drop what a run that is gone left behind."""
    now = time.monotonic()
    with _shares_lock:
        for key in [key for key, share in _shares.items() if key[0] != run and now - share.used > _FORGOTTEN]:
            del _shares[key]
        share = _shares.setdefault((run, number), Share())
        share.used = now
        return share


def forget_run(run: str) -> None:
    """Drop all shares of a run from this process."""
    with _shares_lock:
        for key in [key for key in _shares if key[0] == run]:
            del _shares[key]


def _build(spec: Spec, number: int, worker: Any) -> CpuPairs:
    extents, pool = spec.shares[number], ThreadPoolExecutor(1)
    tall = _TALL * 4 * extents[0].words * _WIDTH
    room = memory_of_job(spec.memory, worker) - memory_in_use() - tall
    counts = open_counts(spec.counts, spec.digest)
    blocks = build_blocks(counts, spec.formula, extents, pool=pool, threads=1, building=tall)
    return CpuPairs(blocks, pool=pool, threads=1, room=max(room, 0), folder=Path(worker.local_directory))


def _own(array: Array) -> Array:
    """Return a copy in memory of one's own: kernels for what came over the network might round otherwise."""
    return np.array(array, order="C")


def open_share(share: Share) -> list[float]:
    """Return Σ R G² of each block of a share."""
    squares: list[float] = share.pairs.squares_each
    return squares


def multiply_share(share: Share, block: Float32s) -> Float32s:
    """Return the rows of values · block that belong to a share."""
    return np.asarray(share.pairs.times(_own(block)))


def renew_share(share: Share, name: str, X: Any, momentum: float, with_image: bool) -> Renewed:
    """Renew the values of a share; afterwards they are those called ``name``."""
    share.state = None  # in case this is interrupted
    found: Renewed = share.pairs.renew_each(
        _own(X.vectors), X.values, momentum=momentum, with_image=with_image
    )
    share.state = name
    return found


def _on_worker(
    function: Callable[..., Any], number: int, spec: Spec, name: str, X: Any, *arguments: Any
) -> Any:
    """Call ``function`` with a share whose values are those called ``name``; build it if it is not on this worker.

    Only a job's own arguments, not parts of them, are replaced by what was handed out.
    """
    from distributed import get_worker

    share = _share_of(spec.run, number)
    with share.lock, limit_blas(1):
        share.bring_to(name, X, spec, number, get_worker())
        return function(share, *arguments)


class ClusterCpu(Cpu):
    """The CPU, with the pairs on the workers of ``client``; see :class:`psdvec.solver.devices.Device`."""

    def __init__(
        self,
        client: Any,
        counts: Path,
        *,
        workers: int | None = None,
        memory: int | None = None,
        allow_unlike: bool,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(workers)
        self.client, self.counts, self.memory = client, counts, memory
        self.likeness = Likeness(allowed=allow_unlike, say=say)
        self.others = self.likeness.others
        self.run = uuid.uuid4().hex

    def find_room(self, size: Size, *, limit: int | None, folder: Path | None) -> Room:
        """Return no bound: each worker finds room for its own pairs."""
        return AMPLE

    def close(self) -> None:
        """Let all workers drop the pairs; those that cannot be reached drop them later."""
        if self.client.status == "running":
            with suppress(Exception):
                self.client.sync(self.client._run, forget_run, self.run, callback_timeout=_LEAVE)

    def open_pairs(  # type: ignore[override]
        self, counts: Cooccurrence, scales: WordScales, constants: Constants, *, recipe: Recipe, room: Room
    ) -> ClusterPairs:
        """Return the seen pairs of the first ``len(scales)`` words; each worker finds room for its own."""
        check = partial(check_workers, self.client, self.counts.absolute() / META, likeness=self.likeness)
        checked = check()
        extents = layout_of(counts, len(scales))
        loads = np.array([extent.most_bytes for extent in extents])
        spec = Spec(
            self.run,
            self.counts.absolute(),
            open_artefact(self.counts).digest,
            formula_of(scales, constants, recipe=recipe),
            [extents[slice(*part)] for part in even_ranges(loads, sum(checked.values()))],
            self.memory,
        )
        return ClusterPairs(self.client, spec, check, set(checked))


class Handed:
    """A value that every worker has; it is handed out again if all workers that had it are lost."""

    def __init__(self, client: Any, value: Any) -> None:
        self._client, self._value = client, value
        self.again()

    def again(self) -> None:
        """Hand the value out."""
        self.future = hand_out(self._client, self._value)


class ClusterPairs:
    """Pairs of a problem on the workers of a cluster; see :class:`psdvec.solver.devices.DevicePairs`."""

    def __init__(
        self, client: Any, spec: Spec, check: Callable[[], Mapping[str, int]], checked: set[str]
    ) -> None:
        self._client, self._spec, self._check, self._checked = client, Handed(client, spec), check, checked
        self._shares = len(spec.shares)
        self._owners: dict[int, str] = {}
        self._state: State = ("start", None)
        self._number = 0
        self.squares = sum(one for share in self._each(open_share) for one in share)

    def times(self, block: Float32s) -> Float32s:
        """Return values · block."""
        return np.concatenate(list(self._each(multiply_share, Handed(self._client, block))))

    def renew(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
        self._number += 1
        name, X = f"X{self._number}", Handed(self._client, Eigenpairs(Q, values))
        found = list(self._each(renew_share, name, X, momentum, with_image))
        self._state = (name, X)
        image = np.concatenate([part for part, _ in found]) if with_image else None
        return image, *added_up(one for _, sums in found for one in sums)

    def _each(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield what ``function`` returns for each share, in order; what is lost with a worker is done again."""
        self._assign()
        # Each with the worker it was sent to: its share may since have gone to another, with one that was lost before.
        futures = {number: self._submit(function, number, arguments) for number in range(self._shares)}
        try:
            for number in range(self._shares):
                name = f"share {number + 1} of {self._shares} of the pairs"
                for attempt in range(1, _ATTEMPTS + 1):
                    try:
                        future, owner = futures[number]
                        found = result_of(self._client, future, name, owner=owner)
                        break
                    except LostWorkError:
                        if attempt == _ATTEMPTS:
                            raise
                    time.sleep(_PAUSE)
                    self._assign()
                    for handed in (self._spec, self._state[1], *arguments):
                        if isinstance(handed, Handed) and (attempt > 1 or handed.future.status != "finished"):
                            handed.again()
                    futures[number] = self._submit(function, number, arguments)
                del futures[number]
                yield found
        finally:
            if futures and self._client.status == "running":
                with suppress(OSError):
                    self._client.cancel([future for future, _ in futures.values()])

    def _submit(
        self, function: Callable[..., Any], number: int, arguments: tuple[Any, ...]
    ) -> tuple[Any, str]:
        """Send the job of a share to its worker; return what stands for the job, and the worker."""
        sent = [
            one.future if isinstance(one, Handed) else one for one in (self._spec, *self._state, *arguments)
        ]
        owner = self._owners[number]
        return self._client.submit(_on_worker, function, number, *sent, workers=[owner], pure=False), owner

    def _assign(self) -> None:
        """Give each share whose worker is not there to the one that has fewest; check those that joined meanwhile."""
        wait_for_workers(self._client, patience=ABSENCE)
        threads = workers_of(self._client)
        if all(self._owners.get(number) in threads for number in range(self._shares)):
            return
        if not self._checked.issuperset(threads):
            threads = dict(self._check())
            self._checked |= set(threads)
        load = dict.fromkeys(threads, 0.0)
        for owner in self._owners.values():
            if owner in load:
                load[owner] += 1 / threads[owner]
        for number in range(self._shares):
            if self._owners.get(number) not in load:
                owner = min(load, key=lambda worker: load[worker])
                self._owners[number] = owner
                load[owner] += 1 / threads[owner]


# Ridge solves: words in blocks.

MOST_WORDS = ridge.BATCH  # words in a block: their columns are looked up in one pass over the counts
_FEWEST_WORDS = 512  # with fewer, that pass takes a tenth of the time or more
_BLOCKS = 8  # blocks to make if there are words enough, so that several workers have some
_HANDINGS = 3  # of the setting, in case all workers that hold it are lost


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
        self, setting: ridge.Setting, counts: Cooccurrence, *, advance: Callable[[int], None]
    ) -> list[Placed]:
        """Solve all words of ``setting``, in order; the workers read ``counts`` themselves, from the folder."""
        blocks = blocks_in(self.work, setting.ids.size, size=block_size(setting.ids.size))
        advance(sum(part.stop - part.start for path, part in blocks.items() if path.exists()))
        for attempt in range(1, _HANDINGS + 1):
            missing = {path: part for path, part in blocks.items() if not path.exists()}
            if not missing:
                break
            try:
                wait_for_workers(self.client, patience=ABSENCE)
                handed = hand_out(self.client, setting)
                digest, expected = open_artefact(self.counts).digest, self.likeness.expected()
                jobs = [(handed, self.counts, digest, part, path, expected) for path, part in missing.items()]
                results = run_jobs(self.client, solve_block, jobs, label="solving block")
                for part, _ in zip(missing.values(), results, strict=True):
                    advance(part.stop - part.start)
                break
            except LostWorkError:
                if attempt == _HANDINGS:
                    raise
        return [placed for path in blocks for placed in read_block(path)]


def block_size(n: int) -> int:
    """Return how many of ``n`` words make a block, the same for any cluster.

    >>> block_size(100), block_size(8000), block_size(10**6)
    (512, 1000, 2048)
    """
    return min(max(-(-n // _BLOCKS), _FEWEST_WORDS), MOST_WORDS)


def solve_block(
    setting: ridge.Setting,
    counts: Path,
    digest: str,
    part: slice,
    path: Path,
    expected: Mapping[str, str] | None,
) -> None:
    """Solve some words of ``setting`` and write the results to ``path``."""
    from distributed import get_worker

    demand_arithmetic(expected, get_worker().address)
    found = ridge.solve_words(setting.take(part), open_counts(counts, digest), workers=1)
    write_block(path, found)


@lru_cache(maxsize=1)
def open_counts(path: Path, digest: str) -> Cooccurrence:
    """Open counts, and keep them open for the next job that needs the same."""
    return load_counts(path)
