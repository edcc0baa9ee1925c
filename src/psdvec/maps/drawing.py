"""A drawing: places of words on a plane, regions with names, and how far the places can be trusted.

:func:`take_words` chooses the words of a map, and :func:`draw` makes a :class:`Drawing` of them, which holds rows
instead of words. The same vectors always give the same drawing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.errors import InputError, PSDVecError, StoreError
from psdvec.formats import load
from psdvec.maps.layouts import (
    by_neighbours,
    by_pca,
    nearest_to,
    nearest_to_each,
    principal_axes,
    without_self,
)
from psdvec.maps.regions import NAMES, Regions, find_regions
from psdvec.progress import LogProgress, Progress
from psdvec.resources import cache_folder, limit_blas
from psdvec.storage.artefact import MAP, META, Artefact, create_artefact, open_artefact, verify_artefact
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
    drawn = np.random.default_rng(0).choice(len(units), min(len(units), JUDGED), replace=False)
    judged: Int64s = np.sort(drawn).astype(np.int64)  # always the same rows of so many words
    if layout == "pca":
        places = by_pca(units)
        with limit_blas(1):
            nearest = nearest_to(units, judged)
    else:
        everybody = nearest_to_each(units, progress=progress)
        places, nearest = by_neighbours(units, everybody, progress=progress), everybody[judged]
    coarse, fine = find_regions(places, units)
    return Drawing(layout, places, share_kept(places, judged, nearest), coarse, fine)


def share_kept(places: Float32s, rows: Int64s, nearest: Int64s) -> float:
    """Return the share of the ``nearest`` of some ``rows``, (r, k), that are among their k nearest dots."""
    from scipy.spatial import cKDTree

    k = nearest.shape[1]
    if k == 0:
        return 1.0
    dots = without_self(np.asarray(cKDTree(places).query(places[rows], k + 1)[1], np.int64), rows)
    return float((nearest[:, :, None] == dots[:, None]).any(axis=2).mean())


# Maps that are kept: in the folder ``map`` of the model they show, or else in the user's cache folder.

VERSION = 1  # another for any change of what is drawn, so that older maps are made again
FOLDER = MAP
LAYOUT: LayoutName = "neighbours"  # the only one that is kept; PCA is quick
_LEVELS = ("coarse", "fine")


def make_map(
    path: str | Path, *, words: int = WORDS, progress: Progress = LogProgress()
) -> tuple[Drawing, Path | None]:
    """Draw the most frequent ``words`` of the vectors at ``path``, unless that was kept, and keep it.

    Return the drawing, and where it is kept; None if it could not be kept.
    """
    mapped = take_words(load(path, progress=progress), words=words)
    found = find_map(mapped, path)
    if found is not None:
        return found
    drawing = draw(mapped.units, layout=LAYOUT, progress=progress)
    return drawing, keep_map(drawing, mapped, path)


def find_map(mapped: MappedWords, path: str | Path) -> tuple[Drawing, Path] | None:
    """Return the map of just these words that is kept for the vectors at ``path``, and where; None if none is."""
    for folder in _places(mapped, path):
        with suppress(PSDVecError, OSError):
            return read_map(folder, mapped), folder
    return None


def keep_map(drawing: Drawing, mapped: MappedWords, path: str | Path) -> Path | None:
    """Keep a drawing for the vectors at ``path``; return where, or None if nothing can be written there."""
    for folder in _places(mapped, path):
        with suppress(PSDVecError, OSError):
            write_map(drawing, mapped, folder)
            return folder
    return None


def _places(mapped: MappedWords, path: str | Path) -> Iterator[Path]:
    """Yield where a map may be kept: in a model's own folder, and then in the cache, by the vectors' digest."""
    if (Path(path) / META).is_file():
        yield Path(path) / FOLDER
    yield cache_folder("maps") / mapped.identity[:32]


def write_map(drawing: Drawing, mapped: MappedWords, folder: Path) -> None:
    """Write a drawing as an artefact; one that is there is replaced."""
    parameters = {
        "layout": drawing.layout, "words": len(drawing.places), "fidelity": drawing.fidelity,
        "vectors": mapped.identity,
    }  # fmt: skip
    with create_artefact(
        folder, kind=MAP, version=VERSION, parameters=parameters, sources=[], overwrite=True
    ) as writer:
        writer.add_array("places", drawing.places)
        for level in _LEVELS:
            for name in ("labels", "middles", "names"):
                writer.add_array(f"{level}_{name}", getattr(getattr(drawing, level), name))


def read_map(folder: Path, mapped: MappedWords) -> Drawing:
    """Read a drawing of just these words; anything else at ``folder`` is a :class:`~psdvec.errors.StoreError`."""
    artefact = open_artefact(folder, kind=MAP, version=VERSION)
    verify_artefact(artefact)
    made = artefact.parameters
    if (artefact.version, made.get("layout"), made.get("vectors")) != (VERSION, LAYOUT, mapped.identity):
        raise StoreError(f"'{folder}' is a map of other vectors; make it again")
    words = len(mapped.ids)
    try:
        places = np.array(artefact.array("places", np.float32)).reshape(-1, 2)
        fidelity: Any = made.get("fidelity")
        if len(places) != words or not np.isfinite(places).all():
            raise ValueError("it does not hold one place per word")
        if not isinstance(fidelity, float) or not 0 <= fidelity <= 1:
            raise ValueError("it does not say how many neighbours it keeps")
        coarse, fine = (_regions_of(artefact, level, words) for level in _LEVELS)
        return Drawing(LAYOUT, places, fidelity, coarse, fine)
    except ValueError as error:
        raise StoreError(f"'{folder}' is damaged ({error}); make it again") from error


def _regions_of(artefact: Artefact, level: str, words: int) -> Regions:
    """Return the regions of a level, or raise ``ValueError`` where their parts do not fit together."""
    labels, names = (np.array(artefact.array(f"{level}_{name}", np.int64)) for name in ("labels", "names"))
    middles = np.array(artefact.array(f"{level}_middles", np.float32)).reshape(-1, 2)
    names = names.reshape(len(middles), NAMES)
    if len(labels) != words or not np.isfinite(middles).all():
        raise ValueError("its regions are not those of its words")
    for numbers, low, high in ((labels, 0, len(middles)), (names, -1, words)):
        if numbers.size and not low <= numbers.min() <= numbers.max() < high:
            raise ValueError("its regions have numbers out of range")
    return Regions(labels, middles, names)
