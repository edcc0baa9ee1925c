"""What topics say of documents: their size over a field, how they group, and which documents stand for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s
from psdvec.errors import InputError
from psdvec.progress import Shown, count_of
from psdvec.topic_model.values import Topics

_WIDTH = 1.96  # of a 95 % interval, in standard errors
_SHORT = 20.0  # words: a shorter document stands for its topic less well


@dataclass(frozen=True, eq=False, repr=False)
class Sizes(Shown):
    """Mean proportions over the values of a field.

    ``values``: in their order, numbers by size. ``documents`` (v,): how many have each value. ``means``, ``low``,
    ``high`` (v, K): the mean proportion of each topic, with its 95 % interval. ``missing``: how many documents have no
    value and are left out.
    """

    field: str
    values: tuple[str, ...]
    documents: tuple[int, ...]
    means: Float64s
    low: Float64s
    high: Float64s
    missing: int

    def _facts(self) -> dict[str, str]:
        values = self.values if len(self.values) <= 2 else (self.values[0], "...", self.values[-1])
        return {
            "size": f"{count_of(len(self.values), 'value')} of '{self.field}', {', '.join(values)}",
            "of": count_of(sum(self.documents), "document"),
            "without a value": f"{self.missing:,}",
        }


def sizes_over(topics: Topics, field: str) -> Sizes:
    """Return the sizes of topics over the values of ``field``."""
    if field not in topics.fields:
        has = ", ".join(topics.fields) or "none"
        raise InputError(
            f"the topics have no field '{field}' (they have: {has}); name it when topics are learned"
        )
    of = topics.fields[field]
    values = sorted({value for value in of if value is not None}, key=_order)
    rows, low, high, sizes = [], [], [], []
    for value in values:
        found = topics.proportions[[one == value for one in of]].astype(np.float64)
        mean = found.mean(axis=0)
        error = (
            found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.full(len(mean), np.nan)
        )
        rows.append(mean)
        low.append(np.maximum(mean - _WIDTH * error, 0.0))
        high.append(np.minimum(mean + _WIDTH * error, 1.0))
        sizes.append(len(found))
    missing = sum(value is None for value in of)
    return Sizes(field, tuple(values), tuple(sizes), np.array(rows), np.array(low), np.array(high), missing)


def _order(value: str) -> tuple[Any, ...]:
    """Put numbers in the order of their size, however long they are, and before all else.

    >>> sorted(["b", "10", "9", "a10", "a9", "07", "7", "²"], key=_order)
    ['07', '7', '9', '10', 'a9', 'a10', 'b', '²']
    """
    parts = [part for part in re.split(r"(\d+)", value) if part]
    return (
        [
            (0, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (1, 0, part)
            for part in parts
        ],
        value,
    )


def hierarchy(topics: Topics) -> list[dict[str, Any]]:
    """Return how topics join, the most alike first: ``joined`` of two numbers, and ``at`` which cosine.

    Topics are numbered from 0; what is joined gets the next number after all topics.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    if len(topics) < 2:
        return []
    distances = np.clip(pdist(topics.vectors.astype(np.float64), "cosine"), 0.0, 2.0)
    return [
        {"joined": [int(a), int(b)], "at": round(1.0 - float(distance), 4)}
        for a, b, distance, _ in linkage(np.nan_to_num(distances, nan=1.0), "average")
    ]


def representatives(topics: Topics, *, topn: int = 3) -> list[list[dict[str, Any]]]:
    """Return, for each topic, the documents that are most about it, each with its ``name`` and ``share``."""
    return [
        [
            {"name": topics.names[i], "share": round(float(topics.proportions[i, k]), 4)}
            for i in _first(topics, k, topn)
        ]
        for k in range(len(topics))
    ]


def _first(topics: Topics, k: int, topn: int) -> list[int]:
    shares: Float32s = topics.proportions[:, k]
    scores = shares * topics.lengths / (topics.lengths + _SHORT)
    order = np.argsort(-scores, kind="stable")[:topn]
    return [int(i) for i in order if shares[i] > 0]
