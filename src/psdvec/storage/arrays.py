"""Numbers in memory and in files: ``.npy`` arrays, safetensors, bare numbers and JSON, checked before they are trusted.

No error of the disk is lost, nothing is read that holds code, and large arrays are mapped rather than read.
"""

from __future__ import annotations

import json
import lzma
import math
import mmap
import os
import re
import struct
import threading
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from psdvec.arrays import Array
from psdvec.errors import InputError, StoreError

# Memory for large arrays: given back at once, or used again and again by the same thread.


def own_memory(size: int, dtype: type[np.generic]) -> Array:
    """Return an array of ``size`` zeros in memory of its own, which the system has back as soon as it is dropped.

    What C's allocator gives and takes stays with the process, for arrays of up to 32 MB. The memory is private: a page
    that could be shared with other processes costs half as much again to begin with.
    """
    length = max(int(size) * np.dtype(dtype).itemsize, 1)
    memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype, count=int(size))


class Scratch(threading.local):
    """Arrays that each thread fills again and again, because new memory would cost as much as the work."""

    def __init__(self) -> None:
        self._held: dict[str, Array] = {}

    def array(self, dtype: type[np.generic], *shape: int) -> Array:
        """Return an array that this thread may fill until it asks for the next of this type."""
        size, name = math.prod(shape), dtype.__name__
        if name not in self._held or self._held[name].size < size:
            self._held[name] = own_memory(size, dtype)
        return self._held[name][:size].reshape(shape)


# JSON from files: one way to parse it, whoever wrote it.


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text says; raise :class:`ValueError` for whatever is none.

    A text whose lists lie too deep inside each other is none, and neither is a number of thousands of digits: Python
    reads neither, and says so of the first with an error that is no ``ValueError``.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its lists or objects lie too deep inside each other") from None


# What Python raises for a zip archive that cannot be read.

# Damaged, cut off, encrypted, compressed in a way that nobody knows, or without the member that was asked for.
ZIP_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, KeyError, ValueError, RuntimeError,
)  # fmt: skip


# Bare numbers and ``.npy`` arrays in files, written and read so that no error of the disk is lost.


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what an ``.npy`` file begins with; numpy leaves room in it for a longer first dimension."""
    header = BytesIO()
    described = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(header, {"descr": described, "fortran_order": False, "shape": shape})
    return header.getvalue()


def write_npy(file: BinaryIO, array: Array) -> None:
    """Write ``array`` as ``np.save`` does."""
    file.write(npy_header(array.dtype, array.shape))
    file.write(np.ascontiguousarray(array).data)


def read_numbers(path: Path, dtype: npt.DTypeLike, count: int | None = None, *, first: int = 0) -> Array:
    """Read ``count`` bare numbers from number ``first`` on, or all of them, without ``.npy``'s header."""
    size = np.dtype(dtype).itemsize
    with path.open("rb") as file:
        if count is None:
            count = os.fstat(file.fileno()).st_size // size - first
        file.seek(size * first)
        numbers = np.empty(count, dtype)
        got = file.readinto(numbers.data.cast("B")) if count else 0
    if got != size * count:
        raise StoreError(f"'{path}' is damaged: it ends too early; remove its folder and run the same again")
    return numbers


# Arrays in ``.npy`` files: their header is read and checked before anything trusts what it says.

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
        record = parse_json(_as_json(file.read(length).decode("utf-8")))
        described, by_columns, shape = (record[name] for name in ("descr", "fortran_order", "shape"))
        if not isinstance(described, str) or not _PLAIN.fullmatch(described):
            raise ValueError("it holds something else than plain numbers or strings")
        dtype = np.dtype(described)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError("its header does not describe an array of plain numbers or strings") from error
    is_shape = isinstance(shape, list) and all(type(n) is int and 0 <= n < 1 << 60 for n in shape)
    if not is_shape or len(shape) > _MOST_DIMENSIONS or dtype.itemsize == 0:
        raise ValueError(f"its shape {str(shape)[:40]} is none that an array has")
    return Header(dtype, tuple(shape), "F" if by_columns is True else "C", 8 + size + length)


def _as_json(header: str) -> str:
    """Return a header, which is a Python dictionary, as JSON.

    Reading Python in several threads at a time may fail (``AST constructor recursion depth mismatch``, Python 3.11).

    >>> _as_json("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }")
    '{"descr": "<f4", "fortran_order": false, "shape": [2, 3]}'
    """
    text = header.translate(str.maketrans("'()", '"[]')).replace("False", "false").replace("True", "true")
    return re.sub(r",[ ]{0,9}([}\]])", r"\1", text)


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


# Tensors in safetensors files, which model folders and Model2Vec folders are made of.

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "U64": "<u8",
    "I32": "<i4",
    "I8": "<i1",
    "U8": "<u1",
}
_ROWS_AT_ONCE = 65_536  # of a matrix that is written
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_LARGEST_HEADER = 100_000_000


def write_safetensors(path: Path, tensors: Mapping[str, Array], *, zero_rows: int = 0) -> None:
    """Write ``tensors`` to a new file at ``path``, block by block, each followed by ``zero_rows`` rows of zeros."""
    header: dict[str, Any] = {}
    start = 0
    for name, tensor in tensors.items():
        shape = [len(tensor) + zero_rows, *tensor.shape[1:]]
        stop = start + tensor.itemsize * math.prod(shape)
        dtype = _NAMES[tensor.dtype.newbyteorder("<")]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors.values():
            for row in range(0, len(tensor), _ROWS_AT_ONCE):
                block = np.ascontiguousarray(tensor[row : row + _ROWS_AT_ONCE])
                file.write(block.astype(block.dtype.newbyteorder("<"), copy=False).data)
            file.write(bytes(zero_rows * tensor.itemsize * math.prod(tensor.shape[1:])))


def map_safetensors(path: Path) -> dict[str, Array]:
    """Map the tensors of a file into memory, read-only; refuse a damaged file before mapping it."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = parse_json(file.read(length))
        size = path.stat().st_size - 8 - length
        return {
            name: _map_tensor(path, 8 + length, size, record)
            for name, record in header.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise InputError(f"'{path}' cannot be read ({error.strerror}); check the name") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{path}' is not a complete safetensors file ({error}); get it again") from error


def _map_tensor(path: Path, base: int, size: int, record: Mapping[str, Any]) -> Array:
    start, stop = record["data_offsets"]
    shape = tuple(record["shape"])
    if any(type(number) is not int or number < 0 for number in (start, stop, *shape)):
        raise ValueError("a shape or an offset is not a whole number")
    if record["dtype"] == "BF16":
        raw = _map_bytes(path, base, size, start, stop, np.dtype("<u2"), shape)
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if not isinstance(record["dtype"], str) or record["dtype"] not in _DTYPES:
        raise ValueError(f"numbers of type {record['dtype']} are not supported")
    return _map_bytes(path, base, size, start, stop, np.dtype(_DTYPES[record["dtype"]]), shape)


def _map_bytes(
    path: Path, base: int, size: int, start: int, stop: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Array:
    expected = dtype.itemsize * math.prod(shape)
    if not start <= stop <= size or stop - start != expected or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"a tensor of shape {shape} does not fit into its {size} bytes")
    if expected == 0:
        return np.zeros(shape, dtype=dtype)
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", offset=base + start, shape=shape))
