"""The report of an evaluation: the scores of all models at all tasks, and the questions one asks of them.

Every interval and every comparison with the best is in the scores already (:mod:`psdvec.evaluation.scores`). Tables,
CSV, JSON and the page (:mod:`psdvec.evaluation.tables`, :mod:`psdvec.evaluation.page`) only read what is in a
:class:`Report`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from psdvec.errors import InputError, checked
from psdvec.evaluation.answers import Oov
from psdvec.evaluation.clusters import normal_test
from psdvec.evaluation.scores import (
    NO_DIFFERENCE,
    Answers,
    Difference,
    Score,
    SpanCounts,
    best_of,
    holm,
    spread_of,
)
from psdvec.evaluation.tagging.crf import BASELINE, TaggingResult
from psdvec.evaluation.testsets import NOT_IN_PAPER
from psdvec.progress import Shown, count_of

NOISE_LEVEL = 0.05
_SHOWN = 5  # models that a glance shows


@dataclass(frozen=True)
class MeanScore:
    """A model's mean over the tasks that count, NaN if it lacks most of them or there is none.

    Its values are those of a :class:`~psdvec.evaluation.scores.Score`.
    """

    model: str
    value: float
    low: float
    high: float
    is_best: bool
    against_best: Difference
    p_adjusted: float
    spread: float

    @property
    def tells(self) -> bool:
        """Whether there is a mean."""
        return math.isfinite(self.value)


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The scores of all models, the rules by which they were made, and the details of tagging."""

    scores: tuple[Score, ...]
    oov: Oov
    common: bool
    ignore_case: bool
    seed: int
    tagging: tuple[TaggingResult, ...] = ()

    def _facts(self) -> dict[str, str]:
        means = {model: self.mean(model) for model in self.models[:_SHOWN]}
        more = {"...": ""} if len(self.models) > _SHOWN else {}
        return {
            "size": f"{count_of(len(self.models), 'model')} at {count_of(len(self.tasks), 'task')}",
            **{f"mean of {model}": f"{mean:.3f}" for model, mean in means.items()},
            **more,
        }

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

    @checked
    def find(self, model: str, task: str, metric: str) -> Score | None:
        """Return one score, or None if the model has none there."""
        return self._cells.get((model, task, metric))

    @checked
    def get(self, model: str, task: str, metric: str | None = None) -> Score:
        """Return one score; without ``metric``, by the first metric of the task."""
        score = self.find(model, task, metric or self.tasks.get(task, ""))
        if score is None:
            raise InputError(
                f"the report has no score of '{model}' at '{task}'; its models are {', '.join(self.models)}, "
                f"its columns {self.columns}"
            )
        return score

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The tasks that a mean would be over: not those of the catalogue that are not in the paper's tables."""
        return tuple(task for task in self.tasks if task not in NOT_IN_PAPER) or tuple(self.tasks)

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The models that have a mean: those whose scores tell something at half of the tasks at which any do."""
        telling = [task for task in self.candidates if any(self._tells(model, task) for model in self.models)]
        judged = [m for m in self.models if all(self.find(m, t, self.tasks[t]) for t in self.candidates)]
        enough = [m for m in judged if 2 * sum(self._tells(m, task) for task in telling) >= len(telling)]
        return tuple(enough) if telling else ()

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The tasks that the means are over: the :attr:`candidates` at which all :attr:`ranked` models tell something.

        So all means are over the same tasks, and can be compared.
        """
        return tuple(
            task
            for task in self.candidates
            if self.ranked and all(self._tells(model, task) for model in self.ranked)
        )

    @cached_property
    def left_out(self) -> dict[str, tuple[Score, ...]]:
        """The :attr:`candidates` that the means are not over, each with the scores that tell nothing there."""
        rest = [task for task in self.candidates if task not in self.counted]
        models = self.ranked or self.models
        found = {task: [self.find(model, task, self.tasks[task]) for model in models] for task in rest}
        return {task: tuple(s for s in scores if s and not s.tells) for task, scores in found.items()}

    def _tells(self, model: str, task: str) -> bool:
        score = self.find(model, task, self.tasks[task])
        return score is not None and score.tells

    @checked
    def mean(self, model: str) -> float:
        """Return the mean over the tasks that are :attr:`counted`, each by its first metric; NaN without any.

        Sets of the catalogue that are not in the paper's tables, such as Rare Words, do not count, and neither do those
        of which a model with a mean covers too few items.
        """
        return float(np.mean([score.value for score in self._counted(model)] or [float("nan")]))

    @cached_property
    def means(self) -> dict[str, MeanScore]:
        """Every model's :meth:`mean`, with its interval and its test against the best of them.

        The sets are taken as independent. The distances from the mean to the ends of its interval are those of the
        sets, squared, added up and divided by the square of their number, as variances would be: so an interval near
        100 points stays within them (Zou and Donner, 2008).
        """
        values = {model: self.mean(model) for model in self.models}
        best = best_of(values)
        compared = {
            model: self.mean_difference(model, best) if best and model != best else NO_DIFFERENCE
            for model in self.models
        }
        adjusted = holm({model: difference.p for model, difference in compared.items()})
        return {
            model: MeanScore(
                model=model,
                value=value,
                low=value - self._mean_width(model, "low"),
                high=value + self._mean_width(model, "high"),
                is_best=model == best,
                against_best=compared[model],
                p_adjusted=adjusted[model],
                spread=self._mean_spread(model),
            )
            for model, value in values.items()
        }

    @checked
    def mean_difference(self, first: str, second: str) -> Difference:
        """Return how the means of two models differ, over the items of each set that both use."""
        both = zip(self._counted(first), self._counted(second), strict=False)
        found = np.array([_subtract(one, other) for one, other in both])
        if not found.size:
            return NO_DIFFERENCE
        value, error = float(found[:, 0].mean()), float(np.linalg.norm(found[:, 1]) / len(found))
        return Difference(value, error, normal_test(value, error))

    def _counted(self, model: str) -> list[Score]:
        """Return the scores that a model's mean is over; none if it has no mean."""
        if model not in self.models:
            raise InputError(f"the report has no model '{model}'; its models are {', '.join(self.models)}")
        found = [self.find(model, task, self.tasks[task]) for task in self.counted]
        return [score for score in found if score] if model in self.ranked else []

    def _mean_width(self, model: str, end: Literal["low", "high"]) -> float:
        widths = [getattr(score, end) - score.value for score in self._counted(model)]
        return float(np.linalg.norm(widths) / len(widths)) if widths else float("nan")

    def _mean_spread(self, model: str) -> float:
        """Return the standard deviation over seeds of the mean, if there are as many seeds for every set."""
        found = [score.items.seed_scores() for score in self._counted(model)]
        alike = len({len(scores) for scores in found}) == 1
        return spread_of(np.mean(found, axis=0)) if alike else float("nan")

    @checked
    def best(self, task: str, metric: str) -> str | None:
        """Return the model with the highest score in a column, or None if there is no score to compare."""
        scores = (score for score in self.scores if (score.task, score.metric) == (task, metric))
        return next((score.model for score in scores if score.is_best), None)

    @checked
    def difference(self, first: str, second: str, task: str, metric: str | None = None) -> float:
        """Return the probability that a difference between two models this large is noise.

        The items that both cover are compared one by one (:mod:`psdvec.evaluation.scores`).
        """
        one, other = (self.get(model, task, metric).items for model in (first, second))
        if isinstance(one, Answers) and isinstance(other, Answers):
            return one.test(other, seed=self.seed)
        if isinstance(one, SpanCounts) and isinstance(other, SpanCounts):
            return one.test(other, seed=self.seed)
        raise InputError(
            f"'{first}' and '{second}' were judged in different ways at '{task}'; evaluate them together"
        )


def leaders(scores: Iterable[Score | MeanScore | None]) -> tuple[str, ...]:
    """Return the model with the highest of these scores and those that the test does not tell apart from it.

    The scores are those of one column, or the means. The highest comes first. Only if it is alone, and there are others
    to compare it with, do the tests say that it is the best.
    """
    known = [score for score in scores if score and score.tells]
    found = [score for score in known if score.is_best or not score.p_adjusted < NOISE_LEVEL]
    return tuple(score.model for score in sorted(found, key=lambda score: (not score.is_best, -score.value)))


def _subtract(one: Score, other: Score) -> tuple[float, float]:
    """Return the difference of two scores and its error, NaN if they are of different kinds."""
    if isinstance(one.items, Answers) and isinstance(other.items, Answers):
        return one.items.subtract(other.items)
    if isinstance(one.items, SpanCounts) and isinstance(other.items, SpanCounts):
        return one.items.subtract(other.items)
    return float("nan"), float("nan")
