"""What the machine has: memory and processors, and how threads share work."""

from __future__ import annotations

import math
import os
import platform
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from psdvec import system
from psdvec.errors import InputError, demand_whole

_MOST_TAKEN = 200_000_000  # bytes for compiling; what is more was taken by other threads
_MOST_WORKERS = 256  # threads that a machine of fewer processors may be asked for
_threads: ContextVar[int | None] = ContextVar("threads", default=None)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_size(text: str | float) -> int:
    """Parse a size such as ``512M``, ``4G`` or ``1.5GB``, or a number of bytes; units are powers of 1,000.

    >>> parse_size("1.5G")
    1500000000
    """
    if not isinstance(text, str) and 0 <= text < math.inf:
        return int(text)
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([KMGT]?)B?", str(text).strip().upper())
    if match is None:
        raise InputError(f"'{text}' is not a size; write a number and a unit, such as 512M or 4G")
    return round(float(match[1]) * _UNITS[match[2]])


def format_size(size: float) -> str:
    """Format a size for people to read.

    >>> format_size(1_500_000_000)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def available_memory() -> int:
    """Return how many bytes of memory are available now without swapping, within the limits of cgroups."""
    free = system.free_memory()
    for limit_file, usage_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            limit, usage = (
                Path(name).read_text(encoding="ascii").strip() for name in (limit_file, usage_file)
            )
        except OSError:
            continue
        if limit.isdigit():
            free = min(free, max(int(limit) - int(usage), 0))
    return free


def resolve_workers(workers: int | None) -> int:
    """Return ``workers``, or if that is None the number of processors this process may use."""
    processors = system.processors()
    if workers is None:
        return processors
    workers = demand_whole(workers, "workers")
    most = max(_MOST_WORKERS, processors)
    if not 1 <= workers <= most:
        raise InputError(f"the number of workers is {workers}; give one from 1 to {most}")
    return workers


def card_named(device: str) -> Any | None:
    """Return the device of torch that has this name, or None for ``"cpu"``, which needs no torch.

    ``"auto"`` is a graphics card where there is one, ``"torch:cpu"`` torch on the CPU, which is how code for cards is
    tested where there is none.
    """
    if device == "cpu" or (device == "auto" and not has_card()):
        return None
    try:
        import torch
    except ModuleNotFoundError as error:
        raise InputError(
            f"the device '{device}' needs torch, which is not installed; pip install 'psdvec[gpu]', or use "
            'device="cpu"'
        ) from error
    try:
        found = torch.device("cuda" if device == "auto" else device.removeprefix("torch:"))
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"torch cannot use the device '{device}' ({str(error).splitlines()[0]}); use device=\"cpu\", or install "
            "a torch that fits your graphics card"
        ) from error
    return found


def has_card() -> bool:
    """Say whether torch is installed and finds a graphics card."""
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.cuda.is_available())


@contextmanager
def limit_blas(threads: int) -> Iterator[None]:
    """Use this many threads in every BLAS of this process, and restore the previous numbers afterwards.

    SciPy has a BLAS of its own, which no limit reaches that was set before it was loaded; so it is loaded here.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads, user_api="blas"):
        yield


@contextmanager
def limit_threads(workers: int | None) -> Iterator[None]:
    """Use this many threads in kernels and BLAS, one per processor at most, and the previous numbers afterwards."""
    threads = min(resolve_workers(workers), resolve_workers(None))
    token = _threads.set(threads)
    try:
        with limit_blas(threads):
            yield
    finally:
        _threads.reset(token)


def thread_limit() -> int:
    """Return how many threads :func:`limit_threads` allows here, by default one for each processor.

    >>> with limit_threads(1):
    ...     thread_limit()
    1
    """
    return _threads.get() or resolve_workers(None)


# Instructions that compute with several numbers at once, or round once where others round twice, as LLVM names them.
_COMPUTES = re.compile(r"s?sse|avx|fma|f16c|xop|amx|neon|fp|fullfp|sve|sme|bf16|dotprod|i8mm")


@cache
def arithmetic() -> Mapping[str, str]:
    """Return what the last bits of a fit rest on: the processor, the kernels of BLAS, and versions.

    Where all of it is equal, the same input gives the same bytes. SciPy and numba are loaded for it, as a fit does
    anyway. Only the BLAS of NumPy and SciPy count: other packages may have brought theirs into this process.
    """
    import llvmlite.binding
    import numba
    import numpy
    import scipy.linalg
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    own = [library for library in found if re.search(r"numpy|scipy", library["filepath"])] or found
    kernels = {
        " ".join(
            str(library[name]) for name in ("internal_api", "version", "architecture") if library.get(name)
        )
        for library in own
    }
    settings: Any = numba.config
    features = settings.CPU_FEATURES or llvmlite.binding.get_host_cpu_features().flatten()
    libc = ""
    with suppress(AttributeError, ValueError, OSError):  # where there is no GNU C library
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    return {
        "machine": platform.machine(),
        "processor": settings.CPU_NAME or llvmlite.binding.get_host_cpu_name(),
        "features": " ".join(
            one[1:] for one in sorted(features.split(",")) if one[:1] == "+" and _COMPUTES.match(one[1:])
        ),
        "blas": ", ".join(sorted(kernels)),
        "libc": libc,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def cache_folder(name: str) -> Path:
    """Return where psdvec keeps what it can get again, by ``name``, in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "psdvec" / name


class Compilations:
    """How many functions numba is compiling now, which :mod:`psdvec.kernels` hears from it.

    ``taken`` is how much larger the process has become meanwhile, in bytes.
    """

    def __init__(self) -> None:
        self.under_way = self.taken = self._before = 0
        self._lock = threading.Lock()

    def change(self, by: int) -> None:
        """Count one that begins, 1, or ends, -1; one that ends may have begun unheard."""
        with self._lock:
            was, self.under_way = self.under_way, max(self.under_way + by, 0)
            if was == 0 and self.under_way:
                self._before = system.current_memory()
            elif was and self.under_way == 0:
                self.taken += max(system.current_memory() - self._before, 0)


compilations = Compilations()


def memory_in_use() -> int:
    """Return the resident size of this process in bytes, as it would be if all kernels had come from numba's cache.

    So a first run plans its memory as the second does. It is larger by what compiling takes, about 100 MB.
    """
    return max(system.current_memory() - min(compilations.taken, _MOST_TAKEN), 0)


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


def for_each(work: Callable[[int], None], begins: range) -> None:
    """Do ``work`` for each of ``begins``, by as many threads as :func:`thread_limit` allows.

    >>> squares = [0] * 3
    >>> for_each(lambda i: squares.__setitem__(i, i * i), range(3))
    >>> squares
    [0, 1, 4]
    """
    if len(begins) < 2:
        for begin in begins:
            work(begin)
        return
    with ThreadPoolExecutor(thread_limit()) as pool:
        for _ in pool.map(work, begins):
            pass


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
