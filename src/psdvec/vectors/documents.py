"""Several words as one: their weighted mean, and how far one text is from another.

Both functions are given ``vector_of``, which returns the vector of a word, (d,), or None if the word is to be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from psdvec.arrays import Float32s, Float64s
from psdvec.errors import InputError
from psdvec.vectors.queries import read_vector
from psdvec.vectors.values import as_numbers

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
