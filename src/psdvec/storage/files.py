"""Files and folders that appear whole or not at all, survive a power failure, and belong to one writer at a time.

What is written stands beside its place under a name that begins with a dot, is synced, and is renamed to its place when
it is complete. Until then, and after an error, whatever was at the place stays as it was. A lock that ends with its
process tells what is being written from what a killed writer left, which the next writer of the same place sweeps away.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import time
import uuid
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from psdvec.errors import InputError, ResourceError
from psdvec.system import (
    REMEDY,
    exchange,
    is_link,
    is_lock_of,
    lock,
    open_lock,
    open_to_sync,
    rename,
    rename_to_free,
)

# Getting written files onto the disk, so that they survive a power failure, unless the user wants none of that.

ENVIRONMENT = "PSDVEC_NO_SYNC"
_UNSYNCABLE = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}  # of a folder on some network disks


def sync(path: Path, *, names_only: bool = False) -> None:
    """Wait until the file at ``path`` is on the disk, or a folder with all that is in it, or with its names only."""
    if path.is_dir() and not is_link(path) and not names_only:
        for inner in sorted(path.iterdir()):
            sync(inner)
    descriptor = open_to_sync(path)
    if descriptor is None:
        return
    try:
        sync_open(descriptor)
    finally:
        os.close(descriptor)


def sync_open(descriptor: int) -> None:
    """Wait until what was written to an open file is on the disk."""
    if os.environ.get(ENVIRONMENT, "") not in ("", "0"):
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSYNCABLE:
            raise


# Locks that end with the process that holds them, however it ends; a lock on a name says whether its owner lives.

_PATIENCE = 1.0  # seconds to wait for a lock whose holder may be on its way out
_PAUSE = 0.02


def take(path: Path, *, certainly: bool) -> int | None:
    """Lock the file or folder at ``path``; return its descriptor, which the caller closes to unlock it.

    None means that another process holds it, that the name is gone or means something else by now, or, where it must
    ``certainly`` be locked, that this file system has no locks.
    """
    try:
        descriptor = open_lock(path)
    except FileNotFoundError:
        return None
    try:
        got = _lock(descriptor, 0.0)
        if (got or (got is None and not certainly)) and is_lock_of(descriptor, path):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def hold(path: Path) -> int | None:
    """Lock the file at ``path``, which must exist; return its descriptor, or None if another process holds it."""
    while True:
        descriptor = open_lock(path, write=True)
        try:
            got = _lock(descriptor, _PATIENCE)
            if got is not False and is_lock_of(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if got is False:
            return None  # otherwise the holder before us removed it: lock the one that has its name now


def _lock(descriptor: int, patience: float) -> bool | None:
    """Return True if the lock was got, False if another has it, None if nothing can be locked there."""
    end = time.monotonic() + patience
    while True:
        try:
            lock(descriptor)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return None


# Files and folders that appear whole or not at all: written beside their place, then renamed to it.

# What becomes of something that has the name already.
Existing: TypeAlias = Literal["replace", "keep", "refuse"]

_REMOVING = 8  # threads that remove the files of a folder
_NEW, _OLD, _GONE = "new", "old", "gone"  # being written; about to be replaced; being removed
_UNFINISHED = re.compile(
    r"\.(?P<name>.+)\.(?P<state>new|old|gone)-(?P<host>[0-9a-f]{8})[0-9a-f]{8}", re.DOTALL
)


@contextmanager
def whole_file(path: Path, *, existing: Existing = "replace") -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends without an error."""
    with _beside(path, Path.touch, existing) as new, new.open("w+b") as file:
        yield file


@contextmanager
def whole_folder(path: Path, *, existing: Existing = "replace") -> Iterator[Path]:
    """Make a folder that takes the place of ``path`` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _beside(path, Path.mkdir, existing) as new:
        yield new


@contextmanager
def _beside(path: Path, make: Callable[[Path], None], existing: Existing) -> Iterator[Path]:
    """Make something new beside ``path`` and yield its name; it is renamed to ``path``, or removed after an error.

    A link at ``path`` stays, and what it leads to is replaced.
    """
    path = Path(os.path.realpath(path))
    new, lock = _claim(path, make)
    with ExitStack() as stack:
        stack.callback(os.close, lock)
        stack.callback(_remove, new)
        yield new
        sync(new)
        _put(new, path, existing)


def _claim(path: Path, make: Callable[[Path], None]) -> tuple[Path, int]:
    """Make something beside ``path`` that is locked from the start: a sweeper may see it before we have locked it."""
    while True:
        new = path.with_name(_unfinished_name(path.name, _NEW))
        make(new)
        lock = take(new, certainly=False)
        if lock is not None:
            return new, lock


def _unfinished_name(name: str, state: str) -> str:
    return f".{name}.{state}-{_host()}{uuid.uuid4().hex[:8]}"


def _host() -> str:
    """Return a mark of this machine: a lock on a disk that several share may be seen by one of them only."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _put(new: Path, path: Path, existing: Existing) -> None:
    """Rename ``new`` to ``path``; whatever is there stays whole until then."""
    if existing != "replace":
        try:
            if new.is_dir():
                rename(new, path)  # fails by itself if something is there, other than an empty folder
            else:
                rename_to_free(new, path)
        except OSError as error:
            if not path.exists():
                raise
            if existing == "refuse":
                raise InputError(
                    f"'{path}' was made by another process meanwhile; choose another output, or give overwrite=True"
                ) from error
    elif not new.is_dir() or not path.exists():
        rename(new, path)
    elif not exchange(new, path):
        _put_in_two_steps(new, path)


