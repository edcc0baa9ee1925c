"""Scores: what happened at each item of a task, the score that follows, how sure it is, and how it compares.

:class:`Answers` holds right and wrong answers, or cosines beside human scores; :class:`SpanCounts` holds counts of
spans per sentence. From the items of all models, :func:`score_column` makes a :class:`Score` per model, each with its
bootstrap interval and its paired test against the best, drawn here and once. The functions at the end do the
resampling; every random draw comes from the ``seed``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from psdvec.arrays import Bools, Float64s, Int64s
from psdvec.evaluation.tagging.tags import Counts
from psdvec.evaluation.tasks import Analogies, Kind, Task

NO_INTERVAL = (float("nan"), float("nan"))
_CELLS = 4_000_000  # numbers drawn at a time


@dataclass(frozen=True, eq=False)
class Answers:
    """Outcomes at the m items of a similarity, synonym or analogy task.

    ``used``: (m,) bool, whether the item counts. ``outcomes``: (m,) float64, the cosine of a pair, or 1 for a right
    answer and 0 for a wrong one. ``gold``: (m,) float64, the human scores, or None if there are none. ``rarest``: (m,)
    int64, the highest id among the item's words, or -1 if one of them is missing.
    """

    used: Bools
    outcomes: Float64s
    gold: Float64s | None
    rarest: Int64s

    @property
    def covered(self) -> int:
        """How many items have vectors for all their words."""
        return int((self.rarest >= 0).sum())

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.used)

    def score(self, among: Bools | None = None) -> float:
        """Return the score over the used items, or over those of them in ``among``; NaN if there are none."""
        used = self.used if among is None else self.used & among
        if self.gold is not None:
            return spearman(self.gold[used], self.outcomes[used])
        return float(self.outcomes[used].mean()) if used.any() else float("nan")

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the bootstrap interval of the score."""
        if resamples == 0 or self.used.sum() < 2:
            return NO_INTERVAL
        outcomes = self.outcomes[self.used]
        if self.gold is not None:
            return bootstrap_spearman(self.gold[self.used], outcomes, resamples=resamples, seed=seed)
        return bootstrap_mean(outcomes, resamples=resamples, seed=seed)

    def compare(self, other: Answers, *, seed: int) -> float:
        """Return the probability that the difference from ``other`` is noise, over the items that both use."""
        used = self.used & other.used
        if used.sum() < 2:
            return float("nan")
        parts = [
            one.outcomes[used] if one.gold is None else item_products(one.gold[used], one.outcomes[used])
            for one in (self, other)
        ]
        return paired_test(parts[0], parts[1], seed=seed)


