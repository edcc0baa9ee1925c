"""The maps of the models being explored: found where they are kept, or drawn while the page waits.

:class:`Maps` draws PCA when it is first asked for; the layout ``neighbours`` is looked for among the maps that are
kept, and otherwise drawn in another process once that is asked for. :func:`describe_drawing` and
:func:`describe_shared` say what is on a map and what some of its words have in common, as values that JSON can hold.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError
from psdvec.explore.jobs import DrawingJob
from psdvec.explore.models import ExploredModel
from psdvec.maps.drawing import LAYOUT, LAYOUTS, Drawing, LayoutName, draw, find_map
from psdvec.maps.regions import Regions, choose_names
from psdvec.vectors import answers
from psdvec.vectors.embeddings import Embeddings

_STEPS = 20_000  # places are rounded to steps of which a map is so many wide, or a few more


class Maps:
    """The drawings of one model, by layout, and the job that draws one."""

    def __init__(self, explored: ExploredModel) -> None:
        self._explored = explored
        self._drawings: dict[LayoutName, Drawing] = {}
        self._kept: Path | None = None
        self._looked = False
        self._job: DrawingJob | None = None
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Stop what is being drawn."""
        if self._job is not None:
            self._job.stop()

    def answer(self, layout: LayoutName) -> dict[str, Any]:
        """Return the map, or how much of it is done, or that it is absent."""
        with self._lock:
            drawing = self._find(layout)
        if drawing is not None:
            found = describe_drawing(drawing, self._explored)
            return {"state": "done", **found, "kept": self._where() if layout == LAYOUT else None}
        if self._job is None:
            return {"state": "absent", "progress": 0.0}
        if self._job.error:
            raise InputError(f"{self._job.error}; use the layout pca")
        return {"state": "running", "progress": self._job.progress}

    def start(self, layout: LayoutName) -> dict[str, Any]:
        """Start to draw a map, unless it is there or was started before."""
        with self._lock:
            if self._find(layout) is not None:
                return {"state": "done"}
            if self._job is None:
                self._job = DrawingJob(self._explored.mapped, self._explored.path)
            return {"state": "running"}

    def places_of(self, vector: Float32s) -> dict[str, list[float]]:
        """Return where a new vector belongs on every map that is ready."""
        with self._lock:
            ready = {layout: self._find(layout) for layout in LAYOUTS}
        mapped = self._explored.mapped
        return {
            layout: list(mapped.place(drawing, vector))
            for layout, drawing in ready.items()
            if drawing is not None
        }

    def _where(self) -> str:
        """Say where the map is kept, without a name of this machine's folders."""
        if self._kept is None:
            return "in memory, until the explorer ends"
        is_own = self._kept.parent == self._explored.path
        return "in the model's folder" if is_own else "in the user's cache folder"

    def _find(self, layout: LayoutName) -> Drawing | None:
        """Return a drawing if it is ready, is kept or is quick to make."""
        mapped = self._explored.mapped
        if layout not in self._drawings and layout == "pca":
            self._drawings[layout] = draw(mapped.units, layout="pca")
        elif layout not in self._drawings:
            found = None if self._looked else find_map(mapped, self._explored.path)
            self._looked = True
            if found is not None:
                self._drawings[layout], self._kept = found
            elif self._job is not None and self._job.drawing is not None:
                self._drawings[layout], self._kept = self._job.drawing, self._job.kept
        return self._drawings.get(layout)


def describe_drawing(drawing: Drawing, explored: ExploredModel) -> dict[str, Any]:
    """Return what the page needs to draw a map."""
    e, ids = explored.embeddings, explored.mapped.ids
    decimals = _decimals(drawing.places)
    x, y = (_rounded(side, decimals) for side in drawing.places.T)
    words = [e.words[i] for i in ids.tolist()]
    return {
        "layout": drawing.layout,
        "words": words,
        "x": x,
        "y": y,
        "counts": None if e.counts is None else e.counts[ids].tolist(),
        "fidelity": round(drawing.fidelity, 4),
        "clusters": drawing.coarse.labels.tolist(),
        "fine": drawing.fine.labels.tolist(),
        "regions": [
            *_describe_regions(drawing.coarse, 0, words, decimals),
            *_describe_regions(drawing.fine, 1, words, decimals),
        ],
    }


def _describe_regions(
    regions: Regions, level: int, words: Sequence[str], decimals: int
) -> list[dict[str, Any]]:
    sizes = np.bincount(regions.labels, minlength=len(regions.middles)).tolist()
    x, y = (_rounded(side, decimals) for side in regions.middles.T)
    return [
        {
            "level": level,
            "id": number,
            "x": x[number],
            "y": y[number],
            "words": choose_names([words[row] for row in names if row >= 0]),
            "size": sizes[number],
        }
        for number, names in enumerate(regions.names.tolist())
    ]


def _decimals(places: Float32s) -> int:
    """Return with how many decimals a picture of these places is as sharp as any screen shows it."""
    width = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    return max(math.ceil(math.log10(_STEPS / width)), 0) if width > 0 else 0


def _rounded(numbers: Float32s, decimals: int) -> list[float]:
    return [round(number, decimals) for number in numbers.tolist()]


def describe_shared(
    explored: ExploredModel, e: Embeddings, rows: Sequence[int], *, topn: int
) -> dict[str, Any]:
    """Return what the words at some places of the map share: the most typical of them, and what is nearest to that.

    Typical is what points in the direction in which the words' mean differs from the whole map's.
    """
    mapped = explored.mapped
    units = mapped.units[list(rows)]
    middle = units.mean(axis=0)
    direction = middle - mapped.mean
    if np.linalg.norm(direction) < 1e-6:  # the whole map, or nothing
        direction = middle
    direction = direction / (np.linalg.norm(direction) or 1.0)
    scores = units @ direction
    order = np.argsort(-scores, kind="stable")[: 5 * topn].tolist()
    words = [explored.embeddings.words[mapped.ids[rows[k]]] for k in order]
    return {
        "size": len(rows),
        "words": [{"word": word, "score": float(scores[k])} for word, k in zip(words, order, strict=True)],
        "shared": [
            {"word": one["word"], "score": one["score"]} for one in answers.nearest(e, direction, topn=topn)
        ],
    }
