"""Counting pairs of words, and adding count matrices, in numba: one row of the matrix after the other.

The text is ``tokens``, int32 ids with SENTENCE_END and GAP among them; ``positions`` holds the places of the first of
some consecutive words, then of the next, and so on, cut by ``starts``. A row is summed in a dense accumulator that is
small enough for the cache, and written out in order of its columns; each row is owned by one thread, so any number of
threads gives the same bytes. Twins in :mod:`psdvec.reference.counting`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from psdvec.kernels.hashing import SENTENCE_END

_AHEAD = 32
_ONE = np.uint64(1)
_SIX_BITS = np.uint64(58)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # its 64 windows of six bits are all different
_BIT_NUMBER = np.zeros(64, np.int64)
_BIT_NUMBER[(_DE_BRUIJN << np.arange(64, dtype=np.uint64)) >> _SIX_BITS] = np.arange(64)


@njit(nogil=True, cache=True, inline="always")
def _row_of(word, first, rows):
    """Return ``word - first``; ``rows`` for all that are none of them: asking would be guessed wrong too often."""
    return min(np.uint32(word - first), np.uint32(rows))


# tokens int32[t]; first int32; histogram int64[rows + 1] changed, its last number for all other words
@njit(nogil=True, cache=True)
def count_tokens_into(histogram, tokens, begin, end, first):
    """Add how often word ``first``, and each that follows it, occurs in ``tokens[begin:end]``."""
    rows = len(histogram) - 1
    for p in range(begin, end):
        histogram[_row_of(tokens[p], first, rows)] += 1


# cursors int64[rows + 1], changed: the next free place of each word; positions int32 out, its last place is anybody's
@njit(nogil=True, cache=True)
def place_positions_into(positions, cursors, tokens, begin, end, first):
    """Enter the places of word ``first``, and of those that follow it, in ``tokens[begin:end]`` into ``positions``."""
    rows = len(cursors) - 1
    for p in range(begin, end):
        row = _row_of(tokens[p], first, rows)
        positions[cursors[row]] = p
        cursors[row] += row < rows


# marks uint64[n/64 + 1]: a bit a column; tops uint64[n/4096 + 1]: a bit for each of the marks that is not 0
@njit(nogil=True, cache=True, inline="always")
def _mark(marks, tops, column):
    marks[column >> 6] |= _ONE << np.uint64(column & 63)
    tops[column >> 12] |= _ONE << np.uint64((column >> 6) & 63)


@njit(nogil=True, cache=True, inline="always")
def _lowest_bit(bits):
    """Return the lowest bit that is set, and its number."""
    bit = bits & (~bits + _ONE)
    return bit, _BIT_NUMBER[(bit * _DE_BRUIJN) >> _SIX_BITS]


# columns int32, values int64: out; sums int64[n], marks, tops: the row, zero afterwards
@njit(nogil=True, cache=True)
def _emit_row(columns, values, at, sums, marks, tops):
    """Write the marked cells in order of column, zeros left out; return the next free place."""
    for k in range(len(tops)):
        while tops[k]:
            top, number = _lowest_bit(tops[k])
            tops[k] ^= top
            block = (k << 6) + number
            bits = marks[block]
            marks[block] = np.uint64(0)
            while bits:
                bit, number = _lowest_bit(bits)
                bits ^= bit
                column = (block << 6) + number
                if sums[column] != 0:
                    columns[at] = column
                    values[at] = sums[column]
                    sums[column] = 0
                    at += 1
    return at


# weights int64[window], all positive; sizes int64[rows] out: cells of each row; returns the number of cells
@njit(nogil=True, cache=True)
def count_rows(tokens, positions, starts, begin, end, weights, sums, marks, tops, columns, values, sizes):
    """Count, for the context words of rows ``begin`` to ``end``, the words that follow them within the window.

    Places far apart cost a cache miss each; asking for _AHEAD of them at once lets the misses overlap.
    """
    at, fetched = 0, np.empty(_AHEAD, dtype=np.int32)
    for row in range(begin, end):
        for k in range(starts[row], starts[row + 1]):
            if (k - starts[row]) % _AHEAD == 0:
                for later in range(k, min(k + _AHEAD, starts[row + 1])):
                    fetched[later % _AHEAD] = tokens[positions[later]]
            p = positions[k] + 1
            for distance in range(min(len(weights), len(tokens) - p)):
                focus = tokens[p + distance]
                if focus >= 0:
                    sums[focus] += weights[distance]
                    _mark(marks, tops, focus)
                elif focus == SENTENCE_END:
                    break
        before = at
        at = _emit_row(columns, values, at, sums, marks, tops)
        sizes[row - begin] = at - before
    return at


# in_columns int32, in_values int64: cells of all parts end to end; bounds int64[parts, rows + 1]: where each row lies
@njit(nogil=True, cache=True)
def add_rows(in_columns, in_values, bounds, signs, sums, marks, tops, columns, values, sizes):
    """Add the same rows of several matrices, each taken ``signs[part]`` times."""
    at = 0
    for row in range(bounds.shape[1] - 1):
        for part in range(bounds.shape[0]):
            for k in range(bounds[part, row], bounds[part, row + 1]):
                column = in_columns[k]
                sums[column] += signs[part] * in_values[k]
                _mark(marks, tops, column)
        before = at
        at = _emit_row(columns, values, at, sums, marks, tops)
        sizes[row] = at - before
    return at


# indptr int64[n+1], in_columns int32, in_values int64; rows int64[m], -1 for none; column_map int32[n]
@njit(nogil=True, cache=True)
def gather_rows(indptr, in_columns, in_values, rows, column_map, columns, values):
    """Copy chosen rows end to end, their columns renamed by ``column_map``."""
    at = 0
    for row in rows:
        if row >= 0:
            for k in range(indptr[row], indptr[row + 1]):
                columns[at] = column_map[in_columns[k]]
                values[at] = in_values[k]
                at += 1
