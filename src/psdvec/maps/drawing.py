"""A drawing: places of words on a plane, regions with names, and how far the places can be trusted.

:func:`take_words` chooses the words of a map, and :func:`draw` makes a :class:`Drawing` of them, which holds rows
instead of words. The same vectors always give the same drawing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.errors import InputError
from psdvec.maps.layouts import (
    by_neighbours,
    by_pca,
    nearest_to,
    nearest_to_each,
    principal_axes,
    without_self,
)
from psdvec.maps.regions import Regions, find_regions
from psdvec.progress import LogProgress, Progress
from psdvec.resources import limit_blas
from psdvec.vectors.embeddings import Embeddings

LayoutName: TypeAlias = Literal["neighbours", "pca"]

LAYOUTS: tuple[LayoutName, ...] = ("neighbours", "pca")
WORDS = 20_000  # on a map, unless another number is asked for
JUDGED = 2_000  # words whose neighbours are looked up to see how many a map keeps
_AMID = 5  # nearest words amid which a new vector is placed


@dataclass(frozen=True, eq=False)
class MappedWords:
    """The words of a map: their ``ids`` (m,) int64, most frequent first, and their vectors, scaled to length 1.

    ``units``: (m, d) float32.
    """

    ids: Int64s
    units: Float32s

    @cached_property
    def identity(self) -> str:
        """SHA-256 of the vectors: a drawing of others is not one of these."""
        digest = hashlib.sha256(f"{self.units.shape}".encode())
        digest.update(np.ascontiguousarray(self.units, "<f4").data)
        return digest.hexdigest()

    @cached_property
    def mean(self) -> Float32s:
        """The mean (d,) of the unit vectors."""
        return self._axes[0]

    @cached_property
    def _axes(self) -> tuple[Float32s, Float32s]:
        return principal_axes(self.units)

    def place(self, drawing: Drawing, vector: Float32s) -> tuple[float, float]:
        """Return where a new ``vector`` belongs on a drawing: along the axes of PCA, or amid its nearest words."""
        unit = vector / (np.linalg.norm(vector) or 1.0)
        if drawing.layout == "pca":
            mean, axes = self._axes
            x, y = (unit - mean) @ axes
        else:
            nearest = np.argsort(-(self.units @ unit), kind="stable")[:_AMID]
            x, y = amid(drawing.places[nearest])
        return float(x), float(y)


def amid(places: Float32s) -> Float32s:
    """Return a place among those that most of ``places`` (k, 2) lie near, even if some lie far away.

    It is halfway between the place that is nearest to all others and its own nearest one; the mean of places in two
    corners would be in neither.

    >>> amid(np.float32([[0, 0], [0, 2], [0, 3], [90, 90]])).tolist()
    [0.0, 2.5]
    """
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    near = distances[int(distances.sum(axis=1).argmin())]
    return np.asarray(places[np.argsort(near, kind="stable")[:2]].mean(axis=0), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Drawing:
    """Words on a plane.

    ``places`` (m, 2) float32. ``fidelity``, from 0 to 1: of the ten nearest words of a word by cosine, the share that
    are among its ten nearest dots, the mean over up to 2,000 words. ``coarse`` and ``fine`` are the regions.
    """

    layout: LayoutName
    places: Float32s
    fidelity: float
    coarse: Regions
    fine: Regions


def take_words(e: Embeddings, *, words: int = WORDS) -> MappedWords:
    """Return the most frequent ``words`` of ``e``; the first, where no frequencies are known."""
    if words < 1:
        raise InputError(f"a map of {words} words was asked for; give 1 or more")
    order = np.arange(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable")
    ids = np.asarray(order[:words], dtype=np.int64)
    return MappedWords(ids, np.asarray(e.vectors[ids] / e.lengths[ids][:, None], dtype=np.float32))


def draw(
    units: Float32s, *, layout: LayoutName = "neighbours", progress: Progress = LogProgress()
) -> Drawing:
    """Put rows of length 1, (m, d) in the order of their words' frequency, on a plane.

    The layout ``"neighbours"`` takes 10 seconds or more for 20,000 words; ``"pca"`` is quick, and keeps few neighbours.
    """
    judged = _judged(len(units))
    if layout == "pca":
        places = by_pca(units)
        with limit_blas(1):
            nearest = nearest_to(units, judged)
    else:
        everybody = nearest_to_each(units, progress=progress)
        places, nearest = by_neighbours(units, everybody, progress=progress), everybody[judged]
    coarse, fine = find_regions(places, units)
    return Drawing(layout, places, share_kept(places, judged, nearest), coarse, fine)


def _judged(words: int) -> Int64s:
    """Return the rows whose neighbours are looked up: always the same ones of so many words."""
    drawn = np.random.default_rng(0).choice(words, min(words, JUDGED), replace=False)
    return np.sort(drawn).astype(np.int64)


def share_kept(places: Float32s, rows: Int64s, nearest: Int64s) -> float:
    """Return the share of the ``nearest`` of some ``rows``, (r, k), that are among their k nearest dots."""
    from scipy.spatial import cKDTree

    k = nearest.shape[1]
    if k == 0:
        return 1.0
    dots = np.asarray(cKDTree(places).query(places[rows], k + 1)[1], np.int64)
    dots = without_self(dots, rows)
    return float((nearest[:, :, None] == dots[:, None]).any(axis=2).mean())
