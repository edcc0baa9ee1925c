"""The space that topics live in: the words of the documents, their vectors, and how frequent they are.

Equation (19) of ``docs/topic-model.md`` is here: a topic t makes a word w more or less likely than it is on the whole,
``P(w | t) = P(w) exp((v_w - v̄) · t) / Z(t)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from psdvec.arrays import Float32s, Float64s

HOLD = 0.02  # ρ: what holds topics near the background; chosen on 20 Newsgroups, see docs/topic-model.md


@dataclass(frozen=True, eq=False)
class Space:
    """Words as topics see them.

    ``words``: n strings. ``vectors`` (n, d) float32, scaled to length 1. ``shares`` (n,) float64: P(w), how much of all
    text each word is. ``weights`` (n,) float64: how much an occurrence of each word counts. Only the first ``core``
    words say where the middle is and what Z(t) is, so that words which are added later change nothing for the others.
    """

    words: tuple[str, ...]
    vectors: Float32s
    shares: Float64s
    weights: Float64s
    core: int

    @cached_property
    def mean(self) -> Float64s:
        """The mean vector of all text, (d,)."""
        return np.asarray(self.shares[: self.core] @ self.vectors[: self.core].astype(np.float64))

    @cached_property
    def centred(self) -> Float64s:
        """The vectors without their mean, (n, d); a topic changes what is said, not that something is said."""
        return self.vectors - self.mean

    @cached_property
    def moment(self) -> Float64s:
        """The covariance of the vectors under P, (d, d)."""
        own = self.centred[: self.core]
        return np.asarray((own * self.shares[: self.core, None]).T @ own)

    def log_chances(self, tilts: Float64s) -> Float64s:
        """Return log P(w | t) of every word under the topics ``tilts`` (K, d): (n, K), equation (19)."""
        logs = np.log(self.shares)[:, None] + self.centred @ tilts.T
        own = logs[: self.core]
        top = own.max(axis=0)
        return np.asarray(logs - top - np.log(np.exp(own - top).sum(axis=0)))

    def chances(self, tilts: Float64s) -> Float64s:
        """Return P(w | t), (n, K); each column is a distribution over the first ``core`` words."""
        return np.exp(self.log_chances(tilts))

    def places(self, tilts: Float64s) -> Float64s:
        """Return where topics are among the words: the direction from the mean of all text to theirs, (K, d)."""
        found = self.chances(tilts)[: self.core].T @ self.centred[: self.core]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12))
