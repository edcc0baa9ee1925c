"""The report of an evaluation: every score with its coverage, its interval and its comparison with the best.

:func:`score_column` draws the intervals and makes the paired tests, each once, when the scores are made. Tables, CSV,
JSON and the page (:mod:`psdvec.evaluation.tables`, :mod:`psdvec.evaluation.page`) only read what is in a
:class:`Report`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from psdvec.errors import InputError
from psdvec.evaluation.answers import Oov
from psdvec.evaluation.scores import Answers, ItemScores, SpanCounts
from psdvec.evaluation.tagging.crf import BASELINE, TaggingResult
from psdvec.evaluation.tasks import Analogies, Kind, Task
from psdvec.evaluation.testsets import NOT_IN_PAPER

Sections: TypeAlias = Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class Score:
    """The score of one model at one task by one metric; NaN if no item could be used.

    ``low`` and ``high`` are the ends of its 95 % bootstrap interval, NaN if none was drawn. ``p_against_best`` is the
    probability that its difference from the best model's score is noise, NaN for the best itself and where nothing can
    be compared. ``sections`` holds the score and the number of items of each section.
    """

    model: str
    task: str
    kind: Kind
    metric: str
    value: float
    low: float
    high: float
    covered: int
    total: int
    sections: Sections
    is_best: bool
    p_against_best: float
    items: ItemScores = field(repr=False)


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


Items = TypeVar("Items", Answers, SpanCounts)


def score_column(
    items: Mapping[str, Items],
    *,
    task: str,
    kind: Kind,
    metric: str,
    sections: Mapping[str, Sections],
    resamples: int,
    seed: int,
) -> dict[str, Score]:
    """Score all models at one task by one metric, from their ``items`` and ``sections`` by name.

    This is where intervals are drawn, one per model, and where every other model is tested against the best.
    """
    values = {model: one.score() for model, one in items.items()}
    finite = [model for model in values if math.isfinite(values[model])]
    best = max(finite, key=lambda model: values[model], default=None)
    scores = {}
    for model, one in items.items():
        low, high = one.interval(resamples=resamples, seed=seed)
        compared = best is not None and model != best and model in finite
        scores[model] = Score(
            model=model,
            task=task,
            kind=kind,
            metric=metric,
            value=values[model],
            low=low,
            high=high,
            covered=one.covered,
            total=one.total,
            sections=sections[model],
            is_best=model == best,
            p_against_best=one.compare(items[best], seed=seed) if best and compared else float("nan"),
            items=one,
        )
    return scores


def score_task(
    task: Task, answers: Mapping[str, Mapping[str, Answers]], *, resamples: int, seed: int
) -> list[Score]:
    """Return the scores at one task, model by model, and within a model metric by metric."""
    columns = [
        score_column(
            items,
            task=task.name,
            kind=task.kind,
            metric=metric,
            sections={name: _score_sections(task, one) for name, one in items.items()},
            resamples=resamples,
            seed=seed,
        )
        for metric, items in answers.items()
    ]
    return [
        score for scores in zip(*(column.values() for column in columns), strict=True) for score in scores
    ]


def _score_sections(task: Task, items: Answers) -> Sections:
    """Return the score and the number of used items of each section of analogies, if there are several."""
    if not isinstance(task, Analogies) or len(set(task.sections)) == 1:
        return {}
    labels = np.array(task.sections)
    within = {section: labels == section for section in dict.fromkeys(task.sections)}
    return {
        section: (items.score(chosen), int((items.used & chosen).sum())) for section, chosen in within.items()
    }
