"""Getting written files onto the disk, so that they survive a power failure, unless the user wants none of that.

A program's files are in the system's memory first; a kill loses nothing there, but a power failure does. What has been
renamed to its place was synced before, unless ``PSDVEC_NO_SYNC`` is set (``psdvec --no-sync``).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

ENVIRONMENT = "PSDVEC_NO_SYNC"
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}  # of a folder on some network disks


def sync(path: Path) -> None:
    """Wait until the file at ``path``, or a folder with all that is in it, is on the disk."""
    if is_off():
        return
    if path.is_dir() and not path.is_symlink():
        for inner in sorted(path.iterdir()):
            sync(inner)
    sync_name(path)


def sync_name(path: Path) -> None:
    """Wait until the file at ``path`` is on the disk, or the names in the folder at ``path``."""
    if is_off():
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def is_off() -> bool:
    """Say whether the user wants no syncing."""
    return os.environ.get(ENVIRONMENT, "") not in ("", "0")
