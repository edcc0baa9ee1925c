"""What a search looks for: words and vectors with weights, read from the forms that gensim accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias, cast

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError

Query: TypeAlias = "str | Float32s | tuple[str | Float32s, float]"
Queries: TypeAlias = "Query | Sequence[Query]"


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
) -> Terms:
    """Return the terms of a search, given the ``ids`` of the words that can be answers, and what finds a vector."""
    terms: list[Float32s] = []
    weights: list[float] = []
    given: set[int] = set()
    for side, sign in ((positive, 1.0), (negative, -1.0)):
        for item in _as_list(side):
            key, weight = item if isinstance(item, tuple) else (item, sign)
            if isinstance(key, str):
                if key in ids:
                    given.add(ids[key])
                key = unit_vector(vector_of(key))
            terms.append(np.asarray(key, dtype=np.float32))
            weights.append(weight)
    if not any(weights):
        raise InputError("nothing to search for; give at least one word or vector")
    return Terms(np.stack(terms), np.array(weights, dtype=np.float32), frozenset(given))


def unit_vector(vector: Float32s) -> Float32s:
    """Return ``vector`` scaled to length 1; zeros stay zeros."""
    with np.errstate(over="ignore"):
        length = np.linalg.norm(vector)
    if np.isinf(length):  # its square is beyond float32
        length = np.linalg.norm(np.asarray(vector, np.float64))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _as_list(side: Queries) -> list[Query]:
    """Read one side of a query: a tuple of a key and a number is one weighted key, not two keys."""
    if isinstance(side, (str, np.ndarray)) or _is_weighted(side):
        return [cast(Query, side)]
    return list(cast("Sequence[Query]", side))


def _is_weighted(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Real)
