"""The steps of a comparison, each a command in a process of its own, measured in the same way for all.

A step is kept with what it was made from, so that a comparison can be resumed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import psdvec
from psdvec.compare.values import Cost, FailedCommandError, Setup, TrainingRun, complaint, measure
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Tally
from psdvec.counts.segments import report_tally
from psdvec.errors import InputError, ResourceError, StoreError
from psdvec.methods import METHODS
from psdvec.methods.psd import paper_core
from psdvec.methods.run import fit_method
from psdvec.options import Counting
from psdvec.progress import Progress
from psdvec.storage.artefact import META, open_artefact, parse_json, seal, verify_artefact
from psdvec.storage.files import whole_file
from psdvec.text.corpus import read_corpus

CORE = "psd-core"
PAPER = ("psd", "psd-unreg", "psd-original")  # their core words and the others are two steps
COUNTING = {name: getattr(Counting, name) for name in ("window", "weighting", "gaps")}
_RECORD = b'{\n "key": '  # how the record of a step begins
_THREADS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def versions() -> dict[str, str]:
    """Return the versions of psdvec and of the packages that methods are made with."""
    found = {"psdvec": psdvec.__version__}
    for name in ("numpy", "scipy", "numba", "gensim"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@cache
def program_digest(root: str) -> str:
    """Return the SHA-256 of the sources of module ``root`` and of every module of psdvec that these import, anywhere.

    A version number cannot tell apart two states of a program that is being worked on; and a step need not be run again
    because of what it does not use.
    """
    digest = hashlib.sha256()
    for name, source in sorted(modules_used(root).items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()


def modules_used(root: str) -> dict[str, bytes]:
    """Return the sources of ``root`` and of the modules of psdvec that it uses, by name.

    >>> used = modules_used("psdvec.counts.count")
    >>> "psdvec.text.corpus" in used, "psdvec.solver.fit" in used
    (True, False)
    """
    found: dict[str, bytes] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        path = _source_of(name)
        if path is None or name in found:
            continue
        found[name] = path.read_bytes()
        for node in ast.walk(ast.parse(found[name])):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            elif isinstance(node, ast.Import):
                waiting += [one.name for one in node.names]
    return found


def _source_of(name: str) -> Path | None:
    """Return the file of a module below psdvec; None for anything else."""
    first, *rest = name.split(".")
    place = Path(psdvec.__file__).parent.joinpath(*rest)
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None) if first == "psdvec" and rest else None


def run_measured(
    command: Sequence[str], *, folder: Path, workers: int, note: Callable[[str], None] = lambda _: None
) -> Cost:
    """Run ``python -m psdvec COMMAND`` in ``folder`` with this many threads and measure it."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(workers))}
    whole = [sys.executable, "-m", "psdvec", *command]
    return measure(whole, folder=folder, environment=environment, note=note)


