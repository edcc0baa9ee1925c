"""A platform that is to psdvec what Windows is, as far as Linux can play it: ``pytest -p tests.windows.platform``.

Importing this module sets it up, for this process; that must be before psdvec is imported. Then

- ``os.name`` is ``nt`` to psdvec, and modules, functions and flags that Windows lacks are missing to it;
- what is open or mapped in this process cannot be renamed, replaced or removed, nor a folder that it lies in, and no
  name can be given that is taken, nor a folder be opened or replaced, nor a link be made;
- temporary files have names, and text without an ``encoding`` or ``newline`` is written as Windows would;
- there are ``msvcrt``, with locks of single bytes, and what psdvec asks ``kernel32``, which checks how it is asked.

Paths still have slashes, other processes may do what they like, and Python itself is that of Linux.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import getpass  # noqa: F401, before there is an msvcrt
import io
import mmap
import os
import shutil
import signal
import struct
import subprocess  # noqa: F401, before there is an msvcrt
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import pytest

MISSING_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
MISSING: dict[str, set[str]] = {
    "os": {
        "confstr", "fchmod", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid", "getuid",
        "killpg", "memfd_create", "mkfifo", "nice", "posix_fadvise", "posix_fallocate", "posix_spawn", "pread",
        "preadv", "pwrite", "pwritev", "register_at_fork", "sched_getaffinity", "sendfile", "setsid", "statvfs",
        "sysconf", "uname", "wait", "wait3", "wait4", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
        "O_TMPFILE", "WIFSIGNALED",
    },
    "signal": {
        "SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXFSZ", "ITIMER_REAL", "alarm",
        "pthread_sigmask", "setitimer", "siginterrupt", "sigwait",
    },
    "mmap": {
        "MAP_ANON", "MAP_ANONYMOUS", "MAP_PRIVATE", "MAP_SHARED", "MADV_DONTNEED", "MADV_HUGEPAGE", "MADV_SEQUENTIAL",
        "MADV_WILLNEED", "PROT_READ", "PROT_WRITE",
    },
}  # fmt: skip

# What the storage part promises only elsewhere, by the name of the test.
_LINKS = "links need a right that few users have"
_MAPS = "files are read, not mapped, since what is mapped cannot be replaced"
NOT_HERE = {
    "test_a_link_stays_and_what_it_leads_to_is_replaced": _LINKS,
    "test_a_workspace_with_a_link_in_it_is_left_as_it_is": _LINKS,
    "test_an_output_is_on_the_disk_before_it_has_its_name_and_its_name_is_after": "no folder can be synced",
    "test_the_vectors_of_a_model_are_mapped_and_cannot_be_changed": _MAPS,
    **{
        f"test_vectors_can_be_kept_out_of_memory[{format}]": _MAPS for format in ("npz", "model", "model2vec")
    },
}


class _Without(types.ModuleType):
    """A module as psdvec sees it: the real one, without what Windows lacks, and with what ``more`` it has."""

    def __init__(self, real: types.ModuleType, missing: set[str], **more: Any) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, _missing=missing, **more)

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}' on Windows")
        return getattr(self._real, name)


# What is open.


def _held(path: Any, *, mapped_only: bool = False) -> bool:
    """Say whether this process has ``path``, or something in it, open or mapped, or works in it."""
    own = os.fsencode(os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)))
    with open("/proc/self/maps", "rb", buffering=0) as file:
        names = [line.split(None, 5)[-1] for line in file.readall().splitlines() if b"/" in line]
    if not mapped_only:
        for link in (
            "/proc/self/cwd",
            *(f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")),
        ):
            try:
                names.append(os.fsencode(os.readlink(link)))
            except FileNotFoundError:
                continue
    return any(name == own or name.startswith(own + b"/") for name in names)


def _refusal(path: Any, what: str = "it is being used by a process") -> PermissionError:
    return PermissionError(errno.EACCES, f"Windows: {what}", os.fspath(path))


def _unless_held(function: Any) -> Any:
    def remove(path: Any, *, dir_fd: None = None) -> None:
        assert dir_fd is None, "Windows knows no such descriptors"
        if os.path.lexists(path) and _held(path):
            raise _refusal(path)
        function(path)

    return remove


def _moved(function: Any, *, replaces: bool) -> Any:
    def move(source: Any, target: Any, *, src_dir_fd: None = None, dst_dir_fd: None = None) -> None:
        assert src_dir_fd is dst_dir_fd is None, "Windows knows no such descriptors"
        if os.path.lexists(source) and _held(source):
            raise _refusal(source)
        if os.path.lexists(target) and not os.path.samefile(source, target):
            if not replaces:
                raise FileExistsError(errno.EEXIST, "Windows: the name is taken", os.fspath(target))
            if os.path.isdir(target) or _held(target):
                raise _refusal(target)
        function(source, target)

    return move


def _opened(function: Any) -> Any:
    def open_descriptor(path: Any, flags: int, mode: int = 0o777, *, dir_fd: None = None) -> int:
        assert dir_fd is None, "Windows knows no such descriptors"
        if os.path.isdir(path) and flags & os.O_TMPFILE != os.O_TMPFILE:  # which pytest has of Linux
            raise _refusal(path, "it is a folder")
        return int(function(path, flags, mode))

    return open_descriptor


def _opened_file(function: Any) -> Any:
    def open_file(
        file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, errors: str | None = None,
        newline: str | None = None, closefd: bool = True, opener: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(file, str | Path) and str(file).startswith(("/proc/", "/sys/")) and _is_for_psdvec():
            raise FileNotFoundError(errno.ENOENT, "Windows: there is no such file", os.fspath(file))
        if not isinstance(file, int) and opener is None:
            if os.path.isdir(file):
                raise _refusal(file, "it is a folder")
            if "w" in mode and os.path.exists(file) and _held(file, mapped_only=True):
                raise OSError(errno.EINVAL, "Windows: it is mapped", os.fspath(file))
        if "b" not in mode and _is_for_psdvec():
            encoding = "cp1252" if encoding is None else encoding
            newline = "\r\n" if newline is None and mode[0] in "wax" else newline
        return function(file, mode, buffering, encoding, errors, newline, closefd, opener)

    return open_file


def _is_for_psdvec() -> bool:
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals["__name__"].partition(".")[0] in ("pathlib", "contextlib"):
        frame = frame.f_back
    return frame is not None and frame.f_globals["__name__"].startswith("psdvec")


def _no_link(source: Any, target: Any, *_: Any, **__: Any) -> None:
    raise OSError(errno.EINVAL, "Windows: a required privilege is not held by the client", os.fspath(target))


# Locks and the system's own calls.


def _lock_byte(descriptor: int, mode: int, count: int) -> None:
    """Lock as ``msvcrt.locking`` does: for this descriptor, from where it stands, until it is closed."""
    import fcntl

    begin = os.lseek(descriptor, 0, os.SEEK_CUR)
    assert (mode, count) == (_MSVCRT.LK_NBLCK, 1)
    assert 0 <= begin < 2**31, "it counts in 32 bits"
    record = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, begin, count, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, record)
    except (BlockingIOError, PermissionError) as error:
        raise PermissionError(errno.EACCES, "Permission denied") from error


class _Msvcrt(types.ModuleType):
    LK_NBLCK = 2
    locking = staticmethod(_lock_byte)


_MSVCRT = _Msvcrt("msvcrt")
# Bytes that kernel32 tells of.
TOTAL, FREE, PEAK, CURRENT = 8_000_000_123, 5_000_000_456, 300_000_789, 200_000_321
IN_KERNEL, IN_PROGRAM = 2_500_000, 12_500_000  # units of 100 ns
PROCESS = -1  # a handle


class _Kernel32:
    """The functions of Windows that psdvec calls, with the sizes and places that Microsoft's pages give."""

    def __init__(self, name: str, *, use_last_error: bool) -> None:
        assert (name, use_last_error) == ("kernel32", True)

    def GlobalMemoryStatusEx(self, status: Any) -> int:  # noqa: N802
        """Fill a MEMORYSTATUSEX: two numbers of 32 bits, seven of 64."""
        numbers = ctypes.cast(status, ctypes.POINTER(ctypes.c_uint64))
        assert ctypes.sizeof(status._obj) == 64
        if numbers[0] & 0xFFFFFFFF != 64:
            return 0
        for place, number in enumerate((64 | 40 << 32, TOTAL, FREE)):
            numbers[place] = number
        return 1

    def K32GetProcessMemoryInfo(self, process: Any, counters: Any, size: Any) -> int:  # noqa: N802
        """Fill a PROCESS_MEMORY_COUNTERS: two numbers of 32 bits, eight of 64."""
        numbers = ctypes.cast(counters, ctypes.POINTER(ctypes.c_uint64))
        assert ctypes.sizeof(counters._obj) == size.value == 72
        assert isinstance(process, ctypes.c_void_p), "a handle has 64 bits"
        if process.value != ctypes.c_void_p(PROCESS).value:
            return 0
        numbers[1], numbers[2] = PEAK, CURRENT
        return 1

    def GetProcessTimes(self, process: Any, *times: Any) -> int:  # noqa: N802
        """Fill four FILETIMEs, each a number of 64 bits."""
        assert isinstance(process, ctypes.c_void_p), "a handle has 64 bits"
        for place, number in zip(times, (1, 2, IN_KERNEL, IN_PROGRAM), strict=True):
            ctypes.cast(place, ctypes.POINTER(ctypes.c_uint64))[0] = number
        return 1


