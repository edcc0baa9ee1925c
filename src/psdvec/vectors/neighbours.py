"""Exact nearest neighbours by cosine: blocked matrix products and a selection that sorts almost nothing.

:func:`nearest_rows` takes vectors (n, d), their lengths (n,) and unit query vectors (m, d), and returns for each query
the ids and cosines of its best rows, best first, ties in the order of their ids. Two block sizes bound the memory it
uses, whatever n and m, so vectors may be larger than memory and mapped from disk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Array, Bools, Float32s, Int64s
from psdvec.vectors.sparse import csr_of

QUERY_BLOCK = 256
ROW_BLOCK = 65_536
_GROUP = 64


@dataclass(frozen=True)
class Neighbours:
    """The best rows of each query.

    ``ids``: (m, k) int64. ``cosines``: (m, k) float32, in falling order along each row.
    """

    ids: Int64s
    cosines: Float32s


def lengths_of(vectors: Float32s) -> Float32s:
    """Return the Euclidean length of every row, with 1 in place of 0 so that one can divide by it.

    It is infinite where the square of a length is beyond float32.

    >>> lengths_of(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [5.0, 1.0]
    """
    lengths = np.empty(len(vectors), dtype=np.float32)
    with np.errstate(over="ignore"):
        for start in range(0, len(vectors), ROW_BLOCK):
            block = vectors[start : start + ROW_BLOCK]
            csr = csr_of(block)
            norms = np.linalg.norm(block, axis=1) if csr is None else np.sqrt(csr.multiply(csr).sum(axis=1))
            lengths[start : start + ROW_BLOCK] = norms
    lengths[lengths == 0] = 1
    return lengths


def nearest_rows(vectors: Float32s, lengths: Float32s, queries: Float32s, *, topn: int) -> Neighbours:
    """Find the ``topn`` rows of ``vectors`` with the largest cosine to each of the unit ``queries``.

    Parameters
    ----------
    vectors : (n, d) float32, possibly memory-mapped
    lengths : (n,) float32, from :func:`lengths_of`
    queries : (m, d) float32, rows of length 1
    topn : how many; all n if there are fewer

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 2], [3, 3]], dtype=np.float32)
    >>> nearest_rows(vectors, lengths_of(vectors), vectors[:1], topn=2).ids.tolist()
    [[0, 2]]
    """
    found = [
        _nearest_to_block(
            vectors, lengths, queries[start : start + QUERY_BLOCK], topn=min(topn, len(vectors))
        )
        for start in range(0, len(queries), QUERY_BLOCK)
    ]
    if not found:
        return Neighbours(np.empty((0, 0), dtype=np.int64), np.empty((0, 0), dtype=np.float32))
    return Neighbours(
        np.concatenate([part.ids for part in found]), np.concatenate([part.cosines for part in found])
    )


def _nearest_to_block(vectors: Float32s, lengths: Float32s, queries: Float32s, *, topn: int) -> Neighbours:
    ids = np.empty((len(queries), 0), dtype=np.int64)
    cosines = np.empty((len(queries), 0), dtype=np.float32)
    for start in range(0, len(vectors), ROW_BLOCK):
        stop = start + ROW_BLOCK
        scores = queries @ vectors[start:stop].T
        scores /= lengths[start:stop]
        columns = largest_columns(scores, topn)
        ids = np.concatenate([ids, columns + start], axis=1)
        cosines = np.concatenate([cosines, np.take_along_axis(scores, columns, axis=1)], axis=1)
        best = largest_columns(cosines, topn)
        ids, cosines = np.take_along_axis(ids, best, axis=1), np.take_along_axis(cosines, best, axis=1)
    return Neighbours(ids, cosines)


def largest_columns(scores: Float32s, k: int) -> Int64s:
    """Return for each row of ``scores`` the columns of its ``k`` largest entries, largest first.

    The k largest entries lie in the k groups of columns with the largest maxima, so only those are sorted.

    >>> largest_columns(np.array([[0.1, 0.9, 0.5]], dtype=np.float32), 2).tolist()
    [[1, 2]]
    """
    rows, columns = scores.shape
    k = min(k, columns)
    groups = columns // _GROUP
    if k == 0 or groups <= 2 * k:
        return _sort_columns(scores, np.broadcast_to(np.arange(columns), scores.shape), k)
    # Group g holds the columns g, g + groups, g + 2 * groups, ...; the columns left over are always candidates.
    maxima = scores[:, : groups * _GROUP].reshape(rows, _GROUP, groups).max(axis=1)
    kth = np.partition(maxima, groups - k, axis=1)[:, groups - k]
    candidates = np.argpartition(maxima, groups - k, axis=1)[:, groups - k :]
    members = (candidates[:, :, None] + groups * np.arange(_GROUP)).reshape(rows, -1)
    rest = np.broadcast_to(np.arange(groups * _GROUP, columns), (rows, columns - groups * _GROUP))
    chosen = _sort_columns(scores, np.concatenate([members, rest], axis=1), k)
    return _redo_tied_rows(scores, chosen, (maxima == kth[:, None]).sum(axis=1) > 1, k)


def _redo_tied_rows(scores: Float32s, chosen: Int64s, tied: Bools, k: int) -> Int64s:
    """Sort the whole row where several groups tie for the last place, so that ties always go to the lower id."""
    for row in np.flatnonzero(tied):
        line = scores[row : row + 1]
        chosen[row] = _sort_columns(line, np.arange(line.shape[1])[None, :], k)[0]
    return chosen


def _sort_columns(scores: Float32s, columns: Array, k: int) -> Int64s:
    """Sort the candidate ``columns`` of each row by falling score, then rising column, and keep the first ``k``."""
    columns = np.sort(columns, axis=1)
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(columns, order, axis=1).astype(np.int64, copy=False)
