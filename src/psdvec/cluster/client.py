"""A Dask cluster: connect to it, hand out jobs, and say in one sentence what went wrong.

:func:`open_client` gives a :class:`distributed.Client`, and :func:`run_jobs` yields the results of jobs in order. Jobs
leave their work as files in a folder that all workers share, under names that appear only when the work is complete:
a lost worker costs the job it was doing, and a lost scheduler costs the jobs in progress. The jobs themselves are in
:mod:`psdvec.cluster.counting` and :mod:`psdvec.cluster.solving`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import psdvec
from psdvec.errors import ClusterError, InputError, ResourceError, import_extra
from psdvec.progress import memory_in_use
from psdvec.resources import available_memory

_Answer = TypeVar("_Answer")

_BATCH = 1000  # jobs sent to the scheduler in one message
_ANSWER = 5  # seconds to wait for a scheduler to answer
_PATIENCE = 30  # seconds to wait for a scheduler or a first worker to appear
_ATTEMPTS = 5  # at sending something to all workers, in case one is lost meanwhile
_PAUSE = 0.5  # seconds between them, in which the scheduler notices the loss

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
    with _left_out_of_the_log(_has_traceback):
        if cluster is not None:
            # What is large goes straight to the workers, which are in reach, and not by way of the scheduler.
            with (
                _local_cluster(dask, _local_workers(cluster)) as local,
                dask.Client(local, direct_to_workers=True) as client,
            ):
                yield client
            return
        try:
            client = dask.Client(scheduler, timeout=_PATIENCE)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at '{scheduler}' ({error}); start one with: dask scheduler"
            ) from error
        with client:
            yield client


def _has_traceback(record: logging.LogRecord) -> bool:
    """Say whether Dask logs an error with its traceback; what of it matters is raised too, and said in a sentence."""
    return bool(record.exc_info)


@contextmanager
def _left_out_of_the_log(is_left_out: Callable[[logging.LogRecord], bool]) -> Iterator[None]:
    """Leave some of what Dask logs out."""

    def is_kept(record: logging.LogRecord) -> bool:
        return not is_left_out(record)

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
    from dask import config

    environ = {**config.get("distributed.nanny.pre-spawn-environ"), **_KEEP_MEMORY}
    with config.set({"distributed.nanny.pre-spawn-environ": environ}):
        local = dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    try:
        yield local
    finally:  # the work is done: nobody need know that a busy machine took its time to end a worker
        with _left_out_of_the_log(lambda record: record.levelno <= logging.WARNING):
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


def check_workers(client: Any, file: Path) -> int:
    """Return how many jobs the workers do at a time, once all have this version of psdvec and see ``file`` as we do.

    Raises
    ------
    ClusterError
        If there is no worker, or one of another version, or one that does not see the file.
    """
    found = _ask_each(client, _look_around, str(file), file.read_bytes())
    for worker, (version, sees, _) in found.items():
        if version != psdvec.__version__:
            raise ClusterError(
                f"the worker {worker} has psdvec {version}, not {psdvec.__version__}; "
                "install the same version everywhere"
            )
        if not sees:
            raise ClusterError(
                f"the worker {worker} does not see '{file.parent}'; put it on a disk that all workers share"
            )
    return sum(threads for _, _, threads in found.values())


def wait_for_workers(client: Any) -> None:
    """Wait until there is a worker; raise :class:`ClusterError` if none comes, or the scheduler is lost."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise ClusterError(
            f"the scheduler at '{_address(client)}' has no workers; start some with: dask worker"
        ) from error
    except OSError as error:
        raise _lost_scheduler(client) from error


def _look_around(file: str, contents: bytes, dask_worker: Any) -> tuple[str, bool, int]:
    sees = Path(file).is_file() and Path(file).read_bytes() == contents
    return psdvec.__version__, sees, int(dask_worker.state.nthreads)


def ask_workers(client: Any, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Call ``function(*arguments, dask_worker=worker)`` on every worker; if one is lost meanwhile, on the others."""
    return list(_ask_each(client, function, *arguments).values())


def _ask_each(client: Any, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Return the answer of every worker by its address, of one at least."""

    def ask() -> dict[str, Any]:
        answers: dict[str, Any] = client.run(function, *arguments, on_error="return")
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
) -> Iterator[Any]:
    """Call ``function(*job)`` on the workers for every job, and yield the results in the order of ``jobs``.

    Raises
    ------
    ClusterError
        If the scheduler is lost.
    ResourceError
        If a job took several workers down with it, as happens when memory runs out.
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
        return dict(client.nthreads())
    except (OSError, TimeoutError) as error:
        raise _lost_scheduler(client) from error


def result_of(client: Any, future: Any, name: str) -> Any:
    """Return the result of a job by this ``name``, or say in one sentence why there is none."""
    import distributed
    from distributed.comm.core import CommClosedError

    try:
        return future.result()
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
    except (CancelledError, CommClosedError) as error:
        if _answers(client):
            raise LostWorkError(
                f"{name} was lost with the workers that held its data; finished work is kept: "
                "run it again to continue"
            ) from error
        raise _lost_scheduler(client) from error


def hand_out(client: Any, value: object) -> Any:
    """Give ``value`` to every worker once, and return what stands for it in the arguments of jobs."""
    send = partial(client.scatter, value, broadcast=True, hash=False)
    return _sent_to_all(client, send, "the data that all workers share")


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