@dataclass(frozen=True)
class SpanCounts:
    """Outcomes at the sentences of a tagging task."""

    sentences: Sequence[Counts]

    @property
    def covered(self) -> int:
        """How many sentences were tagged: all of them."""
        return len(self.sentences)

    total = covered

    def score(self) -> float:
        """Return F1 over all spans."""
        right, found, gold = self._table().sum(axis=0)
        return float(2 * right / (found + gold)) if found + gold else 0.0

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the bootstrap interval of F1 over resampled sentences."""
        return bootstrap_f1(self._table(), resamples=resamples, seed=seed) if resamples else NO_INTERVAL

    def compare(self, other: SpanCounts, *, seed: int) -> float:
        """Return the probability that the difference from ``other`` is noise."""
        return paired_f1_test(self._table(), other._table(), seed=seed)

    def _table(self) -> Float64s:
        return np.array([(one.right, one.found, one.gold) for one in self.sentences], dtype=np.float64)


ItemScores: TypeAlias = Answers | SpanCounts


Sections: TypeAlias = Mapping[str, tuple[float, int]]
Items = TypeVar("Items", Answers, SpanCounts)


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


def spearman(first: Float64s, second: Float64s) -> float:
    """Return Spearman's rank correlation, equal values sharing their mean rank; NaN if it is not defined.

    >>> round(spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.5
    """
    return float(item_products(first, second).mean()) if len(first) > 1 else float("nan")


def item_products(first: Float64s, second: Float64s) -> Float64s:
    """Return each item's part in the rank correlation: the products of standardised ranks, whose mean it is."""
    return _standard_ranks(first) * _standard_ranks(second)


def bootstrap_spearman(
    first: Float64s, second: Float64s, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of :func:`spearman` over pairs resampled with replacement."""
    generator = np.random.default_rng(seed)
    draws = np.empty(resamples)
    at_once = max(1, _CELLS // max(len(first), 1))
    for start in range(0, resamples, at_once):
        chosen = generator.integers(len(first), size=(min(at_once, resamples - start), len(first)))
        products = _standard_ranks(first[chosen]) * _standard_ranks(second[chosen])
        draws[start : start + len(chosen)] = products.mean(axis=1)
    return _percentiles(draws, confidence)


def bootstrap_mean(
    outcomes: Float64s, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of the mean over ``outcomes`` resampled with replacement.

    Resampling n items with few distinct values is one multinomial draw.

    >>> bootstrap_mean(np.ones(10))
    (1.0, 1.0)
    """
    values, counts = np.unique(outcomes, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(outcomes), counts / len(outcomes), size=resamples)
    return _percentiles(drawn @ values / len(outcomes), confidence)


def paired_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the probability of a mean difference this large if the two models are swapped at random items.

    The values are what each item contributes to a score: 1 or 0 for right or wrong, :func:`item_products` for a rank
    correlation. The test is two-sided and counts the observed arrangement as one of the draws.

    >>> paired_test(np.ones(4), np.ones(4))
    1.0
    """
    difference = first - second
    difference = difference[difference != 0].astype(np.float32)
    if not len(difference):
        return 1.0
    generator = np.random.default_rng(seed)
    observed = abs(float(difference.sum()))
    at_least = 0
    at_once = max(1, _CELLS // len(difference))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), len(difference))
        swapped = generator.integers(2, size=size, dtype=np.int8).astype(np.float32) @ difference
        at_least += int((np.abs(2 * swapped - difference.sum()) >= observed * (1 - 1e-6)).sum())
    return (at_least + 1) / (resamples + 1)


def bootstrap_f1(
    table: Float64s, *, resamples: int = 1000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of F1 over resampled sentences, the rows (right, found, gold) of ``table``.

    >>> bootstrap_f1(np.array([[1.0, 1.0, 1.0]] * 5))
    (1.0, 1.0)
    """
    generator = np.random.default_rng(seed)
    sums = np.stack(
        [table[generator.integers(len(table), size=len(table))].sum(axis=0) for _ in range(resamples)]
    )
    return _percentiles(_f1(sums), confidence)


def paired_f1_test(first: Float64s, second: Float64s, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the probability of a difference in F1 this large if the models are swapped at random sentences.

    >>> paired_f1_test(np.array([[1.0, 1.0, 1.0]] * 5), np.array([[1.0, 1.0, 1.0]] * 5))
    1.0
    """
    observed = abs(float(_f1(first.sum(axis=0)) - _f1(second.sum(axis=0))))
    difference = second - first
    differs = difference.any(axis=1)
    if not differs.any():
        return 1.0
    generator = np.random.default_rng(seed)
    at_least = 0
    at_once = max(1, _CELLS // int(differs.sum()))
    for start in range(0, resamples, at_once):
        size = (min(at_once, resamples - start), int(differs.sum()))
        moved = generator.integers(2, size=size, dtype=np.int8).astype(np.float64) @ difference[differs]
        swapped = _f1(first.sum(axis=0) + moved) - _f1(second.sum(axis=0) - moved)
        at_least += int((np.abs(swapped) >= observed - 1e-12).sum())
    return (at_least + 1) / (resamples + 1)


def _f1(sums: Float64s) -> Float64s:
    return np.asarray(2 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1))


def _standard_ranks(values: Float64s) -> Float64s:
    from scipy import stats  # takes half a second to import, which commands that only query need not pay

    ranks = stats.rankdata(values, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(ranks / np.sqrt((ranks**2).mean(axis=-1, keepdims=True)))


def _percentiles(draws: Float64s, confidence: float) -> tuple[float, float]:
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
