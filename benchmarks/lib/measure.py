"""Time and peak memory of whole commands, and tables of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from psdvec.compare.values import Cost, FailedCommandError, measure
from psdvec.errors import PSDVecError

COST = ("seconds", "processor seconds", "GB of memory")
PSDVEC = [sys.executable, "-m", "psdvec"]


def run_script(main: Callable[[], None]) -> None:
    """Run a benchmark; what is wrong with its input ends it with one sentence."""
    try:
        main()
    except PSDVecError as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: {error}") from None


def run(command: Sequence[str | Path], *, stdin: Path | None = None, stdout: Path | None = None) -> Cost:
    """Run a command to its end and measure it; an error ends the benchmark with what the command said."""
    parts = [str(part) for part in command]
    try:
        return measure(parts, stdin=stdin, stdout=stdout)
    except FailedCommandError as error:
        raise PSDVecError(f"'{' '.join(parts)}' failed: {error}") from None


_KILLER = """
import signal, subprocess, sys
process = subprocess.Popen(sys.argv[2:])
signal.signal(signal.SIGTERM, lambda *_: process.terminate())
try:
    sys.exit(process.wait(float(sys.argv[1])))
except subprocess.TimeoutExpired:
    process.kill()
    process.wait()
"""


def stopped_after(seconds: float, command: Sequence[str | Path]) -> Cost:
    """Run a command, kill it after so many seconds if it has not ended by then, and measure it; an error is ours."""
    return run([sys.executable, "-c", _KILLER, str(seconds), *command])


@dataclass
class Disk:
    """The most bytes of disk that a folder has taken beyond those that it took at first."""

    peak: int = 0


@contextmanager
def disk_watched(folder: Path, *, every: float = 0.5) -> Iterator[Disk]:
    """Look now and then, until the block ends, how much disk a folder takes."""
    disk, ended, first = Disk(), threading.Event(), disk_in_use(folder)

    def look() -> None:
        disk.peak = max(disk.peak, disk_in_use(folder) - first)

    def watch() -> None:
        while not ended.wait(every):
            look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield disk
    finally:
        ended.set()
        watcher.join()
        look()


def disk_in_use(folder: Path) -> int:
    """Return how many bytes of disk the files below a folder take; some may vanish meanwhile."""
    used = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            used += path.lstat().st_blocks * 512
    return used


def best(costs: Sequence[Cost]) -> Cost:
    """Return the quickest of several runs: what disturbs a run only ever makes it slower."""
    return min(costs, key=lambda cost: cost.wall)


def quickest(costs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the :func:`best` of several costs as a record holds them."""
    return min(costs, key=lambda cost: cost["wall"])


def cells(cost: Mapping[str, float]) -> list[str]:
    """Write a cost, as a record holds it: seconds, processor seconds and peak memory, with :data:`COST` above them."""
    return [f"{cost['wall']:.1f}", f"{cost['processor']:.1f}", f"{cost['memory'] / 1e9:.2f}"]


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]], *, names: int = 1) -> str:
    """Write a table in Markdown: the columns of ``names`` to the left, the others to the right."""
    rule = "|---" * names + "|---:" * (len(titles) - names) + "|"
    shown = [f"| {' | '.join(row)} |" for row in (titles, *rows)]
    return "\n".join([shown[0], rule, *shown[1:]])
