"""Arrays in ``.npy`` files: their header is read and checked before anything trusts what it says.

The format is NumPy's: a magic number, a version, the length of a header, the header, which is a Python dictionary, and
the numbers. NumPy's own reader raises nearly any error for a damaged header, and makes arrays of Python objects and of
records, which nothing here holds.
"""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from psdvec.arrays import Array

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}  # by the version of the format
_LONGEST_HEADER = 10_000
_PLAIN = re.compile(r"[<>|=]?[biufcSU?][0-9]{0,9}")
_MOST_DIMENSIONS = 32


class Header(NamedTuple):
    """What an array is like, and at which byte its numbers begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int

    @property
    def bytes(self) -> int:
        """How many bytes the numbers take up."""
        return self.dtype.itemsize * math.prod(self.shape)


def read_header(file: IO[bytes]) -> Header:
    """Read the header of an array of plain numbers or strings; raise :class:`ValueError` if there is none."""
    begin = file.read(8)
    if begin[:6] != _MAGIC or len(begin) < 8 or begin[6] not in _LENGTH_BYTES:
        raise ValueError("it does not begin as an array does")
    size = _LENGTH_BYTES[begin[6]]
    length = int.from_bytes(file.read(size), "little")
    if length > _LONGEST_HEADER:
        raise ValueError("its header is too long")
    try:
        record = ast.literal_eval(file.read(length).decode("utf-8").strip())
        described, by_columns, shape = (record[name] for name in ("descr", "fortran_order", "shape"))
        if not isinstance(described, str) or not _PLAIN.fullmatch(described):
            raise ValueError("it holds something else than plain numbers or strings")
        dtype = np.dtype(described)
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise ValueError("its header does not describe an array of plain numbers or strings") from error
    is_shape = isinstance(shape, tuple) and all(type(n) is int and 0 <= n < 1 << 60 for n in shape)
    if not is_shape or len(shape) > _MOST_DIMENSIONS or dtype.itemsize == 0:
        raise ValueError(f"its shape {str(shape)[:40]} is none that an array has")
    return Header(dtype, shape, "F" if by_columns is True else "C", 8 + size + length)


def map_array(path: Path) -> Array:
    """Map the array in a file into memory, read-only; raise :class:`ValueError` if the file does not hold just that."""
    with path.open("rb") as file:
        header = read_header(file)
    return map_numbers(path, header, header.start, path.stat().st_size - header.start)


def map_numbers(path: Path, header: Header, start: int, size: int) -> Array:
    """Map the numbers of an array, which take up the ``size`` bytes from ``start`` on."""
    if header.bytes != size:
        raise ValueError(f"its numbers take up {size} bytes instead of {header.bytes}")
    if size == 0:
        return np.empty(header.shape, header.dtype)
    return np.asarray(
        np.memmap(path, header.dtype, "r", offset=start, shape=header.shape, order=header.order)
    )