def _install() -> None:
    assert not [name for name in sys.modules if name.partition(".")[0] == "psdvec"], "psdvec came first"
    seen = {
        "os": _Without(os, MISSING["os"], name="nt", linesep="\r\n", devnull=os.devnull),
        "signal": _Without(signal, MISSING["signal"]),
        "mmap": _Without(mmap, MISSING["mmap"]),
        "ctypes": _Without(
            ctypes,
            set(),
            WinDLL=_Kernel32,
            get_last_error=lambda: 6,
            WinError=lambda n: OSError(n, "Windows"),
        ),
    }
    real_import = builtins.__import__

    def imported(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        asking = "" if globals is None else globals.get("__package__") or globals.get("__name__") or ""
        if level == 0 and asking.partition(".")[0] == "psdvec":
            if name in MISSING_MODULES:
                raise ModuleNotFoundError(f"No module named '{name}' on Windows", name=name)
            if name in seen:
                return seen[name]
        return real_import(name, globals, locals, fromlist, level)

    builtins.__import__ = imported
    sys.modules["msvcrt"] = _MSVCRT
    os.unlink = os.remove = _unless_held(os.unlink)
    os.rmdir = _unless_held(os.rmdir)
    os.rename, os.replace = _moved(os.rename, replaces=False), _moved(os.replace, replaces=True)
    os.open = _opened(os.open)
    os.symlink = _no_link
    io.open = builtins.open = _opened_file(io.open)
    # By one or the other, as Python is.
    shutil._use_fd_functions, shutil._rmtree_impl = False, shutil._rmtree_unsafe
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # type: ignore[misc,assignment]


def pytest_configure(config: pytest.Config) -> None:
    for line in ("ignore::EncodingWarning", "error::EncodingWarning:psdvec"):
        config.addinivalue_line("filterwarnings", line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not {item.name, item.name.partition("[")[0]}.isdisjoint(NOT_HERE)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


_install()
