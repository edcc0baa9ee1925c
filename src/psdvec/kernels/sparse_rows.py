"""A sparse matrix by rows times a tall block, by all threads; each row is owned by one of them."""

from __future__ import annotations

import numba
import numpy as np

BLOCKS = 128  # blocks of rows
COLUMNS = 512  # columns taken at a time: 512 rows of a block 320 wide are 0.6 MB and stay in cache


# indptr int64[n+1]; int64[BLOCKS+1] comes back
@numba.njit(nogil=True, cache=True)
def deal_rows(indptr, n):
    """Cut the first n rows into blocks with equally many pairs, so that any number of threads gets equal work."""
    shares = np.arange(1, BLOCKS) * (indptr[n] / BLOCKS)
    bounds = np.zeros(BLOCKS + 1, np.int64)
    bounds[1:-1] = np.minimum(np.searchsorted(indptr[: n + 1], shares), n)
    bounds[-1] = n
    return bounds


# indptr int64[>n], indices int32[nnz], values float32[nnz], Q and Y float32[n, k]
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def product_into(indptr, indices, values, Q, Y):
    """Add the first n rows and columns of the sparse matrix times Q to Y, four pairs at a time, columns in blocks."""
    n, d = Q.shape
    bounds = deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            last = min(first + COLUMNS, n)
            for i in range(lo, hi):
                k = end = cursor[i - lo]
                while end < indptr[i + 1] and indices[end] < last:
                    end += 1
                cursor[i - lo] = end
                y = Y[i]
                while k + 4 <= end:
                    q0, q1, q2, q3 = Q[indices[k]], Q[indices[k + 1]], Q[indices[k + 2]], Q[indices[k + 3]]
                    v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
                    for c in range(d):
                        y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
                    k += 4
                while k < end:
                    q0, v0 = Q[indices[k]], values[k]
                    for c in range(d):
                        y[c] += v0 * q0[c]
                    k += 1
