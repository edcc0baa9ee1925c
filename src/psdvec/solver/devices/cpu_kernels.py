"""The compiled loops of a fit: pairs by columns, and products of blocks of pairs with tall matrices.

Each loop owns what it writes, so that any number of threads gives the same bits.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import from_half, kernel, to_half

# A count store by columns: their sums and lengths, and the pairs of some of them, gathered in one pass over the rows.


# indptr int64[n+1], indices int32[nnz], values int64[nnz]; rows and columns int64[n] are added to
@kernel
def add_margins(indptr, indices, values, begin, end, rows, columns):
    """Add the values of rows ``begin`` to ``end`` to the sums of their rows and columns."""
    for i in range(begin, end):
        total = 0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k]
            columns[indices[k]] += values[k]
        rows[i] += total


# indptr int64[>n], indices int32[nnz] rising in a row; squares int64[tiles, tiles] and lengths int64[n] are added to
@kernel
def add_tiles(indptr, indices, begin, end, tile, squares, lengths):
    """Count the pairs of rows ``begin`` to ``end`` by (tile, tile) square and by column, among the first n words."""
    n = lengths.size
    for i in range(begin, end):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] >= n:
                break
            squares[i // tile, indices[k] // tile] += 1
            lengths[indices[k]] += 1


# indptr int64[>n], indices int32[nnz] rising in a row; cursor int64[n] comes back
@kernel
def seek_column(indptr, indices, n, column):
    """Return for each of the first n rows the place of its first pair in ``column`` or after it."""
    cursor = np.empty(n, np.int64)
    for i in range(n):
        cursor[i] = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], column)
    return cursor


# cursor int64[n]: where each row has its first pair in the columns; ends int64[n] is filled; int64[last-first] is back
@kernel
def count_columns(indptr, indices, cursor, ends, begin, end, first, last):
    """Count the pairs that rows ``begin`` to ``end`` have in columns ``first`` to ``last``, by column."""
    lengths = np.zeros(last - first, np.int64)
    for i in range(begin, end):
        k, stop = cursor[i], indptr[i + 1]
        while k < stop and indices[k] < last:
            lengths[indices[k] - first] += 1
            k += 1
        ends[i] = k
    return lengths


# values int64[nnz]; free int64[last-first]: where the next pair of a column goes; rows int32[m], counts float32[m]
@kernel
def fill_columns(indices, values, unit, cursor, ends, begin, end, first, free, rows, counts):
    """Put the pairs that :func:`count_columns` counted where they belong: the row of each, and its count."""
    for i in range(begin, end):
        for k in range(cursor[i], ends[i]):
            column = indices[k] - first
            place = free[column]
            free[column] = place + 1
            rows[place] = i
            counts[place] = np.float32(values[k] * unit)


# Blocks of seen pairs: built from counts, multiplied, and their residual renewed; loops of one thread each.

SPAN = 1 << 16  # columns that 16 bits can tell apart
STRIP = 2048  # columns of cells that lie together
COLUMNS = 512  # columns taken at a time: 512 rows of a matrix 320 wide are 0.6 MB and stay in cache
AT_ONCE = 512  # pairs of a row that are built together, in the first cache
# Where each number of these pairs begins: how often the other word comes after and before, its six scales, and both
# counts smoothed and raised; of the halves, weights, targets, values, and whether the pair is kept.
AFTER, BEFORE, SCALES, AFTER_RAISED, BEFORE_RAISED, NUMBERS = (k * AT_ONCE for k in (0, 1, 2, 8, 9, 10))
WEIGHTS, TARGETS, VALUES, KEPT, HALVES = (k * AT_ONCE for k in range(5))
_ROOT_HALF = np.int32(0x3F3504F3)  # the bits of √½


# x float32, positive and finite; the same to one unit of the last place as np.log, which no loop of many can use
@kernel(fastmath=True, error_model="numpy", inline="always")
def natural_log(x):
    """Return log x = e log 2 + 2 artanh z, where x = 2ᵉ m and z = (m - 1) / (m + 1), at most 0.172 in size."""
    bits = np.float32(x).view(np.int32)
    e = (bits - _ROOT_HALF) >> np.int32(23)
    m = np.int32(bits - (e << np.int32(23))).view(np.float32)
    z = (m - np.float32(1)) / (m + np.float32(1))
    y = z * z
    tail = np.float32(1 / 7) + y * np.float32(1 / 9)
    tail = np.float32(1 / 3) + y * (np.float32(1 / 5) + y * tail)
    return np.float32(e) * np.float32(np.log(2)) + np.float32(2) * (z + z * y * tail)


# one and other: r, u, f, a, s, rho of the words; constants: κ, β, p, C, diagonal; all float32, as what comes back
@kernel(fastmath=True, inline="always")
def smoothed_count(H, one, other, constants):
    """Return (1 - β) H + β f f / Σc of equation (3)."""
    beta = constants[1]
    return (np.float32(1) - beta) * max(H, np.float32(0)) + beta * one[2] * other[2]


# raised: the smoothed count to the power p
@kernel(fastmath=True, error_model="numpy", inline="always")
def directed_terms(H, raised, one, other, is_same, constants):
    """Return :func:`psdvec.solver.pmi.pair_terms` of one directed pair: weight, target, square and shift.

    They are 0 where H is less than 0: this direction of the pair was not seen.
    """
    r, _, _, a1, s1, rho1 = one
    _, u, _, a2, s2, rho2 = other
    kappa, _, _, C, diagonal = constants
    unit, half = np.float32(1), np.float32(0.5)
    seen = np.float32(0) if H < 0 else unit
    H = max(H, np.float32(0))
    log_kappa = np.log(kappa)
    G = natural_log((unit - kappa) * H / (r * u) + kappa)
    R = min(raised / (C * a1 * a2), unit) * (diagonal if is_same else unit)
    B, m = rho1 * rho2, s1 * s2
    return (
        seen * half * (R - B),
        seen * half * m * (R * G - B * log_kappa),
        seen * m * m * (R * G * G - B * log_kappa * log_kappa),
        seen * half * m * (G - log_kappa),
    )


# counts is (indptr int64[>n], indices int32[nnz] rising in a row, values int64[nnz], unit float64); columns is
# (starts int64[hi-lo+1], rows int32[m] rising in a column, counts float32[m]); scales float32[n, 6]; tail is (pointers
# int64[rows*spans+1], indices, weights, targets and values uint16[room]); cells are weights, targets, values uint16
@kernel
def build_rows(
    counts, columns, lo, hi, width, scales, constants, half_start, step, negligible, unit, tail, cells
):
    """Put both directions of each seen pair of rows ``lo`` to ``hi`` together, and return Σ R G² of what is kept.

    Pairs in the first ``width`` columns go to the cells, others to the tail, where those whose target differs from the
    background's by less than ``negligible`` are left out. Values are the targets or, after the paper's start X = G/2,
    what a step makes of it. Targets and values are kept in units of ``unit``.
    """
    indptr, indices, values, count_unit = counts
    starts, rows, befores = columns
    spans = (scales.shape[0] + SPAN - 1) // SPAN
    found, numbers, halves = (
        np.empty(AT_ONCE, np.uint32),
        np.zeros(NUMBERS, np.float32),
        np.empty(HALVES, np.uint16),
    )
    squares, o = 0.0, 0
    for i in range(lo, hi):
        p, q, span = indptr[i], starts[i - lo], 0
        one = (scales[i, 0], scales[i, 1], scales[i, 2], scales[i, 3], scales[i, 4], scales[i, 5])
        tail[0][(i - lo) * spans] = o
        while True:
            c, p, q = _merge_into(
                (indices, values, p, indptr[i + 1], count_unit), (rows, befores, q, starts[i - lo + 1]), scales,
                found, numbers,
            )  # fmt: skip
            if not c:
                break
            dense, itself = np.searchsorted(found[:c], width), np.searchsorted(found[:c], i)
            if itself < c and found[itself] != i:
                itself = c
            _raise_into(c, one, constants, numbers)
            squares += _terms_into(
                c, dense, itself, one, constants, half_start, step, negligible, unit, numbers, halves
            )
            _put_cells(found[:dense], halves, i - lo, hi - lo, width, cells)
            o, span = _put_tail(found, halves, dense, c, (i - lo) * spans, span, o, tail)
        for later in range(span + 1, spans + 1):
            tail[0][(i - lo) * spans + later] = o
    return squares


@kernel
def _merge_into(row, column, scales, found, numbers):
    """Take the next words that follow or precede a word: which, how often (-1 for never), and their scales."""
    indices, values, p, stop, count_unit = row
    rows, befores, q, end = column
    n = scales.shape[0]
    never = np.float32(-1)
    c = 0
    while c < AT_ONCE and p < stop and q < end:
        left, right = indices[p], rows[q]
        j = min(left, right)
        found[c] = j
        numbers[AFTER + c] = np.float32(values[p] * count_unit) if left == j else never
        numbers[BEFORE + c] = befores[q] if right == j else never
        p += left == j
        q += right == j
        c += 1
    while c < AT_ONCE and p < stop and q == end and indices[p] < n:
        found[c], numbers[AFTER + c], numbers[BEFORE + c] = (
            indices[p],
            np.float32(values[p] * count_unit),
            never,
        )
        p += 1
        c += 1
    while c < AT_ONCE and p == stop and q < end:
        found[c], numbers[AFTER + c], numbers[BEFORE + c] = rows[q], never, befores[q]
        q += 1
        c += 1
    flat = scales.reshape(-1)
    for x in range(c):
        first = np.uint64(found[x]) * np.uint64(6)
        for k in range(6):
            numbers[SCALES + k * AT_ONCE + x] = flat[first + np.uint64(k)]
    return c, p, q


# numbers float32[NUMBERS]
@kernel(fastmath=True, inline="always")
def _other(numbers, x):
    return (
        numbers[SCALES + x], numbers[SCALES + AT_ONCE + x], numbers[SCALES + 2 * AT_ONCE + x],
        numbers[SCALES + 3 * AT_ONCE + x], numbers[SCALES + 4 * AT_ONCE + x], numbers[SCALES + 5 * AT_ONCE + x],
    )  # fmt: skip


@kernel(fastmath=True)
def _raise_into(c, one, constants, numbers):
    """Smooth both counts of each pair and raise them to the power p; a root is taken many at a time."""
    exponent = constants[2]
    for x in range(c):
        other = _other(numbers, x)
        numbers[AFTER_RAISED + x] = smoothed_count(numbers[AFTER + x], one, other, constants)
        numbers[BEFORE_RAISED + x] = smoothed_count(numbers[BEFORE + x], other, one, constants)
    if exponent == np.float32(0.5):
        for x in range(AFTER_RAISED, NUMBERS):
            numbers[x] = np.sqrt(numbers[x])
    else:
        for x in range(c):
            numbers[AFTER_RAISED + x] **= exponent
            numbers[BEFORE_RAISED + x] **= exponent


@kernel(fastmath=True, error_model="numpy")
def _terms_into(c, dense, itself, one, constants, half_start, step, negligible, unit, numbers, halves):
    """Turn what was merged into halves: weight, target, value, and whether the pair is kept; return Σ R G².

    Fields lie ``AT_ONCE`` apart in one array, so that the compiler sees that none overlaps another and takes many
    pairs at a time.
    """
    squares = np.float32(0)
    log_kappa, nothing = np.log(constants[0]), np.float32(0)
    for x in range(c):
        other, is_same = _other(numbers, x), x == itself
        w, t, square, g = directed_terms(
            numbers[AFTER + x], numbers[AFTER_RAISED + x], one, other, is_same, constants
        )
        w2, t2, _, g2 = directed_terms(
            numbers[BEFORE + x], numbers[BEFORE_RAISED + x], other, one, is_same, constants
        )
        w, t, g = w + w2, t + t2, g + g2
        is_kept = x < dense or abs(t) >= negligible
        squares += square if is_kept else nothing
        first = t
        if half_start:
            background, level = one[5] * other[5], np.float32(-0.5) * log_kappa * one[4] * other[4]
            first = np.float32(0.5) * g * (np.float32(1) - step * (w + background)) + step * (t + level * w)
        halves[WEIGHTS + x] = to_half(w)
        halves[TARGETS + x] = to_half(t / unit)
        halves[VALUES + x] = to_half(first / unit)
        halves[KEPT + x] = np.uint16(is_kept)
    return float(squares)


@kernel
def _put_cells(found, halves, row, rows, width, cells):
    weights, targets, values = cells
    for x in range(found.size):
        strip = found[x] // STRIP
        across = min(STRIP, width - strip * STRIP)
        k = rows * STRIP * strip + row * across + found[x] - strip * STRIP
        weights[k], targets[k], values[k] = halves[WEIGHTS + x], halves[TARGETS + x], halves[VALUES + x]


@kernel
def _put_tail(found, halves, first, last, pointer, span, o, tail):
    """Append the pairs that are kept, and return where the next goes and its span; there is room for all."""
    pointers, indices, weights, targets, values = tail
    for x in range(first, last):
        while span < found[x] // SPAN:
            span += 1
            pointers[pointer + span] = o
        indices[o] = np.uint16(found[x] % SPAN)
        weights[o], targets[o], values[o] = halves[WEIGHTS + x], halves[TARGETS + x], halves[VALUES + x]
        o += np.int64(halves[KEPT + x])
    return o, span


# halves uint16[m]; out float32[m]
@kernel(fastmath=True)
def unpack_into(halves, unit, out):
    """Turn halves in units of ``unit`` into numbers."""
    for k in range(halves.size):
        out[k] = from_half(halves[k]) * unit


# pointers int64[>=rows*spans+1], indices and values uint16[m], Q float32[n, k], Y float32[rows, k]
@kernel(fastmath=True)
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
@kernel(fastmath=True)
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


@kernel(fastmath=True)
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


@kernel(fastmath=True, inline="always")
def _renewed(weights, targets, values, unit, k, x, momentum, sums):
    w, t = from_half(weights[k]), from_half(targets[k]) * unit
    sums[0] += t * x
    sums[1] += w * x * x
    new = t - w * x
    ahead = new + momentum * (new - from_half(values[k]) * unit)
    values[k] = to_half(new / unit)
    return ahead


# X float32[m]; weights, targets, values uint16[m]; sums float64[2] are added to
@kernel(fastmath=True)
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
