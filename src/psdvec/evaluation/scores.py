"""Scores: what happened at each item of a task, the score that follows, how sure it is, and how it compares.

:class:`Answers` holds right and wrong answers, or cosines beside human scores; :class:`SpanCounts` holds counts of
spans per sentence. From the items of all models, :func:`score_column` makes a :class:`Score` per model, each with its
interval and its paired test against the best, made here and once, by :mod:`~psdvec.evaluation.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np

from psdvec.arrays import Bools, Float64s, Int64s
from psdvec.evaluation.statistics import (
    Parts,
    bootstrap_f1,
    bootstrap_mean,
    correlation_interval,
    f1_values,
    paired_f1_test,
    paired_test,
    share_interval,
    spearman,
    spearman_values,
    variance_of,
)
from psdvec.evaluation.tagging import Counts, sum_counts
from psdvec.evaluation.tasks import Analogies, Kind, Task

# Items that a score must be made of to say anything; fewer have no interval, no test, and no mean.
FEWEST_ITEMS = 30
NO_INTERVAL = (float("nan"), float("nan"))
_SEEN = 1.959964 + 0.841621  # standard errors: two-sided level of 5 %, power of 80 %


@dataclass(frozen=True)
class Difference:
    """How two models compare at the items that both use: by how much the first is better, and how sure that is.

    ``error`` is the standard error of ``value`` under the null hypothesis that the models are equally good, and ``p``
    the p-value.
    """

    value: float
    error: float
    p: float

    @property
    def detectable(self) -> float:
        """The minimum detectable difference: what a two-sided test at 5 % finds with a power of 80 %."""
        return _SEEN * self.error


NO_DIFFERENCE = Difference(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class Answers:
    """Outcomes at the m items of a similarity, synonym or analogy task.

    ``used``: (m,) bool, whether the item counts. ``outcomes``: (s, m) float64, one row for each seed that the model was
    trained with: the cosine of a pair, or 1 for a right answer and 0 for a wrong one. ``gold``: (m,) float64, the human
    scores, or None if there are none. ``rarest``: (m,) int64, the highest id among the item's words, or -1 if one of
    them has no vector of its own. ``links``: (m, 2) int64, the words of a pair or the pairs of words of an analogy, by
    which items hang together; None if they are independent. ``spelled``: (m,) bool, whether an item has vectors for all
    its words only thanks to their spelling.

    The score is the mean over seeds, and so is what each item contributes to it; intervals and tests say how far other
    items, and other seeds where there are several, might have led.
    """

    used: Bools
    outcomes: Float64s
    gold: Float64s | None
    rarest: Int64s
    links: Int64s | None = None
    spelled: Bools | None = None

    @property
    def size(self) -> int:
        """How many items the score is made of."""
        return int(self.used.sum())

    @property
    def covered(self) -> int:
        """How many items have vectors for all their words, each its own."""
        return int((self.rarest >= 0).sum())

    @property
    def covered_by_spelling(self) -> int:
        """How many items have vectors for all their words only because some were made of their spelling."""
        return 0 if self.spelled is None else int(self.spelled.sum())

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.used)

    def seed_scores(self, among: Bools | None = None) -> Float64s:
        """Return the score of each seed over the used items, or over those of them in ``among``; NaN without any."""
        used = self.used if among is None else self.used & among
        if self.gold is not None:
            return np.array([spearman(self.gold[used], row[used]) for row in self.outcomes])
        return self.outcomes[:, used].mean(axis=1) if used.any() else np.full(len(self.outcomes), np.nan)

    def score(self, among: Bools | None = None) -> float:
        """Return the mean of :meth:`seed_scores`."""
        return float(self.seed_scores(among).mean())

    def parts(self) -> Parts:
        """Return what each used item contributes to the score."""
        return self._parts(self.used)

    def subtract(self, other: Answers) -> Parts | None:
        """Return what each item that both use contributes to the difference from ``other``; None if they are few."""
        used = self.used & other.used
        if used.sum() < FEWEST_ITEMS:
            return None
        one, two = self._parts(used), other._parts(used)
        return replace(one, values=one.values - two.values, seeds=one.seeds + two.seeds)

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the 95 % interval of the score: by its variance, for synonyms by bootstrap if there is one seed."""
        if self.size < FEWEST_ITEMS:
            return NO_INTERVAL
        if self.is_resampled:
            outcomes = self.outcomes[0, self.used]
            return bootstrap_mean(outcomes, resamples=resamples, seed=seed) if resamples else NO_INTERVAL
        parts = self.parts()
        variance = variance_of(replace(parts, values=parts.values - parts.mean))
        return (share_interval if self.gold is None else correlation_interval)(parts.mean, variance)

    def compare(self, other: Answers, *, seed: int) -> Difference:
        """Return the difference from ``other`` over the items that both use; NaN if they are few."""
        parts = self.subtract(other)
        if parts is None:
            return NO_DIFFERENCE
        variance = variance_of(parts)
        if self.is_resampled and other.is_resampled:
            used = self.used & other.used
            p = paired_test(self.outcomes[0, used], other.outcomes[0, used], seed=seed)
        else:
            p = variance.p_value(parts.mean)
        return Difference(parts.mean, variance.error, p)

    @property
    def is_resampled(self) -> bool:
        """Whether items are independent shares of one seed: then intervals and tests draw them anew."""
        return self.gold is None and self.links is None and len(self.outcomes) == 1

    def _parts(self, used: Bools) -> Parts:
        outcomes = self.outcomes[:, used]
        values = outcomes if self.gold is None else spearman_values(self.gold[used], outcomes)
        links = None if self.links is None else self.links[used]
        return Parts(values.mean(axis=0), links, (values.mean(axis=1),))


