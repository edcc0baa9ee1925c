"""Names of the array types that signatures use, each for one dtype; memory that large arrays lie in; numbers given."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError
from psdvec.system import private_memory

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]


def own_memory(size: int, dtype: type[np.generic]) -> Array:
    """Return an array of ``size`` zeros in memory of its own, which the system has back as soon as it is dropped.

    What C's allocator gives and takes stays with the process, for arrays of up to 32 MB. The memory is private: a page
    that could be shared with other processes costs half as much again to begin with.
    """
    memory = private_memory(max(int(size) * np.dtype(dtype).itemsize, 1))
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


def as_numbers(name: str, values: Any, dtype: type) -> Any:
    """Return ``values`` as an array of ``dtype``; refuse what would become something else by that.

    Fewer digits are fine; texts, complex numbers, and fractions in place of whole numbers are not.

    >>> as_numbers("vectors", [[1, 2]], np.float32).dtype
    dtype('float32')
    """
    given = np.asarray(values)
    if given.dtype == dtype:
        return given
    if given.dtype.kind not in "biuf" and given.size:
        raise InputError(f"{name} are of type {given.dtype}; give real numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers: Any = given.astype(dtype)
    if numbers.dtype.kind == "i" and not np.array_equal(numbers, given):
        raise InputError(f"{name} are not all whole numbers of 64 bits; give whole numbers")
    return numbers
