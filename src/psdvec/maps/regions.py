"""Regions of a map: parts of the plane at two levels, each with words that stand for it.

:func:`find_regions` takes places (m, 2) and the unit vectors (m, d) of the words there, most frequent first. About a
hundred fine regions come from k-means on the plane, so that each is one place, and a dozen coarse ones are made of
them. A region is named by words that are frequent in it and typical of it: those that point most in the direction in
which its vectors differ from the whole map's. The most frequent words of all name nothing, as they go with everything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s

COARSE, FINE = 12, 100  # regions at each level, at most
NAMES = 9  # words that may stand for a region
_SHOWN = 3  # of these, the first that are not almost spelled alike
_COMMON = 200  # the most frequent words, which name no region that has others; a hundredth of a small map
_SHARE, _MOST = 0.25, 100  # the most frequent words of a region may name it: this share, at most so many
_ROUNDS = 30  # of k-means


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of one level, the largest first.

    ``labels`` (m,) int64, the region of each word; ``middles`` (r, 2) float32, a place amid each; ``names`` (r, 9)
    int64, the rows of words that may stand for each, the most typical first, -1 where there are fewer.
    """

    labels: Int64s
    middles: Float32s
    names: Int64s


def find_regions(places: Float32s, units: Float32s) -> tuple[Regions, Regions]:
    """Return the coarse and the fine regions; every fine one lies in one coarse one."""
    most = min(FINE, math.ceil(math.sqrt(len(places))))
    fine_labels, centres = _group(places.astype(np.float64), np.ones(len(places)), most)
    sizes = np.bincount(fine_labels, minlength=len(centres)).astype(np.float64)
    parents, _ = _group(centres, sizes, min(COARSE, math.ceil(len(centres) / 3)))
    coarse_labels = _largest_first(parents[fine_labels])
    return _name(coarse_labels, places, units), _name(_largest_first(fine_labels), places, units)


def choose_names(words: Sequence[str]) -> list[str]:
    """Return the first three words that are not almost spelled alike, as singular and plural are.

    >>> choose_names(["fruit", "fruits", "seeds", "seed", "plant"])
    ['fruit', 'seeds', 'plant']
    """
    chosen: list[str] = []
    for word in words:
        if len(chosen) < _SHOWN and not any(_alike(word, other) for other in chosen):
            chosen.append(word)
    return chosen


def _alike(word: str, other: str) -> bool:
    """Say whether two words begin alike, and differ in a few last letters only."""
    least = max(min(len(word), len(other)) - 2, 3)
    return word[:least] == other[:least]


def _group(points: Float64s, weights: Float64s, most: int) -> tuple[Int64s, Float64s]:
    """Return the group of each point and the groups' centres, by weighted k-means."""
    from scipy.spatial import cKDTree

    centres = _first_centres(points, weights, most)
    labels = np.zeros(len(points), np.int64)
    for _ in range(_ROUNDS if len(points) else 0):
        before = labels
        labels = np.asarray(cKDTree(centres).query(points)[1], np.int64)
        _, labels = np.unique(labels, return_inverse=True)  # a centre that lost all its points is dropped
        sizes = np.bincount(labels, weights=weights)
        centres = np.stack([np.bincount(labels, weights=weights * side) / sizes for side in points.T], axis=1)
        if np.array_equal(before, labels):
            break
    return labels, centres


def _first_centres(points: Float64s, weights: Float64s, most: int) -> Float64s:
    """Return points to start from, far apart and where there are many: k-means++ with even steps for its draws."""
    chosen: list[int] = []
    squares = np.ones(len(points))
    for number in range(min(most, len(points))):
        chances = np.cumsum(weights * squares)
        if not len(chances) or chances[-1] <= 0:
            break
        share = (number + 1) * (math.sqrt(5) - 1) / 2 % 1
        pick = int(np.searchsorted(chances, share * chances[-1], side="right"))
        chosen.append(min(pick, len(points) - 1))
        to_new = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        squares = to_new if number == 0 else np.minimum(squares, to_new)
    return points[chosen]


def _largest_first(labels: Int64s) -> Int64s:
    """Number regions anew, the largest first.

    >>> _largest_first(np.array([2, 0, 2, 1, 2, 1])).tolist()
    [0, 2, 0, 1, 0, 1]
    """
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[labels]


def _name(labels: Int64s, places: Float32s, units: Float32s) -> Regions:
    number = int(labels.max(initial=-1)) + 1
    whole = units.mean(axis=0) if len(units) else np.zeros(units.shape[1], np.float32)
    members = [np.flatnonzero(labels == k) for k in range(number)]
    middles = np.array([np.median(places[rows], axis=0) for rows in members], np.float32).reshape(-1, 2)
    names = np.full((number, NAMES), -1, np.int64)
    for k, rows in enumerate(members):
        chosen = _typical(rows, units, whole)
        names[k, : len(chosen)] = chosen
    return Regions(labels, middles, names)


def _typical(rows: Int64s, units: Float32s, whole: Float32s) -> Array:
    """Return a few of ``rows`` that may stand for all of them, the most typical first."""
    common = min(_COMMON, len(units) // 100)
    candidates = rows[rows >= common] if (rows >= common).any() else rows
    candidates = candidates[: min(max(math.ceil(_SHARE * len(candidates)), NAMES), _MOST)]
    direction = units[rows].mean(axis=0) - whole
    return candidates[np.argsort(-(units[candidates] @ direction), kind="stable")[:NAMES]]
