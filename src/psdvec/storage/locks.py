"""Locks that end with the process that holds them, however it ends; a lock on a name says whether its owner lives.

``flock`` is used throughout: it needs no cleaning up, and no number of a process that another may get. A file system
without it (some network disks) locks nothing, and what cannot be locked is never taken for abandoned.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_PATIENCE = 1.0  # seconds to wait for a lock whose holder may be on its way out
_PAUSE = 0.02


def take(path: Path, *, certainly: bool) -> int | None:
    """Lock the file or folder at ``path``; return its descriptor, which the caller closes to unlock it.

    None means that another process holds it, that the name is gone or means something else by now, or, where it must
    ``certainly`` be locked, that this file system has no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        got = _flock(descriptor, 0.0)
        if (got or (got is None and not certainly)) and _has_name(descriptor, path):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def hold(path: Path) -> int | None:
    """Lock the file at ``path``, which must exist; return its descriptor, or None if another process holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            got = _flock(descriptor, _PATIENCE)
            if got is not False and _has_name(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if got is False:
            return None  # otherwise the holder before us removed it: lock the one that has its name now


def _flock(descriptor: int, patience: float) -> bool | None:
    """Return True if the lock was got, False if another has it, None if nothing can be locked there."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return None


def _has_name(descriptor: int, path: Path) -> bool:
    """Say whether what ``descriptor`` stands for still has the name ``path``."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