@dataclass(frozen=True)
class SpanCounts:
    """Outcomes at the sentences of a tagging task."""

    sentences: Sequence[Counts]

    @property
    def covered(self) -> int:
        """How many sentences were tagged: all of them."""
        return len(self.sentences)

    size = total = covered
    covered_by_spelling = 0

    def seed_scores(self) -> Float64s:
        """Return the score of each seed; taggers are trained on the vectors of one."""
        return np.array([self.score()])

    def score(self) -> float:
        """Return F1 over all spans."""
        return sum_counts(self.sentences).f1

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the bootstrap interval of F1 over resampled sentences."""
        if resamples == 0 or self.size < FEWEST_ITEMS:
            return NO_INTERVAL
        return bootstrap_f1(self._table(), resamples=resamples, seed=seed)

    def parts(self) -> Parts:
        """Return what each sentence contributes to F1."""
        return Parts(f1_values(self._table()), seeds=(self.seed_scores(),))

    def subtract(self, other: SpanCounts) -> Parts | None:
        """Return what each sentence contributes to the difference from ``other``; None if there are too few."""
        if self.size < FEWEST_ITEMS:
            return None
        one, two = self.parts(), other.parts()
        return Parts(one.values - two.values, seeds=one.seeds + two.seeds)

    def compare(self, other: SpanCounts, *, seed: int) -> Difference:
        """Return the difference in F1 from ``other``; NaN if there are too few sentences."""
        parts = self.subtract(other)
        if parts is None:
            return NO_DIFFERENCE
        p = paired_f1_test(self._table(), other._table(), seed=seed)
        return Difference(parts.mean, variance_of(parts).error, p)

    def _table(self) -> Float64s:
        return np.array([(one.right, one.found, one.gold) for one in self.sentences], dtype=np.float64)


ItemScores: TypeAlias = Answers | SpanCounts
Sections: TypeAlias = Mapping[str, tuple[float, int]]
Items = TypeVar("Items", Answers, SpanCounts)


@dataclass(frozen=True)
class Score:
    """The score of one model at one task by one metric; NaN if no item could be used.

    ``low`` and ``high`` are the ends of its 95 % interval, NaN if none was made. ``against_best`` is its difference
    from the best model's score, and ``p_adjusted`` the p-value of that, adjusted for multiple comparisons
    (:func:`holm`); NaN for the best itself and where nothing can be compared. ``sections`` holds the score and the
    number of items of each section. ``seeds`` is the number of seeds that the score is a mean over, ``spread`` their
    standard deviation, NaN if there is one.
    """

    model: str
    task: str
    kind: Kind
    metric: str
    value: float
    low: float
    high: float
    covered: int
    covered_by_spelling: int
    total: int
    sections: Sections
    is_best: bool
    against_best: Difference
    p_adjusted: float
    seeds: int
    spread: float
    items: ItemScores = field(repr=False)

    @property
    def size(self) -> int:
        """How many items the score is made of: those covered, or fewer, or all, as the report's rules are."""
        return self.items.size

    @property
    def reached(self) -> int:
        """How many items the model covers by itself, whatever others do."""
        return self.covered + self.covered_by_spelling

    @property
    def too_few(self) -> bool:
        """Whether these are fewer than :data:`FEWEST_ITEMS`, so that the value says nothing."""
        return self.size < FEWEST_ITEMS

    @property
    def tells(self) -> bool:
        """Whether there is a value that says something."""
        return math.isfinite(self.value) and not self.too_few


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

    This is where intervals are made, one per model, and where every other model is tested against the best.
    """
    values = {model: one.score() for model, one in items.items()}
    best = best_of({model: values[model] for model, one in items.items() if one.size >= FEWEST_ITEMS})
    scores = {}
    for model, one in items.items():
        low, high = one.interval(resamples=resamples, seed=seed)
        compared = model != best and math.isfinite(values[model])
        seed_scores = one.seed_scores()
        scores[model] = Score(
            model=model,
            task=task,
            kind=kind,
            metric=metric,
            value=values[model],
            low=low,
            high=high,
            covered=one.covered,
            covered_by_spelling=one.covered_by_spelling,
            total=one.total,
            sections=sections[model],
            is_best=model == best,
            against_best=one.compare(items[best], seed=seed) if best and compared else NO_DIFFERENCE,
            p_adjusted=float("nan"),
            seeds=len(seed_scores),
            spread=spread_of(seed_scores),
            items=one,
        )
    adjusted = holm({model: score.against_best.p for model, score in scores.items()})
    return {model: replace(score, p_adjusted=adjusted[model]) for model, score in scores.items()}


def best_of(values: Mapping[str, float]) -> str | None:
    """Return the name of the highest value that is not NaN, or None if there is none."""
    finite = [model for model in values if math.isfinite(values[model])]
    return max(finite, key=lambda model: values[model], default=None)


def spread_of(seed_scores: Float64s) -> float:
    """Return the standard deviation over seeds, NaN if there is one."""
    return float(seed_scores.std(ddof=1)) if len(seed_scores) > 1 else float("nan")


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values of the tests against the best, adjusted by Holm's method; NaN stays NaN.

    Which model is the best is known only from the same scores, and the best of many is best in part by luck. So the
    family is not the m − 1 tests against the best but the m (m − 1) / 2 of any two models. That bounds the family-wise
    error rate: if all models of a column are equally good, all are taken for equal with a probability of at least 95 %.

    >>> {name: round(p, 3) for name, p in holm({"best": float("nan"), "b": 0.01, "c": 0.02}).items()}
    {'best': nan, 'b': 0.03, 'c': 0.04}
    """
    tested = sorted(
        (name for name in p_values if math.isfinite(p_values[name])), key=lambda name: p_values[name]
    )
    family = len(tested) * (len(tested) + 1) // 2
    adjusted, highest = dict(p_values), 0.0
    for place, name in enumerate(tested):
        highest = max(highest, min(1.0, p_values[name] * (family - place)))
        adjusted[name] = highest
    return adjusted


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
