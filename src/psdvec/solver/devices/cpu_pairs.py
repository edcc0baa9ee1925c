"""The seen pairs of a problem, built for the CPU: where each pair is kept, how much memory that takes, its terms.

Frequent words meet nearly all others, so the first columns of the rows are dense panels, multiplied by BLAS, and only
the tail is sparse: at a density of about a third both take the same time. The loops are numba kernels, each row owned
by one thread, so that one thread and many give the same bits. Equations (5) to (8) of ``docs/theory.md``;
:mod:`psdvec.reference.rounds` defines what the kernels compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.counts.weighting import UNIT
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.problem import TILE, lay_out
from psdvec.solver.recipe import Recipe

BLOCKS = 128  # blocks of rows


@dataclass(frozen=True)
class Layout:
    """Which pairs are dense: the first ``widths[i]`` columns of row i, from ``starts[i]`` of the cells; (n,) int64.

    ``room`` is the number of pairs that row i of the tail may need, (n,) int64. ``cells`` is the number of pairs of
    the panels, seen or not.
    """

    widths: Int64s
    starts: Int64s
    room: Int64s
    cells: int


def panel_layout(counts: SparseCounts, n: int) -> Layout:
    """Return where the pairs of the first n words go."""
    squares, column_lengths = tile_pairs(counts.indptr, counts.indices, n, TILE)
    widths = lay_out(squares, n)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    lengths = np.diff(counts.indptr[: n + 1]) + column_lengths
    return Layout(widths, starts, np.minimum(lengths, n - widths), cells=int(widths.sum()))


def predicted_memory(counts: SparseCounts, n: int, *, columns: int) -> int:
    """Return the bytes of the pairs of ``n`` words, 16 for a sparse one and 12 for a dense one, and of the blocks.

    While the pairs are built, each directed one takes 16 bytes more, and there are no blocks yet.
    """
    places = panel_layout(counts, n)
    building = 16 * int(counts.indptr[n])
    return 16 * int(places.room.sum()) + 12 * places.cells + max(building, 4 * n * columns)


def build_pairs(
    counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
) -> dict[str, Any]:
    """Return the fields of :class:`psdvec.solver.devices.cpu.CpuPairs` for the first ``len(scales)`` words."""
    places = panel_layout(counts, scales.rho.size)
    indptr = np.concatenate([[0], np.cumsum(places.room)])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    terms = np.empty((indptr[-1], 2), np.float32)
    cells = [np.zeros(places.cells, np.float32) for _ in range(3)]
    panels = _panels(places, cells)
    level = np.sqrt(-0.5 * np.log(constants.smoothing)) * scales.emphases
    kept, squares = symmetric_terms_into(
        counts.indptr, counts.indices, directed_terms(counts, scales, constants, half=recipe.start == "half"),
        scales.rho.astype(np.float32), level.astype(np.float32), np.float32(recipe.relaxation),
        np.float32(recipe.negligible), (indptr, indices, terms, values), (places.starts, places.widths, *cells),
    )  # fmt: skip
    close_gaps_into(indptr, kept, indices, terms, values)
    for array in (indices, values):
        array.resize(indptr[-1], refcheck=False)
    terms.resize((indptr[-1], 2), refcheck=False)
    return {
        "squares": float(squares.sum()), "indptr": indptr, "indices": indices, "terms": terms, "values": values,
        "panels": panels,
    }  # fmt: skip


def directed_terms(counts: SparseCounts, scales: WordScales, constants: Constants, *, half: bool) -> Float32s:
    """Return the terms of the directed pairs of the first ``len(scales)`` words, a row per pair."""
    s, k = scales, constants
    terms = np.empty((int(counts.indptr[s.rho.size]), 4 if half else 3), np.float32)
    numbers = (s.row_sums, s.unigrams, s.frequencies / np.sqrt(k.total), s.majorisers, s.emphases, s.rho)
    directed_terms_into(
        counts.indptr, counts.indices, counts.values, 1 / UNIT,
        tuple(x.astype(np.float32) for x in numbers),
        tuple(np.float32(x) for x in (k.smoothing, k.background, k.exponent, k.cap, k.diagonal)), terms,
    )  # fmt: skip
    return terms


def _panels(places: Layout, cells: list[Float32s]) -> list[tuple[int, int, Float32s, Float32s, Float32s]]:
    """Cut the cells into panels, views of ``TILE`` rows each."""
    panels, n = [], places.widths.size
    for lo in range(0, n, TILE):
        hi, width = min(lo + TILE, n), int(places.widths[lo])
        if width:
            cut = slice(places.starts[lo], places.starts[lo] + (hi - lo) * width)
            weights, targets, values = (array[cut].reshape(hi - lo, width) for array in cells)
            panels.append((lo, hi, weights, targets, values))
    return panels


# indptr int64[n+1]; int64[BLOCKS+1] comes back
@numba.njit(nogil=True, cache=True)
def deal_rows(indptr, n):
    """Cut the first n rows into blocks with equally many pairs, so that any number of threads gets equal work."""
    shares = np.arange(1, BLOCKS) * (indptr[n] / BLOCKS)
    bounds = np.zeros(BLOCKS + 1, np.int64)
    bounds[1:-1] = np.minimum(np.searchsorted(indptr[: n + 1], shares), n)
    bounds[-1] = n
    return bounds


# indptr int64[>n], indices int32[nnz] rising in a row; int64[tiles, tiles] and int64[n] come back
@numba.njit(nogil=True, cache=True)
def tile_pairs(indptr, indices, n, tile):
    """Count the pairs of each (tile, tile) square, and of each column, among the first n words."""
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
    """Fill in :func:`psdvec.solver.pmi.pair_terms` of each directed pair among the first n words, in float32.

    The columns are its weights, targets and squares, and its shifts where there is a fourth.
    """
    r, u, f, a, s, rho = scales
    kappa, beta, exponent, C, diagonal = constants
    log_kappa, half, one = np.log(kappa), np.float32(0.5), np.float32(1)
    n = r.size
    bounds = deal_rows(indptr, n)
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
    differs from the background's by less than ``negligible`` are left out. Returns the number of pairs kept and
    Σ R G², by row. ``values`` are the targets, or where ``directed`` has a fourth column what the paper's start
    X = G/2 makes of them with this step: level_i level_j is half of log κ s_i s_j, but for its sign.
    """
    n = rho.size
    squares = np.zeros(n)
    kept = np.zeros(n, np.int64)
    bounds = deal_rows(indptr, n)
    for block in numba.prange(BLOCKS):
        lo, hi = bounds[block], bounds[block + 1]
        pointers, rows, places = _columns_of(indptr, indices, n, lo, hi)
        for i in range(lo, hi):
            column = slice(pointers[i - lo], pointers[i - lo + 1])
            kept[i], squares[i] = _merge_row(
                i, indptr, indices, rows[column], places[column], directed, rho, level, step, negligible, tail, panels
            )  # fmt: skip
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
    """Close the gaps between rows, so that each begins where the one before ends."""
    o = 0
    for i in range(lengths.size):
        k = indptr[i]
        indptr[i] = o
        for _ in range(lengths[i]):
            indices[o], terms[o, 0], terms[o, 1], values[o] = indices[k], terms[k, 0], terms[k, 1], values[k]
            o += 1
            k += 1
    indptr[lengths.size] = o
