"""Exact nearest neighbours by cosine: blocked matrix products and a selection that sorts almost nothing.

:func:`nearest_rows` takes vectors (n, d), their lengths (n,) and unit query vectors (m, d), and returns for each query
the ids and cosines of its best rows, best first, ties in the order of their ids. Two block sizes bound the memory it
uses, whatever n and m, so vectors may be larger than memory and mapped from disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from psdvec.arrays import Array, Bools, Float32s, Float64s, Int64s
from psdvec.errors import InputError, demand_number
from psdvec.vectors.sparse import csr_of

# What makes a value of its parts: checking and comparing them.

_ROWS = 1024  # that are looked at together, so that they stay in the cache


def one_per_word(name: str, values: Any, n: int, dtype: type) -> Any:
    """Return ``values`` as an array (n,), or None if they are; refuse any other number of them.

    >>> one_per_word("counts", [5, 3], 2, np.int64).tolist()
    [5, 3]
    """
    if values is None:
        return None
    if np.shape(values) != (n,):
        raise InputError(
            f"{name} must hold one number per word; found shape {np.shape(values)} for {n} words"
        )
    return as_numbers(name, values, dtype)


def as_numbers(name: str, values: Any, dtype: type) -> Any:
    """Return ``values`` as an array of ``dtype``; refuse what would become something else by that.

    Fewer digits are fine; texts, complex numbers, and fractions in place of whole numbers are not.

    >>> as_numbers("vectors", [[1, 2]], np.float32).dtype
    dtype('float32')
    """
    given = np.asarray(values)
    if given.dtype == dtype:
        return given
    if given.dtype.kind not in "biuf" and given.size:
        raise InputError(f"{name} are of type {given.dtype}; give real numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers: Any = given.astype(dtype)
    if numbers.dtype.kind == "i" and not np.array_equal(numbers, given):
        raise InputError(f"{name} are not all whole numbers of 64 bits; give whole numbers")
    return numbers


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


def same(a: Any, b: Any) -> bool:
    """Say whether two parts are equal; of arrays, every number is, and NaN equals NaN.

    >>> same(np.array([1, np.nan]), np.array([1, np.nan])), same(np.ones(2), None)
    (True, False)
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return bool(np.all(a is b or a == b))
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))


# What a search looks for: words and vectors with weights, read from the forms that gensim accepts.

Query: TypeAlias = str | Float32s | tuple[str | Float32s, float]
Queries: TypeAlias = Query | Iterable[Query] | None


@dataclass(frozen=True)
class Terms:
    """The terms of a search.

    ``vectors``: (k, d) float32, those of words scaled to length 1. ``weights``: (k,) float32, negative for terms to
    stay away from. ``ids``: the words among them, which are left out of the answer.
    """

    vectors: Float32s
    weights: Float32s
    ids: frozenset[int]


def read_query(
    positive: Queries,
    negative: Queries,
    *,
    ids: Mapping[str, int],
    vector_of: Callable[[str], Float32s],
    dim: int,
) -> Terms:
    """Return the terms of a search, given the ``ids`` of the words that can be answers, and what finds a vector."""
    terms: list[Float32s] = []
    weights: list[float] = []
    given: set[int] = set()
    for side, sign in ((positive, 1.0), (negative, -1.0)):
        for item in _as_list(side):
            key, weight = cast("tuple[str | Float32s, float]", item) if _is_weighted(item) else (item, sign)
            if isinstance(key, str):
                if key in ids:
                    given.add(ids[key])
                terms.append(unit_vector(vector_of(key)))
            else:
                terms.append(read_vector(key, dim))
            weights.append(float(weight))
    if not np.isfinite(weights).all():
        raise InputError("a weight is not a finite number; give numbers, such as 1 and -1")
    if not any(weights):
        raise InputError("nothing to search for; give at least one word or vector")
    return Terms(np.stack(terms), np.array(weights, dtype=np.float32), frozenset(given))


