"""The ragged loops of the solver on the CPU, in numba: pair terms, sparse products, the residual.

Goes in: sparse rows (``indptr``, ``indices`` and values) and tall float32 blocks. Comes out: what
:mod:`psdvec.backends.reference` defines, to float32 accuracy, every row owned by one thread, so that one
thread and many give the same bits. Equations (5) to (8) of ``docs/theory.md``.
"""

from __future__ import annotations

import numba
import numpy as np

BLOCKS = 128  # row blocks with equally many pairs, so that any number of threads gets equal work
COLUMNS = 512  # columns taken at a time: 512 rows of a block 320 wide are 0.6 MB and stay in cache


# indptr int64[n+1]; int64[BLOCKS+1] comes back
@numba.njit(nogil=True, cache=True)
def _deal_rows(indptr, n):
    shares = np.arange(1, BLOCKS) * (indptr[n] / BLOCKS)
    bounds = np.zeros(BLOCKS + 1, np.int64)
    bounds[1:-1] = np.minimum(np.searchsorted(indptr[: n + 1], shares), n)
    bounds[-1] = n
    return bounds


# one directed pair, m = s_i s_j: (R - B) / 2, m (R G - B log κ) / 2, m (G - log κ) / 2, and m² (R G² - B log² κ)
@numba.njit(nogil=True, cache=True)
def _term(H, i, j, r, u, e, a, s, rho, sigma, constants):
    kappa, beta, p, C, diagonal = constants
    G = np.log(np.float32((1 - kappa) * H / (r[i] * u[j]) + kappa))  # float32: twice as fast, and enough
    smooth = (1 - beta) * H + beta * r[i] * e[j]
    R = min((np.sqrt(smooth) if p == 0.5 else smooth**p) / (C * a[i] * a[j]), 1.0)
    if i == j:
        R *= diagonal
    B, m, log_kappa = rho[i] * sigma[j], s[i] * s[j], np.log(kappa)
    square = m * m * (R * G * G - B * log_kappa * log_kappa)
    return 0.5 * (R - B), 0.5 * m * (R * G - B * log_kappa), 0.5 * m * (G - log_kappa), square


# the pairs of columns lo to hi, by column, rows rising: int64[hi-lo+1], int32[m], int64[m]
@numba.njit(nogil=True, cache=True)
def _columns_of(indptr, indices, values, n, lo, hi):
    starts = np.empty(n, np.int64)
    pointers = np.zeros(hi - lo + 1, np.int64)
    for i in range(n):
        starts[i] = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], lo)
        k = starts[i]
        while k < indptr[i + 1] and indices[k] < hi:
            pointers[indices[k] - lo + 1] += 1
            k += 1
    pointers = np.cumsum(pointers)
    cursor = pointers[:-1].copy()
    rows = np.empty(pointers[-1], np.int32)
    copies = np.empty(pointers[-1], np.int64)
    for i in range(n):
        k = starts[i]
        while k < indptr[i + 1] and indices[k] < hi:
            c = indices[k] - lo
            rows[cursor[c]] = i
            copies[cursor[c]] = values[k]
            cursor[c] += 1
            k += 1
    return pointers, rows, copies


# indptr int64[n+1], indices int32[nnz], values int64[nnz]; int64[n] three times comes back
@numba.njit(nogil=True, cache=True)
def margins(indptr, indices, values):
    """Row sums, column sums, and how many pairs each column has."""
    n = indptr.size - 1
    rows, columns, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            rows[i] += values[k]
            columns[indices[k]] += values[k]
            lengths[indices[k]] += 1
    return rows, columns, lengths


