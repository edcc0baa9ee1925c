"""Fitting and extending on a cluster: its workers hold the pairs of the core, and solve the words after it.

:class:`ClusterCpu` is a device whose pairs live on the workers of a Dask cluster. Each holds a share of the
blocks, dealt so that all take about as long and built from a folder of counts that all workers see; what comes back are
the rows of its blocks and the sums of each block, which are added in the order of the blocks. So any number of workers
gives the same bits as one machine. A share that was lost with its worker is built again on another, and brought to the
X that it had before. The small eigenproblems, and X itself, stay here; workers on the same machine read X in memory of
this process.

A :class:`Solver` has words solved in blocks; what all of them share goes to every worker once. Every word is solved on
its own, so the vectors are the same, bit for bit, as on one machine. Solved blocks are files in the workspace of the
output, where a later attempt finds them.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s, Scratch, own_memory
from psdvec.cluster.client import (
    ABSENCE,
    Likeness,
    LostWorkError,
    ask_workers,
    check_workers,
    demand_arithmetic,
    hand_out,
    memory_of_job,
    result_of,
    run_jobs,
    wait_for_workers,
    workers_of,
)
from psdvec.counts.matrix import UNIT, Cooccurrence, load_counts, map_counts
from psdvec.options import Recipe
from psdvec.progress import Progress
from psdvec.resources import limit_blas, memory_in_use
from psdvec.solver import ridge
from psdvec.solver.devices import AMPLE, Room, Size
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.devices.cpu_pairs import (
    Columns,
    CpuPairs,
    Extent,
    Formula,
    PairBlock,
    added_up,
    build_block,
    formula_of,
    groups_of,
    layout_of,
)
from psdvec.solver.pmi import WordScales, release_pairs, row_chunks
from psdvec.solver.ridge import count_slots, fill_slots
from psdvec.storage.artefact import META, open_artefact
from psdvec.storage.workspace import PLAN, Placed, blocks_in, open_workspace, read_block, write_block
from psdvec.vectors.model import Constants

_TALL = 4  # matrices as large as X that a worker holds beside its pairs
_WIDTH = 512  # columns of X to leave room for: the pairs are built before X is, and few models are wider
_GATHERED = 16  # bytes of a pair whose column is gathered, at most
_PAUSE = 0.5  # seconds until a share is made again, in which the scheduler notices what else was lost
_LEAVE = 5  # seconds to wait until all workers have dropped their pairs
_FORGOTTEN = 3600.0  # seconds after which a share that nobody asked for is no longer kept
_ATTEMPTS = 5  # at a share, each on another worker
_START = "start"  # the name of the values that pairs are built with

# The image of a share, and the sums of its blocks.
Renewed = tuple[Float32s | None, list[tuple[float, float]]]


@dataclass(frozen=True)
class Spec:
    """What a worker needs to build any share of a run: the folder of counts, the formula, the extents of each share.

    The counts have been ``checked`` where the worker is on the machine of the one who asks.
    """

    run: str
    counts: Path
    digest: str
    formula: Formula
    shares: list[list[Extent]]
    memory: int | None
    checked: bool = False


def deal(extents: Sequence[Extent], most: int) -> list[list[Extent]]:
    """Deal blocks, in order, to at most so many shares, each to the one that has least so far.

    What a pair costs changes slowly from frequent words to rare ones. Of shares of consecutive blocks, with as many
    pairs in each, one would take three times as long as another.
    """
    shares: list[list[Extent]] = [[] for _ in range(min(most, len(extents)))]
    loads = np.zeros(len(shares))
    for extent in extents:
        least = int(np.argmin(loads))
        shares[least].append(extent)
        loads[least] += max(extent.most_bytes, 1)
    return shares


# A matrix that all workers need: they read it in memory of the one who asks, if that is on their machine; otherwise it
# is sent to one of them, and the others get it from each other.


@dataclass(frozen=True)
class Posted:
    """Where other processes of this machine find a matrix: in memory of the process that asks."""

    path: Path
    name: Path
    size: int
    shape: tuple[int, ...]

    def own(self) -> Float32s:
        """Return the matrix as it is now; writing to it changes nothing elsewhere."""
        memory = _mapped(self.path, self.name, self.size)
        return np.frombuffer(memory, np.float32, math.prod(self.shape)).reshape(self.shape)


@lru_cache(maxsize=2)
def _mapped(path: Path, name: Path, size: int) -> mmap.mmap:
    """Map memory of another process; OSError if it is not there, or is not what had this ``name``."""
    with path.open("rb") as file:
        if Path(f"/proc/self/fd/{file.fileno()}").readlink() != name:
            raise FileNotFoundError(path)
        return mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)


def sees(posted: Posted, dask_worker: Any) -> bool:
    """Return whether this process, a worker, can read what is posted."""
    try:
        posted.own()
    except OSError:
        return False
    return True


class Board:
    """Memory in which other processes of this machine read one matrix after another; it goes with this process."""

    def __init__(self) -> None:
        self._file = os.memfd_create(f"psdvec-{uuid.uuid4().hex}")
        weakref.finalize(self, os.close, self._file)
        self._path = Path(f"/proc/{os.getpid()}/fd/{self._file}")
        self._memory: Any = b""

    def post(self, matrix: Float32s) -> Posted:
        """Put a matrix in the place of the one before."""
        if matrix.nbytes > len(self._memory):
            os.ftruncate(self._file, matrix.nbytes)
            self._memory = mmap.mmap(self._file, matrix.nbytes)
        posted = Posted(self._path, self._path.readlink(), len(self._memory), matrix.shape)
        np.copyto(np.frombuffer(self._memory, np.float32, matrix.size).reshape(matrix.shape), matrix)
        return posted


@dataclass(frozen=True)
class Sent:
    """A matrix for workers of other machines. Each process that gets it copies it, once, to memory of its own.

    Kernels for memory that came over the network might round otherwise.
    """

    matrix: Float32s

    def own(self) -> Float32s:
        """Return the matrix."""
        return self.matrix

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.matrix,)


def _copied(matrix: Float32s) -> Sent:
    return Sent(np.array(matrix, order="C"))


class Handed:
    """A value for all workers: posted on a ``board``, for those that see it, and handed out to the others."""

    def __init__(self, client: Any, value: Any, board: Board | None = None) -> None:
        self._client, self._value, self._board = client, value, board
        self._posted: Posted | None = None
        self._future: Any = None

    def for_worker(self, *, near: bool) -> Any:
        """Return what stands for the value in the arguments of a job."""
        if near and self._board is not None:
            self._posted = self._posted or self._board.post(self._value)
            return self._posted
        if self._future is None:
            sent = Sent(self._value) if isinstance(self._value, np.ndarray) else self._value
            self._future = hand_out(self._client, sent)
        return self._future

    def again(self, *, surely: bool) -> None:
        """Hand the value out again where all workers that had it are lost, or ``surely``."""
        if self._future is not None and (surely or self._future.status != "finished"):
            self._future = None


# What workers do.


@dataclass
class Share:
    """The pairs of some blocks on a worker, and what their values are the residual of."""

    pairs: Any = None  # CpuPairs, once they are built
    rows: list[slice] = field(default_factory=list)  # of each block, counted from the first
    state: str | None = None
    used: float = 0.0
    lock: Any = field(default_factory=threading.Lock)

    def bring_to(self, name: str, old: Any, values: Any, spec: Spec, number: int, worker: Any) -> bool:
        """Give the pairs the values ``name``; they are built again if they are not here or have other values.

        Returns whether that could be done without the ``old`` X.
        """
        if self.pairs is not None and self.state == name:
            return True
        if old is None and name != _START:
            return False
        self.pairs = self.state = None
        self.pairs, extents = _build(spec, number, worker), spec.shares[number]
        self.rows = [slice(one.lo - extents[0].lo, one.hi - extents[0].lo) for one in extents]
        if old is not None:
            self.pairs.renew_each(old.own(), values, momentum=0.0, with_image=False)
        self.state = name
        return True

    def own_rows(self, block: Float32s) -> Float32s:
        """Return the rows of the blocks that are here; between them lie rows of others."""
        return np.concatenate([block[rows] for rows in self.rows])


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
    _mapped.cache_clear()
    with _shares_lock:
        for key in [key for key in _shares if key[0] == run]:
            del _shares[key]


def _build(spec: Spec, number: int, worker: Any) -> CpuPairs:
    extents, pool = spec.shares[number], ThreadPoolExecutor(1)
    tall = _TALL * 4 * extents[0].words * _WIDTH
    room = memory_of_job(spec.memory, worker) - memory_in_use() - tall
    blocks = build_dealt(
        open_counts(spec.counts, spec.digest, checked=spec.checked), spec.formula, extents, building=tall
    )
    return CpuPairs(blocks, pool=pool, threads=1, room=max(room, 0), folder=Path(worker.local_directory))


def build_dealt(
    counts: Cooccurrence, formula: Formula, extents: Sequence[Extent], *, building: int
) -> Iterator[PairBlock]:
    """Yield the blocks of ``extents``, which need not follow each other; see :func:`build_blocks`.

    All counts are looked through for their columns, as often as these take ``building`` bytes.
    """
    n, scratch = extents[0].words, Scratch()
    for group in groups_of(extents, np.diff(counts.indptr[: n + 1]), building // _GATHERED):
        starts, rows, befores = _columns_of(counts, group)
        first = 0
        for extent in group:
            columns = Columns(extent.lo, starts[first : first + extent.rows + 1], rows, befores, starts)
            yield build_block(counts, columns, formula, scratch, extent)
            release_pairs(counts, extent.lo, extent.hi)
            first += extent.rows


def _columns_of(counts: Cooccurrence, extents: Sequence[Extent]) -> tuple[Int64s, Array, Float32s]:
    """Return where the pairs of each column of ``extents`` start, their rows, and their counts."""
    words, n = np.concatenate([np.arange(one.lo, one.hi) for one in extents]), extents[0].words
    slot_of = np.full(counts.indptr.size - 1, -1, np.int32)
    slot_of[words] = np.arange(words.size)
    starts = np.zeros(words.size + 1, np.int64)
    for part in row_chunks(counts.indptr, n):
        starts[1:] += count_slots(counts.indptr, counts.indices, slot_of, words.size, *part)
        release_pairs(counts, *part)
    starts = np.cumsum(starts)
    free, rows, values = (
        starts[:-1].copy(),
        own_memory(starts[-1], np.int32),
        own_memory(starts[-1], np.int64),
    )
    for part in row_chunks(counts.indptr, n):
        fill_slots(counts.indptr, counts.indices, counts.values, slot_of, *part, free, rows, values)
        release_pairs(counts, *part)
    return (
        starts,
        rows,
        np.multiply(values, 1 / UNIT, out=own_memory(starts[-1], np.float32), casting="same_kind"),
    )


def open_share(share: Share, _: Any) -> list[float]:
    """Return Σ R G² of each block of a share."""
    squares: list[float] = share.pairs.squares_each
    return squares


def multiply_share(share: Share, block: Any) -> Float32s:
    """Return the rows of values · block that belong to a share."""
    return share.own_rows(share.pairs.times(block.own()))


def renew_share(
    share: Share, X: Any, values: Float64s, name: str, momentum: float, with_image: bool
) -> Renewed:
    """Renew the values of a share; afterwards they are those called ``name``."""
    share.state = None  # in case this is interrupted
    image, sums = share.pairs.renew_each(X.own(), values, momentum=momentum, with_image=with_image)
    share.state = name
    return (None if image is None else share.own_rows(image)), sums


def _on_worker(
    function: Callable[..., Any], number: int, spec: Spec, name: str, old: Any, values: Any, *arguments: Any
) -> Any:
    """Call ``function`` with a share whose values are those called ``name``; build it if it is not on this worker.

    Returns None if that takes the ``old`` X, with its ``values``, and they were not given. Only a job's own arguments,
    not parts of them, are replaced by what was handed out.
    """
    from distributed import get_worker

    share = _share_of(spec.run, number)
    with share.lock, limit_blas(1):
        if not share.bring_to(name, old, values, spec, number, get_worker()):
            return None
        return function(share, *arguments)


# The device of the one who asks.


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
        extents = layout_of(counts, len(scales))
        formula = formula_of(scales, constants, recipe=recipe)
        check = partial(check_workers, self.client, self.counts.absolute() / META, likeness=self.likeness)
        checked = check()
        spec = Spec(
            self.run,
            self.counts.absolute(),
            open_artefact(self.counts).digest,
            formula,
            deal(extents, sum(checked.values())),
            self.memory,
        )
        return ClusterPairs(self.client, spec, check, set(checked))


class ClusterPairs:
    """Pairs of a problem on the workers of a cluster; see :class:`psdvec.solver.devices.DevicePairs`."""

    def __init__(
        self, client: Any, spec: Spec, check: Callable[[], Mapping[str, int]], checked: set[str]
    ) -> None:
        self._client, self._check, self._checked = client, check, checked
        self._specs = {near: Handed(client, replace(spec, checked=near)) for near in (False, True)}
        self._extents = spec.shares
        self._owners: dict[int, str] = {}
        # For what is worked on, and for what has to be handed out again beside it.
        self._boards = [Board(), Board()] if hasattr(os, "memfd_create") else [None, None]
        self._near = self._see_boards()
        self._state: tuple[str, Any, Any] = (_START, None, None)
        self._number = 0
        squares: dict[int, float] = {}
        for number, found in self._each(open_share, None):
            squares.update(zip(self._blocks_of(number), found, strict=True))
        self.squares = sum(squares[lo] for lo in sorted(squares))

    def times(self, block: Float32s) -> Float32s:
        """Return values · block."""
        product = np.empty(block.shape, np.float32)
        for number, rows in self._each(multiply_share, self._hand(block)):
            self._put(number, rows, product)
        return product

    def renew(
        self, Q: Float32s, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
        self._number += 1
        name, image = f"X{self._number}", np.empty(Q.shape, np.float32) if with_image else None
        sums: dict[int, tuple[float, float]] = {}
        jobs = self._each(renew_share, self._hand(Q), values, name, momentum, with_image)
        for number, (rows, found) in jobs:
            sums.update(zip(self._blocks_of(number), found, strict=True))
            if image is not None:
                self._put(number, rows, image)
        self._state = name, Q, values
        return image, *added_up(sums[lo] for lo in sorted(sums))

    def _blocks_of(self, number: int) -> list[int]:
        """Return the first row of each block of a share."""
        return [extent.lo for extent in self._extents[number]]

    def _put(self, number: int, rows: Float32s, whole: Float32s) -> None:
        """Put the rows of a share where they belong."""
        first = 0
        for extent in self._extents[number]:
            part = whole[extent.lo : extent.hi]
            part[:] = rows[first : first + len(part)]
            first += len(part)

    def _hand(self, matrix: Float32s | None, board: int = 0) -> Handed:
        return Handed(self._client, matrix, self._boards[board])

    def _each(
        self, function: Callable[..., Any], matrix: Handed | None, *arguments: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield what ``function`` returns for each share; what is lost with a worker is done again."""
        self._assign()
        job = partial(self._submit, function, matrix=matrix, arguments=arguments)
        # Each with the worker it was sent to: its share may since have gone to another, with one that was lost before.
        futures = {number: job(number, old=None) for number in range(len(self._extents))}
        old = self._hand(self._state[1], board=1)
        try:
            for number in range(len(self._extents)):
                name = f"share {number + 1} of {len(self._extents)} of the pairs"
                for attempt in range(1, _ATTEMPTS + 1):
                    future, owner = futures[number]
                    try:
                        found = result_of(self._client, future, name, owner=owner)
                    except LostWorkError:
                        if attempt == _ATTEMPTS:
                            raise
                        time.sleep(_PAUSE)
                        self._assign()
                        for handed in (*self._specs.values(), old, matrix):
                            if handed is not None:
                                handed.again(surely=attempt > 1)
                    else:
                        if found is not None:
                            break
                    futures[number] = job(number, old=old)
                del futures[number]
                yield number, found
        finally:
            if futures and self._client.status == "running":
                with suppress(OSError):
                    self._client.cancel([future for future, _ in futures.values()])

    def _submit(
        self,
        function: Callable[..., Any],
        number: int,
        *,
        old: Handed | None,
        matrix: Handed | None,
        arguments: tuple[Any, ...],
    ) -> tuple[Any, str]:
        """Send the job of a share to its worker; return what stands for the job, and the worker."""
        owner, (name, vectors, values) = self._owners[number], self._state
        near = owner in self._near
        spec, old_X, block = (
            None if handed is None else handed.for_worker(near=near)
            for handed in (self._specs[near], None if vectors is None else old, matrix)
        )
        sent = (spec, name, old_X, values, block, *arguments)
        return self._client.submit(_on_worker, function, number, *sent, workers=[owner], pure=False), owner

    def _assign(self) -> None:
        """Give each share whose worker is not there to the one that has fewest; check those that joined meanwhile."""
        wait_for_workers(self._client, patience=ABSENCE)
        threads = workers_of(self._client)
        numbers = range(len(self._extents))
        if all(self._owners.get(number) in threads for number in numbers):
            return
        if not self._checked.issuperset(threads):
            threads = dict(self._check())
            self._checked |= set(threads)
            self._near = self._see_boards()
        load = dict.fromkeys(threads, 0.0)
        for owner in self._owners.values():
            if owner in load:
                load[owner] += 1 / threads[owner]
        for number in numbers:
            if self._owners.get(number) not in load:
                owner = min(load, key=lambda worker: load[worker])
                self._owners[number] = owner
                load[owner] += 1 / threads[owner]

    def _see_boards(self) -> set[str]:
        """Return the workers that can read what is posted; what is posted now may still be read."""
        if self._boards[0] is None:
            return set()
        board = Board()
        posted = board.post(np.zeros(1, np.float32))
        return {worker for worker, can in ask_workers(self._client, sees, posted).items() if can}


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
def open_counts(path: Path, digest: str, *, checked: bool = False) -> Cooccurrence:
    """Open counts, and keep them open for the next job that needs the same; they may have been ``checked``."""
    return map_counts(path) if checked else load_counts(path)
