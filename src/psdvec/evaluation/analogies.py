"""Analogies in batches: a : a* = b : ?, answered for thousands of questions at once.

Goes in: vectors with their lengths, and the ids of a, a*, b of every question. Comes out: the id of the best
word for each, by 3CosAdd, ``cos(x, a*) - cos(x, a) + cos(x, b)``, or by 3CosMul of Levy and Goldberg (2014),
``cos(x, a*) cos(x, b) / (cos(x, a) + ε)`` with cosines moved to [0, 1]. The cosines of the words that are
asked about are computed once by matrix products, so a question costs two additions for each word; 3CosMul
adds logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.progress import LogProgress, Progress
from psdvec.vectors.embeddings import COSMUL_EPSILON

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Method: TypeAlias = Literal["3cosadd", "3cosmul"]

_COLUMNS = 8_192


def solve_analogies(
    vectors: Floats,
    lengths: Floats,
    questions: Ids,
    *,
    method: Method = "3cosadd",
    twins: Mapping[int, Ids] | None = None,
    progress: Progress = LogProgress(),
) -> Ids:
    """Return the id that answers each question best, the question's own words left out.

    Parameters
    ----------
    vectors : (n, d) float32, possibly memory-mapped
    lengths : (n,) float32, from :func:`psdvec.vectors.neighbours.lengths_of`
    questions : (m, 3) int64, ids of a, a*, b
    method : ``"3cosadd"`` or ``"3cosmul"``
    twins : ids that are left out together with an id, such as its other cases

    Examples
    --------
    >>> vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32)
    >>> solve_analogies(vectors, np.linalg.norm(vectors, axis=1), np.array([[0, 1, 2]])).tolist()
    [3]
    """
    asked, places = np.unique(questions, return_inverse=True)
    places = places.reshape(questions.shape)
    units: Floats = vectors[asked] / lengths[asked][:, None]
    best = np.full(len(questions), -np.inf, dtype=np.float32)
    answers = np.zeros(len(questions), dtype=np.int64)
    with progress.stage(f"analogies by {method}", total=len(vectors), unit="words") as stage:
        for start in range(0, len(vectors), _COLUMNS):
            stop = min(start + _COLUMNS, len(vectors))
            cosines: Floats = units @ vectors[start:stop].T
            cosines /= lengths[start:stop]
            plus, minus = _terms(cosines, method)
            left_out = _columns_left_out(questions, twins or {}, start, stop)
            _update_best(best, answers, plus, minus, places, left_out, start)
            stage.advance(stop - start)
    return answers


def _terms(cosines: Floats, method: Method) -> tuple[Floats, Floats]:
    """Return what a word adds as a* or b, and what it takes away as a."""
    if method == "3cosadd":
        return cosines, cosines
    shifted = np.maximum((1 + cosines) / 2, np.float32(1e-12))
    return np.log(shifted), np.log(shifted + np.float32(COSMUL_EPSILON))


def _columns_left_out(
    questions: Ids, twins: Mapping[int, Ids], start: int, stop: int
) -> dict[int, list[int]]:
    """Return for each question the columns of this block that hold its own words or their twins."""
    left_out: dict[int, list[int]] = {}
    for row in np.flatnonzero(((questions >= start) & (questions < stop)).any(axis=1)).tolist():
        left_out[row] = [int(i) - start for i in questions[row] if start <= i < stop]
    if twins:
        for row, question in enumerate(questions.tolist()):
            others = [int(j) - start for i in question for j in twins.get(i, ()) if start <= j < stop]
            if others:
                left_out.setdefault(row, []).extend(others)
    return left_out


def _update_best(
    best: Floats,
    answers: Ids,
    plus: Floats,
    minus: Floats,
    places: Ids,
    left_out: Mapping[int, list[int]],
    start: int,
) -> None:
    """Write into ``best`` and ``answers`` where a column of this block beats what was found before."""
    scores = np.empty(plus.shape[1], dtype=np.float32)
    for row, (a, a_star, b) in enumerate(places.tolist()):
        np.add(plus[a_star], plus[b], out=scores)
        np.subtract(scores, minus[a], out=scores)
        if row in left_out:
            scores[left_out[row]] = -np.inf
        column = int(scores.argmax())
        if scores[column] > best[row]:
            best[row] = scores[column]
            answers[row] = start + column
