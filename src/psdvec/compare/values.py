"""What a comparison is asked for, what its commands cost, and what it finds.

A command is started by a small process in between (``python -m psdvec.compare.values``), because a child's peak memory
includes that of the process it was forked from.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psdvec.methods import METHODS

if TYPE_CHECKING:
    from psdvec.evaluation.report import Report, ReportTables, Table


@dataclass(frozen=True)
class Setup:
    """What is asked of a comparison, apart from the corpus.

    ``seeds`` is how many seeds each method is trained with, from ``seed`` on, or ``"auto"``
    (:func:`psdvec.compare.jobs.seeds_for`). ``counting`` holds, by method, the window, weighting and gaps of the
    counts it is trained on; ``settings``, by method, the hyper-parameters that are not left at their defaults.
    ``reading`` holds what :func:`psdvec.read_corpus` is given besides.
    """

    dim: int
    seed: int
    seeds: int | str
    workers: int
    tokenizer: str
    min_count: int
    max_words: int | None
    counting: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What a command took: wall seconds, processor seconds, bytes of peak memory."""

    wall: float
    processor: float
    memory: int

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of one command after the other."""
        return Cost(self.wall + other.wall, self.processor + other.processor, max(self.memory, other.memory))


class FailedCommandError(Exception):
    """A command failed; the text is the sentence with which it did."""


def measure(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Cost:
    """Run a command to its end and return its cost; ``note`` is called with each line that it writes to standard error.

    It runs in ``folder``; what it reads and prints is in the files ``stdin`` and ``stdout``, or nowhere.
    """
    nowhere = Path(os.devnull)
    said: deque[str] = deque(maxlen=20)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary, (stdout or nowhere).open("wb") as sink:
        result = Path(temporary) / "result.json"
        # By its file: the command may be that of another psdvec, which PYTHONPATH names.
        launch = [sys.executable, "-P", __file__, str(result), str((stdin or nowhere).resolve())]
        with subprocess.Popen(
            [*launch, *command], cwd=folder, env=environment,
            stdin=subprocess.PIPE, stdout=sink, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        ) as process:  # fmt: skip
            # After an error here its input ends, and with that the command; Windows would end this process alone.
            assert process.stderr is not None
            for line in process.stderr:
                said.append(line.strip())
                note(line.strip())
        found = result.read_text(encoding="utf-8") if result.exists() else None
        measured = {"code": process.returncode} if found is None else json.loads(found)
    if measured["code"] != 0:
        raise FailedCommandError(complaint(measured["code"], said))
    return Cost(measured["wall"], measured["processor"], measured["memory"])


def complaint(code: int, said: Sequence[str]) -> str:
    """Return the sentence with which a command failed, from its exit code and the lines it ``said``."""
    if code < 0:
        name = signal.Signals(-code).name
        return f"it was killed by {name}" + (", perhaps for lack of memory" if name == "SIGKILL" else "")
    lines = [line for line in said if line]
    return lines[-1].removeprefix("psdvec: ") if lines else f"it ended with exit code {code} and said nothing"


def main() -> None:
    """Run the command in ``sys.argv``; before it stand the files to write its cost to and to read its input from.

    Standard input is the other end of a pipe that ends with the process that started this one, however it ends; then
    the command is stopped too.
    """
    result, source, *command = sys.argv[1:]
    with Path(source).open("rb") as stdin:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=stdin)
    threading.Thread(target=_stop_at_end, args=(sys.stdin.fileno(), process), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets it too, and stops by itself
    code, processor, memory = _cost_of(process)
    measured = {
        "wall": time.perf_counter() - start, "processor": processor, "memory": memory, "code": code,
    }  # fmt: skip
    Path(result).write_text(json.dumps(measured), encoding="utf-8", newline="\n")


def _cost_of(process: subprocess.Popen[bytes]) -> tuple[int, float, int]:
    """Wait for a process; return its exit code, its processor seconds and its peak memory."""
    if not hasattr(os, "wait4"):
        from psdvec.system import cost_of  # only there: another psdvec may be an older one, without it

        return cost_of(process)
    _, status, usage = os.wait4(process.pid, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def _stop_at_end(pipe: int, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of ``pipe``, in which nothing is ever written, and stop ``process``."""
    os.read(pipe, 1)
    process.terminate()


@dataclass(frozen=True)
class TrainingRun:
    """How the training of a method went: the cost of counting and of each step, or the error that ended it.

    ``vectors`` are the model folders, one for each seed; the cost of a step is the median over seeds.
    """

    method: str
    counting: Cost | None = None
    steps: Mapping[str, Cost] = field(default_factory=dict)
    vectors: tuple[Path, ...] = ()
    error: str | None = None

    @property
    def training(self) -> Cost | None:
        """The cost of all training steps together, or None if it failed."""
        if self.error is not None:
            return None
        return sum(self.steps.values(), Cost(0.0, 0.0, 0))

    @property
    def charged(self) -> Cost | None:
        """The cost of the counts that it was trained on, or None if it reads the text itself."""
        return self.counting if METHODS[self.method].reads == "counts" else None

    @property
    def total(self) -> float:
        """Wall seconds from text to vectors; methods that read the text are not charged for counting."""
        assert self.training is not None
        return self.training.wall + (self.charged.wall if self.charged else 0.0)


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    ``header`` says by name what was compared, on what machine and when. ``left_out`` are the methods whose package is
    missing, each with the command that installs it. ``second`` are the runs on the second corpus, in the same order, if
    there is one; ``sizes`` are the words and the vocabulary of each corpus. ``quality`` is each model's mean over
    similarity and analogies, NaN if it has none. ``tables`` are all tables by title, in their order, those of the
    ``evaluation`` among them, and ``remarks`` say how their numbers were made.
    """

    header: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    runs: tuple[TrainingRun, ...]
    second: tuple[TrainingRun, ...]
    sizes: tuple[Mapping[str, int], ...]
    left_out: Mapping[str, str]
    quality: Mapping[str, float]
    report: Report
    evaluation: ReportTables
    tables: Mapping[str, Table]
    remarks: tuple[str, ...]


if __name__ == "__main__":
    main()
