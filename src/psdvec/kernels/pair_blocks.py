"""Blocks of seen pairs: built from counts, multiplied, and their residual renewed; loops of one thread each.

A block holds some rows of the weights W and the targets T of a problem, and the values V that are multiplied, all in
half precision. The first columns of its rows are dense cells, in strips of ``STRIP`` columns, row after row within a
strip; the other pairs are sparse, with 16 bits of their column: a row is cut into spans of ``SPAN`` columns.
:mod:`psdvec.reference.rounds` says in dense NumPy what these kernels compute.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from psdvec.kernels.halves import from_half, to_half

SPAN = 1 << 16  # columns that 16 bits can tell apart
STRIP = 2048  # columns of cells that lie together
COLUMNS = 512  # columns taken at a time: 512 rows of a matrix 320 wide are 0.6 MB and stay in cache


# scales float32[n, 6]: r, u, f, a, s, rho; constants float32: κ, β, p, C, diagonal; four float32 come back
@njit(nogil=True, cache=True, fastmath=True, inline="always")
def directed_terms(H, i, j, scales, constants):
    """Return :func:`psdvec.solver.pmi.pair_terms` of one directed pair: weight, target, square and shift."""
    kappa, beta, exponent, C, diagonal = constants
    half, one = np.float32(0.5), np.float32(1)
    log_kappa = np.log(kappa)
    G = np.log((one - kappa) * H / (scales[i, 0] * scales[j, 1]) + kappa)
    smooth = (one - beta) * H + beta * scales[i, 2] * scales[j, 2]
    R = (np.sqrt(smooth) if exponent == half else smooth**exponent) / (C * scales[i, 3] * scales[j, 3])
    R = min(R, one) * (diagonal if i == j else one)
    B, m = scales[i, 5] * scales[j, 5], scales[i, 4] * scales[j, 4]
    return (
        half * (R - B),
        half * m * (R * G - B * log_kappa),
        m * m * (R * G * G - B * log_kappa * log_kappa),
        half * m * (G - log_kappa),
    )


# counts is (indptr int64[>n], indices int32[nnz] rising in a row, values int64[nnz], unit float64); columns is
# (starts int64[hi-lo+1], rows int32[m] rising in a column, counts float32[m]); level float32[n]; tail is (pointers
# int64[rows*spans+1], indices, weights, targets and values uint16[room]); cells are weights, targets, values uint16
@njit(nogil=True, cache=True)
def build_rows(
    counts, columns, lo, hi, width, scales, level, constants, half_start, step, negligible, unit, tail, cells
):
    """Put both directions of each seen pair of rows ``lo`` to ``hi`` together, and return Σ R G² of what is kept.

    Pairs in the first ``width`` columns go to the cells, others to the tail, where those whose target differs from the
    background's by less than ``negligible`` are left out. Values are the targets or, after the paper's start X = G/2,
    what a step makes of it: level_i level_j is half of log κ s_i s_j, but for its sign. Targets and values are kept in
    units of ``unit``.
    """
    indptr, indices, values, count_unit = counts
    starts, rows, befores = columns
    pointers, tail_indices, tail_weights, tail_targets, tail_values = tail
    cell_weights, cell_targets, cell_values = cells
    n = scales.shape[0]
    spans = (n + SPAN - 1) // SPAN
    squares = 0.0
    o = 0
    for i in range(lo, hi):
        p, q, span = indptr[i], starts[i - lo], 0
        pointers[(i - lo) * spans] = o
        while True:
            left = indices[p] if p < indptr[i + 1] else n
            right = rows[q] if q < starts[i - lo + 1] else n
            j = min(left, right)
            if j >= n:
                break
            w = t = g = square = np.float32(0)
            if left == j:
                w, t, square, g = directed_terms(np.float32(values[p] * count_unit), i, j, scales, constants)
                p += 1
            if right == j:
                w1, t1, _, g1 = directed_terms(befores[q], j, i, scales, constants)
                w, t, g = w + w1, t + t1, g + g1
                q += 1
            is_cell = j < width
            if not is_cell and abs(t) < negligible:
                continue
            squares += float(square)
            first = t
            if half_start:
                full = w + scales[i, 5] * scales[j, 5]
                first = 0.5 * g * (1 - step * full) + step * (t + level[i] * level[j] * w)
            if is_cell:
                strip = j // STRIP
                across = min(STRIP, width - strip * STRIP)
                k = (hi - lo) * STRIP * strip + (i - lo) * across + j - strip * STRIP
                cell_weights[k], cell_targets[k] = to_half(w), to_half(t / unit)
                cell_values[k] = to_half(first / unit)
            else:
                while span < j // SPAN:
                    span += 1
                    pointers[(i - lo) * spans + span] = o
                tail_indices[o] = np.uint16(j % SPAN)
                tail_weights[o], tail_targets[o] = to_half(w), to_half(t / unit)
                tail_values[o] = to_half(first / unit)
                o += 1
        for later in range(span + 1, spans + 1):
            pointers[(i - lo) * spans + later] = o
    return squares


# halves uint16[m]; out float32[m]
@njit(nogil=True, cache=True, fastmath=True)
def unpack_into(halves, unit, out):
    """Turn halves in units of ``unit`` into numbers."""
    for k in range(halves.size):
        out[k] = from_half(halves[k]) * unit


# pointers int64[>=rows*spans+1], indices and values uint16[m], Q float32[n, k], Y float32[rows, k]
@njit(nogil=True, cache=True, fastmath=True)
def product_into(spans, pointers, indices, values, unit, Q, Y):
    """Add the sparse pairs of a block times Q to Y, for as many rows as Y has, and columns as Q has rows."""
    n, d = Q.shape
    rows = Y.shape[0]
    for span in range((n + SPAN - 1) // SPAN):
        base = span * SPAN
        cursor = pointers[span::spans][:rows].copy()
        for first in range(0, min(SPAN, n - base), COLUMNS):
            last = min(first + COLUMNS, n - base)
            for i in range(rows):
                k = end = cursor[i]
                while end < pointers[i * spans + span + 1] and indices[end] < last:
                    end += 1
                cursor[i] = end
                y = Y[i]
                while k + 4 <= end:
                    q0, q1 = Q[base + indices[k]], Q[base + indices[k + 1]]
                    q2, q3 = Q[base + indices[k + 2]], Q[base + indices[k + 3]]
                    v0, v1 = from_half(values[k]) * unit, from_half(values[k + 1]) * unit
                    v2, v3 = from_half(values[k + 2]) * unit, from_half(values[k + 3]) * unit
                    for c in range(d):
                        y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
                    k += 4
                while k < end:
                    q0, v0 = Q[base + indices[k]], from_half(values[k]) * unit
                    for c in range(d):
                        y[c] += v0 * q0[c]
                    k += 1


# as product_into; weights and targets uint16[m], P float32[rows, k]; values are renewed; sums float64[2] are added to
@njit(nogil=True, cache=True, fastmath=True)
def residual_into(spans, pointers, indices, weights, targets, values, unit, P, Q, momentum, Y, sums):
    """With X = P Qᵀ: values = T - W∘X on the sparse pairs, Y += ((1 + θ) new - θ old) · Q, sums += Σ T x, Σ W x².

    Y may have no columns where only the residual is wanted.
    """
    n = Q.shape[0]
    rows = P.shape[0]
    for span in range(spans):
        base = span * SPAN
        cursor = pointers[span::spans][:rows].copy()
        for first in range(0, min(SPAN, n - base), COLUMNS):
            for i in range(rows):
                k = end = cursor[i]
                while end < pointers[i * spans + span + 1] and indices[end] < first + COLUMNS:
                    end += 1
                cursor[i] = end
                _residual_row(
                    base, indices, weights, targets, values, unit, P[i], Q, momentum, Y[i], sums, k, end
                )


@njit(nogil=True, cache=True, fastmath=True)
def _residual_row(base, indices, weights, targets, values, unit, p, Q, momentum, y, sums, k, end):
    d = p.size
    while k + 4 <= end:
        q0, q1 = Q[base + indices[k]], Q[base + indices[k + 1]]
        q2, q3 = Q[base + indices[k + 2]], Q[base + indices[k + 3]]
        x0 = x1 = x2 = x3 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
            x1 += p[c] * q1[c]
            x2 += p[c] * q2[c]
            x3 += p[c] * q3[c]
        v0 = _renewed(weights, targets, values, unit, k, x0, momentum, sums)
        v1 = _renewed(weights, targets, values, unit, k + 1, x1, momentum, sums)
        v2 = _renewed(weights, targets, values, unit, k + 2, x2, momentum, sums)
        v3 = _renewed(weights, targets, values, unit, k + 3, x3, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
        k += 4
    while k < end:
        q0 = Q[base + indices[k]]
        x0 = np.float32(0)
        for c in range(d):
            x0 += p[c] * q0[c]
        v0 = _renewed(weights, targets, values, unit, k, x0, momentum, sums)
        for c in range(y.size):
            y[c] += v0 * q0[c]
        k += 1


@njit(nogil=True, cache=True, fastmath=True, inline="always")
def _renewed(weights, targets, values, unit, k, x, momentum, sums):
    w, t = from_half(weights[k]), from_half(targets[k]) * unit
    sums[0] += t * x
    sums[1] += w * x * x
    new = t - w * x
    ahead = new + momentum * (new - from_half(values[k]) * unit)
    values[k] = to_half(new / unit)
    return ahead


# X float32[m]; weights, targets, values uint16[m]; sums float64[2] are added to
@njit(nogil=True, cache=True, fastmath=True)
def cell_residual_into(X, weights, targets, values, unit, momentum, sums):
    """What residual_into does to the cells of a strip, without the product; X becomes (1 + θ) new - θ old."""
    tx = wxx = 0.0
    for k in range(X.size):
        x, w, t = X[k], from_half(weights[k]), from_half(targets[k]) * unit
        tx += t * x
        wxx += w * x * x
        new = t - w * x
        X[k] = new + momentum * (new - from_half(values[k]) * unit)
        values[k] = to_half(new / unit)
    sums[0] += tx
    sums[1] += wxx
