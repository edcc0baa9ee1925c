"""Exact nearest neighbours by cosine: blocked matrix products and a selection that sorts almost nothing.

:func:`nearest_rows` takes vectors (n, d), their lengths (n,) and unit query vectors (m, d), and returns for each query
the ids and cosines of its best rows, best first, ties in the order of their ids. Two block sizes bound the memory it
uses, whatever n and m, so vectors may be larger than memory and mapped from disk. Vectors that are mostly zeros come as
:class:`SparseRows`, which has the few operations that are needed of a NumPy matrix; products are dense, one block at a
time, and the whole matrix never is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, cast

import numpy as np

from psdvec.arrays import Array, Bools, Codes, Float32s, Float64s, Int64s
from psdvec.errors import InputError, demand_number

_ROWS = 1024  # that are looked at together, so that they stay in the cache


def rows_not_finite(vectors: Float32s) -> Iterator[int]:
    """Yield the ids of rows that hold a number that is not finite.

    >>> list(rows_not_finite(np.array([[1, 2], [np.nan, 0]], np.float32)))
    [1]
    """
    csr = csr_of(vectors)
    if csr is not None:
        places = np.flatnonzero(~np.isfinite(csr.data))
        yield from np.unique(np.searchsorted(csr.indptr, places, side="right") - 1).tolist()
        return
    for start in range(0, len(vectors), _ROWS):
        finite = np.isfinite(vectors[start : start + _ROWS])
        if not finite.all():
            yield from (start + np.flatnonzero(~finite.all(axis=1))).tolist()


# How far the cosine of two word vectors, and a vector itself, can be trusted, from the standard deviations.

FAR = 0.5  # the cosine of a vector with the true one below which it points elsewhere
ENOUGH = 40  # occurrences from which no word is thin
USUAL = 130  # occurrences of words whose vectors err by their deviation in the median; measured, as is SPREAD
SPREAD = 1.5  # what 1 word of 40 errs by or more, over the median
NEAR = 0.027  # times c (1 - c): variance of an angle beside that of deviations; see docs/results/intervals.md
TAIL = 30  # times as many neighbours, from whose angle follows how fast their number grows


class Interval(NamedTuple):
    """A similarity and the bounds within which it lies, with the confidence that was asked for."""

    value: float
    low: float
    high: float


def similarity_interval(
    cosine: float,
    words: tuple[str, str],
    *,
    deviations: Float32s | None,
    lengths: Float32s,
    confidence: float,
) -> Interval:
    """Return the bounds of the ``cosine`` of two ``words``, by the delta method, or say why they have none.

    With θ the angle, ``deviations`` (2,) and ``lengths`` (2,) of the two vectors, and Var θ as in
    :func:`angle_variances`, the bounds are ``cos(θ ± z √Var θ)``, which never leave [-1, 1]. A deviation that is not a
    number counts as 0.

    >>> known = {"deviations": np.array([0.1, 0.0]), "lengths": np.ones(2), "confidence": 0.95}
    >>> bounds = similarity_interval(0.0, ("a", "b"), **known)
    >>> round(bounds.low, 3), round(bounds.high, 3), similarity_interval(1.0, ("a", "a"), **known).low
    (-0.195, 0.195, 1.0)
    """
    z = _quantile(confidence)
    a, b = words
    if np.isnan(need_deviations(deviations)).all():
        raise InputError(
            f"'{a}' and '{b}' have no deviation; words have one that psdvec fitted or placed; ask for the similarity "
            "without an interval"
        )
    if a == b:
        return Interval(cosine, cosine, cosine)
    with np.errstate(over="ignore"):
        one, other = np.nan_to_num(need_deviations(deviations)) / lengths
    angle = np.arccos(np.clip(cosine, -1, 1))
    reach = z * float(np.sqrt(angle_variances(np.array([cosine]), one, np.array([other]))[0]))
    return Interval(cosine, float(np.cos(min(angle + reach, np.pi))), float(np.cos(max(angle - reach, 0.0))))


def neighbour_intervals(
    cosines: Float64s, spread: float, spreads: Float64s, *, confidence: float
) -> list[Interval]:
    """Return the bounds of the first k of the falling ``cosines`` of a word with all that are nearest to it.

    Words are nearest partly by chance. If the number of words within an angle θ grows as ``exp(λθ)``, an angle that was
    measured with variance V is larger by λV in the mean, equation (12b), and still has variance V. λ at the i-th angle
    is ``log 30 / (θ_30i - θ_i)``, or less where there are fewer words. The bounds always hold the cosine.

    Parameters
    ----------
    cosines : (m,), of 30 k neighbours, or of as many as there are
    spread, spreads : s / |v| of the word, and of its first k neighbours (k,)
    confidence : such as 0.95

    Examples
    --------
    >>> cosines = np.array([0.6, 0.5, 0.4, 0.3])
    >>> first, second = neighbour_intervals(cosines, 0.05, np.array([0.05, 0.05]), confidence=0.95)
    >>> bool(first.high - first.value < first.value - first.low)
    True
    """
    z, k = _quantile(confidence), len(spreads)
    angles = np.arccos(np.clip(cosines, -1, 1))
    variances = angle_variances(cosines[:k], spread, spreads)
    ranks = np.arange(1, k + 1)
    farther = np.minimum(TAIL * ranks, len(cosines))
    growth = np.log(farther / ranks) / np.maximum(angles[farther - 1] - angles[:k], 1e-9)
    reach = z * np.sqrt(variances)
    true = angles[:k] + np.minimum(growth * variances, reach)
    low, high = np.cos(np.minimum(true + reach, np.pi)), np.cos(np.maximum(true - reach, 0.0))
    return [Interval(*each) for each in zip(cosines[:k].tolist(), low.tolist(), high.tolist(), strict=True)]


def angle_variances(cosines: Float64s, spread: float, spreads: Float64s) -> Float64s:
    """Return ``Var θ = s_a² / |a|² + s_b² / |b|² + 0.027 c (1 - c)`` of the angles of a word with others, (k,).

    ``spread`` and ``spreads`` (k,) are s / |v|. The last term, of a cosine c > 0 alone, is that of words which are near
    each other: how near differs from article to article, beyond what the words' own deviations say.

    >>> angle_variances(np.array([0.0, 0.5]), 0.1, np.array([0.0, 0.0])).round(3).tolist()
    [0.01, 0.017]
    """
    near = np.clip(cosines, 0, 1)
    with np.errstate(over="ignore"):
        return np.asarray(spread**2 + np.square(spreads) + NEAR * near * (1 - near), np.float64)


def need_deviations(deviations: Float32s | None) -> Float32s:
    """Return ``deviations``, or say that there are none."""
    if deviations is None:
        raise InputError(
            "these vectors have no deviations, which an interval needs; ask for the similarity without an "
            "interval, or fit vectors with psdvec"
        )
    return deviations


def _quantile(confidence: float) -> float:
    """Return how many standard deviations hold a normal variable with this confidence."""
    if not 0 < demand_number(confidence, "confidence") < 1:
        raise InputError(f"the confidence is {confidence}; give a number between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def may_point_elsewhere(deviations: Float32s, lengths: Float32s, counts: Int64s | None, *, dim: int) -> Bools:
    """Say of each vector whether the 95 % interval of its cosine with the true one reaches below 0.5.

    The error of a vector v has the length s √d, with s its deviation, and is almost at a right angle to it, so that the
    tangent of the angle to the true vector is ``t = s √d / |v|``. Words seldom seen err by more than s says, frequent
    ones by less, hence ``t (130 / c)^¼`` for a word seen c times, and 1.5 times that for one word of 40. A vector may
    point elsewhere where ``1.5 (130 / c)^¼ t > √3``, the tangent that belongs to the cosine 0.5. With unknown
    ``counts`` c is taken as 130; a word never seen counts as seen once. A deviation that is not a number is none. From
    40 occurrences on no word is thin: in a small text deviations are too large, and would mark every word.

    The two numbers and the exponent were chosen on 500 words of enwiki-38m, placed from one line in eight and again
    from the whole, which stands for the truth. Checked on 469 of the same words placed from one line in fifty: with
    spelling 111 are thin, 11 of those have a cosine below 0.5, and none of the others has; without it 440 are thin, 359
    of those are below 0.5, and 1 of the other 29. Without spelling, words seen fewer than 20 times err by more still.

    >>> one = np.ones(3, np.float32)
    >>> may_point_elsewhere(0.07 * one, one, np.array([5, 50, 500]), dim=100).tolist()
    [True, False, False]
    """
    with np.errstate(over="ignore"):
        tangents = deviations * np.sqrt(dim) / lengths
        if counts is None:
            return np.asarray(SPREAD * tangents > np.sqrt(1 / FAR**2 - 1))
        tangents = tangents * (USUAL / np.maximum(counts, 1)) ** 0.25
        return np.asarray((SPREAD * tangents > np.sqrt(1 / FAR**2 - 1)) & (counts < ENOUGH))


def least_distance(vectors: tuple[Float32s, Float32s], shares: tuple[Float64s, Float64s]) -> float:
    """Return the Word Mover's Distance of two texts (Kusner et al. 2015): of ``vectors`` (m, d), (n, d) and ``shares``.

    Each word's share of its text has to travel to the words of the other text; the distance is the least that all of it
    can travel together, found exactly by a linear programme. That has a variable for each pair of words, so it suits
    sentences and paragraphs rather than books.

    >>> least_distance((np.zeros((1, 2)), np.array([[0, 1], [3, 4]])), (np.ones(1), np.array([0.5, 0.5])))
    3.0
    """
    from scipy import sparse
    from scipy.optimize import linprog
    from scipy.spatial.distance import cdist

    m, n = map(len, vectors)
    leaving = sparse.kron(sparse.eye_array(m), np.ones((1, n)), format="csr")
    arriving = sparse.kron(np.ones((1, m)), sparse.eye_array(n), format="csr")
    # What arrives at the last word follows from the rest, and rounding could make an equation for it contradict them.
    solution = linprog(
        cdist(*vectors).ravel(),
        A_eq=sparse.vstack([leaving, arriving[:-1]]),
        b_eq=np.concatenate([shares[0], shares[1][:-1]]),
        method="highs",
    )
    if not solution.success:
        raise InputError(
            f"the distance of the two texts was not found ({solution.message}); give shorter texts"
        )
    return max(float(solution.fun), 0.0)


QUERY_BLOCK = 256
ROW_BLOCK = 65_536
_GROUP = 64


class Neighbours(NamedTuple):
    """The best rows of each query: ``ids`` (m, k) int64, ``cosines`` (m, k) float32, falling along each row."""

    ids: Int64s
    cosines: Float32s


def unit_vector(vector: Float32s) -> Float32s:
    """Return ``vector`` scaled to length 1; zeros stay zeros."""
    with np.errstate(over="ignore"):
        length: np.floating[Any] = np.linalg.norm(vector)
    if np.isinf(length):  # its square is beyond float32
        length = np.linalg.norm(np.asarray(vector, np.float64))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def lengths_of(vectors: Float32s) -> Float32s:
    """Return the Euclidean length of every row as :func:`norms_of` does, but 1 in place of 0, to divide by it.

    >>> lengths_of(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [5.0, 1.0]
    """
    norms = norms_of(vectors)
    norms[norms == 0] = 1
    return norms


def norms_of(vectors: Float32s) -> Float32s:
    """Return the Euclidean length of every row; it is infinite where its square is beyond float32.

    >>> norms_of(np.array([[3, 4], [0, 0]], dtype=np.float32)).tolist()
    [5.0, 0.0]
    """
    lengths = np.empty(len(vectors), dtype=np.float32)
    with np.errstate(over="ignore"):
        for start in range(0, len(vectors), ROW_BLOCK):
            block = vectors[start : start + ROW_BLOCK]
            csr = csr_of(block)
            norms = np.linalg.norm(block, axis=1) if csr is None else np.sqrt(csr.multiply(csr).sum(axis=1))
            lengths[start : start + ROW_BLOCK] = norms
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
    k = min(topn, len(vectors))
    found = Neighbours(np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32))
    for start in range(0, len(queries), QUERY_BLOCK):
        block = slice(start, start + QUERY_BLOCK)
        found.ids[block], found.cosines[block] = _nearest_to_block(vectors, lengths, queries[block], topn=k)
    return found


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
    for row in np.flatnonzero((maxima == kth[:, None]).sum(axis=1) > 1):
        # Several groups tie for the last place: only sorting the whole row gives ties to the lower id.
        chosen[row] = _sort_columns(scores[row : row + 1], np.arange(columns)[None, :], k)[0]
    return chosen


def _sort_columns(scores: Float32s, columns: Array, k: int) -> Int64s:
    """Sort the candidate ``columns`` of each row by falling score, then rising column, and keep the first ``k``."""
    columns = np.sort(columns, axis=1)
    values = np.take_along_axis(scores, columns, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(columns, order, axis=1).astype(np.int64, copy=False)


def name_rows(
    words: Sequence[str], ids: Int64s, scores: Float32s, *, without: Collection[int], topn: int
) -> list[tuple[str, float]]:
    """Return the words with these ``ids``, each with its score, but those ``without``; the first ``topn``."""
    named = [(words[i], float(score)) for i, score in zip(ids, scores, strict=True) if i not in without]
    return named[: max(topn, 0)]


def sparse_vectors(matrix: Any) -> Float32s:
    """Return the rows of a CSR matrix as vectors for :class:`~psdvec.vectors.embeddings.Embeddings`.

    >>> from scipy import sparse
    >>> len(sparse_vectors(sparse.csr_array(np.eye(3))))
    3
    """
    return cast(Float32s, SparseRows(matrix.astype(np.float32, copy=False)))


def csr_of(vectors: Any) -> Any:
    """Return the CSR matrix of sparse vectors, or None for dense ones."""
    return vectors.matrix if isinstance(vectors, SparseRows) else None


class SparseRows:
    """An (n, d) matrix stored by rows; ``matrix`` is the CSR array that it wraps."""

    ndim = 2
    __array_ufunc__ = None  # so that ``dense @ rows`` calls ``__rmatmul__``

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def T(self) -> SparseRows:  # noqa: N802
        """The transpose, to multiply by."""
        return SparseRows(self.matrix.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Return one row as a dense vector, or several as sparse rows."""
        if isinstance(rows, int | np.integer):
            return self.matrix[[int(rows)]].toarray()[0]
        return SparseRows(self.matrix[rows])

    def __truediv__(self, column: Float32s) -> SparseRows:
        """Divide each row by its entry of ``column``, (n, 1)."""
        return SparseRows(self.matrix.multiply(1 / column).tocsr())

    def __matmul__(self, other: Any) -> Float32s:
        product = self.matrix @ (other.matrix if isinstance(other, SparseRows) else other)
        return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float32)

    def __rmatmul__(self, other: Float32s) -> Float32s:
        return np.asarray((self.matrix.T @ other.T).T, dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix.toarray(), dtype=dtype)

    def mean(self, axis: int) -> Float32s:
        """Return the mean of all rows (``axis`` 0) as a dense vector."""
        return np.asarray(self.matrix.mean(axis=axis), dtype=np.float32)


