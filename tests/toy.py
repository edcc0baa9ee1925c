"""Small count stores for the solver's tests: real counts of drawn sentences, so that every path is the product's."""

from __future__ import annotations

import numpy as np

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence


def drawn_counts(
    *, words: int = 60, sentences: int = 400, topics: int = 6, seed: int = 0, **options
) -> Cooccurrence:
    """Count sentences in which each topic prefers its own words, some words being more frequent than others."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, words + 1)
    topic_of = np.arange(words) % topics
    lines = []
    for _ in range(sentences):
        chance = frequency * np.where(topic_of == rng.integers(topics), 6.0, 1.0)
        lines.append([f"w{i}" for i in rng.choice(words, size=12, p=chance / chance.sum())])
    return count_pairs(lines, **{"min_count": 1, "window": 4, **options})
