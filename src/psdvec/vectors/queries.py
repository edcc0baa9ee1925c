"""What a search looks for: words and vectors with weights, read from the forms that gensim accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias, cast

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError
from psdvec.vectors.values import as_numbers

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
