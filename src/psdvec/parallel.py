"""Work by several threads at once: results in order, and a limit on the work under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from itertools import pairwise
from typing import TypeVar

from psdvec.errors import InputError

In = TypeVar("In")
Out = TypeVar("Out")


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


def in_stretches(
    executor: Executor, function: Callable[[int, int], Out], size: int, *, threads: int
) -> list[Out]:
    """Return ``function(begin, end)`` of as many equal stretches of ``range(size)`` as there are ``threads``, in order.

    The first is computed by the caller's own thread while the others are under way.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     in_stretches(pool, lambda begin, end: (begin, end), 7, threads=3)
    [(0, 2), (2, 4), (4, 7)]
    """
    bounds = [size * thread // threads for thread in range(threads + 1)]
    others = [executor.submit(function, *ends) for ends in pairwise(bounds[1:])]
    own = function(*bounds[:2])
    return [own, *(future.result() for future in others)]
