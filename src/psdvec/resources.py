"""What the machine has: memory and processors, how sizes are written, and what to say of a full disk."""

from __future__ import annotations

import errno
import math
import os
import platform
import re
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from psdvec.errors import InputError, ResourceError, demand_whole

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
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
        if match:
            free = int(match[1]) * 1024
    for limit_file, usage_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            limit, usage = Path(limit_file).read_text().strip(), Path(usage_file).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():
            free = min(free, max(int(limit) - int(usage), 0))
    return free


def resolve_workers(workers: int | None) -> int:
    """Return ``workers``, or if that is None the number of processors this process may use."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is None:
        return processors
    workers = demand_whole(workers, "workers")
    most = max(_MOST_WORKERS, processors)
    if not 1 <= workers <= most:
        raise InputError(f"the number of workers is {workers}; give one from 1 to {most}")
    return workers


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


def peak_memory() -> int:
    """Return the largest resident size this process has had so far, in bytes.

    Linux's own record comes first, because ``getrusage`` starts from the size of the parent process.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def current_memory() -> int:
    """Return the current resident size of this process in bytes, or its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def disk_errors_explained(path: Path) -> Iterator[None]:
    """Turn errors of a full disk or missing permissions below ``path`` into sentences that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise ResourceError(
                f"the disk is full: writing below '{path}' failed ({error.strerror}); "
                "free some space and run the same command again"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InputError(
                f"cannot write below '{path}' ({error.strerror}); choose another output or change its permissions"
            ) from error
        raise
