"""What happened at each item of a task, and the score, its interval and its comparison that follow.

Goes in: right and wrong answers, cosines beside human scores, or counts of spans by sentence. Comes out: for
:class:`Answers` a share or a rank correlation, for :class:`SpanCounts` an F1, each with a bootstrap interval
over items and a paired test against another model's outcomes at the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.evaluation.statistics import (
    bootstrap_f1,
    bootstrap_mean,
    bootstrap_spearman,
    item_products,
    paired_f1_test,
    paired_test,
    spearman,
)
from psdvec.evaluation.tags import Counts

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]

NO_INTERVAL = (float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class Answers:
    """Outcomes at the m items of a similarity, synonym or analogy task.

    ``used``: (m,) bool, whether it counts. ``outcomes``: (m,) float64, the cosine of a pair, or 1 for a right
    answer and 0 for a wrong one. ``gold``: (m,) human scores, None where there are none. ``rarest``: (m,)
    int64, the highest id among the item's words, -1 where one is missing.
    """

    used: Flags
    outcomes: Doubles
    gold: Doubles | None
    rarest: Ids

    def score(self, among: Flags | None = None) -> float:
        """Return the score over the used items, or over those ``among`` them; NaN over none."""
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
        """Return the chance that the difference to ``other`` is noise, over the items both use."""
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

    def score(self) -> float:
        """Return F1 over all spans."""
        right, found, gold = self._table().sum(axis=0)
        return float(2 * right / (found + gold)) if found + gold else 0.0

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the bootstrap interval of F1 when the sentences are drawn again."""
        return bootstrap_f1(self._table(), resamples=resamples, seed=seed) if resamples else NO_INTERVAL

    def compare(self, other: SpanCounts, *, seed: int) -> float:
        """Return the chance that the difference to ``other`` is noise."""
        return paired_f1_test(self._table(), other._table(), seed=seed)

    def _table(self) -> Doubles:
        return np.array([(one.right, one.found, one.gold) for one in self.sentences], dtype=np.float64)


Outcomes: TypeAlias = Answers | SpanCounts
