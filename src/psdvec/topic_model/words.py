"""Words that name topics: what a topic raises, what it has for itself, and what lies near it."""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.topic_model.space import Space

RELEVANCE = 0.1  # λ of Sievert and Shirley 2014: 1 ranks by P(w | t), 0 by how much t raises w
_NAMED = 10  # words that name a topic at least
_SPARE = 1.6  # so many times as many are looked at, and those least like the others are left out
_POOL = 50  # words among which the exclusive ones are looked for


def top_words(space: Space, log_chances: Float64s, *, topn: int) -> list[list[str]]:
    """Return words that name each topic: what it raises, and what is alike.

    Of the words with the highest ``λ log P(w | t) + (1 - λ) log (P(w | t) / P(w))``, the one that is least like the
    others by its vector is left out, again and again; a topic of sport is not named by the month of its finals.
    """
    return [[space.words[i] for i in ids] for ids in top_ids(space, log_chances, topn=topn)]


def top_ids(space: Space, log_chances: Float64s, *, topn: int) -> list[Int64s]:
    """Return the numbers of these words, the most raised first."""
    most = max(topn, _NAMED)
    return [_alike(space, ids, most)[:topn] for ids in _raised(space, log_chances, topn=round(_SPARE * most))]


def _raised(space: Space, log_chances: Float64s, *, topn: int) -> list[Int64s]:
    """Return the words by λ; of words that score alike, the first of the vocabulary comes first."""
    scores = log_chances - (1 - RELEVANCE) * np.log(space.shares)[:, None]
    return [np.argsort(-column, kind="stable")[:topn] for column in scores.T]


def _alike(space: Space, ids: Int64s, most: int) -> Int64s:
    """Return at most ``most`` of the words ``ids``, in their order, without those least like the others."""
    own = space.centred[ids]
    own = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
    kept = np.arange(len(ids))
    while len(kept) > most:
        likeness = (own[kept] @ own[kept].T).sum(axis=1)
        kept = np.delete(kept, int(likeness.argmin()))
    return np.asarray(ids[kept])


def exclusive_words(space: Space, log_chances: Float64s, sizes: Float64s, *, topn: int) -> list[list[str]]:
    """Return the words among a topic's first fifty that are most surely of that topic and of no other."""
    joint = np.exp(log_chances) * sizes
    surely = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    pools = _raised(space, log_chances, topn=_POOL)
    return [
        [space.words[i] for i in ids[np.argsort(-surely[ids, k], kind="stable")[:topn]]]
        for k, ids in enumerate(pools)
    ]


def nearest_words(space: Space, vectors: Float32s, *, topn: int) -> list[list[str]]:
    """Return the words nearest to each topic's vector by cosine, both seen from the middle of all text."""
    own = space.centred / np.maximum(np.linalg.norm(space.centred, axis=1, keepdims=True), 1e-12)
    return [
        [space.words[i] for i in np.argsort(-column, kind="stable")[:topn]] for column in (own @ vectors.T).T
    ]
