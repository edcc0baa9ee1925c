"""Threads for kernels that release the interpreter lock: results in order, and a limit on the work under way."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import TypeVar

from psdvec.errors import InputError

In = TypeVar("In")
Out = TypeVar("Out")


def resolve_workers(workers: int | None) -> int:
    """Return ``workers``, or if that is None the number of processors this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise InputError(f"the number of workers is {workers}; give 1 or more")
    return workers


def map_ordered(
    executor: Executor, function: Callable[[In], Out], items: Iterable[In], *, ahead: int
) -> Iterator[Out]:
    """Yield ``function(item)`` in the order of ``items``, with at most ``ahead`` items taken in advance.

    An :class:`InputError` raised by ``items`` is raised again after the results of all items before it.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(map_ordered(pool, abs, [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    waiting: deque[Future[Out]] = deque()
    iterator, fault = iter(items), None
    try:
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                break
            except InputError as error:
                fault = error
                break
            waiting.append(executor.submit(function, item))
            while waiting and (waiting[0].done() or len(waiting) > ahead):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
    if fault:
        raise fault


@contextmanager
def limit_threads(workers: int | None) -> Iterator[None]:
    """Use this many threads in kernels and BLAS, and restore the previous numbers afterwards."""
    import numba
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    most = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    threads = min(resolve_workers(workers), most)
    numba.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        numba.set_num_threads(before)
