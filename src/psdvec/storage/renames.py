"""Renames that the standard library lacks: two names exchanged in one step, and a name that must be free.

Linux has them in ``renameat2``, macOS in ``renamex_np``; a file system may still refuse. Where there is none, the
callers in :mod:`psdvec.storage.atomic` take two steps, which can be undone.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_HERE = -100  # AT_FDCWD: names are relative to the working folder
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def exchange(one: Path, other: Path) -> bool:
    """Give each of two files or folders the name of the other, in one step; return False where that cannot be done."""
    return _rename(one, other, linux=2, mac=2)


def rename_to_free(source: Path, target: Path) -> bool:
    """Rename ``source`` if nothing is called ``target``; return False where that cannot be done in one step.

    Raises
    ------
    FileExistsError
        If something is called ``target``.
    """
    return _rename(source, target, linux=1, mac=4)


def _rename(source: Path, target: Path, *, linux: int, mac: int) -> bool:
    library = _library()
    names = os.fsencode(source), os.fsencode(target)
    if hasattr(library, "renameat2"):
        code = library.renameat2(_HERE, names[0], _HERE, names[1], linux)
    elif hasattr(library, "renamex_np"):
        code = library.renamex_np(*names, mac)
    else:
        return False
    if code == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _library() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
