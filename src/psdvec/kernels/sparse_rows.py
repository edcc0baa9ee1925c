"""A sparse matrix by rows times a tall block, block of rows by block, so that each row belongs to one thread."""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel

BLOCKS = 128  # blocks of rows
COLUMNS = 512  # columns taken at a time: 512 rows of a block 320 wide are 0.6 MB and stay in cache


# indptr int64[n+1]; int64[BLOCKS+1] comes back
@kernel
def deal_rows(indptr, n):
    """Cut the first n rows into blocks with equally many pairs, so that any number of threads gets equal work."""
    shares = np.arange(1, BLOCKS) * (indptr[n] / BLOCKS)
    bounds = np.zeros(BLOCKS + 1, np.int64)
    bounds[1:-1] = np.minimum(np.searchsorted(indptr[: n + 1], shares), n)
    bounds[-1] = n
    return bounds


# indptr int64[>n], indices int32[nnz], values float32[nnz], Q and Y float32[n, k]; bounds int64[BLOCKS+1]
@kernel(fastmath=True, error_model="numpy")
def product_into(Y, indptr, indices, values, Q, bounds, begin, end):
    """Add the first n rows and columns of the sparse matrix times Q to Y, four pairs at a time, columns in blocks.

    Only the rows of the blocks ``begin`` to ``end`` of :func:`deal_rows` are computed.
    """
    n, d = Q.shape
    for block in range(begin, end):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            last = min(first + COLUMNS, n)
            for i in range(lo, hi):
                k = stop = cursor[i - lo]
                while stop < indptr[i + 1] and indices[stop] < last:
                    stop += 1
                cursor[i - lo] = stop
                y = Y[i]
                while k + 4 <= stop:
                    q0, q1, q2, q3 = Q[indices[k]], Q[indices[k + 1]], Q[indices[k + 2]], Q[indices[k + 3]]
                    v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
                    for c in range(d):
                        y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
                    k += 4
                while k < stop:
                    q0, v0 = Q[indices[k]], values[k]
                    for c in range(d):
                        y[c] += v0 * q0[c]
                    k += 1
