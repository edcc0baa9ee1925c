"""Bare numbers and ``.npy`` arrays in files, written and read so that no error of the disk is lost.

NumPy's own ``tofile`` and ``save`` say how many numbers a full disk took, and not that it is full; its ``fromfile``
returns what there is of a file that is too short.
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from psdvec.arrays import Array
from psdvec.errors import StoreError


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
