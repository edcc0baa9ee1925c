"""What differs between operating systems: locks, renames, maps of files, memory, and what ends a program.

Nothing else in the package asks which system it runs on, but for a few functions of Linux that are used where they are
there. Modules that only some systems have are imported in the functions that use them. It is made for Windows too, but
has not run there: ``docs/reliability.md`` says what is prepared.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import mmap
import os
import re
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

WINDOWS = os.name == "nt"

# Locks that end with the process that holds them. Elsewhere, what is locked is the file or folder itself. On Windows,
# where nothing that is open can be renamed, it is a byte of one file, at a place that the name says.

_LOCKS = "psdvec.locks"  # in the folder for temporary files; it is always empty


def open_lock(path: Path, *, write: bool = False) -> int:
    """Return a descriptor to lock the file or folder at ``path`` by, which must exist and be no link."""
    if not WINDOWS:
        return os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW)
    path.lstat()
    name = os.path.normcase(os.path.realpath(path.parent) + os.sep + path.name)
    descriptor = os.open(Path(tempfile.gettempdir(), _LOCKS), os.O_RDWR | os.O_CREAT)
    os.lseek(descriptor, zlib.crc32(name.encode("utf-8", "surrogatepass")) >> 1, os.SEEK_SET)
    return descriptor


def lock(descriptor: int) -> None:
    """Lock what :func:`open_lock` opened, until it is closed; ``BlockingIOError`` if another has it locked."""
    if not WINDOWS:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    msvcrt: Any = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError as error:
        raise BlockingIOError(errno.EAGAIN, "another process has it locked") from error


def is_lock_of(descriptor: int, path: Path) -> bool:
    """Say whether what ``descriptor`` locks still has the name ``path``."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return WINDOWS or os.path.samestat(os.fstat(descriptor), status)


# Files and folders: waiting for the disk, and renames. The standard library lacks two of these: two names exchanged in
# one step, and a name that must be free.

_HERE = -100  # AT_FDCWD: names are relative to the working folder
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_LEADS_ELSEWHERE = {0xA0000003, 0xA000000C}  # tags of junctions and links; the cloud has others
_PATIENCE = 2.0  # seconds; programs that search for viruses open what is new
_PAUSE = 0.05
REMEDY = "choose another output or change its permissions"  # where the system does not let us write
if WINDOWS:
    REMEDY = f"close the programs that have it open, {REMEDY}"


def is_link(path: Path) -> bool:
    """Say whether ``path`` leads elsewhere: as a link or, on Windows, as a junction, which Python calls no link."""
    if not WINDOWS:
        return path.is_symlink()
    try:
        return getattr(path.lstat(), "st_reparse_tag", 0) in _LEADS_ELSEWHERE
    except OSError:
        return False


