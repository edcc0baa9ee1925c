"""The CPU as a device: numba for the loops over sparse pairs, BLAS for the rest.

:class:`Cpu` has the methods of :class:`psdvec.solver.devices.Device`; :class:`CpuPairs` holds the seen pairs of a
problem, which :mod:`psdvec.solver.devices.cpu_pairs` builds, and stands beside the kernels that multiply them and
renew their residual. Each row is owned by one thread, so that one thread and many give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int32s, Int64s
from psdvec.resources import available_memory
from psdvec.solver.devices.cpu_pairs import BLOCKS, build_pairs, deal_rows, predicted_memory
from psdvec.solver.devices.cpu_ridge import solve_words
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe

CHUNK = 4096  # rows whose products are summed in float32 before they are added up in float64
COLUMNS = 512  # columns taken at a time: 512 rows of a block 320 wide are 0.6 MB and stay in cache


class Cpu:
    """The CPU, with as many threads as kernels and BLAS are allowed; see :class:`psdvec.solver.devices.Device`."""

    available_memory = staticmethod(available_memory)
    predicted_memory = staticmethod(predicted_memory)
    solve_words = staticmethod(solve_words)

    def open_pairs(
        self, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
    ) -> CpuPairs:
        """Return the seen pairs of the first ``len(scales)`` words of ``counts``."""
        return CpuPairs(**build_pairs(counts, scales, constants, recipe=recipe))

    def put(self, array: Array) -> Float32s:
        """Return ``array`` as contiguous float32."""
        return np.ascontiguousarray(array, np.float32)

    def get(self, block: Float32s) -> Float32s:
        """Return ``block`` itself."""
        return block

    def zeros(self, n: int, k: int) -> Float32s:
        """Return an (n, k) block of zeros."""
        return np.zeros((n, k), np.float32)

    def join(self, *blocks: Float32s) -> Float32s:
        """Return the columns of all blocks side by side."""
        return np.concatenate(blocks, axis=1)

    def scaled(self, column: Float32s, block: Float32s) -> Float32s:
        """Return each row of ``block`` times its number in ``column``."""
        return column[:, None] * block

    def gram(self, left: Float32s, right: Float32s) -> Float64s:
        """Return leftᵀ right, a chunk of rows at a time, summed in float64."""
        total = np.zeros((left.shape[1], right.shape[1]))
        for start in range(0, left.shape[0], CHUNK):
            rows = slice(start, start + CHUNK)
            total += left[rows].T @ right[rows]
        return total

    def combine(self, block: Float32s, matrix: Array) -> Float32s:
        """Return block · matrix in float32."""
        return block @ matrix.astype(np.float32)


@dataclass
class CpuPairs:
    """Pairs of a problem: dense panels and a sparse tail; see :class:`psdvec.solver.devices.Pairs`.

    ``indptr`` (n + 1,) int64, ``indices`` (m,) int32, ``terms`` (m, 2) float32 weight and target, ``values`` (m,)
    float32. ``panels``: for each the first and last row, and its weights, targets and values, (rows, width) float32.
    """

    squares: float
    indptr: Int64s
    indices: Int32s
    terms: Float32s
    values: Float32s
    panels: list[tuple[int, int, Float32s, Float32s, Float32s]]

    def times(self, block: Float32s) -> Float32s:
        """Return values · block."""
        m = block.shape[0]
        product = np.zeros_like(block)
        for lo, hi, _, _, values in self.panels:
            if lo < m:
                part = values[: m - lo, :m]
                np.matmul(part, block[: part.shape[1]], out=product[lo : min(hi, m)])
        product_into(self.indptr, self.indices, self.values, block, product)
        return product

    def renew(
        self, P: Float32s, Q: Float32s, *, momentum: float, with_image: bool
    ) -> tuple[Float32s, float, float]:
        """Set the values to T - W∘(P Qᵀ); see :meth:`psdvec.solver.devices.Pairs.renew`."""
        n = Q.shape[0]
        theta = np.float32(momentum)
        image = np.zeros_like(Q) if with_image else np.zeros((n, 0), np.float32)
        sums = np.zeros((n, 2))
        for lo, hi, weights, targets, values in self.panels:
            X = P[lo:hi] @ Q[: weights.shape[1]].T
            panel_residual_into(X, weights, targets, values, theta, sums[lo:hi])
            if with_image:
                np.matmul(X, Q[: X.shape[1]], out=image[lo:hi])
        residual_into(self.indptr, self.indices, self.terms, P, Q, self.values, theta, image, sums)
        return image, float(sums[:, 0].sum()), float(sums[:, 1].sum())

    def rescale(self, factor: float) -> None:
        """Set the values to T - factor · W∘X."""
        rescale_into(self.terms[:, 1], self.values, np.float32(factor))
        for _, _, _, targets, values in self.panels:
            rescale_into(targets.reshape(-1), values.reshape(-1), np.float32(factor))


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


# as product_into; terms float32[nnz, 2], P float32[n, k]; values float32[nnz] are renewed, sums float64[n, 2] added to
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def residual_into(indptr, indices, terms, P, Q, values, momentum, Y, sums):
    """With X = P Qᵀ: values = T - W∘X on the stored pairs, Y += ((1 + θ) new - θ old) · Q, sums += Σ_j (T x, W x²).

    Y may have no columns where only the residual is wanted.
    """
    n = Q.shape[0]
    bounds = deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            for i in range(lo, hi):
                k = end = cursor[i - lo]
                while end < indptr[i + 1] and indices[end] < first + COLUMNS:
                    end += 1
                cursor[i - lo] = end
                _residual_row(indices, terms, P[i], Q, values, momentum, Y[i], sums[i], k, end)


@numba.njit(nogil=True, cache=True, fastmath=True)
def _residual_row(indices, terms, p, Q, values, momentum, y, sums, k, end):
    d = p.size
    while k + 4 <= end:
        q0, q1, q2, q3 = Q[indices[k]], Q[indices[k + 1]], Q[indices[k + 2]], Q[indices[k + 3]]
        x0 = x1 = x2 = x3 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
            x1 += p[c] * q1[c]
            x2 += p[c] * q2[c]
            x3 += p[c] * q3[c]
        v0 = _renewed(terms, values, k, x0, momentum, sums)
        v1 = _renewed(terms, values, k + 1, x1, momentum, sums)
        v2 = _renewed(terms, values, k + 2, x2, momentum, sums)
        v3 = _renewed(terms, values, k + 3, x3, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
        k += 4
    while k < end:
        q0 = Q[indices[k]]
        x0 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
        v0 = _renewed(terms, values, k, x0, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c]
        k += 1


@numba.njit(nogil=True, cache=True, fastmath=True, inline="always")
def _renewed(terms, values, k, x, momentum, sums):
    w, t = terms[k, 0], terms[k, 1]
    sums[0] += t * x
    sums[1] += w * x * x
    new = t - w * x
    ahead = new + momentum * (new - values[k])
    values[k] = new
    return ahead


# X, weights, targets, values float32[rows, width]; sums float64[rows, 2] are added to
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def panel_residual_into(X, weights, targets, values, momentum, sums):
    """What residual_into does to a dense panel, without the product; X becomes (1 + θ) new - θ old."""
    for i in numba.prange(X.shape[0]):
        tx = wxx = 0.0
        for j in range(X.shape[1]):
            x, w, t = X[i, j], weights[i, j], targets[i, j]
            tx += t * x
            wxx += w * x * x
            new = t - w * x
            X[i, j] = new + momentum * (new - values[i, j])
            values[i, j] = new
        sums[i, 0] += tx
        sums[i, 1] += wxx


# targets, values float32[m]
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def rescale_into(targets, values, factor):
    """Set the values to T - factor · (T - values)."""
    for k in numba.prange(values.size):
        values[k] = targets[k] - factor * (targets[k] - values[k])
