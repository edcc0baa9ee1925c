"""The rounds of a fit on a cluster: its workers hold the blocks of pairs, and get X in every round.

:class:`ClusterCpu` is a device whose pairs live on the workers of a Dask cluster. Each holds a share of consecutive
blocks, built from a folder of counts that all workers see; what comes back are the rows of its blocks and the sums of
each block, which are added in the order of the blocks. So any number of workers gives the same bits as one machine. A
share that was lost with its worker is built again on another, and brought to the X that it had before. The small
eigenproblems, and X itself, stay here.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.cluster.client import (
    ABSENCE,
    Likeness,
    LostWorkError,
    check_workers,
    hand_out,
    memory_of_job,
    result_of,
    wait_for_workers,
    workers_of,
)
from psdvec.cluster.solving import open_counts
from psdvec.options import Recipe
from psdvec.progress import memory_in_use
from psdvec.resources import limit_blas
from psdvec.solver.devices import AMPLE, Room, Size
from psdvec.solver.devices.cpu import (
    Cpu,
    CpuPairs,
    Formula,
    Place,
    Result,
    added_up,
    build_blocks,
    formula_of,
    layout_of,
)
from psdvec.solver.eigen import Eigenpairs
from psdvec.solver.pmi import SparseCounts, WordScales
from psdvec.storage.artefact import META, open_artefact
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
    """What a worker needs to build any share of a run: the folder of counts, the formula, the places of each share."""

    run: str
    counts: Path
    digest: str
    formula: Formula
    shares: list[list[Place]]
    memory: int | None


@dataclass
class Share:
    """The pairs of consecutive blocks on a worker, and what their values are the residual of."""

    pairs: CpuPairs | None = None
    state: str | None = None
    used: float = 0.0
    lock: Any = field(default_factory=threading.Lock)

    def bring_to(self, wanted: State, spec: Spec, number: int, worker: Any) -> CpuPairs:
        """Return the pairs with the wanted values; they are built again if they are not here or have other values."""
        name, X = wanted
        if self.pairs is None or self.state != name:
            self.pairs = self.state = None
            self.pairs = _build(spec, number, worker)
            if X is not None:
                self.pairs.renew_each(_own(X.vectors), X.values, momentum=0.0, with_image=False)
            self.state = name
        return self.pairs


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
    places, pool = spec.shares[number], ThreadPoolExecutor(1)
    tall = 4 * places[0].words * _WIDTH
    room = memory_of_job(spec.memory, worker) - memory_in_use() - _TALL * tall
    blocks = build_blocks(
        open_counts(spec.counts, spec.digest),
        spec.formula,
        places,
        pool=pool,
        threads=1,
        building=_TALL * tall,
    )
    return CpuPairs(blocks, pool=pool, threads=1, room=max(room, 0), folder=Path(worker.local_directory))


def _own(array: Array) -> Array:
    """Return a copy in memory of one's own: kernels for what came over the network might round otherwise."""
    return np.array(array, order="C")


def open_share(spec: Spec, number: int, state: State) -> list[float]:
    """Build a share on this worker, and return Σ R G² of each of its blocks."""
    return _on_share(spec, number, state, lambda pairs: pairs.squares_each)


def multiply_share(spec: Spec, number: int, state: State, block: Float32s) -> Float32s:
    """Return the rows of values · block that belong to a share."""
    return _on_share(spec, number, state, lambda pairs: pairs.times(_own(block)))


def renew_share(
    spec: Spec, number: int, state: State, name: str, X: Any, momentum: float, with_image: bool
) -> Renewed:
    """Renew the values of a share; afterwards they are those called ``name``."""

    def renew(pairs: CpuPairs) -> Renewed:
        share = _share_of(spec.run, number)
        share.state = None  # in case this is interrupted
        found = pairs.renew_each(_own(X.vectors), X.values, momentum=momentum, with_image=with_image)
        share.state = name
        return found

    return _on_share(spec, number, state, renew)


def _on_share(spec: Spec, number: int, state: State, work: Callable[[CpuPairs], Result]) -> Result:
    from distributed import get_worker

    share = _share_of(spec.run, number)
    with share.lock, limit_blas(1):
        return work(share.bring_to(state, spec, number, get_worker()))


def _on_worker(
    function: Callable[..., Any], number: int, spec: Spec, name: str, X: Any, *arguments: Any
) -> Any:
    """Call ``function``; only a job's own arguments, not parts of them, are replaced by what was handed out."""
    return function(spec, number, (name, X), *arguments)


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
        self,
        counts: SparseCounts,
        scales: WordScales,
        constants: Constants,
        *,
        recipe: Recipe,
        room: Room = AMPLE,
    ) -> ClusterPairs:
        """Return the seen pairs of the first ``len(scales)`` words; each worker finds room for its own."""
        check = partial(check_workers, self.client, self.counts.absolute() / META, likeness=self.likeness)
        checked = check()
        spec = Spec(
            self.run,
            self.counts.absolute(),
            open_artefact(self.counts).digest,
            formula_of(scales, constants, recipe=recipe),
            cut_evenly(layout_of(counts, len(scales)), sum(checked.values())),
            self.memory,
        )
        return ClusterPairs(self.client, spec, check, set(checked))


def cut_evenly(places: Sequence[Place], parts: int) -> list[list[Place]]:
    """Cut places into at most so many consecutive shares of about equally many bytes, none of them empty."""
    ends = np.cumsum([place.most_bytes for place in places])
    owner = np.minimum((ends - 1) * parts // max(int(ends[-1]), 1), parts - 1)
    shares = [
        [place for place, own in zip(places, owner, strict=True) if own == part] for part in range(parts)
    ]
    return [share for share in shares if share]


class Handed:
    """A value that every worker has; it is handed out again if all workers that had it are lost."""

    def __init__(self, client: Any, value: Any) -> None:
        self._client, self._value = client, value
        self.again()

    def again(self) -> None:
        """Hand the value out."""
        self.future = hand_out(self._client, self._value)


class ClusterPairs:
    """Pairs of a problem on the workers of a cluster; see :class:`psdvec.solver.devices.Pairs`."""

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
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.Pairs.renew`."""
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
