"""The maps of the models being explored: found where they are kept, or drawn while the page waits.

:class:`Maps` draws PCA when it is first asked for; the layout ``neighbours`` is looked for among the maps that are
kept, and otherwise drawn in another process once that is asked for. :func:`describe_drawing` and
:func:`describe_shared` say what is on a map and what some of its words have in common, as values that JSON can hold.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError, PSDVecError
from psdvec.explore.models import ExploredModel
from psdvec.maps.drawing import (
    FOLDER,
    LAYOUT,
    LAYOUTS,
    Drawing,
    LayoutName,
    MappedWords,
    draw,
    find_map,
    keep_map,
    read_map,
    write_map,
)
from psdvec.maps.regions import choose_names
from psdvec.progress import SilentProgress, Stage
from psdvec.vectors.embeddings import Embeddings

# A map being drawn in another process, while the page keeps answering.

_UNITS = "units.npy"
# Of the whole work, from where to where each stage goes.
_SHARES = {"neighbours": (0.0, 0.3), "map": (0.3, 1.0)}


class DrawingJob:
    """A map being drawn: ``progress`` from 0 to 1, then the ``drawing``, or an ``error`` of one sentence.

    The drawing is kept for the vectors at ``path``; ``kept`` says where, and is None if it is in memory only.
    """

    def __init__(self, mapped: MappedWords, path: Path) -> None:
        self.progress = 0.0
        self.drawing: Drawing | None = None
        self.kept: Path | None = None
        self.error = ""
        self._mapped, self._path = mapped, path
        self._stopped = False
        self._folder = tempfile.TemporaryDirectory(prefix="psdvec-")
        np.save(Path(self._folder.name) / _UNITS, mapped.units)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "psdvec.explore.maps", self._folder.name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        )  # fmt: skip
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Stop the other process and leave no file behind."""
        self._stopped = True
        self._process.kill()
        self._watcher.join()

    def wait(self, seconds: float) -> None:
        """Wait until it is finished, but no longer than ``seconds``."""
        self._watcher.join(seconds)

    def _watch(self) -> None:
        with self._folder as folder, self._process as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                self.progress = float(line)
            complaints = process.stderr.read().strip().splitlines()
            if process.wait() == 0:
                self._finish(Path(folder))
            elif not self._stopped:
                self.error = f"the map was not finished: {complaints[-1] if complaints else 'it was killed'}"

    def _finish(self, folder: Path) -> None:
        try:
            drawing = read_map(folder / FOLDER, self._mapped)
        except PSDVecError as error:
            self.error = f"the map was not finished: {error}"
            return
        self.kept = keep_map(drawing, self._mapped, self._path)
        self.drawing, self.progress = drawing, 1.0


class PrintedProgress(SilentProgress):
    """Prints the share of the whole work that is done, a line for each hundredth; it is its own stage."""

    def __init__(self) -> None:
        self._printed = -1

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[Stage]:
        """See :meth:`psdvec.progress.Progress.stage`."""
        (self._start, self._stop), self._total, self._done = _SHARES[label], total or 1.0, 0.0
        yield self

    def advance(self, done: float, **rates: float) -> None:
        """Print the share, unless it is the one printed last."""
        self._done += done
        share = self._start + (self._stop - self._start) * min(self._done / self._total, 1.0)
        if int(100 * share) > self._printed:
            self._printed = int(100 * share)
            sys.stdout.write(f"{self._printed / 100}\n")
            sys.stdout.flush()


# The plane in which a few words are seen best: two directions of their own, not those of the map.


def fit_plane(vectors: Float32s) -> dict[str, Any]:
    """Return the ``places`` of ``vectors`` (n, d) in the plane that fits them best, and what it ``kept``.

    ``kept`` is the share of their squared distances from their mean that is seen in the plane.

    >>> fit_plane(np.eye(4, dtype=np.float32)[:3])["kept"]
    1.0
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)
    left, singular, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    places = np.zeros((len(units), 2))
    seen = min(2, singular.size)
    places[:, :seen] = left[:, :seen] * singular[:seen]
    spread = float((singular**2).sum())
    kept = float((singular[:seen] ** 2).sum()) / spread if spread > 0 else 1.0
    return {"places": np.round(places, 4).tolist(), "kept": round(min(kept, 1.0), 4)}


# The maps of one model, and what is said of them.

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
        place = self._explored.mapped.place
        return {layout: list(place(drawing, vector)) for layout, drawing in ready.items() if drawing}

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
    """Return what the page needs to draw a map, with as many decimals as make it as sharp as any screen shows it."""
    e, ids = explored.embeddings, explored.mapped.ids
    words = [e.words[i] for i in ids.tolist()]
    width = float(np.ptp(drawing.places, axis=0).max()) if len(drawing.places) else 0.0
    decimals = max(math.ceil(math.log10(_STEPS / width)), 0) if width > 0 else 0
    x, y = _rounded(drawing.places, decimals)
    regions: list[dict[str, Any]] = []
    for level, found in enumerate((drawing.coarse, drawing.fine)):
        sizes = np.bincount(found.labels, minlength=len(found.middles)).tolist()
        names = [choose_names([words[row] for row in rows if row >= 0]) for rows in found.names.tolist()]
        parts = zip(*_rounded(found.middles, decimals), names, sizes, strict=True)
        for number, (left, up, named, size) in enumerate(parts):
            region = {"level": level, "id": number, "x": left, "y": up, "words": named, "size": size}
            regions.append(region)
    return {
        "layout": drawing.layout,
        "words": words,
        "x": x,
        "y": y,
        "counts": None if e.counts is None else e.counts[ids].tolist(),
        "fidelity": round(drawing.fidelity, 4),
        "clusters": drawing.coarse.labels.tolist(),
        "fine": drawing.fine.labels.tolist(),
        "regions": regions,
    }


def _rounded(places: Float32s, decimals: int) -> list[list[float]]:
    """Return the two coordinates of all places."""
    return [[round(number, decimals) for number in side] for side in places.T.tolist()]


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
    names = [explored.embeddings.words[i] for i in mapped.ids[list(rows)].tolist()]
    return {
        "size": len(rows),
        "words": [{"word": names[k], "score": float(scores[k])} for k in order],
        "shared": [{"word": word, "score": score} for word, score in e.most_similar([direction], topn=topn)],
    }


def main(folder: Path) -> None:
    """Draw the vectors in ``folder`` and write the drawing there."""
    units = np.load(folder / _UNITS)
    mapped = MappedWords(np.arange(len(units)), units)
    write_map(draw(units, progress=PrintedProgress()), mapped, folder / FOLDER)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
