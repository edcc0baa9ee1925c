"""Files that are written whole or not at all.

Goes in: the path of an output. Comes out: an open file beside it, which takes its place when all is written;
until then, and after an error, what was at the path stays as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from psdvec.errors import InputError
from psdvec.resources import disk_errors_explained


def check_file_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if no file can be written to ``path``, before any work is done."""
    if path.exists() and not (overwrite and path.is_file()):
        raise InputError(f"'{path}' exists already; choose another output name, or say --overwrite")
    folder = nearest_folder(path)
    if not folder.is_dir():
        raise InputError(f"'{path}' cannot be written: '{folder}' is not a folder; choose another output")


def nearest_folder(path: Path) -> Path:
    """Return the innermost of the folders above ``path`` that exists."""
    return next(parent for parent in path.absolute().parents if parent.exists())


@contextmanager
def replaced_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of ``path`` when the block ends without an error."""
    check_file_output(path, overwrite=overwrite)
    temporary = path.with_name(f".{path.name}.new-{os.getpid()}")
    with disk_errors_explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = temporary.open("w+b")
        except (FileNotFoundError, NotADirectoryError) as error:  # such as below /proc
            raise InputError(
                f"'{path}' cannot be written ({error.strerror}); choose another output"
            ) from error
        try:
            with file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
