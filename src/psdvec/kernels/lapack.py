"""LAPACK's Cholesky routines, called without holding the interpreter's lock, so that threads solve side by side.

Takes symmetric float32 or float64 matrices, and returns lower triangular factors of the same precision. SciPy's own
wrappers keep the lock; the routines are the ones that SciPy ships, found through the table it exports for Cython.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float64s

PROBES = 32  # right-hand sides from which the trace of a larger inverse is estimated


@cache
def _routine(name: str, arguments: int) -> Any:
    from scipy.linalg import cython_lapack

    table: Any = cython_lapack.__pyx_capi__
    capsule = table[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)
    return prototype(pointer_of(capsule, name_of(capsule)))


def _call(name: str, matrix: Array, *arguments: Any) -> int:
    """Call a routine in the precision of ``matrix`` and return its last argument, which is not 0 if it failed."""
    info = ctypes.c_int(0)
    kept = [_as_c(x) for x in arguments]
    places = [x.ctypes.data if isinstance(x, np.ndarray) else ctypes.addressof(x) for x in kept]
    letter = "s" if matrix.dtype == np.float32 else "d"
    _routine(letter + name, len(places) + 1)(*places, ctypes.addressof(info))
    return info.value


def _as_c(value: Any) -> Any:
    if isinstance(value, str):
        return ctypes.c_char(value.encode())
    return ctypes.c_int(value) if isinstance(value, int) else value


def cholesky(matrix: Array) -> Array | None:
    """Return the lower factor of a symmetric matrix, or None where there is none; ignore what is above its diagonal.

    A row-major lower triangle is a column-major upper one.
    """
    factor = np.array(matrix, order="C")
    n = factor.shape[0]
    return factor if _call("potrf", factor, "U", n, factor, n) == 0 else None


def cholesky_solve(factor: Array, b: Array) -> Array:
    """Return the solution of L Lᵀ x = b; several right-hand sides are the rows of ``b``."""
    x = np.array(b, dtype=factor.dtype, order="C")
    n = factor.shape[0]
    _call("potrs", factor, "U", n, x.size // n, factor, n, x, n)
    return x


def inverse_trace(factor: Array) -> float:
    """Return the trace of (L Lᵀ)⁻¹: exactly up to 32 rows, within a few per cent beyond.

    The mean of z·(L Lᵀ)⁻¹z over random signs z is the trace (Hutchinson 1990); the signs are always the same.
    """
    n = factor.shape[0]
    probes = np.eye(n) if n <= PROBES else _signs(n)
    return float(np.sum(probes * cholesky_solve(factor, probes))) * (1.0 if n <= PROBES else 1 / PROBES)


@cache
def _signs(n: int) -> Float64s:
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(PROBES, n))
