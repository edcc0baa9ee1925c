"""A Dask cluster: connect to it, hand out jobs, and say in one sentence what went wrong.

:func:`open_client` gives a :class:`distributed.Client`, and :func:`run_jobs` yields the results of jobs in order. Jobs
leave their work as files in a folder that all workers share, under names that appear only when the work is complete:
a lost worker costs the job it was doing, and a lost scheduler costs the jobs in progress. The jobs themselves are in
:mod:`psdvec.cluster.counting` and :mod:`psdvec.cluster.fitting`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import psdvec
from psdvec.errors import ClusterError, InputError, ResourceError, import_extra
from psdvec.resources import arithmetic, available_memory, memory_in_use

_Answer = TypeVar("_Answer")

_BATCH = 1000  # jobs sent to the scheduler in one message
_CONNECT = 8  # seconds to wait for a scheduler to appear at an address, and to speak as one
_ANSWER = 5  # seconds to wait for a scheduler to answer
_PATIENCE = 30  # seconds to wait for a first worker to appear, or for a busy scheduler to answer
ABSENCE = 300  # seconds to wait for a worker to replace those that were lost
_LOST = "5 minutes"  # until Dask no longer starts a lost worker of ours again; a busy machine takes more than its 15 s
_STARTING = 30  # seconds to wait for all workers that this process starts; then some are enough
_SOON = 0.02  # seconds after which to see whether they have started
_POLL = 1.0  # seconds after which to see whether those that work are still there
_GRACE = 10  # times in a row that they are not, until their work is given up: Dask may know what to do
_IDLE = 60  # times in a row that all workers are idle, until a job that waits for one is given up
_ATTEMPTS = 5  # at sending something to all workers, in case one is lost meanwhile
_PAUSE = 0.5  # seconds between them, in which the scheduler notices the loss

# How many workers are on their way to a client, where this process starts them.
_awaited: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

_LOGGERS = ("distributed", "tornado", "asyncio")  # of Dask and what it is built on

# By default, Dask makes its workers return memory at once; each block of text or rows would then cost a page fault
# for every page that it touches.
_KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 25, "MALLOC_MMAP_THRESHOLD_": 1 << 24}


@contextmanager
def open_client(*, scheduler: str | None = None, cluster: str | None = None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start a cluster on this machine (``"local:4"``: four processes).

    Where neither is given, there is no client: None is yielded.
    """
    if name_cluster(scheduler=scheduler, cluster=cluster) is None:
        yield None
        return
    dask = import_extra("distributed", extra="distributed", purpose="working on a cluster")
    # Of an error that Dask logs with its traceback, what matters is raised too, and said in a sentence.
    with _logging_only(lambda record: not record.exc_info):
        if cluster is not None:
            # What is large goes straight to the workers, which are in reach, and not by way of the scheduler.
            workers = _local_workers(cluster)
            with (
                _local_cluster(dask, workers) as local,
                dask.Client(local.scheduler_address, direct_to_workers=True) as client,
            ):
                _awaited[client] = workers
                yield client
            return
        try:
            asyncio.run(_shake_hands(dask, str(scheduler), limit=_CONNECT))
            client = dask.Client(scheduler, timeout=_CONNECT)
        except (OSError, ValueError, TypeError) as error:
            found = str(error) or f"nothing was said within {_CONNECT} seconds"
            raise ClusterError(
                f"no Dask scheduler answers at '{scheduler}' ({found}); start one with: dask scheduler"
            ) from error
        with client:
            yield client


async def _shake_hands(dask: Any, address: str, *, limit: float) -> None:
    """Raise OSError or ValueError unless what is at ``address`` speaks as Dask does: a client would wait far longer."""
    from distributed.comm.core import connect

    options = dask.Security().get_connection_args("client")
    try:
        reached: Any = connect(address, timeout=limit, **options)  # type: ignore[no-untyped-call]
        comm = await asyncio.wait_for(reached, limit)
    except (OSError, ValueError, TypeError):
        raise
    except Exception as error:  # whatever comes of reading another protocol
        raise ValueError("what is there speaks otherwise than Dask") from error
    await comm.close()


