"""Files by name: paths on this machine, or addresses such as ``s3://bucket/text.txt`` that fsspec reaches.

Goes in: a name. Comes out: the files it stands for, their sizes, their bytes. Addresses need the extra
``distributed``, and the package that speaks to that kind of storage (s3fs, gcsfs, ...).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from psdvec.errors import InputError, import_extra

_READ_AHEAD = 1 << 22


class ByteRange(NamedTuple):
    """Bytes of a file from ``begin`` up to, not including, ``end``."""

    begin: int
    end: int

    @property
    def after(self) -> str:
        """What an error says of places that are counted from ``begin``."""
        return f" after byte {self.begin}" if self.begin else ""


class Status(NamedTuple):
    """A file's size, and something that changes when the file does."""

    bytes: int
    version: int | str


def is_address(name: str | Path) -> bool:
    """Say whether ``name`` is an address for fsspec rather than a path.

    >>> is_address("s3://bucket/text.txt"), is_address("text.txt")
    (True, False)
    """
    return "://" in str(name)


def expand_address(address: str) -> list[str]:
    """Return the addresses of the files that a file's, a folder's or a glob's address stands for, in order of name."""
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
    """Return the size of a file and its version."""
    try:
        if is_address(name):
            system, path = _reach(name)
            return Status(int(system.size(path)), str(system.ukey(path)))
        found = Path(name).stat()
        return Status(found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise _unreadable(name, error) from error


def open_file(name: str | Path) -> BinaryIO:
    """Open a file to read its bytes."""
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
            f"'{address}' cannot be reached ({error}); check the address, or install what it names"
        ) from error
    return system, str(path)


def _unreadable(name: str | Path, error: OSError) -> InputError:
    return InputError(f"cannot read '{name}' ({error.strerror or error}); check the name")
