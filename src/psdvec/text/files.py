"""Opens files by name, whether a path on this machine or an address such as ``s3://bucket/text.txt``.

Addresses are read through fsspec: they need the extra ``distributed``, and the package for their kind of storage
(s3fs, gcsfs, ...).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from psdvec.errors import InputError, import_extra

_READ_AHEAD = 1 << 22


class ByteRange(NamedTuple):
    """The bytes of a file from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int

    @property
    def after(self) -> str:
        """What an error message adds to a position that is counted from ``begin``."""
        return f" after byte {self.begin}" if self.begin else ""


class Status(NamedTuple):
    """A file's size, and a value that changes whenever the file does."""

    bytes: int
    version: int | str


def is_address(name: str | Path) -> bool:
    """Tell whether ``name`` is an address for fsspec rather than a path.

    >>> is_address("s3://bucket/text.txt"), is_address("text.txt")
    (True, False)
    """
    return "://" in str(name)


def expand_address(address: str) -> list[str]:
    """Return the addresses of the files that the address of a file, a folder or a glob stands for, sorted by name."""
    system, path = _reach(address)
    try:
        if system.isfile(path):
            return [address]
        found = system.find(path) if system.isdir(path) else system.glob(path)
        names = sorted(name for name in found if system.isfile(name))
    except OSError as error:
        raise _unreadable(address, error) from error
    if not names:
        raise InputError(f"there is no file at '{address}'; check the address")
    return [str(system.unstrip_protocol(name)) for name in names]


def file_status(name: str) -> Status:
    """Return the size and the version of a file."""
    try:
        if is_address(name):
            system, path = _reach(name)
            return Status(int(system.size(path)), str(system.ukey(path)))
        found = Path(name).stat()
        return Status(found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise _unreadable(name, error) from error


def open_file(name: str | Path) -> BinaryIO:
    """Open a file for reading bytes."""
    try:
        if is_address(name):
            system, path = _reach(str(name))
            remote: BinaryIO = system.open(path, "rb", block_size=_READ_AHEAD)
            return remote
        return Path(name).open("rb", buffering=0)
    except OSError as error:
        raise _unreadable(name, error) from error


def _reach(address: str) -> tuple[Any, str]:
    fsspec: Any = import_extra("fsspec", extra="distributed", purpose=f"reading '{address}'")
    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError) as error:
        raise InputError(
            f"'{address}' cannot be reached ({error}); check the address, or install the package it needs"
        ) from error
    return system, str(path)


def _unreadable(name: str | Path, error: OSError) -> InputError:
    return InputError(f"cannot read '{name}' ({error.strerror or error}); check the name")
