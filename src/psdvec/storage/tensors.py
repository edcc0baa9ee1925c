"""Tensors in safetensors files, which model folders and Model2Vec folders are made of.

The format is public and simple: eight bytes of length, a JSON header, then the numbers. It is read and written here
because the safetensors package copies every tensor into memory when it hands it to NumPy, and these vectors must be
mapped instead, and written block by block.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array
from psdvec.errors import InputError
from psdvec.storage.json_text import parse_json

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
_MOST_DIMENSIONS = 32


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
