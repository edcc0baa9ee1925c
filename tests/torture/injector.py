"""Something goes wrong at the n-th file-system event: a kill, an error of the disk, a lack of memory, a signal.

:func:`install` puts hooks into this process, once; :func:`arm` says what is to happen, and at which event. Events are
opening for writing, writing, renaming, syncing, making and removing; they are counted in memory that forked processes
share. :func:`watch_reading` does something else: it harms a file while it is being read.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import io
import mmap
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

KILL, MEMORY = "kill", "memory"
LOSS = "loss"  # another process is killed
SIGNALS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EMFILE": errno.EMFILE}
FAULTS = (KILL, *ERRORS, MEMORY, *SIGNALS)
_FULL = ("open", "write", "mkdir", "fsync")  # what a full disk refuses from the first time on

_KINDS = ("open", "write", "rename", "fsync", "mkdir", "unlink")
_MOST = 1 << 16  # events of a stage

_shared = mmap.mmap(-1, 8 + _MOST)
_armed: tuple[str | None, int] | None = None  # None: this process is not watched
_victim = 0
_real_open = io.open
_real_os_open = os.open


def events() -> int:
    """Return how many events there have been since :func:`arm`, in this process and those forked from it."""
    return int(struct.unpack("q", _shared[:8])[0])


def can_happen(fault: str, at: int) -> bool:
    """Say whether ``fault`` makes a difference at event ``at``, by the kinds of the events that were counted last."""
    kind = _KINDS[_shared[8 + at]]
    return kind == "open" if fault == "EMFILE" else kind in _FULL if fault == "ENOSPC" else True


def arm(fault: str | None, at: int = 0, *, victim: int = 0) -> None:
    """Let ``fault`` happen at event number ``at``, from 1; with None, count events only.

    ``victim``: which process a loss kills.
    """
    global _armed, _victim
    _armed, _victim = (fault, at), victim
    _shared[:8] = struct.pack("q", 0)


def _event(kind: str, before_kill: Callable[[], Any] = lambda: None) -> None:
    if _armed is None:
        return
    number, (fault, at) = events() + 1, _armed
    _shared[:8] = struct.pack("q", number)
    if fault is None:
        _shared[8 + number] = _KINDS.index(kind)
        return
    if fault == "ENOSPC" and number >= at and kind in _FULL:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if number != at:
        return
    if fault == KILL:
        before_kill()
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == LOSS:
        os.kill(_victim, signal.SIGKILL)
    elif fault in SIGNALS:
        os.kill(os.getpid(), SIGNALS[fault])
    elif fault == MEMORY:
        raise MemoryError("no memory, on purpose")
    elif fault == "EIO" or (fault == "EMFILE" and kind == "open"):
        raise OSError(ERRORS[fault], os.strerror(ERRORS[fault]))


class _Watched(io.FileIO):
    """A file whose writes are events; a kill leaves half of what was to be written."""

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        _event("write", lambda: io.FileIO.write(self, view[: len(view) // 2]))
        return int(super().write(data) or 0)


def _open(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
          newline: Any = None, closefd: bool = True, opener: Any = None) -> Any:  # fmt: skip
    if not set(mode) & set("wax+"):
        return _real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
    _event("open")
    raw = _Watched(file, mode.replace("b", "").replace("t", ""), closefd, opener)
    if buffering == 0:
        return raw
    buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


def _hooked(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        _event(kind)
        return function(*arguments, **named)

    return call


def _os_open(path: Any, flags: int, *arguments: Any, _real: Any = os.open, **named: Any) -> int:
    if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
        _event("open")
    return int(_real(path, flags, *arguments, **named))


def install() -> None:
    """Put the hooks in place; nothing goes wrong until :func:`arm`."""
    from psdvec import system as renames

    builtins.open = io.open = _open  # type: ignore[assignment]
    os.open = _os_open
    for kind, names in {
        "rename": ("rename", "replace"),
        "mkdir": ("mkdir",),
        "unlink": ("unlink", "remove", "rmdir"),
    }.items():
        for name in names:
            setattr(os, name, _hooked(kind, getattr(os, name)))
    os.fsync = _hooked("fsync", lambda descriptor: None)  # the disk itself is not tested, and is slow
    renames._rename = _hooked("rename", renames._rename)


def watch_reading(path: Path, harm: Callable[[Path], None], *, at: int) -> None:
    """Call ``harm(path)`` before the read number ``at`` of a file, from 1."""
    reads = 0

    class Harmed(io.FileIO):
        def readinto(self, buffer: Any, /) -> int:
            nonlocal reads
            reads += 1
            if reads == at:
                harm(path)
            return int(super().readinto(buffer) or 0)

    before = builtins.open

    def opened(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        is_it = isinstance(file, str | Path) and mode == "rb" and Path(file) == path
        return io.BufferedReader(Harmed(file)) if is_it else before(file, mode, *arguments, **named)

    builtins.open = io.open = opened  # type: ignore[assignment]


def obey(order: Path) -> None:
    """Do in this process what the file ``order`` says while there is one: kill a process at the n-th event.

    It holds the number of that process, 0 for this one, and n; with n = 0, events are only counted, as bytes of the
    file ``order.seen``, if that is there.
    """
    global _event
    seen = order.with_suffix(".seen")

    def obeying(kind: str, before_kill: Callable[[], Any] = lambda: None) -> None:
        try:
            victim, at = map(int, _real_open(order).read().split())
            counted = _real_os_open(seen, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            return
        os.write(counted, b".")
        number = os.fstat(counted).st_size
        os.close(counted)
        if number == at:
            if victim == 0:
                before_kill()
            os.kill(victim or os.getpid(), signal.SIGKILL)

    _event = obeying  # type: ignore[assignment]


def end_with_parent() -> None:
    """Let the system kill this process when the one that forked it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
