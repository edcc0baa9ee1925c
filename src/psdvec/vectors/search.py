"""Rankings of all words by a search: what :class:`~psdvec.vectors.embeddings.Embeddings` answers, on plain arrays.

A search is a set of :class:`~psdvec.vectors.queries.Terms`. Its cosines with every word are either added (3CosAdd, the
default wherever an analogy is asked) or multiplied (3CosMul, Levy and Goldberg 2014). Vectors are (n, d) float32 with
their lengths (n,), of all words or of the first n only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float32s
from psdvec.vectors.neighbours import largest_columns, nearest_rows
from psdvec.vectors.queries import Terms, unit_vector

Ranking: TypeAlias = "list[tuple[str, float]]"
AnalogyMethod: TypeAlias = Literal["3cosadd", "3cosmul"]

ANALOGY: AnalogyMethod = "3cosadd"  # how an analogy is answered unless another way is asked for
COSMUL_EPSILON = 1e-6


def rank_by_sum(
    terms: Terms, words: Sequence[str], vectors: Float32s, lengths: Float32s, *, topn: int | None
) -> Ranking | Float32s:
    """Return the words nearest to the weighted mean of ``terms``; if ``topn`` is None, the cosines of all words."""
    weights = terms.weights
    mean = unit_vector((weights[:, None] * terms.vectors).sum(axis=0) / np.abs(weights).sum())
    if topn is None:
        return cosines_to(mean, vectors, lengths)
    found = nearest_rows(vectors, lengths, mean[None, :], topn=topn + len(terms.ids) if topn > 0 else 0)
    return _ranking(words, found.ids[0], found.cosines[0], terms.ids, topn)


def rank_by_product(
    terms: Terms, words: Sequence[str], vectors: Float32s, lengths: Float32s, *, topn: int | None
) -> Ranking | Float32s:
    """Return the words with the largest product of cosines, moved to [0, 1]; if ``topn`` is None, all products."""
    products: list[Float32s] = [np.ones(1, dtype=np.float32)] * 2
    for vector, weight in zip(terms.vectors, terms.weights, strict=True):
        side = int(weight < 0)
        products[side] = np.asarray(products[side] * (1 + cosines_to(vector, vectors, lengths)) / 2)
    scores = np.asarray(products[0] / (products[1] + COSMUL_EPSILON), dtype=np.float32)
    if topn is None:
        return scores
    best = largest_columns(scores[None, :], topn + len(terms.ids) if topn > 0 else 0)[0]
    return _ranking(words, best, scores[best], terms.ids, topn)


def rank_each(
    ids: Sequence[int],
    units: Float32s,
    words: Sequence[str],
    vectors: Float32s,
    lengths: Float32s,
    *,
    topn: int,
) -> list[Ranking]:
    """Return the neighbours of each of the words ``ids``, whose vectors of length 1 are ``units``."""
    found = nearest_rows(vectors, lengths, units, topn=topn + 1 if topn > 0 else 0)
    rows = zip(found.ids, found.cosines, ids, strict=True)
    return [_ranking(words, row, cosines, {own}, topn) for row, cosines, own in rows]


def cosines_to(unit: Float32s, vectors: Float32s, lengths: Float32s) -> Float32s:
    """Return the cosine of every row with ``unit``, a vector of length 1.

    >>> cosines_to(np.float32([1, 0]), np.float32([[3, 4], [0, 2]]), np.float32([5, 2])).round(2).tolist()
    [0.6000000238418579, 0.0]
    """
    return np.asarray(vectors @ unit / lengths)


def cosine(a: Float32s, b: Float32s) -> float:
    """Return the cosine of two vectors.

    >>> cosine(np.float32([2, 0]), np.float32([0, 1]))
    0.0
    """
    return float(unit_vector(a) @ unit_vector(b))


def _ranking(
    words: Sequence[str], ids: Iterable[int], scores: Float32s, given: Collection[int], topn: int
) -> Ranking:
    pairs = [(words[i], float(score)) for i, score in zip(ids, scores, strict=True) if i not in given]
    return pairs[:topn]
