"""The map: the most frequent words on a plane, by PCA, with groups of words that are alike.

Goes in: :class:`~psdvec.vectors.embeddings.Embeddings`. Comes out: a :class:`WordMap`. Vectors are scaled to length 1
first, so that the map shows what cosines see. The same vectors give the same map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psdvec.vectors.embeddings import Embeddings

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

CLUSTERS = 12
_ROUNDS = 25
_NAMES = 3


@dataclass(frozen=True, eq=False)
class WordMap:
    """Words on a plane.

    ``ids`` (m,) int64 of the words, most frequent first; ``units`` (m, d) float32, their vectors of length 1;
    ``places`` (m, 2) float32, by PCA; ``mean`` (d,) and ``axes`` (d, 2), which make a place out of a unit vector;
    ``clusters`` (m,) int64, and in ``names`` the words that stand for each cluster.
    """

    ids: Ids
    units: Floats
    places: Floats
    mean: Floats
    axes: Floats
    clusters: Ids
    names: tuple[tuple[str, ...], ...]


def make_map(e: Embeddings, *, limit: int) -> WordMap:
    """Put the ``limit`` most frequent words on a plane."""
    order = np.arange(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable")
    ids = np.sort(order[:limit]) if e.counts is None else order[:limit]
    units = np.asarray(e.vectors[ids] / e.lengths[ids][:, None], dtype=np.float32)
    mean = units.mean(axis=0)
    axes = principal_axes(units - mean)
    clusters = cluster(units, min(CLUSTERS, len(ids)))
    names = tuple(
        tuple(e.words[i] for i in ids[members[:_NAMES]].tolist())
        for members in (_central(units, clusters, k) for k in range(int(clusters.max(initial=-1)) + 1))
    )
    return WordMap(ids, units, np.asarray((units - mean) @ axes), mean, axes, clusters, names)


def place(word_map: WordMap, places: Floats, vector: Floats, *, by_axes: bool) -> list[float]:
    """Return where a new ``vector`` belongs: by the axes of PCA, or amid its five nearest words on ``places``."""
    unit = vector / (np.linalg.norm(vector) or 1.0)
    if by_axes:
        spot = (unit - word_map.mean) @ word_map.axes
    else:
        spot = places[np.argsort(-(word_map.units @ unit), kind="stable")[:5]].mean(axis=0)
    return [float(x) for x in spot]


def principal_axes(centred: Floats) -> Floats:
    """Return the two directions in which rows vary most, (d, 2); the largest coordinate of each is positive."""
    moment = centred.T.astype(np.float64) @ centred
    _, directions = np.linalg.eigh(moment)
    axes = directions[:, ::-1][:, :2]
    if axes.shape[1] < 2:
        axes = np.concatenate([axes, np.zeros_like(axes)], axis=1)
    signs = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None, :], axis=0))
    return np.asarray(axes * np.where(signs == 0, 1, signs), dtype=np.float32)


def cluster(units: Floats, count: int) -> Ids:
    """Return the cluster of each row, by spherical k-means from rows that lie far apart; numbered by size."""
    if not count:
        return np.zeros(len(units), np.int64)
    centres = _spread_rows(units, count)
    labels = np.zeros(len(units), np.int64)
    for _ in range(_ROUNDS):
        new = np.argmax(units @ centres.T, axis=1)
        if np.array_equal(new, labels):
            break
        labels = new
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, units)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    used, labels = np.unique(labels, return_inverse=True)
    rank = np.argsort(np.argsort(-np.bincount(labels, minlength=used.size), kind="stable"))
    return np.asarray(rank[labels], dtype=np.int64)


def _spread_rows(units: Floats, count: int) -> Floats:
    """Choose rows to start from as k-means++ does, with a fixed seed."""
    rng = np.random.default_rng(0)
    chosen = [int(rng.integers(len(units)))]
    distance = 1 - units @ units[chosen[0]]
    for _ in range(count - 1):
        chance = np.maximum(distance, 0).astype(np.float64)
        total = chance.sum()
        chosen.append(int(rng.choice(len(units), p=chance / total)) if total > 0 else chosen[0])
        distance = np.minimum(distance, 1 - units @ units[chosen[-1]])
    return units[chosen]


def _central(units: Floats, clusters: Ids, k: int) -> Ids:
    """Return the members of cluster ``k``, those among its frequent half first that are nearest to its middle."""
    members = np.flatnonzero(clusters == k)
    frequent = members[: max(len(members) // 2, 1)]
    middle = units[members].sum(axis=0)
    return np.asarray(frequent[np.argsort(-(units[frequent] @ middle), kind="stable")])
