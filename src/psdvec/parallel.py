"""Work by several threads at once: results in order, and a limit on the work under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
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