def read_vector(vector: object, dim: int) -> Float32s:
    """Return a vector that was given among words; refuse what is no vector of ``dim`` finite numbers.

    >>> read_vector([1, 0], 2).tolist()
    [1.0, 0.0]
    """
    try:
        found: Float32s = as_numbers("the numbers of a vector", vector, np.float32)
    except ValueError as error:  # lists of several lengths
        raise InputError(
            "a vector was given as lists of several lengths; give one list of numbers"
        ) from error
    if found.shape != (dim,):
        raise InputError(
            f"a vector has shape {found.shape} where words have {dim} dimensions; give {dim} numbers"
        )
    if not np.isfinite(found).all():
        raise InputError("a vector holds a number that is not finite; give finite numbers")
    return found


def unit_vector(vector: Float32s) -> Float32s:
    """Return ``vector`` scaled to length 1; zeros stay zeros."""
    with np.errstate(over="ignore"):
        length = np.linalg.norm(vector)
    if np.isinf(length):  # its square is beyond float32
        length = np.linalg.norm(np.asarray(vector, np.float64))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _as_list(side: Queries) -> list[Query]:
    """Read one side of a query: a tuple of a key and a number is one weighted key, not two keys; None is nothing."""
    if side is None:
        return []
    if isinstance(side, (str, np.ndarray)) or _is_weighted(side):
        return [cast(Query, side)]
    if isinstance(side, bytes | Mapping) or not isinstance(side, Iterable):
        raise InputError(
            f"nothing can be searched for by a {type(side).__name__}; give a word, a vector, or a list of these"
        )
    return list(cast("Sequence[Query]", side))


def _is_weighted(item: object) -> bool:
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], Real):
        return False
    return isinstance(item[0], str) or np.ndim(item[0]) == 1


# How far the cosine of two word vectors, and a vector itself, can be trusted, from the standard deviations.

FAR = 0.5  # the cosine of a vector with the true one below which it points elsewhere
ENOUGH = 40  # occurrences from which no word is thin
USUAL = 130  # occurrences of words whose vectors err by their deviation in the median; measured, as is SPREAD
SPREAD = 1.5  # what 1 word of 40 errs by or more, over the median


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
    """Return the bounds of the ``cosine`` of two ``words``, or say why they have none.

    ``deviations`` and ``lengths``, (2,), are those of the two vectors, as for :func:`cosine_interval`.

    >>> similarity_interval(1.0, ("a", "a"), deviations=np.array([0.1, 0.1]), lengths=np.ones(2), confidence=0.9).low
    1.0
    """
    if not 0 < demand_number(confidence, "confidence") < 1:
        raise InputError(f"the confidence is {confidence}; give a number between 0 and 1, such as 0.95")
    if deviations is None:
        raise InputError(
            "these vectors have no deviations, which an interval needs; ask for the similarity without an "
            "interval, or fit vectors with psdvec"
        )
    a, b = words
    if np.isnan(deviations).all():
        raise InputError(
            f"'{a}' and '{b}' have no deviation; words have one that psdvec fitted or placed; ask for the similarity "
            "without an interval"
        )
    if a == b:
        return Interval(cosine, cosine, cosine)
    return cosine_interval(cosine, deviations=deviations, lengths=lengths, confidence=confidence)


def cosine_interval(cosine: float, *, deviations: Float32s, lengths: Float32s, confidence: float) -> Interval:
    """Return the bounds of the ``cosine`` of two vectors, by the delta method.

    With s_a and s_b the ``deviations`` of the two vectors, (2,), and |a| and |b| their ``lengths``, (2,), the angle θ
    between them varies by ``Var θ = s_a² / |a|² + s_b² / |b|²``. The bounds are ``cos(θ ± z √Var θ)``, which never
    leave [-1, 1]. A deviation that is not a number counts as 0.

    >>> bounds = cosine_interval(0.0, deviations=np.array([0.1, 0.0]), lengths=np.ones(2), confidence=0.95)
    >>> round(bounds.low, 3), round(bounds.high, 3)
    (-0.195, 0.195)
    """
    angle = np.arccos(np.clip(cosine, -1, 1))
    with np.errstate(over="ignore"):
        spread = float(np.hypot(*(np.nan_to_num(deviations) / lengths)))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
    return Interval(cosine, float(np.cos(min(angle + reach, np.pi))), float(np.cos(max(angle - reach, 0.0))))


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


