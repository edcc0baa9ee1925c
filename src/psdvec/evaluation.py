"""Judging vectors: models against tasks, with coverage, intervals and a paired test, as a Report.

Goes in: one or more :class:`~psdvec.embeddings.Embeddings`, anybody's, and tasks from
:mod:`psdvec.testsets`. Comes out: a :class:`Report` that holds, for every model, task and metric, the score,
how many items it rests on, and what happened at each item. Similarity is Spearman's rank correlation of
cosines with human scores; synonyms and analogies are the share of right answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.analogies import Method, solve_analogies
from psdvec.embeddings import Embeddings
from psdvec.errors import InputError
from psdvec.intervals import bootstrap_mean, bootstrap_spearman, item_products, paired_test, spearman
from psdvec.progress import LogProgress, Progress
from psdvec.tasks import Analogies, Choices, Kind, Pairs, Task

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]
Oov: TypeAlias = Literal["skip", "zero", "mean"]

METHODS: tuple[Method, ...] = ("3cosmul", "3cosadd")


@dataclass(frozen=True, eq=False)
class Items:
    """What happened at each of the m items of a task.

    ``used``: (m,) bool, whether it counts. ``outcomes``: (m,) float64, the cosine of a pair, or 1 for a right
    answer and 0 for a wrong one. ``gold``: (m,) human scores, None where there are none. ``rarest``: (m,)
    int64, the highest id among the item's words, -1 where one is missing.
    """

    used: Flags
    outcomes: Doubles
    gold: Doubles | None
    rarest: Ids

    def score(self, among: Flags | None = None) -> float:
        """Return the score over the used items, or over those ``among`` them."""
        used = self.used if among is None else self.used & among
        if self.gold is not None:
            return spearman(self.gold[used], self.outcomes[used])
        return float(self.outcomes[used].mean()) if used.any() else float("nan")

    def interval(self, *, resamples: int, seed: int) -> tuple[float, float]:
        """Return the bootstrap interval of the score."""
        if resamples == 0 or self.used.sum() < 2:
            return float("nan"), float("nan")
        if self.gold is not None:
            return bootstrap_spearman(
                self.gold[self.used], self.outcomes[self.used], resamples=resamples, seed=seed
            )
        return bootstrap_mean(self.outcomes[self.used], resamples=resamples, seed=seed)


@dataclass(frozen=True)
class Score:
    """The score of one model at one task by one metric; NaN where no item could be used."""

    model: str
    task: str
    kind: Kind
    metric: str
    value: float
    low: float
    high: float
    covered: int
    total: int
    sections: Mapping[str, tuple[float, int]]
    items: Items = field(repr=False)


@dataclass(frozen=True)
class Report:
    """The scores of all models, and the rules they were made by."""

    scores: tuple[Score, ...]
    oov: Oov
    common: bool
    ignore_case: bool
    seed: int

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order given."""
        return tuple(dict.fromkeys(score.model for score in self.scores))

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every (task, metric), in the order given."""
        return tuple(dict.fromkeys((score.task, score.metric) for score in self.scores))

    def get(self, model: str, task: str, metric: str | None = None) -> Score:
        """Return one score; without ``metric``, the first of the task."""
        for score in self.scores:
            if (score.model, score.task) == (model, task) and metric in (None, score.metric):
                return score
        raise InputError(f"the report has no score of '{model}' at '{task}'; it has {self.columns}")

    def mean(self, model: str) -> float:
        """Return the mean over tasks, each by its first metric; NaN if a task could not be scored."""
        tasks = dict.fromkeys(task for task, _ in self.columns)
        return float(np.mean([self.get(model, task).value for task in tasks]))

    def difference(self, first: str, second: str, task: str, metric: str | None = None) -> float:
        """Return the chance that a difference between two models this large is noise.

        The paired test of :func:`psdvec.intervals.paired_test` over the items that both cover.
        """
        items = [self.get(model, task, metric).items for model in (first, second)]
        used = items[0].used & items[1].used
        if used.sum() < 2:
            return float("nan")
        parts = [
            one.outcomes[used] if one.gold is None else item_products(one.gold[used], one.outcomes[used])
            for one in items
        ]
        return paired_test(parts[0], parts[1], seed=self.seed)


def evaluate(
    models: Embeddings | Mapping[str, Embeddings],
    tasks: Iterable[Task],
    *,
    oov: Oov = "skip",
    common: bool = False,
    methods: Sequence[Method] = METHODS,
    ignore_case: bool = True,
    restrict_vocab: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress = LogProgress(),
) -> Report:
    """Score ``models`` at ``tasks``.

    Parameters
    ----------
    models : one model, or several by name
    tasks : from :func:`psdvec.testsets.find_tasks` or :func:`psdvec.tasks.read_task`
    oov : what to do with an item that holds a word without a vector: ``"skip"`` it, or take a vector of
        zeros (``"zero"``) or the mean of all vectors (``"mean"``); an analogy is then answered wrongly
    common : use only the items that all models cover
    methods : how to solve analogies; the first counts in the mean over tasks
    ignore_case : ``Paris`` and ``paris`` are one word, the more frequent one (gensim's rule)
    restrict_vocab : use the first words only
    resamples : how often to draw for the intervals; 0 for none
    seed : of the intervals

    Examples
    --------
    >>> e = Embeddings(("a", "b", "c"), np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    >>> pairs = Pairs("toy", (("a", "b"), ("a", "c"), ("b", "c")), np.array([3.0, 1.0, 2.0]))
    >>> round(evaluate(e, [pairs]).get("model", "toy").value, 6)
    1.0
    """
    named = {"model": models} if isinstance(models, Embeddings) else dict(models)
    lookups = {name: _Lookup(e, ignore_case=ignore_case, limit=restrict_vocab) for name, e in named.items()}
    scores = []
    for task in tasks:
        ids = {name: lookup.ids_of(task) for name, lookup in lookups.items()}
        shared = np.all([(found >= 0).all(axis=1) for found in ids.values()], axis=0)
        for name, lookup in lookups.items():
            used = _used_items(ids[name], shared, oov, common)
            for metric, items in _answer(lookup, task, ids[name], used, oov, methods, progress):
                scores.append(_score(name, task, metric, items, ids[name], resamples=resamples, seed=seed))
    return Report(tuple(scores), oov, common, ignore_case, seed)


def _used_items(ids: Ids, shared: Flags, oov: Oov, common: bool) -> Flags:
    if common:
        return shared
    if oov == "skip":
        return np.asarray((ids >= 0).all(axis=1))
    return np.ones(len(ids), dtype=bool)


class _Lookup:
    """Finds the words of tasks in a model."""

    def __init__(self, embeddings: Embeddings, *, ignore_case: bool, limit: int | None) -> None:
        self.embeddings, self.limit = embeddings, limit
        self.fold = str.upper if ignore_case else str
        self.ids: dict[str, int] = {}
        self.twins: dict[int, Ids] = {}
        twins: dict[int, list[int]] = {}
        for i, word in enumerate(embeddings.words[:limit]):
            first = self.ids.setdefault(self.fold(word), i)
            if first != i:
                twins.setdefault(first, []).append(i)
        self.twins = {first: np.array(others, dtype=np.int64) for first, others in twins.items()}
        self.first = np.arange(len(embeddings.words[:limit]))
        for first, others in self.twins.items():
            self.first[others] = first

    def ids_of(self, task: Task) -> Ids:
        """Return the (m, longest) ids of the items' words, -1 where missing; short items repeat a word."""
        width = max(map(len, task.items))
        return np.array(
            [
                [self.ids.get(self.fold(word), -1) for word in item + item[:1] * (width - len(item))]
                for item in task.items
            ],
            dtype=np.int64,
        )

    def units(self, ids: Ids, oov: Oov) -> npt.NDArray[np.float32]:
        """Return the unit vectors of ``ids``, what ``oov`` says in place of -1."""
        e = self.embeddings
        filler = np.zeros(e.dim, dtype=np.float32)
        if oov == "mean" and (ids < 0).any():
            filler = e.vectors[: self.limit].mean(axis=0)
            filler /= np.linalg.norm(filler) or 1
        rows = e.vectors[np.maximum(ids, 0)] / e.lengths[np.maximum(ids, 0)][..., None]
        return np.where((ids < 0)[..., None], filler, rows)


def _answer(
    lookup: _Lookup,
    task: Task,
    ids: Ids,
    used: Flags,
    oov: Oov,
    methods: Sequence[Method],
    progress: Progress,
) -> list[tuple[str, Items]]:
    """Return what happened at the items of ``task``, by every metric it has."""
    rarest = np.where((ids >= 0).all(axis=1), ids.max(axis=1), -1)
    if isinstance(task, Pairs):
        units = lookup.units(ids, oov).astype(np.float64)
        return [("spearman", Items(used, np.einsum("md,md->m", units[:, 0], units[:, 1]), task.gold, rarest))]
    if isinstance(task, Choices):
        return [("accuracy", Items(used, _choose(lookup, task, ids, used, oov), None, rarest))]
    known = (ids >= 0).all(axis=1)
    e = lookup.embeddings
    results: list[tuple[str, Items]] = []
    for method in methods:
        found = solve_analogies(
            e.vectors[: lookup.limit],
            e.lengths[: lookup.limit],
            ids[known][:, :3],
            method=method,
            twins=lookup.twins,
            progress=progress,
        )
        right = np.zeros(len(ids))
        right[known] = lookup.first[found] == ids[known][:, 3]
        results.append((method, Items(used, right, None, rarest)))
    return results


def _choose(lookup: _Lookup, task: Choices, ids: Ids, used: Flags, oov: Oov) -> Doubles:
    """Return 1 where the answer is nearest to the question, 0 where not, a share where choices tie."""
    right = np.zeros(len(ids))
    for row in np.flatnonzero(used):
        units = lookup.units(ids[row, : len(task.items[row])], oov).astype(np.float64)
        cosines = units[1:] @ units[0]
        right[row] = (cosines[0] == cosines.max()) / (cosines == cosines.max()).sum()
    return right


def _score(
    model: str, task: Task, metric: str, items: Items, ids: Ids, *, resamples: int, seed: int
) -> Score:
    low, high = items.interval(resamples=resamples, seed=seed)
    sections = {}
    if isinstance(task, Analogies) and len(set(task.sections)) > 1:
        labels = np.array(task.sections)
        for section in dict.fromkeys(task.sections):
            sections[section] = (
                items.score(labels == section),
                int((items.used & (labels == section)).sum()),
            )
    covered = int((ids >= 0).all(axis=1).sum())
    return Score(
        model, task.name, task.kind, metric, items.score(), low, high, covered, len(ids), sections, items
    )
