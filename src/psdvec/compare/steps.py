"""The steps of a comparison: counting, and the commands that train each method, run once and remembered.

Goes in: a corpus and what is wanted of it, a :class:`Plan`. Comes out: for each method an :class:`Outcome`, what its
steps took and where its vectors are. What a step took is written beside its output together with what it was asked
to do, so that a finished step is found again. Steps may be shared: the paper's core words serve it with and without
regularisation, word2vec's vectors serve sparse coding.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psdvec
from psdvec.compare.process import Cost, FailedCommandError, run_measured
from psdvec.counts.count import count_pairs, input_plan
from psdvec.errors import InputError
from psdvec.methods import METHODS
from psdvec.methods.psd import paper_core
from psdvec.progress import Progress
from psdvec.storage.artefact import META, open_artefact
from psdvec.storage.atomic import whole_file
from psdvec.text.corpus import read_corpus

PACKAGES = ("numpy", "scipy", "numba", "gensim")
CORE = "psd-core"
_COUNTING = ("window", "weighting", "gaps")
_SHOWING = (
    "explore/",
    "cli/explore",
    "compare/page",
    "compare/tables",
    "evaluation/tables",
    "evaluation/svg",
    "evaluation/page",
)


@dataclass(frozen=True)
class Plan:
    """What is asked of a comparison, apart from the corpus; ``counting`` are options forced upon all methods."""

    methods: tuple[str, ...]
    dim: int
    seed: int
    workers: int
    tokenizer: str
    min_count: int
    max_words: int | None
    counting: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def counting_of(self, method: str) -> dict[str, Any]:
        """Return window, weighting and gaps of the counts that ``method`` is trained on."""
        parameters = inspect.signature(count_pairs).parameters
        ours = {name: parameters[name].default for name in _COUNTING}
        return {**ours, **METHODS[method].counting, **self.counting}


@dataclass(frozen=True)
class Outcome:
    """What became of a method: the cost of counting, of each training step, or the error that ended it."""

    method: str
    counting: Cost | None = None
    steps: Mapping[str, Cost] = field(default_factory=dict)
    vectors: Path | None = None
    error: str | None = None

    @property
    def training(self) -> Cost | None:
        """The cost of all training steps together, None where it failed."""
        if self.error is not None:
            return None
        costs = list(self.steps.values())
        return sum(costs[1:], costs[0])

    @property
    def total(self) -> float:
        """Wall seconds from text to vectors; methods that read the text are not charged with counting."""
        assert self.training is not None
        needed = self.counting if METHODS[self.method].reads == "counts" else None
        return self.training.wall + (needed.wall if needed else 0.0)


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
    """Return SHA-256 over the program's sources below ``home``, apart from those that only show what was made.

    A version number does not tell two states of a program that is being worked on apart.
    """
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        name = path.relative_to(home).as_posix()
        if not name.startswith(_SHOWING):
            digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class Bench:
    """Trains methods on one corpus, below one ``folder``: counts/, models/, and beside each what it took."""

    def __init__(self, folder: Path, corpus: Sequence[str], plan: Plan, progress: Progress) -> None:
        self.folder, self.plan, self.progress = folder, plan, progress
        self.corpus = read_corpus(corpus, tokenizer=plan.tokenizer)
        if not self.corpus.is_restartable:
            raise InputError("standard input can be read only once, and every method reads it; give files")
        self.files = [str(Path(file).resolve()) for file in self.corpus.files]

    def judge(self, method: str) -> Outcome:
        """Train ``method``, step by step, as far as it is not trained already."""
        counting: Cost | None = None
        costs: dict[str, Cost] = {}
        try:
            counts = self._place_of_counts(method)
            counting = self._run(counts, self._counting_command(method))
            for name, command in self._steps(method, counts):
                costs[name] = self._run(f"models/{name}", command)
        except FailedCommandError as error:
            return Outcome(method, counting, costs, None, str(error))
        return Outcome(method, counting, costs, self.folder / "models" / method)

    def read(self) -> dict[str, int]:
        """Return how much text was read, and the size of the vocabulary, from any of the counts."""
        for record in sorted((self.folder / "counts").glob(f"*/{META}")):
            artefact = open_artefact(record.parent)
            words = int(artefact.array("word_counts").size)
            return {"tokens": int(artefact.parameters["tally"]["tokens"]), "vocabulary": words}
        return {}

    def _run(self, place: str, command: Sequence[str]) -> Cost:
        """Run a command whose output is the folder ``place``, or find what it took when it was run before."""
        key = {"command": list(command), "input": input_plan(self.corpus), "versions": versions()}
        key["program"] = program_digest(Path(psdvec.__file__).parent)
        record = self.folder / f"{place}.json"
        if (self.folder / place / META).is_file() and record.is_file():
            found = json.loads(record.read_text(encoding="utf-8"))
            if found["key"] == json.loads(json.dumps(key)):
                self.progress.say(f"{place}: finished before")
                return Cost(**found["cost"])
        shutil.rmtree(self.folder / place, ignore_errors=True)
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        with self.progress.stage(place, total=None, unit="lines") as stage:
            cost = run_measured(
                [*command, "-o", place], folder=self.folder, workers=self.plan.workers, note=stage.note
            )
        if not (self.folder / place / META).is_file():
            raise FailedCommandError(
                f"'{command[0]}' had nothing to write; give a larger corpus or a smaller core"
            )
        with whole_file(record) as file:
            file.write(json.dumps({"key": key, "cost": asdict(cost)}, indent=1).encode())
        return cost

    def _place_of_counts(self, method: str) -> str:
        options = self.plan.counting_of(method)
        return "counts/" + "-".join(str(options[name]).replace(":", "") for name in _COUNTING)

    def _counting_command(self, method: str) -> list[str]:
        plan, options = self.plan, self.plan.counting_of(method)
        command = ["count", *self.files, "--tokenizer", plan.tokenizer, "--min-count", str(plan.min_count)]
        if plan.max_words is not None:
            command += ["--max-words", str(plan.max_words)]
        command += [part for name in _COUNTING for part in (f"--{name}", str(options[name]))]
        return [*command, "--workers", str(plan.workers)]

    def _steps(self, method: str, counts: str) -> list[tuple[str, list[str]]]:
        """Return the training steps of ``method``: the folder below models/ and the command of each."""
        settings = dict(self.plan.settings.get(method, {}))
        if method in ("psd", "psd-unreg"):
            return self._paper_steps(method, counts, settings)
        if method == "sparse" and "vectors" not in settings:
            base = self._fit_step("word2vec", counts, self.plan.settings.get("word2vec", {}))
            return [base, self._fit_step("sparse", counts, {**settings, "vectors": "models/word2vec"})]
        return [self._fit_step(method, counts, settings)]

    def _paper_steps(
        self, method: str, counts: str, settings: Mapping[str, Any]
    ) -> list[tuple[str, list[str]]]:
        """Return the fit of the core words and the ridge of the others, apart, as in the paper's table 3."""
        words = int(open_artefact(self.folder / counts).array("word_counts").size)
        core = settings.get("core", paper_core(words))
        own = {**(METHODS[method].recipe or {}), **settings}
        placing: dict[str, Any] = {name: own[name] for name in ("ridge", "damping") if name in own}
        fitting = {name: value for name, value in settings.items() if name not in ("core", *placing)}
        name = f"{CORE}-{core}" + (f"-{method}" if fitting else "")
        fit = [
            "fit",
            counts,
            "--recipe",
            "paper",
            "--max-words",
            str(core),
            *self._common(),
            *_options(fitting),
        ]
        extend = ["extend", f"models/{name}", counts, "--workers", str(self.plan.workers), *_options(placing)]
        return [(name, fit), (method, extend)]

    def _fit_step(self, method: str, counts: str, settings: Mapping[str, Any]) -> tuple[str, list[str]]:
        command = ["fit", counts, "--method", method, *self._common()]
        if METHODS[method].reads == "corpus" and "vectors" not in settings:
            command += [part for file in self.files for part in ("--corpus", file)]
        for name, value in settings.items():
            command += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        return method, command

    def _common(self) -> list[str]:
        plan = self.plan
        return ["--dim", str(plan.dim), "--seed", str(plan.seed), "--workers", str(plan.workers)]


def _options(settings: Mapping[str, Any]) -> list[str]:
    """Return numbers of a recipe as the options that set them."""
    options = []
    for name, value in settings.items():
        options += (
            [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
        )
    return options
