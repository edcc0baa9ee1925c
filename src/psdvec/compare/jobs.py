"""The steps of a comparison, each a command in a process of its own, measured in the same way for all.

A step is kept with what it was made from, so that a comparison can be resumed. The command is started by a small
process in between (``python -m psdvec.compare.jobs``), because a child's peak memory includes that of the process
it was forked from.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import psdvec
from psdvec.compare.values import Cost, Plan, TrainingRun
from psdvec.counts.count import count_pairs, report_tally
from psdvec.counts.matrix import Tally
from psdvec.errors import InputError, ResourceError, StoreError
from psdvec.methods import METHODS
from psdvec.methods.psd import paper_core
from psdvec.methods.run import fit_method
from psdvec.progress import Progress
from psdvec.storage.arrays import parse_json
from psdvec.storage.artefact import META, open_artefact, seal, verify_artefact
from psdvec.storage.files import whole_file
from psdvec.text.corpus import read_corpus

# Commands in processes of their own, with wall time and peak memory measured in the same way for all.

_THREADS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class FailedCommandError(Exception):
    """A command failed; the text is the sentence with which it did."""


def run_measured(
    command: Sequence[str], *, folder: Path, workers: int, note: Callable[[str], None] = lambda _: None
) -> Cost:
    """Run ``python -m psdvec COMMAND`` in ``folder`` with this many threads and measure it.

    ``note`` is called with each line that the command writes to standard error.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(workers))}
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        result = Path(temporary) / "result.json"
        launch = [sys.executable, "-m", "psdvec.compare.jobs", str(result)]
        said: deque[str] = deque(maxlen=20)
        with subprocess.Popen(
            [*launch, sys.executable, "-m", "psdvec", *command],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        ) as process:  # fmt: skip
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    said.append(line.strip())
                    note(line.strip())
            except BaseException:
                process.terminate()
                raise
        measured = json.loads(result.read_text()) if result.exists() else {"code": process.returncode}
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
    """Run the command in ``sys.argv`` and write its cost to the file named before it.

    Standard input is the other end of a pipe that ends with the process that started this one, however it ends; then
    the command is stopped too.
    """
    result, *command = sys.argv[1:]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    threading.Thread(target=_stop_at_end, args=(sys.stdin.fileno(), process), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets it too, and stops by itself
    _, status, usage = os.wait4(process.pid, 0)
    measured = {
        "wall": time.perf_counter() - start,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
    }
    Path(result).write_text(json.dumps(measured))


def _stop_at_end(pipe: int, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of ``pipe``, in which nothing is ever written, and stop ``process``."""
    os.read(pipe, 1)
    process.terminate()


if __name__ == "__main__":
    main()


# The steps of a comparison: counting, and the commands that train each method, each run once and remembered.

PACKAGES = ("numpy", "scipy", "numba", "gensim")
CORE = "psd-core"
PAPER = ("psd", "psd-unreg", "psd-original")  # their core words and the others are two steps
COUNTING = {
    name: inspect.signature(count_pairs).parameters[name].default for name in ("window", "weighting", "gaps")
}
_RECORD = b'{\n "key": '  # how the record of a step begins
_SHOWING = (
    "explore/",
    "cli/explore",
    "compare/page",
    "compare/tables",
    "evaluation/tables",
    "evaluation/verdict",
    "evaluation/page",
    "pages/",
)


def versions() -> dict[str, str]:
    """Return the versions of psdvec and of the packages that methods are made with."""
    found = {"psdvec": psdvec.__version__}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def program_digest(home: Path) -> str:
    """Return the SHA-256 of the program's sources below ``home``, except those that only show results.

    A version number cannot tell apart two states of a program that is being worked on.
    """
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        name = path.relative_to(home).as_posix()
        if not name.startswith(_SHOWING):
            digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def warm_up(methods: Iterable[str], tokenizer: str) -> None:
    """Compile the kernels of counting and of ``methods`` in a process of its own, before anything is measured."""
    names = [name for name in methods if METHODS[name].reads == "counts"]
    code = f"from psdvec.compare.jobs import compile_kernels; compile_kernels({names!r}, {tokenizer!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, errors="replace", check=False
    )
    if done.returncode:
        why = complaint(done.returncode, done.stderr.splitlines())
        raise ResourceError(
            f"compiling the kernels failed: {why}; check that there is enough memory and disk space"
        )


def compile_kernels(methods: Iterable[str], tokenizer: str) -> None:
    """Compile by counting a few made-up sentences and training ``methods`` on them."""
    words = [first + second for first in "abcdef" for second in "abcdefghij"]  # words to every tokenizer
    drawn = np.random.default_rng(0).choice(words, size=(200, 12))
    with tempfile.TemporaryDirectory(prefix="psdvec-") as folder:
        text, counts = Path(folder) / "text", Path(folder) / "counts"
        text.write_text("\n".join(" ".join(line) for line in drawn.tolist()))
        count_pairs(read_corpus(text, tokenizer=tokenizer), min_count=1, output=counts)
        for name in methods:
            settings = {"epochs": 1} if name == "glove" else {}
            fit_method(name, counts, output=Path(folder) / name, dim=4, settings=settings)


def seeds_for(method: str, asked: int | str, seconds: float) -> int:
    """Return how many seeds to train a method with whose first training took so many ``seconds``.

    ``"auto"`` is five up to a minute, two above ten minutes, and three between. A method in which nothing is random is
    trained once.

    >>> [seeds_for("glove", "auto", seconds) for seconds in (60, 61, 600, 601)], seeds_for("ppmi", 5, 1)
    ([5, 3, 3, 2], 1)
    """
    if "seed" not in inspect.signature(METHODS[method].function).parameters:
        return 1
    if isinstance(asked, int):
        return asked
    return 5 if seconds <= 60 else 3 if seconds <= 600 else 2


class Bench:
    """Trains methods on one corpus, below one ``folder``: counts/, models/, and beside each output its cost.

    ``bytes`` is the size of the text; ``size`` holds its words and its vocabulary, once it has been counted.
    """

    def __init__(self, folder: Path, corpus: Sequence[str], plan: Plan, progress: Progress) -> None:
        self.folder, self.plan, self.progress = folder, plan, progress
        self.corpus = read_corpus(corpus, tokenizer=plan.tokenizer, **plan.reading)
        if not self.corpus.is_restartable:
            raise InputError("standard input can be read only once, but every method reads it; give files")
        self.files = [str(Path(file).resolve()) for file in self.corpus.files]
        self.bytes = self.corpus.raw_size or 0
        self.input = self.corpus.identity
        self.size: dict[str, int] = {}

    def train(self, methods: Sequence[str]) -> tuple[TrainingRun, ...]:
        """Train ``methods`` one after another, and note how large the corpus is."""
        runs = tuple(self._train_method(method) for method in methods)
        counted = [self._place_of_counts(run.method) for run in runs if run.counting is not None]
        self.size = self._read_size(counted[0]) if counted else {}
        if counted:  # the commands have said so where nobody looked
            tally = open_artefact(self.folder / counted[0]).parameters["tally"]
            report_tally(Tally(**tally), self.corpus, self.progress)
        return runs

    def _train_method(self, method: str) -> TrainingRun:
        """Train ``method`` with as many seeds as are asked for; it fails if it fails with one of them."""
        runs = [self._train_one(method, self.plan.seed)]
        if runs[0].training is not None:
            count = seeds_for(method, self.plan.seeds, runs[0].training.wall)
            runs += [self._train_one(method, self.plan.seed + i) for i in range(1, count)]
        failed = next((run for run in runs if run.error is not None), None)
        if failed is not None:
            return failed
        steps = {name: _median([run.steps[name] for run in runs]) for name in runs[0].steps}
        return replace(runs[0], steps=steps, vectors=tuple(path for run in runs for path in run.vectors))

    def _train_one(self, method: str, seed: int) -> TrainingRun:
        """Train ``method`` with one seed, step by step, except for steps that are already finished."""
        counting: Cost | None = None
        costs: dict[str, Cost] = {}
        try:
            counts = self._place_of_counts(method)
            counting = self._run(counts, self._counting_command(method))
            for name, command in self._steps(method, counts, seed):
                costs[name] = self._run(self._place_of(name, seed), command)
        except FailedCommandError as error:
            self.progress.say(f"{method} failed: {error}")
            return TrainingRun(method, counting, costs, error=str(error))
        return TrainingRun(method, counting, costs, (self.folder / self._place_of(method, seed),))

    def _read_size(self, counts: str) -> dict[str, int]:
        """Return how many words were read for ``counts``, and the size of the vocabulary."""
        artefact = open_artefact(self.folder / counts)
        words = int(artefact.array("word_counts", np.int64).size)
        return {"tokens": int(artefact.parameters["tally"]["tokens"]), "vocabulary": words}

    def _run(self, place: str, command: Sequence[str]) -> Cost:
        """Run a command whose output is the folder ``place``, or return its cost if it was run before."""
        key = {"command": list(command), "input": self.input, "versions": versions()}
        key["program"] = program_digest(Path(psdvec.__file__).parent)
        record = self.folder / f"{place}.json"
        known = read_cost(record, self.folder / place, json.loads(json.dumps(key)))
        if known is not None:
            self.progress.say(f"{place}: already finished")
            return known
        if record.exists() and not record.read_bytes().startswith(_RECORD):
            raise InputError(
                f"'{record}' was not written by a comparison; move it away, or choose another output"
            )
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        with self.progress.stage(place, total=None, unit="lines") as stage:
            cost = run_measured(
                [*command, "-o", place, "--overwrite"],
                folder=self.folder,
                workers=self.plan.workers,
                note=stage.note,
            )
        if not (self.folder / place / META).is_file():
            raise FailedCommandError(
                f"'{command[0]}' had nothing to write; use a larger corpus or a smaller core"
            )
        with whole_file(record) as file:
            file.write(json.dumps(seal({"key": key, "cost": asdict(cost)}), indent=1).encode())
        return cost

    def _place_of(self, name: str, seed: int) -> str:
        return f"models/{name}" + (f"-seed-{seed}" if seed != self.plan.seed else "")

    def _place_of_counts(self, method: str) -> str:
        options = self.plan.counting[method]
        return "counts/" + "-".join(str(options[name]).replace(":", "") for name in COUNTING)

    def _counting_command(self, method: str) -> list[str]:
        plan, options = self.plan, self.plan.counting[method]
        command = ["count", *self.files, "--tokenizer", plan.tokenizer, "--min-count", str(plan.min_count)]
        if plan.max_words is not None:
            command += ["--max-words", str(plan.max_words)]
        command += [part for name in COUNTING for part in (f"--{name}", str(options[name]))]
        command += [part for name, value in plan.reading.items() for part in (f"--{name}", value)]
        return [*command, "--workers", str(plan.workers)]

    def _steps(self, method: str, counts: str, seed: int) -> list[tuple[str, list[str]]]:
        """Return the training steps of ``method``: for each its name and the command."""
        settings = dict(self.plan.settings.get(method, {}))
        if method in PAPER:
            return self._paper_steps(method, counts, settings, seed)
        if method == "sparse" and "vectors" not in settings:
            base = self._fit_step("word2vec", counts, self.plan.settings.get("word2vec", {}), seed)
            settings["vectors"] = self._place_of("word2vec", seed)
            return [base, self._fit_step("sparse", counts, settings, seed)]
        return [self._fit_step(method, counts, settings, seed)]

    def _paper_steps(
        self, method: str, counts: str, settings: Mapping[str, Any], seed: int
    ) -> list[tuple[str, list[str]]]:
        """Return the fit of the core words and the ridge for the others as two steps, as in the paper's table 3."""
        recipe = METHODS[method].recipe or {}
        own = {**recipe, **settings}
        placing: dict[str, Any] = {name: own[name] for name in ("ridge", "damping") if name in own}
        fitting = {name: value for name, value in settings.items() if name not in ("core", *placing)}
        extend_options, fit_options = _options(placing), _options(fitting)
        core = settings["core"] if "core" in settings else paper_core(self._read_size(counts)["vocabulary"])
        plain = recipe["name"] == "paper" and not fitting
        name = f"{CORE}-{core}" + ("" if plain else f"-{method}")
        fit = [
            "fit",
            counts,
            "--recipe",
            recipe["name"],
            "--max-words",
            str(core),
            *self._common(seed),
            *fit_options,
        ]
        extend = [
            "extend",
            self._place_of(name, seed),
            counts,
            "--workers",
            str(self.plan.workers),
            *extend_options,
        ]
        return [(name, fit), (method, extend)]

    def _fit_step(
        self, method: str, counts: str, settings: Mapping[str, Any], seed: int
    ) -> tuple[str, list[str]]:
        command = ["fit", counts, "--method", method, *self._common(seed)]
        if METHODS[method].reads == "corpus" and "vectors" not in settings:
            command += [part for file in self.files for part in ("--corpus", file)]
        for name, value in settings.items():
            command += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        return method, command

    def _common(self, seed: int) -> list[str]:
        plan = self.plan
        return ["--dim", str(plan.dim), "--seed", str(seed), "--workers", str(plan.workers)]


def read_cost(record: Path, output: Path, key: Mapping[str, Any]) -> Cost | None:
    """Return what a step took that was run for ``key``; None unless its record and output are as they were written."""
    if not (output / META).is_file() or not record.is_file():
        return None
    try:
        found = parse_json(record.read_bytes())
        verify_artefact(open_artefact(output))
    except (ValueError, StoreError):
        return None
    if not isinstance(found, dict) or found != seal(found) or found["key"] != key:
        return None
    return Cost(**found["cost"])


def _median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each of wall seconds, processor seconds and memory."""
    walls, processors, sizes = zip(*((cost.wall, cost.processor, cost.memory) for cost in costs), strict=True)
    return Cost(median(walls), median(processors), int(median(sizes)))


def _options(settings: Mapping[str, Any]) -> list[str]:
    """Return settings of a recipe as the options that set them."""
    options = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        options += (
            [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
        )
    return options
