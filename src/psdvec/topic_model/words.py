"""Words that name topics: what a topic raises, what it has for itself, and what lies near it."""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.topic_model.space import Space

RELEVANCE = 0.3  # λ of Sievert and Shirley 2014: 1 ranks by P(w | t), 0 by how much t raises w
_POOL = 50  # words among which the exclusive ones are looked for


def top_words(space: Space, log_chances: Float64s, *, topn: int) -> list[list[str]]:
    """Return the words of each topic by ``λ log P(w | t) + (1 - λ) log (P(w | t) / P(w))``."""
    return [[space.words[i] for i in ids] for ids in top_ids(space, log_chances, topn=topn)]


def top_ids(space: Space, log_chances: Float64s, *, topn: int) -> list[Int64s]:
    """Return the numbers of these words; of words that score alike, the first of the vocabulary comes first."""
    scores = log_chances - (1 - RELEVANCE) * np.log(space.shares)[:, None]
    return [np.argsort(-column, kind="stable")[:topn] for column in scores.T]


def exclusive_words(space: Space, log_chances: Float64s, sizes: Float64s, *, topn: int) -> list[list[str]]:
    """Return the words among a topic's first fifty that are most surely of that topic and of no other."""
    joint = np.exp(log_chances) * sizes
    surely = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    pools = top_ids(space, log_chances, topn=_POOL)
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
