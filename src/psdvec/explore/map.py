"""The map: the most frequent words on a plane, by PCA, with clusters of words that are alike.

:func:`make_map` turns :class:`~psdvec.vectors.embeddings.Embeddings` into a :class:`WordMap`. Vectors are scaled to
length 1 first, so that the map shows what cosines see. The same vectors always give the same map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.vectors.embeddings import Embeddings

CLUSTERS = 12
_ROUNDS = 25
_NAMES = 3


@dataclass(frozen=True, eq=False)
class WordMap:
    """Words on a plane.

    ``ids`` (m,) int64 of the words, most frequent first; ``units`` (m, d) float32, their vectors scaled to length 1;
    ``places`` (m, 2) float32, by PCA; ``mean`` (d,) and ``axes`` (d, 2), which give the place of any unit vector;
    ``clusters`` (m,) int64, and in ``names`` a few words that stand for each cluster.
    """

    ids: Int64s
    units: Float32s
    places: Float32s
    mean: Float32s
    axes: Float32s
    clusters: Int64s
    names: tuple[tuple[str, ...], ...]


def make_map(e: Embeddings, *, limit: int) -> WordMap:
    """Put the ``limit`` most frequent words on a plane."""
    order = np.arange(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable")
    ids = np.asarray(order[:limit], dtype=np.int64)
    units = np.asarray(e.vectors[ids] / e.lengths[ids][:, None], dtype=np.float32)
    mean = units.mean(axis=0)
    axes = principal_axes(units)
    clusters = find_clusters(units, CLUSTERS)
    names = tuple(
        tuple(e.words[i] for i in ids[members[:_NAMES]].tolist())
        for members in (_central(units, clusters, k) for k in range(int(clusters.max(initial=-1)) + 1))
    )
    return WordMap(ids, units, np.asarray((units - mean) @ axes), mean, axes, clusters, names)


def place(word_map: WordMap, places: Float32s, vector: Float32s, *, by_axes: bool) -> list[float]:
    """Return where a new ``vector`` belongs: by the axes of PCA, or amid its five nearest words on ``places``."""
    unit = vector / (np.linalg.norm(vector) or 1.0)
    if by_axes:
        spot = (unit - word_map.mean) @ word_map.axes
    else:
        spot = places[np.argsort(-(word_map.units @ unit), kind="stable")[:5]].mean(axis=0)
    return [float(x) for x in spot]


def principal_axes(units: Float32s) -> Float32s:
    """Return the two directions in which rows vary most, (d, 2); where there are fewer, the rest is 0."""
    from sklearn.decomposition import PCA

    axes = np.zeros((units.shape[1], 2), np.float32)
    if len(units) > 1:
        with np.errstate(invalid="ignore"):  # rows that do not vary at all have no shares of variance
            components = PCA(min(2, *units.shape), svd_solver="covariance_eigh").fit(units).components_
        axes[:, : len(components)] = components.T
    return axes


def find_clusters(units: Float32s, most: int) -> Int64s:
    """Return the cluster of each row by k-means, at most ``most`` of them, the largest first."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    if not len(units):
        return np.zeros(0, np.int64)
    distinct = len({row.tobytes() for row in units})
    with threadpool_limits(1):  # threads would add in any order, and the last bits may decide
        method = KMeans(min(most, distinct), n_init=1, max_iter=_ROUNDS, random_state=0)
        labels = method.fit_predict(units)
    rank = np.argsort(np.argsort(-np.bincount(labels), kind="stable"))
    return np.asarray(rank[labels], dtype=np.int64)


def _central(units: Float32s, clusters: Int64s, k: int) -> Int64s:
    """Return the more frequent half of cluster ``k``, those nearest to its middle first."""
    members = np.flatnonzero(clusters == k)
    frequent = members[: max(len(members) // 2, 1)]
    middle = units[members].sum(axis=0)
    return np.asarray(frequent[np.argsort(-(units[frequent] @ middle), kind="stable")])
