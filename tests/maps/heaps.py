"""Unit vectors in heaps, of which it is plain who is near whom."""

from __future__ import annotations

import numpy as np


def heaps(*, words: int = 300, groups: int = 6, dim: int = 20, noise: float = 0.15, seed: int = 0):
    """Return unit vectors (words, dim), and the heap of each."""
    rng = np.random.default_rng(seed)
    group = np.arange(words) % groups
    rows = np.eye(groups, dim)[group] + noise * rng.normal(size=(words, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), group
