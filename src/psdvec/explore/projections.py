"""Slow layouts of the map, t-SNE and UMAP, computed in another process while the page keeps answering.

A :class:`LayoutJob` takes unit vectors (m, d) and ends with places (m, 2). The other process is this module run as a
program: it reads ``units.npy`` in a temporary folder, prints its progress line by line, and writes ``places.npy``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from psdvec.arrays import Float32s

PACKAGES = {"tsne": "sklearn", "umap": "umap"}  # each layout, and the module that computes it
_TSNE_ITERATIONS = 1000  # scikit-learn's default
_PROGRESS = {
    "tsne": re.compile(r"Iteration (\d+)"),
    "umap": re.compile(r"Epochs completed:\s+(\d+)%"),
}


def available_layouts() -> list[str]:
    """Return the slow layouts whose packages are installed."""
    return [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is not None]


class LayoutJob:
    """A layout being computed: ``progress`` from 0 to 1, then ``places``, or an ``error`` of one sentence."""

    def __init__(self, name: str, units: Float32s) -> None:
        self.name = name
        self.progress = 0.0
        self.places: Float32s | None = None
        self.error = ""
        self._stopped = False
        self._folder = tempfile.TemporaryDirectory(prefix="psdvec-")
        np.save(Path(self._folder.name) / "units.npy", units)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "psdvec.explore.projections", name, self._folder.name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
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
                self.places, self.progress = np.load(Path(folder) / "places.npy"), 1.0
            elif not self._stopped:
                self.error = (
                    f"{self.name} did not finish: {complaints[-1] if complaints else 'it was killed'}"
                )


class _ProgressReader(io.TextIOBase):
    """Reads what a package prints about its progress, and prints the share that is done to ``out``."""

    def __init__(self, name: str, out: TextIO) -> None:
        self.pattern, self.total, self.out = _PROGRESS[name], _TSNE_ITERATIONS if name == "tsne" else 100, out

    def write(self, text: str) -> int:
        for found in self.pattern.findall(text):
            print(min(int(found) / self.total, 1.0), file=self.out, flush=True)
        return len(text)


def compute(name: str, units: Float32s, out: TextIO) -> Float32s:
    """Compute the layout ``name`` and print its progress to ``out``; the same units always give the same places."""
    reader: Any = _ProgressReader(name, out)
    with contextlib.redirect_stdout(reader), contextlib.redirect_stderr(reader):
        if name == "tsne":
            from sklearn.manifold import TSNE

            perplexity = min(30.0, (len(units) - 1) / 3)
            method = TSNE(init="pca", perplexity=perplexity, random_state=0, verbose=2)
        else:
            from umap import UMAP

            neighbours = min(15, len(units) - 1)
            method = UMAP(n_neighbors=neighbours, metric="cosine", random_state=0, n_jobs=1, verbose=True)
        places = method.fit_transform(units)
    return np.asarray(places, dtype=np.float32)


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    places = compute(sys.argv[1], np.load(folder / "units.npy"), sys.stdout)
    np.save(folder / "places.npy", places)