def warm_up(methods: Iterable[str], tokenizer: str) -> None:
    """Compile the kernels of counting and of ``methods`` in a process of its own, before anything is measured."""
    trained = dict.fromkeys(METHODS[name].base or name for name in methods)
    names = [name for name in trained if METHODS[name].reads == "counts"]
    code = f"from psdvec.compare.jobs import compile_kernels; compile_kernels({names!r}, {tokenizer!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False
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
        text.write_bytes("\n".join(" ".join(line) for line in drawn.tolist()).encode())
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

    def __init__(self, folder: Path, corpus: Sequence[str], setup: Setup, progress: Progress) -> None:
        self.folder, self.setup, self.progress = folder, setup, progress
        self.corpus = read_corpus(corpus, tokenizer=setup.tokenizer, **setup.reading)
        if not self.corpus.is_restartable:
            raise InputError("standard input can be read only once, but every method reads it; give files")
        self.files = [str(Path(file).resolve()) for file in self.corpus.files]
        self.bytes = self.corpus.raw_size or 0
        self.input = {**self.corpus.identity, "files": [_digest_of(file) for file in self.files]}
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
        runs = [self._train_one(method, self.setup.seed)]
        if runs[0].training is not None:
            count = seeds_for(method, self.setup.seeds, runs[0].training.wall)
            runs += [self._train_one(method, self.setup.seed + i) for i in range(1, count)]
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
            counts, setup = self._place_of_counts(method), self.setup
            counting_command = _command(
                "count", *self.files, tokenizer=setup.tokenizer, min_count=setup.min_count, max_words=setup.max_words,
                **setup.counting[method], **_as_options(setup.reading), workers=setup.workers,
            )  # fmt: skip
            counting = self._run(counts, counting_command, home="psdvec.counts.count")
            for name, command in self._steps(method, counts, seed).items():
                home = METHODS[name if name in METHODS else method].home.partition(".")[0]
                costs[name] = self._run(self._place_of(name, seed), command, home=f"psdvec.methods.{home}")
        except FailedCommandError as error:
            self.progress.say(f"{method} failed: {error}")
            return TrainingRun(method, counting, costs, error=str(error))
        return TrainingRun(method, counting, costs, (self.folder / self._place_of(method, seed),))

    def _read_size(self, counts: str) -> dict[str, int]:
        """Return how many words were read for ``counts``, and the size of the vocabulary."""
        artefact = open_artefact(self.folder / counts)
        words = int(artefact.array("word_counts", np.int64).size)
        return {"tokens": int(artefact.parameters["tally"]["tokens"]), "vocabulary": words}

    def _run(self, place: str, command: Sequence[str], *, home: str) -> Cost:
        """Run a command whose output is the folder ``place``, or return its cost if it was run before.

        ``home`` is the module that does what the command asks for.
        """
        key = {"command": list(command), "input": self.input, "versions": versions()}
        key["program"] = program_digest(home)
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
        whole, workers = [*command, "-o", place, "--overwrite"], self.setup.workers
        with self.progress.stage(place, total=None, unit="lines") as stage:
            cost = run_measured(whole, folder=self.folder, workers=workers, note=stage.note)
        if not (self.folder / place / META).is_file():
            raise FailedCommandError(
                f"'{command[0]}' had nothing to write; use a larger corpus or a smaller core"
            )
        with whole_file(record) as file:
            file.write(json.dumps(seal({"key": key, "cost": asdict(cost)}), indent=1).encode())
        return cost

    def _place_of(self, name: str, seed: int) -> str:
        return f"models/{name}" + (f"-seed-{seed}" if seed != self.setup.seed else "")

    def _place_of_counts(self, method: str) -> str:
        return "counts/" + "-".join(str(how).replace(":", "") for how in self.setup.counting[method].values())

    def _steps(self, method: str, counts: str, seed: int) -> dict[str, list[str]]:
        """Return the commands of the training steps of ``method``, by their names."""
        common = {"dim": self.setup.dim, "seed": seed, "workers": self.setup.workers}
        if method in PAPER:
            return self._paper_steps(method, counts, seed, common)
        base, commands = METHODS[method].base, {}
        settings = {name: dict(self.setup.settings.get(name, {})) for name in (base or method, method)}
        names = [method]
        if base is not None and "vectors" not in settings[method]:
            names = [base, method]
            settings[method]["vectors"] = self._place_of(base, seed)
        for name in names:
            reads = METHODS[name].reads == "corpus" and "vectors" not in settings[name]
            values = {k: str(x).lower() if isinstance(x, bool) else x for k, x in settings[name].items()}
            changed, files = [f"{k}={x}" for k, x in values.items()], self.files if reads else []
            commands[name] = _command("fit", counts, method=name, **common, corpus=files, set=changed)
        return commands

    def _paper_steps(
        self, method: str, counts: str, seed: int, common: Mapping[str, int]
    ) -> dict[str, list[str]]:
        """Return the fit of the core words and the ridge for the others as two steps, as in the paper's table 3."""
        recipe, settings = METHODS[method].recipe or {}, self.setup.settings.get(method, {})
        own = {**recipe, **settings}
        placing: dict[str, Any] = {name: own[name] for name in ("ridge", "damping") if name in own}
        fitting = {name: value for name, value in settings.items() if name not in ("core", *placing)}
        core = settings["core"] if "core" in settings else paper_core(self._read_size(counts)["vocabulary"])
        plain = recipe["name"] == "paper" and not fitting
        name = f"{CORE}-{core}" + ("" if plain else f"-{method}")
        fit = _command("fit", counts, recipe=recipe["name"], max_words=core, **common, **fitting)
        place = self._place_of(name, seed)
        return {name: fit, method: _command("extend", place, counts, workers=common["workers"], **placing)}


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


def _digest_of(file: str) -> str:
    with Path(file).open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each of wall seconds, processor seconds and memory."""
    walls, processors, sizes = zip(*((cost.wall, cost.processor, cost.memory) for cost in costs), strict=True)
    return Cost(median(walls), median(processors), int(median(sizes)))


def _as_options(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return how text is read as options of the command ``count``.

    >>> _as_options({"column": "body", "where": {"party": ("A", "B")}})
    {'column': 'body', 'where': ['party=A', 'party=B']}
    """
    where = [f"{name}={value}" for name, values in reading.get("where", {}).items() for value in values]
    return {**reading, "where": where}


def _command(*words: str, **options: Any) -> list[str]:
    """Return a command with its options: a list repeats one, True and False are flags, and None leaves it out.

    >>> _command("fit", "counts", max_words=9, diagonal=False, set=["a=1", "b=2"], core=None)
    ['fit', 'counts', '--max-words', '9', '--no-diagonal', '--set', 'a=1', '--set', 'b=2']
    """
    command = [*words]
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            command.append(f"--{'' if value else 'no-'}{flag}")
        else:
            given = value if isinstance(value, list) else [value]
            command += [part for one in given if one is not None for part in (f"--{flag}", str(one))]
    return command
