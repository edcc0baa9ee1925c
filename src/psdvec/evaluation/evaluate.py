"""Judging vectors: models against tasks, with coverage, intervals and a paired test, as a Report.

Goes in: one or more :class:`~psdvec.vectors.embeddings.Embeddings`, anybody's, and tasks from
:mod:`psdvec.evaluation.testsets`. Comes out: a :class:`Report` that holds, for every model, task and metric, the score,
how many items it rests on, and what happened at each item. Similarity is Spearman's rank correlation of
cosines with human scores; synonyms and analogies are the share of right answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError
from psdvec.evaluation.analogies import Method, solve_analogies
from psdvec.evaluation.crf import BASELINE, TaggingResult
from psdvec.evaluation.scores import Answers, Outcomes, SpanCounts
from psdvec.evaluation.tasks import Analogies, Choices, Kind, Pairs, Task
from psdvec.evaluation.testsets import BESIDE
from psdvec.progress import LogProgress, Progress
from psdvec.vectors.embeddings import Embeddings

Doubles = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int64]
Oov: TypeAlias = Literal["skip", "zero", "mean"]

METHODS: tuple[Method, ...] = ("3cosmul", "3cosadd")
_NUMBERS = 1 << 24  # of vectors made dense at a time, for those that are sparse and as long as the vocabulary


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
    items: Outcomes = field(repr=False)


@dataclass(frozen=True)
class Report:
    """The scores of all models, the rules they were made by, and tagging in detail."""

    scores: tuple[Score, ...]
    oov: Oov
    common: bool
    ignore_case: bool
    seed: int
    tagging: tuple[TaggingResult, ...] = ()

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order given; the base line of tagging comes last."""
        names = dict.fromkeys(score.model for score in self.scores)
        return tuple(sorted(names, key=lambda name: name == BASELINE))

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every (task, metric), in the order given."""
        return tuple(dict.fromkeys((score.task, score.metric) for score in self.scores))

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str], Score]:
        return {(score.model, score.task, score.metric): score for score in self.scores}

    def find(self, model: str, task: str, metric: str) -> Score | None:
        """Return one score, or None where the model was not judged so."""
        return self._cells.get((model, task, metric))

    def get(self, model: str, task: str, metric: str | None = None) -> Score:
        """Return one score; without ``metric``, the first of the task."""
        metric = metric or next((one for name, one in self.columns if name == task), "")
        score = self.find(model, task, metric)
        if score is None:
            raise InputError(f"the report has no score of '{model}' at '{task}'; it has {self.columns}")
        return score

    def mean(self, model: str) -> float:
        """Return the mean over tasks, each by its first metric; NaN if the model has no score at one.

        Sets that the catalogue keeps beside those of the paper, such as Rare Words, do not count.
        """
        firsts = dict(reversed(self.columns))
        counted = [task for task in firsts if task not in BESIDE] or list(firsts)
        scores = [self.find(model, task, firsts[task]) for task in counted]
        return float(np.mean([score.value if score else float("nan") for score in scores]))

    def best(self, task: str, metric: str) -> str | None:
        """Return the model with the highest score in a column; None where there is none to compare."""
        scores = [score for score in self.scores if (score.task, score.metric) == (task, metric)]
        scores = [score for score in scores if np.isfinite(score.value)]
        return max(scores, key=lambda score: score.value).model if scores else None

    def difference(self, first: str, second: str, task: str, metric: str | None = None) -> float:
        """Return the chance that a difference between two models this large is noise.

        The items that both cover are compared one by one (:mod:`psdvec.evaluation.statistics`).
        """
        one, other = (self.get(model, task, metric).items for model in (first, second))
        if isinstance(one, Answers) and isinstance(other, Answers):
            return one.compare(other, seed=self.seed)
        if isinstance(one, SpanCounts) and isinstance(other, SpanCounts):
            return one.compare(other, seed=self.seed)
        raise InputError(
            f"'{first}' and '{second}' were judged in different ways at '{task}'; evaluate them together"
        )


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
    tasks : from :func:`psdvec.evaluation.testsets.find_tasks` or :func:`psdvec.evaluation.tasks.read_task`
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


def add_tagging(report: Report, results: Sequence[TaggingResult], *, resamples: int = 1000) -> Report:
    """Return ``report`` with the results of a tagging task added, and their F1 among the scores."""
    scores = []
    for result in results:
        items = SpanCounts(result.sentences)
        low, high = items.interval(resamples=resamples, seed=report.seed)
        sections = {label: (counts.f1, counts.gold) for label, counts in result.labels.items()}
        size = len(result.sentences)
        scores.append(
            Score(
                result.model, result.task, "tagging", "f1", items.score(), low, high, size, size, sections, items
            )
        )  # fmt: skip
    return replace(report, scores=(*report.scores, *scores), tagging=(*report.tagging, *results))


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
        known = np.maximum(ids, 0).ravel()
        rows = np.asarray(e.vectors[known]) / e.lengths[known][:, None]
        return np.where((ids < 0)[..., None], filler, rows.reshape(*ids.shape, e.dim))

    def pair_cosines(self, ids: Ids, oov: Oov) -> Doubles:
        """Return the cosine of the two words of each row of ``ids``, a bounded number of rows at a time."""
        cosines = np.empty(len(ids))
        step = max(_NUMBERS // (2 * self.embeddings.dim), 1)
        for start in range(0, len(ids), step):
            units = self.units(ids[start : start + step], oov).astype(np.float64)
            cosines[start : start + step] = np.einsum("md,md->m", units[:, 0], units[:, 1])
        return cosines


def _answer(
    lookup: _Lookup,
    task: Task,
    ids: Ids,
    used: Flags,
    oov: Oov,
    methods: Sequence[Method],
    progress: Progress,
) -> list[tuple[str, Answers]]:
    """Return what happened at the items of ``task``, by every metric it has."""
    rarest = np.where((ids >= 0).all(axis=1), ids.max(axis=1), -1)
    if isinstance(task, Pairs):
        return [("spearman", Answers(used, lookup.pair_cosines(ids, oov), task.gold, rarest))]
    if isinstance(task, Choices):
        return [("accuracy", Answers(used, _choose(lookup, task, ids, used, oov), None, rarest))]
    known = (ids >= 0).all(axis=1)
    e = lookup.embeddings
    results: list[tuple[str, Answers]] = []
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
        results.append((method, Answers(used, right, None, rarest)))
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
    model: str, task: Task, metric: str, items: Answers, ids: Ids, *, resamples: int, seed: int
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
