"""Maps that are kept: in the folder ``map`` of the model they show, or else in the user's cache folder.

A kept map is an artefact like counts and models, with checksums of its own; the model's description and checksums stay
as they are. It is used only if it is intact, of this version and drawn from just these vectors; otherwise it counts as
absent, and is made again. :func:`make_map` makes one, or finds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array
from psdvec.errors import PSDVecError, StoreError
from psdvec.formats import load
from psdvec.maps.drawing import WORDS, Drawing, LayoutName, MappedWords, draw, take_words
from psdvec.maps.regions import NAMES, Regions
from psdvec.progress import LogProgress, Progress
from psdvec.resources import cache_folder
from psdvec.storage.artefact import MAP, META, Artefact, create_artefact, open_artefact, verify_artefact

VERSION = 1  # another for any change of what is drawn, so that older maps are made again
FOLDER = MAP
LAYOUT: LayoutName = "neighbours"  # the only one that is kept; PCA is quick
_LEVELS = ("coarse", "fine")


def make_map(
    path: str | Path, *, words: int = WORDS, progress: Progress = LogProgress()
) -> tuple[Drawing, Path | None]:
    """Draw the most frequent ``words`` of the vectors at ``path``, unless that was kept, and keep it.

    Returns
    -------
    The drawing, and where it is kept; None if it could not be kept.
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
        try:
            return read_map(folder, mapped), folder
        except (PSDVecError, OSError):
            continue
    return None


def keep_map(drawing: Drawing, mapped: MappedWords, path: str | Path) -> Path | None:
    """Keep a drawing for the vectors at ``path``; return where, or None if nothing can be written there."""
    for folder in _places(mapped, path):
        try:
            write_map(drawing, mapped, folder)
        except (PSDVecError, OSError):
            continue
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
        "layout": drawing.layout,
        "words": len(drawing.places),
        "fidelity": drawing.fidelity,
        "vectors": mapped.identity,
    }
    with create_artefact(
        folder, kind=MAP, version=VERSION, parameters=parameters, sources=[], overwrite=True
    ) as writer:
        writer.add_array("places", drawing.places)
        for level in _LEVELS:
            regions = getattr(drawing, level)
            writer.add_array(f"{level}_labels", regions.labels)
            writer.add_array(f"{level}_middles", regions.middles)
            writer.add_array(f"{level}_names", regions.names)


def read_map(folder: Path, mapped: MappedWords) -> Drawing:
    """Read a drawing of just these words; anything else at ``folder`` is a :class:`~psdvec.errors.StoreError`."""
    artefact = open_artefact(folder, kind=MAP, version=VERSION)
    verify_artefact(artefact)
    made = artefact.parameters
    if (artefact.version, made.get("layout"), made.get("vectors")) != (VERSION, LAYOUT, mapped.identity):
        raise StoreError(f"'{folder}' is a map of other vectors; make it again")
    try:
        return _drawing_of(artefact, len(mapped.ids))
    except ValueError as error:
        raise StoreError(f"'{folder}' is damaged ({error}); make it again") from error


def _drawing_of(artefact: Artefact, words: int) -> Drawing:
    """Return the drawing in an artefact, or raise ``ValueError`` where its parts do not fit together."""
    places = _numbers_of(artefact, "places", np.float32).reshape(-1, 2)
    fidelity: Any = artefact.parameters.get("fidelity")
    if len(places) != words or not np.isfinite(places).all():
        raise ValueError("it does not hold one place per word")
    if not isinstance(fidelity, float) or not 0 <= fidelity <= 1 or not math.isfinite(fidelity):
        raise ValueError("it does not say how many neighbours it keeps")
    coarse, fine = (_regions_of(artefact, level, words) for level in _LEVELS)
    return Drawing(LAYOUT, places, fidelity, coarse, fine)


def _regions_of(artefact: Artefact, level: str, words: int) -> Regions:
    labels, names = (_numbers_of(artefact, f"{level}_{name}", np.int64) for name in ("labels", "names"))
    middles = _numbers_of(artefact, f"{level}_middles", np.float32).reshape(-1, 2)
    names = names.reshape(len(middles), NAMES)
    if len(labels) != words or not np.isfinite(middles).all():
        raise ValueError("its regions are not those of its words")
    for numbers, low, high in ((labels, 0, len(middles)), (names, -1, words)):
        if numbers.size and not low <= numbers.min() <= numbers.max() < high:
            raise ValueError("its regions have numbers out of range")
    return Regions(labels, middles, names)


def _numbers_of(artefact: Artefact, name: str, dtype: Any) -> Array:
    """Return an array as it is written, in memory; another type of numbers is not what was written."""
    return np.array(artefact.array(name, dtype))
