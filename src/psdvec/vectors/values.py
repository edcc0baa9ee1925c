"""What makes a value of its parts: checking and comparing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError
from psdvec.vectors.sparse import csr_of

_ROWS = 1024  # that are looked at together, so that they stay in the cache


def one_per_word(name: str, values: Any, n: int, dtype: type) -> Any:
    """Return ``values`` as an array (n,), or None if they are; refuse any other number of them.

    >>> one_per_word("counts", [5, 3], 2, np.int64).tolist()
    [5, 3]
    """
    if values is None:
        return None
    if np.shape(values) != (n,):
        raise InputError(
            f"{name} must hold one number per word; found shape {np.shape(values)} for {n} words"
        )
    return as_numbers(name, values, dtype)


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


def rows_not_finite(vectors: Float32s) -> Iterator[int]:
    """Yield the ids of rows that hold a number that is not finite.

    >>> list(rows_not_finite(np.array([[1, 2], [np.nan, 0]], np.float32)))
    [1]
    """
    csr = csr_of(vectors)
    if csr is not None:
        places = np.flatnonzero(~np.isfinite(csr.data))
        yield from np.unique(np.searchsorted(csr.indptr, places, side="right") - 1).tolist()
        return
    for start in range(0, len(vectors), _ROWS):
        finite = np.isfinite(vectors[start : start + _ROWS])
        if not finite.all():
            yield from (start + np.flatnonzero(~finite.all(axis=1))).tolist()


def same(a: Any, b: Any) -> bool:
    """Say whether two parts are equal; of arrays, every number is, and NaN equals NaN.

    >>> same(np.array([1, np.nan]), np.array([1, np.nan])), same(np.ones(2), None)
    (True, False)
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(np.all(a is b or a == b))
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))