@contextmanager
def _logging_only(is_kept: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Leave the rest of what Dask logs out."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGERS]
    for name in names:
        logging.getLogger(name).addFilter(is_kept)
    try:
        yield
    finally:
        for name in names:
            logging.getLogger(name).removeFilter(is_kept)


@contextmanager
def _local_cluster(dask: Any, workers: int) -> Iterator[Any]:
    """Start a cluster whose workers load what they need while this process does what it can do without them."""
    from dask import config
    from distributed.system import MEMORY_LIMIT

    environ = {**config.get("distributed.nanny.pre-spawn-environ"), **_KEEP_MEMORY}
    patient = {
        "distributed.nanny.pre-spawn-environ": environ,
        "distributed.deploy.lost-worker-timeout": _LOST,
    }
    with config.set(patient):
        local = dask.LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            memory_limit=MEMORY_LIMIT // workers,
            dashboard_address="127.0.0.1:0",
            preload=["psdvec.cluster.fitting"],
        )
        try:
            local.scale(workers)
            yield local
        finally:  # the work is done: nobody need know that a busy machine took its time to end a worker
            with _logging_only(lambda record: record.levelno > logging.WARNING):
                local.close()


def name_cluster(*, scheduler: str | None, cluster: str | None) -> str | None:
    """Return what to call the cluster asked for, or None if none is; nothing is connected or started."""
    if scheduler is not None and cluster is not None:
        raise InputError("both a scheduler and a cluster were given; give only one of them")
    if cluster is not None:
        return f"a Dask cluster on this machine with {_local_workers(cluster)} workers"
    return None if scheduler is None else f"the Dask cluster of the scheduler at '{scheduler}'"


def _local_workers(cluster: str) -> int:
    match = re.fullmatch(r"local:([1-9]\d*)", cluster)
    if match is None:
        raise InputError(f"the cluster '{cluster}' is unknown; give local:N, for N worker processes")
    return int(match[1])


class Likeness:
    """What to do where a worker's arithmetic is not ours: refuse it or, where that is ``allowed``, ``say`` so.

    ``others`` are what was found then. Counts are whole numbers, which are the same everywhere.
    """

    def __init__(self, *, allowed: bool, say: Callable[[str], None]) -> None:
        self.allowed, self.say = allowed, say
        self.others: list[dict[str, str]] = []

    def check(self, worker: str, found: Mapping[str, str]) -> None:
        """Compare what the arithmetic of a worker rests on with ours; see :func:`psdvec.resources.arithmetic`."""
        differing = {
            name: found.get(name, "unknown") for name, own in arithmetic().items() if found.get(name) != own
        }
        if not differing:
            return
        name, other = next(iter(differing.items()))
        what = f"the worker {worker} computes otherwise than this process: its {name} is '{other}', not "
        what += f"'{arithmetic()[name]}'"
        if not self.allowed:
            raise ClusterError(
                f"{what}; the vectors would not be those of one machine, to the byte: leave the worker out, or give "
                "allow_unlike=True"
            )
        if differing not in self.others:
            self.others.append(differing)
            self.say(f"{what}; the vectors may differ from those of one machine")

    def expected(self) -> Mapping[str, str] | None:
        """Return what jobs must find on their workers, where that matters."""
        return None if self.allowed else arithmetic()


def demand_arithmetic(expected: Mapping[str, str] | None, worker: str) -> None:
    """On a worker, which may have joined since all were checked: refuse to compute otherwise than ``expected``."""
    own = arithmetic()
    for name, value in (expected or {}).items():
        if own[name] != value:
            raise ClusterError(
                f"the worker {worker}, which joined meanwhile, computes otherwise than the others: its {name} is "
                f"'{own[name]}', not '{value}'; leave it out, and run it again to continue"
            )


def check_workers(client: Any, file: Path, *, likeness: Likeness | None = None) -> dict[str, int]:
    """Return how many jobs each worker does at a time, once all have this version of psdvec and see ``file`` as we do.

    Otherwise, or if there is none, or one whose arithmetic is another where ``likeness`` minds: :class:`ClusterError`.
    """
    _wait_for_all(client)
    found = ask_workers(client, _look_around, str(file), file.read_bytes(), likeness is not None)
    for worker, (version, sees, _, _) in found.items():
        if version != psdvec.__version__:
            raise ClusterError(
                f"the worker {worker} has psdvec {version}, not {psdvec.__version__}; "
                "install the same version everywhere"
            )
        if not sees:
            raise ClusterError(
                f"the worker {worker} does not see '{file.parent}'; put it on a disk that all workers share"
            )
    if likeness is not None:
        for worker, (_, _, _, computes_with) in sorted(found.items()):
            likeness.check(worker, computes_with)
    return {worker: threads for worker, (_, _, threads, _) in found.items()}


