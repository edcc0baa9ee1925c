"""Pieces of unfinished work: files and folders that carry their checksums, so that a later attempt can trust them.

A piece that is a file ends with the SHA-256 of all before it; what reads it stops there. A piece that is a folder holds
the SHA-256 of each of its files in a file ``checksums``. Pieces appear whole or not at all. :func:`find_damage` reads
all pieces of a workspace before any of them is used again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from psdvec.errors import StoreError
from psdvec.storage.artefact import META, digest_file, open_artefact, verify_artefact
from psdvec.storage.atomic import Existing, whole_file, whole_folder

_CHECKSUMS = "checksums"
_SEAL = hashlib.sha256().digest_size
_PART = 1 << 20  # bytes read at a time


@contextmanager
def piece_file(path: Path, *, existing: Existing = "replace") -> Iterator[BinaryIO]:
    """Open a file that becomes the piece at ``path`` when the block ends without an error."""
    with whole_file(path, existing=existing) as file:
        yield file
        size = file.seek(0, os.SEEK_END)
        seal = _digest_of_first(file, size)
        file.seek(size)
        file.write(seal)


@contextmanager
def piece_folder(path: Path, *, existing: Existing = "replace") -> Iterator[Path]:
    """Make a folder that becomes the piece at ``path`` when the block ends without an error."""
    with whole_folder(path, existing=existing) as folder:
        yield folder
        (folder / _CHECKSUMS).write_bytes(_checksums_of(folder))


def find_damage(work: Path, *, besides: Collection[str]) -> Path | None:
    """Return a file or folder below ``work`` that is not as it was written, or None if all pieces and artefacts are.

    Files of the names ``besides`` are no pieces.
    """
    for place, folders, names in os.walk(work):
        folder = Path(place)
        if _CHECKSUMS in names or META in names:
            folders.clear()
            if not (_is_whole_folder(folder) if _CHECKSUMS in names else _is_whole_artefact(folder)):
                return folder
            continue
        for name in names:
            if name not in besides and not _is_whole_file(folder / name):
                return folder / name
    return None


def _checksums_of(folder: Path) -> bytes:
    """Return what the file of checksums says of all other files in ``folder``."""
    own = folder / _CHECKSUMS
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != own)
    return json.dumps({path.relative_to(folder).as_posix(): digest_file(path) for path in paths}).encode()


def _is_whole_folder(folder: Path) -> bool:
    return (folder / _CHECKSUMS).read_bytes() == _checksums_of(folder)


def _is_whole_file(path: Path) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END) - _SEAL
        return size >= 0 and _digest_of_first(file, size) == file.read()


def _digest_of_first(file: BinaryIO, size: int) -> bytes:
    """Return the SHA-256 of the first ``size`` bytes of a file, and leave it after them."""
    file.seek(0)
    digest = hashlib.sha256()
    for begin in range(0, size, _PART):
        digest.update(file.read(min(_PART, size - begin)))
    return digest.digest()


def _is_whole_artefact(folder: Path) -> bool:
    try:
        verify_artefact(open_artefact(folder, sealed=True))
    except StoreError as error:
        if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
            raise  # it cannot be read just now
        return False
    return True