def open_to_sync(path: Path) -> int | None:
    """Return a descriptor of a file or folder to sync it by; None for a folder where only files are synced."""
    if not WINDOWS:
        return os.open(path, os.O_RDONLY)
    return None if path.is_dir() else os.open(path, os.O_RDWR)


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder; a file, or an empty folder, that is called ``target`` gives way."""
    if not WINDOWS:
        source.rename(target)
        return
    if source.is_dir():
        with suppress(OSError):
            target.rmdir()
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    _patiently(source.replace, source, target)


def exchange(one: Path, other: Path) -> bool:
    """Give each of two files or folders the name of the other, in one step; return False where that cannot be done."""
    return _rename(one, other, linux=2, mac=2)


def rename_to_free(source: Path, target: Path) -> None:
    """Rename a file, in one step where that can be; raise ``FileExistsError`` if something is called ``target``."""
    if WINDOWS:
        _patiently(source.rename, source, target)
    elif not _rename(source, target, linux=1, mac=4):
        if target.exists():
            raise FileExistsError(target)
        source.rename(target)


def _patiently(move: Callable[[Path], object], source: Path, target: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            move(target)
            return
        except PermissionError:
            if time.monotonic() >= end or not source.exists():
                raise
            time.sleep(_PAUSE)


def _rename(source: Path, target: Path, *, linux: int, mac: int) -> bool:
    if WINDOWS:
        return False
    library: Any = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(source), os.fsencode(target)
    if hasattr(library, "renameat2"):
        code = library.renameat2(_HERE, names[0], _HERE, names[1], linux)
    elif hasattr(library, "renamex_np"):
        code = library.renamex_np(*names, mac)
    else:
        return False
    if code == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


# Files in memory, and parts of files.

_seeking = threading.Lock()


def map_file(
    path: Path, dtype: Any, *, start: int = 0, shape: tuple[int, ...] | None = None, order: Any = "C"
) -> Any:
    """Map the numbers in a file, of which there are some, read-only.

    On Windows, where nothing that is mapped can be replaced or removed, they are read into memory instead.
    """
    import numpy as np

    if not WINDOWS:
        return np.asarray(np.memmap(path, dtype, "r", offset=start, shape=shape, order=order))
    count = -1 if shape is None else int(np.prod(shape, dtype=np.int64))
    found = np.fromfile(path, dtype, count, offset=start).reshape(-1 if shape is None else shape, order=order)
    found.flags.writeable = False
    return found


_LARGE = 1 << 22  # bytes from which memory is asked for in large pages, as NumPy does


def private_memory(length: int) -> mmap.mmap:
    """Return zeros that the system has back as soon as they are dropped, and that no other process can share.

    Where they are large, so are their pages, if the system has any: small ones take longer to begin than to fill.
    """
    if WINDOWS:
        return mmap.mmap(-1, length)
    memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if length >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def read_at(descriptor: int, start: int, view: memoryview) -> int:
    """Fill ``view`` from a place in a file that other threads use too; return how many bytes there were."""
    if not WINDOWS:
        return os.preadv(descriptor, [view], start)
    with _seeking:
        os.lseek(descriptor, start, os.SEEK_SET)
        found = os.read(descriptor, min(len(view), _AT_ONCE))
    view[: len(found)] = found
    return len(found)


def write_at(descriptor: int, start: int, view: memoryview) -> int:
    """Write ``view`` to a place in a file that other threads use too; return how many bytes were written."""
    if not WINDOWS:
        return os.pwrite(descriptor, view, start)
    with _seeking:
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.write(descriptor, view[:_AT_ONCE])


_AT_ONCE = 1 << 26  # bytes; a C library of Windows counts in 32 bits


# Memory and processors.


def total_memory() -> int:
    """Return how many bytes of memory the machine has."""
    if WINDOWS:
        return _told("GlobalMemoryStatusEx", 8)[1]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def free_memory() -> int:
    """Return how many bytes are available without swapping, or all that there are where the system does not tell."""
    if WINDOWS:
        return _told("GlobalMemoryStatusEx", 8)[2]
    with suppress(OSError):
        match = re.search(
            r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE
        )
        if match:
            return int(match[1]) * 1024
    return total_memory()


def peak_memory() -> int:
    """Return the largest resident size this process has had so far, in bytes.

    Linux's own record comes first, because ``getrusage`` starts from the size of the parent process.
    """
    if WINDOWS:
        return _told("K32GetProcessMemoryInfo", 9, process=_THIS_PROCESS)[1]
    with suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def current_memory() -> int:
    """Return the current resident size of this process in bytes, or its peak where the system does not tell."""
    if WINDOWS:
        return _told("K32GetProcessMemoryInfo", 9, process=_THIS_PROCESS)[2]
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


_THIS_PROCESS = -1


def _told(function: str, size: int, *, process: int | None = None) -> list[int]:
    """Return what a function of Windows writes into a structure of so many numbers of 64 bits.

    The first of these says, in its lower half, how many bytes the structure has.
    """
    told = (ctypes.c_uint64 * size)(8 * size)
    who = () if process is None else (ctypes.c_void_p(process),)
    room = () if process is None else (ctypes.c_ulong(8 * size),)
    _ask(function, *who, ctypes.byref(told), *room)
    return list(told)


def _ask(function: str, *arguments: Any) -> None:
    windows: Any = ctypes
    library = windows.WinDLL("kernel32", use_last_error=True)
    if not getattr(library, function)(*arguments):
        raise windows.WinError(windows.get_last_error())


def address_limit() -> int | None:
    """Return how many bytes of addresses this process may use, or None if there is no limit."""
    if WINDOWS:
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Programs: how they are interrupted, what they write, and what they took.


def catch_interruptions(handler: Callable[[int, Any], object]) -> None:
    """Have ``handler`` called when the program is to stop, and when :func:`interrupt_soon` calls it again."""
    for name in ("SIGINT", "SIGTERM", "SIGALRM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handler)


def interrupt_soon(seconds: float) -> None:
    """Have the handler of interruptions called in a moment."""
    if WINDOWS:
        threading.Timer(seconds, signal.raise_signal, [signal.SIGINT]).start()
    else:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def text_output() -> Mapping[str, Any]:
    """Return how a text stream is to be opened so that it has the same bytes on every system."""
    return {"encoding": "utf-8", "newline": "\n"} if WINDOWS else {}


def cost_of(process: Any) -> tuple[int, float, int]:
    """Wait for a process of Windows; return its exit code, its processor seconds and its peak memory."""
    code = process.wait()
    handle = int(process._handle)
    times = (ctypes.c_uint64 * 4)()  # creation, end, in the kernel, in the program; in units of 100 ns
    places = (ctypes.byref(times, 8 * each) for each in range(4))
    _ask("GetProcessTimes", ctypes.c_void_p(handle), *places)
    return code, (times[2] + times[3]) / 1e7, _told("K32GetProcessMemoryInfo", 9, process=handle)[1]
