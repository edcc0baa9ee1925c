"""Where topics begin: documents as vectors, clustered on the sphere.

A document's vector is the sum of its words' vectors, each weighted by ``log(1 + n) · idf``, less the mean of all
documents. By itself this is the quick way to topics, and a base line for the slow one.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.space import Space

_ROUNDS = 40


def document_vectors(documents: Documents, space: Space) -> Float64s:
    """Return a unit vector for each document, (m, d); zeros for one without any known word."""
    from scipy import sparse

    starts, words, counts = documents.counted
    spread = np.bincount(words, minlength=len(space.words))
    idf = np.log(len(documents) / np.maximum(spread, 1))
    shape = (len(documents), len(space.words))
    mixing = sparse.csr_array((np.log1p(counts) * idf[words], words, starts), shape=shape)
    found = mixing @ space.centred
    found -= found.mean(axis=0)
    found[np.diff(starts) == 0] = 0.0
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12))


def seeded_centres(
    documents: Documents, units: Float64s, space: Space, seeds: Float64s, *, clusters: int
) -> Float64s:
    """Return the centres that ``seeds`` (g, n), shares of seed words, stand for: (g, d), of length 1.

    A centre is the mean of the documents that have most of the seed words and lie nearest to them: half as many as a
    cluster has on average. Words alone lie far from all documents, and others would begin among theirs.
    """
    from scipy import sparse

    directions = seeds @ space.centred
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    starts, words, _ = documents.counted
    has = sparse.csr_array((np.ones(len(words)), words, starts), shape=(len(documents), len(space.words)))
    scores = has @ seeds.T + units @ directions.T
    nearest = np.argsort(-scores, axis=0, kind="stable")[: max(len(documents) // (2 * clusters), 1)]
    centres = units[nearest].sum(axis=0)
    return np.asarray(centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12))


def cluster(units: Float64s, clusters: int, *, seed: int, given: Float64s | None = None) -> Int64s:
    """Return the cluster of each row by spherical k-means, its first centres drawn by greedy k-means++.

    ``given`` (g, d) are the first g centres, where they are known. Where rows are all alike, some clusters are empty.
    """
    centres = _first_centres(units, clusters, seed=seed, given=given)
    owners = np.full(len(units), -1)
    for _ in range(_ROUNDS):
        last, owners = owners, np.argmax(units @ centres.T, axis=1)
        if (owners == last).all():
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, owners, units)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return np.asarray(owners, dtype=np.int64)


def _first_centres(units: Float64s, clusters: int, *, seed: int, given: Float64s | None) -> Float64s:
    """Return rows that are far from one another: of a few that are drawn, the one that leaves the others nearest."""
    draw = np.random.default_rng(seed)
    centres = np.zeros((clusters, units.shape[1]))
    known = 0 if given is None else len(given)
    if given is not None:
        centres[:known] = given
    farness = np.full(len(units), 2.0)
    for k in range(clusters):
        if k >= known:
            total = np.cumsum(np.maximum(farness, 0.0))
            drawn = draw.random(2 + int(np.log(clusters))) * total[-1]
            places = np.minimum(np.searchsorted(total, drawn, side="right"), len(units) - 1)
            left = np.minimum(farness[:, None], 1.0 - units @ units[places].T).sum(axis=0)
            centres[k] = units[places[np.argmin(left)]]
        farness = np.minimum(farness, 1.0 - units @ centres[k])
    return centres
