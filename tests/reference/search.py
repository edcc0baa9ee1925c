"""What the loops of a search mean, in plain Python and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def bm25(
    norms: Any, documents: Any, counts: Any, starts: Any, spans: Any, weights: Any, factors: Any, own: Any
) -> Any:
    """Return scores of m documents: of each term ``own`` of the BM25 of its first word, the rest of all of them."""
    m = len(norms)
    scores = np.zeros(m)
    for term, factor in enumerate(factors):
        each = []
        for k in range(starts[term], starts[term + 1]):
            dense = np.zeros(m)
            for p in range(*spans[k]):
                dense[documents[p]] = counts[p]
            each.append(dense)
        alone = each[0] if own[term] else np.zeros(m)
        soft = sum(w * dense for w, dense in zip(weights[starts[term] : starts[term + 1]], each, strict=True))
        scores += factor * own[term] * alone / (alone + norms)
        scores += factor * (1 - own[term]) * soft / (soft + norms)
    return scores


def cosines(codes: Any, steps: Any, query: Any, factor: float, shift: float) -> Any:
    """Return what vectors in eight bits add to scores."""
    return factor * steps * (codes.astype(float) @ query.astype(float)) + shift


def best(scores: Any, k: int) -> list[int]:
    """Return the places of the k highest scores above 0, of equal ones the first."""
    order = sorted((i for i in range(len(scores)) if scores[i] > 0), key=lambda i: (-scores[i], i))
    return order[:k]