# indices rise within a row; scales is the tuple (r, u, e, a, s, rho, sigma) of float64[n]; terms float32[m, 2 or 3];
# out_indptr int64[n+1] leaves room for row i and column i
@numba.njit(parallel=True, nogil=True, cache=True)
def symmetric_terms_into(
    indptr, indices, values, unit, scales, constants, negligible, out_indptr, out_indices, terms
):
    """Fill ``terms`` with what both directions of each seen pair add to the background.

    Pairs whose target differs from the background's by less than ``negligible`` are left out. The number kept
    and Σ R G² come back by row.
    """
    r, u, e, a, s, rho, sigma = scales
    n = out_indptr.size - 1
    squares = np.zeros(n)
    kept = np.zeros(n, np.int64)
    bounds = _deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        pointers, rows, copies = _columns_of(indptr, indices, values, n, lo, hi)
        for i in range(lo, hi):
            p, p_end = indptr[i], indptr[i + 1]
            q, q_end = pointers[i - lo], pointers[i - lo + 1]
            o = out_indptr[i]
            while True:
                left = indices[p] if p < p_end else n
                right = rows[q] if q < q_end else n
                j = min(left, right)
                if j >= n:
                    break
                w = t = g = square = 0.0
                if left == j:
                    w, t, g, square = _term(values[p] / unit, i, j, r, u, e, a, s, rho, sigma, constants)
                    p += 1
                if right == j:
                    w2, t2, g2, _ = _term(copies[q] / unit, j, i, r, u, e, a, s, rho, sigma, constants)
                    w, t, g = w + w2, t + t2, g + g2
                    q += 1
                if abs(t) >= negligible:
                    out_indices[o] = j
                    terms[o, 0], terms[o, 1] = w, t
                    if terms.shape[1] == 3:
                        terms[o, 2] = g
                    squares[i] += square
                    o += 1
            kept[i] = o - out_indptr[i]
    return kept, squares


# indptr int64[n+1] with room for more than lengths int64[n] tells; the arrays are moved in place
@numba.njit(nogil=True, cache=True)
def close_gaps_into(indptr, lengths, indices, terms):
    """Move the rows together, so that each begins where the one before ends."""
    o = 0
    for i in range(lengths.size):
        k = indptr[i]
        indptr[i] = o
        for _ in range(lengths[i]):
            indices[o] = indices[k]
            for c in range(terms.shape[1]):
                terms[o, c] = terms[k, c]
            o += 1
            k += 1
    indptr[lengths.size] = o


# indptr int64[n+1], indices int32[nnz], values float32[nnz], Q and Y float32[n, k]
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def product_into(indptr, indices, values, Q, Y):
    """Add the sparse matrix times Q to Y, four pairs at a time, the columns in blocks."""
    n, d = Q.shape
    bounds = _deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            for i in range(lo, hi):
                k = end = cursor[i - lo]
                while end < indptr[i + 1] and indices[end] < first + COLUMNS:
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


# as product_into; terms float32[nnz, 2], P float32[n, k]; values float32[nnz] and losses float64[n] are filled
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def residual_into(indptr, indices, terms, P, Q, values, Y, losses):
    """With X = P Qᵀ: values = T - W∘X on the stored pairs, Y += values · Q, losses = Σ_j W x² - 2 T x.

    Y may have no columns where only the residual is wanted.
    """
    n = Q.shape[0]
    bounds = _deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            for i in range(lo, hi):
                k = end = cursor[i - lo]
                while end < indptr[i + 1] and indices[end] < first + COLUMNS:
                    end += 1
                cursor[i - lo] = end
                losses[i] += _residual_row(indices, terms, P[i], Q, values, Y[i], k, end)


@numba.njit(nogil=True, cache=True, fastmath=True)
def _residual_row(indices, terms, p, Q, values, y, k, end):
    d = p.size
    loss = 0.0
    while k + 4 <= end:
        q0, q1, q2, q3 = Q[indices[k]], Q[indices[k + 1]], Q[indices[k + 2]], Q[indices[k + 3]]
        x0 = x1 = x2 = x3 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
            x1 += p[c] * q1[c]
            x2 += p[c] * q2[c]
            x3 += p[c] * q3[c]
        v0, l0 = _residual(terms, k, x0)
        v1, l1 = _residual(terms, k + 1, x1)
        v2, l2 = _residual(terms, k + 2, x2)
        v3, l3 = _residual(terms, k + 3, x3)
        values[k], values[k + 1], values[k + 2], values[k + 3] = v0, v1, v2, v3
        loss += l0 + l1 + l2 + l3
        for c in range(y.size):
            y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
        k += 4
    while k < end:
        q0 = Q[indices[k]]
        x0 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
        values[k], l0 = _residual(terms, k, x0)
        loss += l0
        for c in range(y.size):
            y[c] += values[k] * q0[c]
        k += 1
    return loss


@numba.njit(nogil=True, cache=True, fastmath=True, inline="always")
def _residual(terms, k, x):
    value = terms[k, 1] - terms[k, 0] * x
    return value, -x * (value + terms[k, 1])
