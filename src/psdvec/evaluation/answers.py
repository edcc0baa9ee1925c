"""How a model answers the questions of a task: cosines of pairs, nearest choices, analogies.

A :class:`JudgedModel` finds the words of a task among its own and returns, by metric, what happened at each item as
:class:`~psdvec.evaluation.scores.Answers`. :func:`solve_analogies` answers thousands of analogies a : a* = b : ? in one
go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Bools, Float32s, Float64s, Int64s
from psdvec.evaluation.scores import Answers
from psdvec.evaluation.tasks import Analogies, Choices, Pairs, Task
from psdvec.progress import LogProgress, Progress
from psdvec.vectors.embeddings import COSMUL_EPSILON, AnalogyMethod
from psdvec.vectors.neighbours import unit_vector

Oov: TypeAlias = Literal["skip", "zero", "mean", "spelling"]
ANALOGY_METHODS: tuple[AnalogyMethod, ...] = ("3cosmul", "3cosadd")

_COLUMNS = 8_192  # words compared with the questions at a time
_NUMBERS = 1 << 24  # of vectors made dense at a time, for sparse ones as long as the vocabulary


class JudgedModel:
    """A model's words, (n, d) vectors and (n,) lengths, and the ids of words as tasks spell them.

    ``spelled`` are vectors of further words, made of their spelling; their ids follow those of the model's words.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: Float32s,
        lengths: Float32s,
        *,
        ignore_case: bool,
        spelled: Mapping[str, Float32s] | None = None,
    ) -> None:
        self.vectors, self.lengths, self.dim = vectors, lengths, vectors.shape[1]
        self.fold = str.upper if ignore_case else str
        self.ids: dict[str, int] = {}
        twins: dict[int, list[int]] = {}
        for i, word in enumerate(words):
            first = self.ids.setdefault(self.fold(word), i)
            if first != i:
                twins.setdefault(first, []).append(i)
        self.twins = {first: np.array(others, dtype=np.int64) for first, others in twins.items()}
        self.first = np.arange(len(words))
        for first, others in self.twins.items():
            self.first[others] = first
        self.spelled = np.zeros((0, self.dim), np.float32)
        if spelled:
            self.ids |= {self.fold(word): len(words) + k for k, word in enumerate(spelled)}
            self.spelled = np.stack([unit_vector(vector) for vector in spelled.values()])

    def ids_of(self, task: Task) -> Int64s:
        """Return the (m, longest) ids of the items' words, -1 if missing; short items repeat their first word."""
        width = max(map(len, task.items))
        return np.array(
            [
                [self.ids.get(self.fold(word), -1) for word in item + item[:1] * (width - len(item))]
                for item in task.items
            ],
            dtype=np.int64,
        )

    def knows(self, task: Task, ids: Int64s) -> Bools:
        """Say of each item whether it is covered: all its words have vectors, and the answer of an analogy its own."""
        known = (ids >= 0).all(axis=1)
        if isinstance(task, Analogies):
            known &= ids[:, 3] < len(self.first)
        return np.asarray(known)

    def answer(
        self,
        task: Task,
        ids: Int64s,
        used: Bools,
        *,
        oov: Oov,
        methods: Sequence[AnalogyMethod],
        progress: Progress,
    ) -> dict[str, Answers]:
        """Return what happened at the items of ``task``, by every metric it has; ``ids`` are those of its words."""
        known = self.knows(task, ids)
        own = known & (ids < len(self.first)).all(axis=1)
        rarest = np.where(own, ids.max(axis=1), -1)
        if isinstance(task, Pairs):
            cosines = self._pair_cosines(ids, oov)[None]
            return {"spearman": Answers(used, cosines, task.gold, rarest, spelled=known & ~own)}
        if isinstance(task, Choices):
            right = self._choose(task, ids, used, oov)[None]
            return {"accuracy": Answers(used, right, None, rarest, spelled=known & ~own)}
        answers: dict[str, Answers] = {}
        pairs = task.pairs()
        for method in methods:
            found = solve_analogies(
                self.vectors,
                self.lengths,
                ids[known][:, :3],
                method=method,
                twins=self.twins,
                further=self.spelled,
                progress=progress,
            )
            right = np.zeros(len(ids))
            right[known] = self.first[found] == ids[known][:, 3]
            answers[method] = Answers(used, right[None], None, rarest, pairs, known & ~own)
        return answers

    def _pair_cosines(self, ids: Int64s, oov: Oov) -> Float64s:
        """Return the cosine of the two words of each row of ``ids``, a bounded number of rows at a time."""
        cosines = np.empty(len(ids))
        step = max(_NUMBERS // (2 * self.dim), 1)
        for start in range(0, len(ids), step):
            units = self._units(ids[start : start + step], oov).astype(np.float64)
            cosines[start : start + step] = np.einsum("md,md->m", units[:, 0], units[:, 1])
        return cosines

    def _choose(self, task: Choices, ids: Int64s, used: Bools, oov: Oov) -> Float64s:
        """Return 1 if the answer is nearest to the question, 0 if not, and a share if choices tie."""
        right = np.zeros(len(ids))
        for row in np.flatnonzero(used):
            units = self._units(ids[row, : len(task.items[row])], oov).astype(np.float64)
            cosines = units[1:] @ units[0]
            right[row] = (cosines[0] == cosines.max()) / (cosines == cosines.max()).sum()
        return right

    def _units(self, ids: Int64s, oov: Oov) -> Float32s:
        """Return the unit vectors of ``ids``, with what ``oov`` asks for in place of -1."""
        filler = np.zeros(self.dim, dtype=np.float32)
        if oov == "mean" and (ids < 0).any():
            filler = self.vectors.mean(axis=0)
            filler /= np.linalg.norm(filler) or 1
        n, flat = len(self.vectors), ids.ravel()
        own = _own(flat, n)
        rows = np.asarray(self.vectors[own]) / self.lengths[own][:, None]
        rows = _put_further(rows, self.spelled, flat, n)
        return np.where((ids < 0)[..., None], filler, rows.reshape(*ids.shape, self.dim))


def answer_task(
    models: Mapping[str, Sequence[JudgedModel]],
    task: Task,
    *,
    oov: Oov,
    common: bool,
    methods: Sequence[AnalogyMethod],
    progress: Progress,
) -> dict[str, dict[str, Answers]]:
    """Return by metric, then by model, what happened at the items of ``task``; a model may have several seeds."""
    ids = {name: [seed.ids_of(task) for seed in seeds] for name, seeds in models.items()}
    known = {
        name: np.all([seed.knows(task, own) for seed, own in zip(seeds, ids[name], strict=True)], axis=0)
        for name, seeds in models.items()
    }
    shared = np.all(list(known.values()), axis=0)
    answers: dict[str, dict[str, Answers]] = {}
    for name, seeds in models.items():
        leaves_out = oov in ("skip", "spelling")
        used = np.asarray(shared if common else known[name] if leaves_out else np.ones_like(shared))
        found = [
            seed.answer(task, own, used, oov=oov, methods=methods, progress=progress)
            for seed, own in zip(seeds, ids[name], strict=True)
        ]
        for metric, first in found[0].items():
            outcomes = np.concatenate([one[metric].outcomes for one in found])
            answers.setdefault(metric, {})[name] = replace(first, outcomes=outcomes)
    return answers


def solve_analogies(
    vectors: Float32s,
    lengths: Float32s,
    questions: Int64s,
    *,
    method: AnalogyMethod = "3cosadd",
    twins: Mapping[int, Int64s] | None = None,
    further: Float32s | None = None,
    progress: Progress = LogProgress(),
) -> Int64s:
    """Return the id that answers each question best, other than those of the question's own words.

    3CosAdd maximises ``cos(x, a*) - cos(x, a) + cos(x, b)``; 3CosMul of Levy and Goldberg (2014) maximises
    ``cos(x, a*) cos(x, b) / (cos(x, a) + ε)`` with cosines moved to [0, 1]. The cosines of all words in the questions
    are computed once by matrix products, so that a question costs two additions per word; 3CosMul adds logarithms.

    Parameters
    ----------
    vectors : (n, d) float32, possibly memory-mapped
    lengths : (n,) float32, from :func:`psdvec.vectors.neighbours.lengths_of`
    questions : (m, 3) int64, ids of a, a*, b
    method : ``"3cosadd"`` or ``"3cosmul"``
    twins : by id, the ids that are excluded together with it, such as its spellings in other cases
    further : (k, d) float32, of length 1: vectors of words that are asked about and never answers, with ids from n

    Examples
    --------
    >>> vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32)
    >>> solve_analogies(vectors, np.linalg.norm(vectors, axis=1), np.array([[0, 1, 2]])).tolist()
    [3]
    """
    asked, places = np.unique(questions, return_inverse=True)
    places = places.reshape(questions.shape)
    own = _own(asked, len(vectors))
    units: Float32s = vectors[own] / lengths[own][:, None]
    if further is not None:
        units = _put_further(units, further, asked, len(vectors))
    best = np.full(len(questions), -np.inf, dtype=np.float32)
    answers = np.zeros(len(questions), dtype=np.int64)
    with progress.stage(f"analogies by {method}", total=len(vectors), unit="words") as stage:
        for start in range(0, len(vectors), _COLUMNS):
            stop = min(start + _COLUMNS, len(vectors))
            cosines: Float32s = units @ vectors[start:stop].T
            cosines /= lengths[start:stop]
            plus, minus = _terms(cosines, method)
            excluded = _excluded_columns(questions, twins or {}, start, stop)
            _update_best(best, answers, plus, minus, places, excluded, start)
            stage.advance(stop - start)
    return answers


def _own(ids: Int64s, n: int) -> Int64s:
    """Return ``ids`` with that of some word of the vocabulary in place of those beyond it and of -1."""
    return np.where((ids >= 0) & (ids < n), ids, 0)


def _put_further(units: Float32s, further: Float32s, ids: Int64s, n: int) -> Float32s:
    """Return the rows ``units`` of ``ids``, with the vectors of those beyond the vocabulary put in."""
    beyond = ids >= n
    if beyond.any():
        units[beyond] = further[ids[beyond] - n]
    return units


def _terms(cosines: Float32s, method: AnalogyMethod) -> tuple[Float32s, Float32s]:
    """Return what a word adds as a* or b, and what it subtracts as a."""
    if method == "3cosadd":
        return cosines, cosines
    shifted = np.maximum((1 + cosines) / 2, np.float32(1e-12))
    return np.log(shifted), np.log(shifted + np.float32(COSMUL_EPSILON))


def _excluded_columns(
    questions: Int64s, twins: Mapping[int, Int64s], start: int, stop: int
) -> dict[int, list[int]]:
    """Return by question the columns of this block that belong to its own words or to their twins."""
    excluded: dict[int, list[int]] = {}
    for row in np.flatnonzero(((questions >= start) & (questions < stop)).any(axis=1)).tolist():
        excluded[row] = [int(i) - start for i in questions[row] if start <= i < stop]
    if twins:
        for row, question in enumerate(questions.tolist()):
            others = [int(j) - start for i in question for j in twins.get(i, ()) if start <= j < stop]
            if others:
                excluded.setdefault(row, []).extend(others)
    return excluded


def _update_best(
    best: Float32s,
    answers: Int64s,
    plus: Float32s,
    minus: Float32s,
    places: Int64s,
    excluded: Mapping[int, list[int]],
    start: int,
) -> None:
    """Update ``best`` and ``answers`` where a column of this block beats what was found before."""
    scores = np.empty(plus.shape[1], dtype=np.float32)
    for row, (a, a_star, b) in enumerate(places.tolist()):
        np.add(plus[a_star], plus[b], out=scores)
        np.subtract(scores, minus[a], out=scores)
        if row in excluded:
            scores[excluded[row]] = -np.inf
        column = int(scores.argmax())
        if scores[column] > best[row]:
            best[row] = scores[column]
            answers[row] = start + column
