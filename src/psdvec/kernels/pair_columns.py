"""A count store by columns: their sums and lengths, and the pairs of some of them, gathered in one pass over the rows.

A store holds its pairs by rows. To put both directions of a pair together, the columns of the same words are needed;
threads gather them, each from its own range of rows, and what comes out does not depend on how many there are.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel


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