def _put_in_two_steps(new: Path, path: Path) -> None:
    """Replace a folder where names cannot be exchanged; :func:`restore` undoes the first step alone."""
    old = _partner(new, _OLD)
    rename(path, old)
    try:
        rename(new, path)
    except OSError:
        rename(old, path)
        raise
    discard_folder(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not is_link(path):
        inner = [Path(place) / name for place, _, names in os.walk(path) for name in names]
        with ThreadPoolExecutor(_REMOVING) as pool:  # of a large file, memory is given back meanwhile
            deque(pool.map(_unlink, inner), maxlen=0)
        shutil.rmtree(path, ignore_errors=True)
    else:
        _unlink(path)


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def discard_folder(path: Path) -> None:
    """Remove the folder at ``path`` in one step: what a kill leaves of it has another name, which is swept later."""
    gone = path.with_name(_unfinished_name(path.name, _GONE))
    rename(path, gone)
    _remove(gone)


def is_unfinished(name: str) -> bool:
    """Say whether a file of this name was left by a writer that was killed, or is being written.

    >>> is_unfinished(".report.md.new-0123456789abcdef"), is_unfinished("report.md")
    (True, False)
    """
    return _UNFINISHED.fullmatch(name) is not None


def sweep(path: Path) -> bool:
    """Remove what killed writers of ``path`` left beside it; return whether another process is writing it now."""
    with disk_errors_explained(path):
        path = Path(os.path.realpath(path))
        restore(path)
        swept = [_sweep_one(each) for each in _unfinished_in(path.parent, path.name)]
        return not all(swept)


def sweep_below(folder: Path) -> None:
    """Remove what killed writers left anywhere in ``folder``."""
    for place, folders, _ in os.walk(folder):
        for each in _unfinished_in(Path(place)):
            restore(each.with_name(_parts(each)["name"]))
            _sweep_one(each)
        folders[:] = [name for name in folders if not is_unfinished(name)]


def restore(path: Path) -> None:
    """Undo a replacement that was killed between its two steps: what was at ``path`` before gets its name again."""
    if path.is_symlink() or path.exists():
        return
    for old in _unfinished_in(path.parent, path.name):
        if _parts(old)["state"] != _OLD:
            continue
        new = _partner(old, _NEW)
        lock = take(new if new.exists() else old, certainly=False)
        if lock is not None:  # else its writer is between the steps just now
            with suppress(OSError):
                rename(old, path)
            os.close(lock)
            return


def _unfinished_in(folder: Path, name: str | None = None) -> list[Path]:
    """Return what is unfinished in ``folder``: all of it, or what is to have this ``name``."""
    try:
        found = [path for path in folder.iterdir() if is_unfinished(path.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if name in (None, _parts(path)["name"])]


def _parts(unfinished: Path) -> re.Match[str]:
    match = _UNFINISHED.fullmatch(unfinished.name)
    assert match is not None
    return match


def _partner(unfinished: Path, state: str) -> Path:
    """Return the name that the same writer gives to what is in another ``state``."""
    begin, end = _parts(unfinished).span("state")
    return unfinished.with_name(unfinished.name[:begin] + state + unfinished.name[end:])


def _sweep_one(path: Path) -> bool:
    """Remove what a killed writer left at ``path``; return False if its writer may still be at work."""
    if _parts(path)["host"] != _host():
        return True  # of another machine: neither ours to remove, nor in our way
    try:
        lock = take(path, certainly=True)
    except OSError:
        return False
    if lock is None:
        return not path.exists()
    _remove(path)
    os.close(lock)
    return True


@contextmanager
def replaced_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a user's output as :func:`whole_file` does; what stands in the way is explained in a sentence."""
    check_file_output(path, overwrite=overwrite)
    with _output(path), whole_file(path, existing="replace" if overwrite else "refuse") as file:
        yield file


@contextmanager
def replaced_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Make a user's output as :func:`whole_folder` does, once the caller has checked that it may be written."""
    with _output(path), whole_folder(path, existing="replace" if overwrite else "refuse") as folder:
        yield folder


@contextmanager
def _output(path: Path) -> Iterator[None]:
    """Prepare the place of a user's output, refuse it to a second writer, and sync its name when it is there."""
    with disk_errors_explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, NotADirectoryError) as error:  # such as below /proc
            raise InputError(
                f"'{path}' cannot be written ({error.strerror}); choose another output"
            ) from error
        if sweep(path):
            raise InputError(f"another process is writing '{path}'; wait for it, or choose another output")
        yield
        sync(Path(os.path.realpath(path)).parent, names_only=True)


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
            raise InputError(f"cannot write below '{path}' ({error.strerror}); {REMEDY}") from error
        raise


def check_name(path: Path) -> None:
    """Raise :class:`InputError` if nothing new can be called ``path``: ``.``, the root, or a place below a file."""
    if path.name in ("", "..") or "\0" in str(path):
        raise InputError(f"'{path}' cannot be the name of an output; give a file or folder to write to")
    folder = nearest_folder(path)
    if not folder.is_dir():
        raise InputError(f"'{path}' cannot be written: '{folder}' is not a folder; choose another output")


def check_file_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if no file can be written to ``path``, before any work is done."""
    check_name(path)
    if path.is_symlink() and not path.exists():
        raise InputError(f"'{path}' is a link to nothing; remove it, or choose another output")
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "not an ordinary file"
        raise InputError(
            f"'{path}' is {what}, and cannot become the file that is written; choose another output"
        )
    if path.exists() and not overwrite:
        raise InputError(f"'{path}' exists already; choose another output, or give overwrite=True")


def nearest_folder(path: Path) -> Path:
    """Return the innermost of the folders above ``path`` that exists."""
    return next(parent for parent in path.absolute().parents if parent.exists())
