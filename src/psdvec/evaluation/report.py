"""The report of an evaluation: the scores of all models at all tasks, and the questions one asks of them.

Every interval and every comparison with the best is in the scores already (:mod:`psdvec.evaluation.scores`). Tables,
CSV, JSON and the page (:mod:`psdvec.evaluation.tables`, :mod:`psdvec.evaluation.page`) only read what is in a
:class:`Report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from psdvec.errors import InputError
from psdvec.evaluation.answers import Oov
from psdvec.evaluation.scores import Answers, Score, SpanCounts
from psdvec.evaluation.tagging.crf import BASELINE, TaggingResult
from psdvec.evaluation.testsets import NOT_IN_PAPER


@dataclass(frozen=True)
class Report:
    """The scores of all models, the rules by which they were made, and the details of tagging."""

    scores: tuple[Score, ...]
    oov: Oov
    common: bool
    ignore_case: bool
    seed: int
    tagging: tuple[TaggingResult, ...] = ()

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order given; the baseline of tagging comes last."""
        names = dict.fromkeys(score.model for score in self.scores)
        return tuple(sorted(names, key=lambda name: name == BASELINE))

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every (task, metric), in the order given."""
        return tuple(dict.fromkeys((score.task, score.metric) for score in self.scores))

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Every task with its first metric, in the order given."""
        firsts = dict(reversed(self.columns))
        return {task: firsts[task] for task, _ in self.columns}

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str], Score]:
        return {(score.model, score.task, score.metric): score for score in self.scores}

    def find(self, model: str, task: str, metric: str) -> Score | None:
        """Return one score, or None if the model has none there."""
        return self._cells.get((model, task, metric))

    def get(self, model: str, task: str, metric: str | None = None) -> Score:
        """Return one score; without ``metric``, by the first metric of the task."""
        score = self.find(model, task, metric or self.tasks.get(task, ""))
        if score is None:
            raise InputError(
                f"the report has no score of '{model}' at '{task}'; its models are {', '.join(self.models)}, "
                f"its columns {self.columns}"
            )
        return score

    def mean(self, model: str) -> float:
        """Return the mean over tasks, each by its first metric; NaN if the model lacks a score at one of them.

        Sets of the catalogue that are not in the paper's tables, such as Rare Words, do not count.
        """
        counted = [task for task in self.tasks if task not in NOT_IN_PAPER] or list(self.tasks)
        scores = [self.find(model, task, self.tasks[task]) for task in counted]
        return float(np.mean([score.value if score else float("nan") for score in scores]))

    def best(self, task: str, metric: str) -> str | None:
        """Return the model with the highest score in a column, or None if there is no score to compare."""
        scores = (score for score in self.scores if (score.task, score.metric) == (task, metric))
        return next((score.model for score in scores if score.is_best), None)

    def difference(self, first: str, second: str, task: str, metric: str | None = None) -> float:
        """Return the probability that a difference between two models this large is noise.

        The items that both cover are compared one by one (:mod:`psdvec.evaluation.scores`).
        """
        one, other = (self.get(model, task, metric).items for model in (first, second))
        if isinstance(one, Answers) and isinstance(other, Answers):
            return one.compare(other, seed=self.seed)
        if isinstance(one, SpanCounts) and isinstance(other, SpanCounts):
            return one.compare(other, seed=self.seed)
        raise InputError(
            f"'{first}' and '{second}' were judged in different ways at '{task}'; evaluate them together"
        )
