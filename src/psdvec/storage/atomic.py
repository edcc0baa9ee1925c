"""Files and folders that appear whole or not at all: written beside their place, then renamed to it.

Until then, and after an error, whatever was at the place stays as it was. Names beside a place begin with a dot and
belong to one writer alone, so that two programs with the same output cannot write into each other's files.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from psdvec.errors import InputError
from psdvec.resources import disk_errors_explained

_NEW = ".new-"


@contextmanager
def beside(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a free name beside ``path``; the file or folder that the block leaves there is renamed to ``path``.

    After an error it is removed. A folder that is at ``path`` already is replaced, or left as it is where ``replace``
    is false; a file is always replaced.
    """
    new = path.with_name(f".{path.name}{_NEW}{uuid.uuid4().hex[:12]}")
    try:
        yield new
        if new.is_dir():
            _put_folder(new, path, replace=replace)
        else:
            new.replace(path)
    finally:
        if new.is_dir():
            shutil.rmtree(new, ignore_errors=True)
        else:
            new.unlink(missing_ok=True)


def _put_folder(new: Path, path: Path, *, replace: bool) -> None:
    """Rename ``new`` to ``path``; whatever is there stays whole until then."""
    old = new.with_name(new.name.replace(_NEW, ".old-"))
    if replace and path.exists():
        path.rename(old)
    try:
        new.rename(path)
    except OSError:
        if replace or not path.exists():
            raise
    shutil.rmtree(old, ignore_errors=True)


def is_unfinished(name: str) -> bool:
    """Say whether a file of this name was left by a writer that was killed.

    >>> is_unfinished(".report.md.new-0123456789ab"), is_unfinished("report.md")
    (True, False)
    """
    return name.startswith(".") and _NEW in name


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends without an error."""
    with beside(path) as new, new.open("w+b") as file:
        yield file


@contextmanager
def whole_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Make a folder that takes the place of ``path`` when the block ends without an error."""
    with beside(path, replace=replace) as new:
        new.mkdir(parents=True)
        yield new


@contextmanager
def replaced_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a user's output as :func:`whole_file` does; what stands in the way is explained in a sentence."""
    check_file_output(path, overwrite=overwrite)
    with disk_errors_explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, NotADirectoryError) as error:  # such as below /proc
            raise _unwritable(path, error) from error
        with whole_file(path) as file:
            yield file


def check_file_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if no file can be written to ``path``, before any work is done."""
    if (path.exists() or path.is_symlink()) and not (overwrite and path.is_file()):
        raise InputError(f"'{path}' exists already; choose another output, or give overwrite=True")
    folder = nearest_folder(path)
    if not folder.is_dir():
        raise InputError(f"'{path}' cannot be written: '{folder}' is not a folder; choose another output")


def nearest_folder(path: Path) -> Path:
    """Return the innermost of the folders above ``path`` that exists."""
    return next(parent for parent in path.absolute().parents if parent.exists())


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"'{path}' cannot be written ({error.strerror}); choose another output")