def eight_bit_vectors(codes: Codes, steps: Float32s) -> Float32s:
    """Return rows in eight bits as vectors for :class:`~psdvec.vectors.embeddings.Embeddings`.

    >>> eight_bit_vectors(np.array([[2, -4]], np.int8), np.array([0.5], np.float32))[0].tolist()
    [1.0, -2.0]
    """
    return cast(Float32s, EightBitRows(codes, steps))


def is_wrapped(vectors: Any) -> bool:
    """Say whether vectors are a matrix of our own kind, sparse or in eight bits, rather than an array."""
    return isinstance(vectors, (SparseRows, EightBitRows))


def eight_bits_of(vectors: Any) -> EightBitRows | None:
    """Return vectors that are in eight bits as such, or None for others."""
    return vectors if isinstance(vectors, EightBitRows) else None


class EightBitRows:
    """An (n, d) matrix in eight bits, perhaps mapped: row i is ``steps[i]`` times ``codes[i]``.

    Rows become float32 when they are looked at; slices stay as they are. ``codes`` (n, d) int8, ``steps`` (n,) float32.
    """

    ndim = 2
    dtype = np.dtype(np.float32)
    itemsize = dtype.itemsize

    def __init__(self, codes: Codes, steps: Float32s) -> None:
        self.codes, self.steps = codes, steps

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.codes.shape[0]), int(self.codes.shape[1])

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return self.codes.size

    @property
    def T(self) -> Float32s:  # noqa: N802
        """The transpose, in float32."""
        return np.asarray(self).T

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Any:
        """Return a slice as rows in eight bits, and one row or several named ones in float32."""
        if isinstance(rows, slice):
            return EightBitRows(self.codes[rows], self.steps[rows])
        return (
            self.codes[rows] * self.steps[rows, None]
            if np.ndim(rows)
            else self.codes[rows] * self.steps[rows]
        )

    def __matmul__(self, other: Float32s) -> Float32s:
        blocks = range(0, len(self), ROW_BLOCK)
        return np.concatenate([np.asarray(self[start : start + ROW_BLOCK]) @ other for start in blocks])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.codes * self.steps[:, None], dtype=dtype)

    def mean(self, axis: int) -> Float32s:
        """Return the mean along an ``axis``."""
        return np.asarray(np.asarray(self).mean(axis=axis), np.float32)
