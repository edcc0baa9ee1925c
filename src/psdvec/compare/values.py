"""What a comparison is asked for, and what it finds: the values that its steps hand to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psdvec.methods import METHODS

if TYPE_CHECKING:
    from psdvec.evaluation.report import Report, ReportTables, Table


@dataclass(frozen=True)
class Plan:
    """What is asked of a comparison, apart from the corpus.

    ``seeds`` is how many seeds each method is trained with, from ``seed`` on, or ``"auto"``
    (:func:`psdvec.compare.jobs.seeds_for`). ``counting`` holds, by method, the window, weighting and gaps of the
    counts it is trained on; ``settings``, by method, the hyper-parameters that are not left at their defaults.
    ``reading`` holds what :func:`psdvec.read_corpus` is given besides.
    """

    methods: tuple[str, ...]
    dim: int
    seed: int
    seeds: int | str
    workers: int
    tokenizer: str
    min_count: int
    max_words: int | None
    counting: Mapping[str, Mapping[str, Any]]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What a command took: wall seconds, processor seconds, bytes of peak memory."""

    wall: float
    processor: float
    memory: int

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of one command after the other."""
        return Cost(self.wall + other.wall, self.processor + other.processor, max(self.memory, other.memory))


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
class ComparisonTables:
    """Every table of a comparison, and remarks on how its numbers were made.

    ``titled`` are the tables that the report shows as text, by title and in their order.
    """

    evaluation: ReportTables
    costs: Table
    core: Table | None
    settings: Table
    remarks: tuple[str, ...]
    titled: Mapping[str, Table]


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    ``header`` says by name what was compared, on what machine and when. ``left_out`` are the methods whose package is
    missing, each with the command that installs it. ``second`` are the runs on the second corpus, in the same order, if
    there is one; ``sizes`` are the words and the vocabulary of each corpus. ``quality`` is each model's mean over
    similarity and analogies, NaN if it has none.
    """

    header: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    runs: tuple[TrainingRun, ...]
    second: tuple[TrainingRun, ...]
    sizes: tuple[Mapping[str, int], ...]
    left_out: Mapping[str, str]
    quality: Mapping[str, float]
    report: Report
    tables: ComparisonTables
