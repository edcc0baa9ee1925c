"""Slow maps, t-SNE and UMAP, computed in another process while the page goes on answering.

Goes in: unit vectors (m, d). Comes out: places (m, 2), and meanwhile how far it is. The other process is this module
run as a program: it reads ``units.npy`` in a temporary folder, prints its progress a line, and writes ``places.npy``.
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
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

PACKAGES = {"tsne": "sklearn", "umap": "umap"}  # a layout, and the module that computes it
_TSNE_ROUNDS = 1000  # scikit-learn's default
_MARKS = {
    "tsne": re.compile(r"Iteration (\d+)"),
    "umap": re.compile(r"Epochs completed:\s+(\d+)%"),
}


def available_layouts() -> list[str]:
    """Return the slow layouts whose packages are installed."""
    return [name for name, package in PACKAGES.items() if importlib.util.find_spec(package) is not None]


class LayoutJob:
    """One layout being computed: ``progress`` from 0 to 1, then ``places``, or an ``error`` of one sentence."""

    def __init__(self, name: str, units: Floats) -> None:
        self.name = name
        self.progress = 0.0
        self.places: Floats | None = None
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
        """End the other process and leave no file behind."""
        self._stopped = True
        self._process.kill()
        self._watcher.join()

    def wait(self, seconds: float) -> None:
        """Wait until it is finished, at most so long."""
        self._watcher.join(seconds)

    def _watch(self) -> None:
        with self._folder as folder, self._process as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                self.progress = float(line)
            trouble = process.stderr.read().strip().splitlines()
            if process.wait() == 0:
                self.places, self.progress = np.load(Path(folder) / "places.npy"), 1.0
            elif not self._stopped:
                self.error = f"{self.name} did not finish: {trouble[-1] if trouble else 'it was killed'}"


class _Listener(io.TextIOBase):
    """Takes what a package prints about its progress, and prints the share that is done to ``out``."""

    def __init__(self, name: str, out: TextIO) -> None:
        self.mark, self.whole, self.out = _MARKS[name], _TSNE_ROUNDS if name == "tsne" else 100, out

    def write(self, text: str) -> int:
        for found in self.mark.findall(text):
            print(min(int(found) / self.whole, 1.0), file=self.out, flush=True)
        return len(text)


def compute(name: str, units: Floats, out: TextIO) -> Floats:
    """Compute the layout ``name`` and print its progress to ``out``; the same units give the same places."""
    listener: Any = _Listener(name, out)
    with contextlib.redirect_stdout(listener), contextlib.redirect_stderr(listener):
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
