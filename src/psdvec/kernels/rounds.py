"""The ragged loops of the solver on the CPU, in numba: pair terms, sparse products, the residual.

Goes in: sparse rows (``indptr``, ``indices`` and values) and tall float32 blocks. Comes out: what
:mod:`psdvec.reference.rounds` defines, to float32 accuracy, every row owned by one thread, so that one
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


# indptr int64[>n], indices int32[nnz] rising in a row; int64[tiles, tiles] and int64[n] come back
@numba.njit(nogil=True, cache=True)
def tile_pairs(indptr, indices, n, tile):
    """How many pairs each (tile, tile) square has, and each column, among the first n words."""
    size = (n + tile - 1) // tile
    squares = np.zeros((size, size), np.int64)
    lengths = np.zeros(n, np.int64)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] >= n:
                break
            squares[i // tile, indices[k] // tile] += 1
            lengths[indices[k]] += 1
    return squares, lengths


# values int64[nnz]; scales is the tuple (r, u, f, a, s, rho) of float32[n], constants one of float32;
# out float32[nnz, 3 or 4]
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def directed_terms_into(indptr, indices, values, unit, scales, constants, out):
    """Fill in what each directed pair among the first n words adds to the background, m = s_i s_j and B = ρ_i ρ_j.

    That is (R - B) / 2, m (R G - B log κ) / 2, m² (R G² - B log² κ), and m (G - log κ) / 2 in a fourth column.
    """
    r, u, f, a, s, rho = scales
    kappa, beta, exponent, C, diagonal = constants
    log_kappa, half, one = np.log(kappa), np.float32(0.5), np.float32(1)
    n = r.size
    bounds = _deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        for i in range(bounds[block], bounds[block + 1]):
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if j >= n:
                    break
                H = np.float32(values[k] * unit)
                G = np.log((one - kappa) * H / (r[i] * u[j]) + kappa)
                smooth = (one - beta) * H + beta * f[i] * f[j]
                R = (np.sqrt(smooth) if exponent == half else smooth**exponent) / (C * a[i] * a[j])
                R = min(R, one) * (diagonal if i == j else one)
                B, m = rho[i] * rho[j], s[i] * s[j]
                out[k, 0] = half * (R - B)
                out[k, 1] = half * m * (R * G - B * log_kappa)
                out[k, 2] = m * m * (R * G * G - B * log_kappa * log_kappa)
                if out.shape[1] == 4:
                    out[k, 3] = half * m * (G - log_kappa)


# the places of the pairs of columns lo to hi, by column, rows rising: int64[hi-lo+1], int32[m], int64[m]
@numba.njit(nogil=True, cache=True)
def _columns_of(indptr, indices, n, lo, hi):
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
    places = np.empty(pointers[-1], np.int64)
    for i in range(n):
        k = starts[i]
        while k < indptr[i + 1] and indices[k] < hi:
            c = indices[k] - lo
            rows[cursor[c]] = i
            places[cursor[c]] = k
            cursor[c] += 1
            k += 1
    return pointers, rows, places


# indices rise within a row; directed float32[nnz, 3 or 4] of directed_terms_into; rho and level float32[n];
# tail is (indptr int64[n+1] with room for row i and column i, indices int32[m], terms float32[m, 2], values
# float32[m]);
# panels is (starts int64[n], widths int64[n], weights, targets and values float32[cells])
@numba.njit(parallel=True, nogil=True, cache=True)
def symmetric_terms_into(indptr, indices, directed, rho, level, step, negligible, tail, panels):
    """Put both directions of each seen pair together.

    Pairs in the first ``widths`` columns of a row go to the panels, others to the tail, where those whose target
    differs from the background's by less than ``negligible`` are left out. The number kept and Σ R G² come
    back by row. ``values`` are the targets, or where ``directed`` has a fourth column what the paper's start X = G/2
    makes of them with this step: level_i level_j is half of log κ s_i s_j, but for its sign.
    """
    n = rho.size
    squares = np.zeros(n)
    kept = np.zeros(n, np.int64)
    bounds = _deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        pointers, rows, places = _columns_of(indptr, indices, n, lo, hi)
        for i in range(lo, hi):
            column = slice(pointers[i - lo], pointers[i - lo + 1])
            kept[i], squares[i] = _merge_row(
                i,
                indptr,
                indices,
                rows[column],
                places[column],
                directed,
                rho,
                level,
                step,
                negligible,
                tail,
                panels,
            )
    return kept, squares


@numba.njit(nogil=True, cache=True)
def _merge_row(i, indptr, indices, rows, places, directed, rho, level, step, negligible, tail, panels):
    room, out_indices, out_terms, out_values = tail
    starts, widths, weights, targets, values = panels
    n = rho.size
    p, q, o, squares = indptr[i], 0, room[i], 0.0
    while True:
        left = indices[p] if p < indptr[i + 1] else n
        right = rows[q] if q < rows.size else n
        j = min(left, right)
        if j >= n:
            return o - room[i], squares
        w = t = g = square = 0.0
        if left == j:
            w, t, square = directed[p, 0], directed[p, 1], directed[p, 2]
            g = directed[p, 3] if directed.shape[1] == 4 else g
            p += 1
        if right == j:
            k = places[q]
            w, t = w + directed[k, 0], t + directed[k, 1]
            g = g + directed[k, 3] if directed.shape[1] == 4 else g
            q += 1
        first = t
        if directed.shape[1] == 4:
            full = w + rho[i] * rho[j]
            first = 0.5 * g * (1 - step * full) + step * (t + level[i] * level[j] * w)
        if j < widths[i]:
            k = starts[i] + j
            weights[k], targets[k], values[k] = w, t, first
            squares += square
        elif abs(t) >= negligible:
            out_indices[o], out_terms[o, 0], out_terms[o, 1], out_values[o] = j, w, t, first
            squares += square
            o += 1


# indptr int64[n+1] with room for more than lengths int64[n] tells; the arrays are moved in place
@numba.njit(nogil=True, cache=True)
def close_gaps_into(indptr, lengths, indices, terms, values):
    """Move the rows together, so that each begins where the one before ends."""
    o = 0
    for i in range(lengths.size):
        k = indptr[i]
        indptr[i] = o
        for _ in range(lengths[i]):
            indices[o], terms[o, 0], terms[o, 1], values[o] = indices[k], terms[k, 0], terms[k, 1], values[k]
            o += 1
            k += 1
    indptr[lengths.size] = o


# indptr int64[>n], indices int32[nnz], values float32[nnz], Q and Y float32[n, k]
@numba.njit(parallel=True, nogil=True, cache=True, fastmath=True)
def product_into(indptr, indices, values, Q, Y):
    """Add the first n rows and columns of the sparse matrix times Q to Y, four pairs at a time, columns in blocks."""
    n, d = Q.shape
    bounds = _deal_rows(indptr, n)
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
