"""A map being drawn in another process, while the page keeps answering.

A :class:`DrawingJob` takes the words of a map and ends with a drawing, which it keeps. The other process is this module
run as a program: it reads ``units.npy`` in a temporary folder, prints its progress line by line, and writes the folder
``map`` there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from psdvec.errors import PSDVecError
from psdvec.maps.drawing import FOLDER, Drawing, MappedWords, draw, keep_map, read_map, write_map
from psdvec.progress import Stage

_UNITS = "units.npy"
_SHARES = {
    "neighbours": (0.0, 0.3),
    "map": (0.3, 1.0),
}  # of the whole work, from where to where each stage goes


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
            [sys.executable, "-P", "-m", "psdvec.explore.jobs", self._folder.name],
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


class PrintedProgress:
    """Prints the share of the whole work that is done, a line for each hundredth."""

    def __init__(self) -> None:
        self._printed = -1

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[Stage]:
        """See :meth:`psdvec.progress.Progress.stage`."""
        yield _PrintedStage(self, *_SHARES[label], total or 1.0)

    def say(self, text: str) -> None:
        """See :meth:`psdvec.progress.Progress.say`."""

    def show(self, share: float) -> None:
        """Print a share from 0 to 1, unless it is the one printed last."""
        if int(100 * share) > self._printed:
            self._printed = int(100 * share)
            sys.stdout.write(f"{self._printed / 100}\n")
            sys.stdout.flush()


class _PrintedStage:
    def __init__(self, progress: PrintedProgress, start: float, stop: float, total: float) -> None:
        self.progress, self.start, self.stop, self.total, self.done = progress, start, stop, total, 0.0

    def advance(self, done: float, **rates: float) -> None:
        self.done += done
        self.progress.show(self.start + (self.stop - self.start) * min(self.done / self.total, 1.0))

    def note(self, text: str) -> None:
        pass


def main(folder: Path) -> None:
    """Draw the vectors in ``folder`` and write the drawing there."""
    units = np.load(folder / _UNITS)
    mapped = MappedWords(np.arange(len(units)), units)
    write_map(draw(units, progress=PrintedProgress()), mapped, folder / FOLDER)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