# Several words as one: their weighted mean, and how far one text is from another.

VectorOf = Callable[[str], Float32s | None]


def mean_vector(
    keys: Sequence[str | Float32s],
    weights: Sequence[float] | Float32s | None,
    *,
    vector_of: VectorOf,
    dim: int,
) -> Float32s:
    """Return the weighted sum of words and vectors, divided by the sum of the sizes of the weights.

    If nothing is left to add, it is a vector of zeros.

    >>> mean_vector([np.float32([1, 0]), np.float32([0, 1])], [3, -1], vector_of=lambda word: None, dim=2).tolist()
    [0.75, -0.25]
    """
    if not isinstance(keys, (list, tuple)):
        if isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
            raise InputError(f"the words are {keys!r:.60}; give a list of words or vectors")
        keys = list(keys)
    if not keys:
        raise InputError("there are no words to take the mean of; give a list of at least one word or vector")
    weights = [1.0] * len(keys) if weights is None else _checked_weights(weights, len(keys))
    total, size = np.zeros(dim, dtype=np.float32), 0.0
    for key, weight in zip(keys, weights, strict=True):
        vector = vector_of(key) if isinstance(key, str) else read_vector(key, dim)
        if vector is not None:
            total += np.float32(weight) * vector
            size += abs(float(weight))
    return np.asarray(total / (size or 1), dtype=np.float32)


def _checked_weights(weights: Sequence[float] | Float32s, words: int) -> list[float]:
    found: Float64s = as_numbers("weights", weights, np.float64)
    if found.shape != (words,):
        raise InputError(f"{found.size} weights were given for {words} words; give one for each")
    if not np.isfinite(found).all():
        raise InputError("a weight is not a finite number; give finite weights")
    return [float(weight) for weight in found]


def movers_distance(first: Iterable[str], second: Iterable[str], *, vector_of: VectorOf) -> float:
    """Return the Word Mover's Distance of two texts (Kusner et al. 2015), given as lists of words.

    Each word's share of its text has to travel to the words of the other text; the distance is the least that all of it
    can travel together, found exactly by a linear programme. That has a variable for each pair of words, so it suits
    sentences and paragraphs rather than books. It is infinite if a text has no word with a vector.

    >>> places = {"here": np.float32([0, 0]), "near": np.float32([0, 1]), "far": np.float32([3, 4])}
    >>> movers_distance(["here"], ["near", "far", "nowhere"], vector_of=places.get)
    3.0
    """
    if isinstance(first, str) or isinstance(second, str):
        raise InputError("a text was given as one string; give a list of words, such as text.split()")
    texts = [_shares(text, vector_of) for text in (first, second)]
    if any(not len(shares) for _, shares in texts):
        return float("inf")
    return _least_distance(*texts)


def _shares(words: Iterable[str], vector_of: VectorOf) -> tuple[Float32s, Float64s]:
    """Return the vectors (m, d) of the different words that have one, and the share (m,) of each in the text."""
    found = [
        (vector, count) for word, count in Counter(words).items() if (vector := vector_of(word)) is not None
    ]
    shares = np.array([count for _, count in found], dtype=np.float64)
    return np.array([vector for vector, _ in found], dtype=np.float32), shares / shares.sum()


def _least_distance(first: tuple[Float32s, Float64s], second: tuple[Float32s, Float64s]) -> float:
    from scipy import sparse
    from scipy.optimize import linprog
    from scipy.spatial.distance import cdist

    m, n = len(first[0]), len(second[0])
    leaving = sparse.kron(sparse.eye_array(m), np.ones((1, n)), format="csr")
    arriving = sparse.kron(np.ones((1, m)), sparse.eye_array(n), format="csr")
    # What arrives at the last word follows from the rest, and rounding could make an equation for it contradict them.
    plan = linprog(
        cdist(first[0], second[0]).ravel(),
        A_eq=sparse.vstack([leaving, arriving[:-1]]),
        b_eq=np.concatenate([first[1], second[1][:-1]]),
        method="highs",
    )
    if not plan.success:
        raise InputError(f"the distance of the two texts was not found ({plan.message}); give shorter texts")
    return max(float(plan.fun), 0.0)


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