def wait_for_workers(client: Any, *, patience: float | None = None) -> None:
    """Wait until there is a worker; raise :class:`ClusterError` if none comes, or the scheduler is lost."""
    end = time.monotonic() + (_PATIENCE if patience is None else patience)
    while not workers_of(client):
        if time.monotonic() > end:
            raise ClusterError(
                f"the scheduler at '{_address(client)}' has no workers; start some with: dask worker"
            )
        time.sleep(_PAUSE)


def _wait_for_all(client: Any) -> None:
    """Wait until the workers that this process started are there, but not for long: others can do their work."""
    end, awaited = time.monotonic() + _STARTING, _awaited.pop(client, 0)
    while len(workers_of(client)) < awaited and time.monotonic() < end:
        time.sleep(_SOON)


def _look_around(
    file: str, contents: bytes, computes: bool, dask_worker: Any
) -> tuple[str, bool, int, Mapping[str, str]]:
    sees = Path(file).is_file() and Path(file).read_bytes() == contents
    return psdvec.__version__, sees, int(dask_worker.state.nthreads), arithmetic() if computes else {}


def ask_workers(client: Any, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Call ``function(*arguments, dask_worker=worker)`` on every worker; if one is lost meanwhile, on the others.

    Returns the answers by the addresses of the workers, of one at least.
    """

    def ask() -> dict[str, Any]:
        send = partial(client._run, function, *arguments, on_error="return")
        answers: dict[str, Any] = client.sync(_while_all_are_there, client, send)
        lost = [answer for answer in answers.values() if isinstance(answer, OSError)]
        if lost or not answers:
            raise lost[0] if lost else OSError("no worker answers")
        return answers

    found = _sent_to_all(client, ask, "a question to all workers")
    for worker, answer in found.items():
        if isinstance(answer, Exception):
            raise ClusterError(
                f"the worker {worker} cannot do its part ({answer}); install the same version of psdvec everywhere"
            ) from answer
    return found


def _sent_to_all(client: Any, send: Callable[[], _Answer], what: str) -> _Answer:
    """Send something to all workers, again if one is lost meanwhile: the scheduler may then raise any kind of error."""
    failures: list[Exception] = []
    while len(failures) < _ATTEMPTS:
        wait_for_workers(client)
        try:
            return send()
        except Exception as error:
            if not _answers(client):
                raise _lost_scheduler(client) from error
            failures.append(error)
        time.sleep(_PAUSE)
    raise LostWorkError(
        f"{what} could not be handed out ({failures[-1]}); check that the workers are running, and run it again to "
        "continue"
    ) from failures[-1]


def run_jobs(
    client: Any, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *, label: str
) -> Generator[Any, None, None]:
    """Call ``function(*job)`` on the workers for every job, and yield the results in the order of ``jobs``.

    A lost scheduler is a :class:`ClusterError`; a job that took several workers down with it, as happens when memory
    runs out, a :class:`ResourceError`.
    """
    if not jobs:
        return
    futures = client.map(function, *zip(*jobs, strict=True), pure=False, batch_size=_BATCH)
    try:
        for number, future in enumerate(futures, 1):
            yield result_of(client, future, f"{label} {number} of {len(jobs)}")
    finally:
        if client.status == "running":
            with suppress(OSError):  # the scheduler has just been lost; the error that says so is on its way
                client.cancel(futures)


def workers_of(client: Any) -> dict[str, int]:
    """Return the address of each worker, and how many jobs it does at a time."""
    try:
        return dict(client.sync(client.scheduler.ncores, callback_timeout=_PATIENCE))
    except (OSError, TimeoutError, AttributeError) as error:
        raise _lost_scheduler(client) from error


async def _watched(
    client: Any,
    send: Callable[[], Awaitable[Any]],
    is_lost: Callable[[dict[str, int]], Awaitable[bool]],
    *,
    grace: int,
) -> Any:
    """Wait for what ``send`` does, however long; but raise :class:`_GoneError` if all the time, it ``is_lost``.

    Dask itself would wait without limit in some cases: for a result that was lost with the one worker that may compute
    it, or for the answer of a worker that is gone. ``is_lost`` is told which workers there are.
    """
    sent = asyncio.ensure_future(send())
    lost = 0
    try:
        while not (await asyncio.wait({sent}, timeout=_POLL))[0]:
            try:
                there = await asyncio.wait_for(client.scheduler.ncores(), _PATIENCE)
                lost = lost + 1 if await asyncio.wait_for(is_lost(there), _PATIENCE) else 0
            except (OSError, TimeoutError, AttributeError) as error:
                raise _GoneError("the scheduler does not answer") from error
            if lost >= (grace if there else ABSENCE / _POLL):
                raise _GoneError("a worker was lost meanwhile")
        return sent.result()
    finally:
        sent.cancel()


async def _while_all_are_there(client: Any, send: Callable[[], Awaitable[Any]]) -> Any:
    """Wait for what ``send`` does with all workers, as long as none is lost."""
    before = set(await asyncio.wait_for(client.scheduler.ncores(), _PATIENCE))

    async def is_lost(there: dict[str, int]) -> bool:
        return not before <= set(there)

    return await _watched(client, send, is_lost, grace=_GRACE)


async def _result(client: Any, future: Any, owner: str | None) -> Any:
    """Wait for the result of a job, as long as its ``owner`` is there or, if any worker may do it, one does anything.

    The owner's job is lost with it: Dask would wait for a worker of the same address.
    """

    async def is_lost(there: dict[str, int]) -> bool:
        if owner is not None:
            return owner not in there or future.status == "lost"
        return future.status == "pending" and not any(
            (await client.scheduler.processing(workers=None)).values()
        )

    return await _watched(client, future._result, is_lost, grace=_IDLE if owner is None else 1)


def result_of(client: Any, future: Any, name: str, *, owner: str | None = None) -> Any:
    """Return the result of a job by this ``name``, or say in one sentence why there is none.

    ``owner`` is the address of the one worker that may do it, if any may not.
    """
    import distributed
    from distributed.comm.core import CommClosedError

    try:
        return client.sync(_result, client, future, owner)
    except distributed.KilledWorker as error:
        raise ResourceError(
            f"{name} failed: {error.allowed_failures + 1} workers died at it, most likely for lack of memory; "
            "give the workers more memory or, when counting, smaller blocks (block_size), and run it again to continue"
        ) from error
    except FileNotFoundError as error:
        raise ClusterError(
            f"{name} failed: a worker does not see '{error.filename}'; "
            "put the input and the output on disks that all workers share"
        ) from error
    except (CancelledError, CommClosedError, _GoneError) as error:
        if _answers(client):
            raise LostWorkError(
                f"{name} was lost with the workers that held its data; finished work is kept: "
                "run it again to continue"
            ) from error
        raise _lost_scheduler(client) from error


def hand_out(client: Any, value: object) -> Any:
    """Give ``value`` to a worker, and return what stands for it in the arguments of jobs.

    The others get it from each other when their jobs need it, each once. Dask can also send it to all at once, but if
    one of them is lost meanwhile, its scheduler tries for ever.
    """
    send = partial(client._scatter, value, hash=False)
    return _sent_to_all(
        client, lambda: client.sync(_while_all_are_there, client, send), "the data that all workers share"
    )


def _lost_scheduler(client: Any) -> ClusterError:
    return ClusterError(
        f"the scheduler at '{_address(client)}' was lost; finished work is kept: run it again to continue"
    )


def _answers(client: Any) -> bool:
    """Return whether the scheduler answers; lost jobs are noticed before the client notices a lost scheduler."""
    try:
        client.sync(client.scheduler.identity, callback_timeout=_ANSWER)
    except (OSError, TimeoutError, AttributeError):
        return False
    return bool(client.status == "running")


class _GoneError(Exception):
    """Those who did something are no longer there."""


class LostWorkError(ClusterError):
    """What was handed out was lost with the last worker that held it, and must be handed out again."""


def _address(client: Any) -> str:
    return str(client.scheduler.address) if client.scheduler is not None else "an unknown address"


def memory_of_job(memory: int | None, worker: Any) -> int:
    """Return how many bytes of memory this process, a ``worker``, may have in use while it does one more job.

    The worker's threads share its budget, ``memory`` or half of the limit that Dask set, less what the process used
    before its first job.
    """
    most = memory or (worker.memory_manager.memory_limit or available_memory()) // 2
    return memory_in_use() + max(most - _memory_at_rest(), 0) // int(worker.state.nthreads)


@cache
def _memory_at_rest() -> int:
    return memory_in_use()
