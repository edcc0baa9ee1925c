"""Judging vectors: any models at any tasks, side by side.

Models are :class:`~psdvec.vectors.embeddings.Embeddings`, whoever made them; tasks come from
:mod:`psdvec.evaluation.testsets` or :mod:`psdvec.evaluation.tasks`. First every model answers every task, as
:class:`JudgedModel`, then the answers are scored and compared (:mod:`psdvec.evaluation.scores`).
:func:`solve_analogies` answers thousands of analogies a : a* = b : ? in one go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np

from psdvec.arrays import Bools, Float32s, Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed
from psdvec.evaluation.report import Report
from psdvec.evaluation.scores import Answers, Score, SpanCounts, score_column, score_task
from psdvec.evaluation.tagging import TaggingResult
from psdvec.evaluation.tasks import Analogies, Choices, Numbers, Oov, Pairs, Task
from psdvec.progress import LogProgress, Progress
from psdvec.text.tokenizers import keeps_case
from psdvec.vectors.embeddings import COSMUL_EPSILON, AnalogyMethod, Embeddings
from psdvec.vectors.neighbours import unit_vector

ANALOGY_METHODS: tuple[AnalogyMethod, ...] = ("3cosmul", "3cosadd")
_MOST_RESAMPLES = 1_000_000
_COLUMNS = 8_192  # words compared with the questions at a time
_NUMBERS = 1 << 24  # of vectors made dense at a time, for sparse ones as long as the vocabulary


@checked
def evaluate(
    models: Embeddings | Mapping[str, Embeddings | Sequence[Embeddings]],
    tasks: Iterable[Task],
    *,
    oov: Oov = "skip",
    common: bool = False,
    methods: Sequence[AnalogyMethod] = ANALOGY_METHODS,
    ignore_case: bool = True,
    restrict_vocab: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
    progress: Progress = LogProgress(),
) -> Report:
    """Score ``models`` at ``tasks``.

    Parameters
    ----------
    models : one model, or several by name; a list of vectors under one name is a method trained with several seeds,
        and its scores are means over them
    tasks : from :func:`psdvec.evaluation.testsets.find_tasks` or :func:`psdvec.evaluation.tasks.read_task`
    oov : what to do with an item that has a word without a vector: ``"skip"`` it, or use a vector of zeros
        (``"zero"``) or the mean of all vectors (``"mean"``) for the word; an analogy then counts as wrong. With
        ``"spelling"``, the word has the vector of its spelling, where a model knows that, and items with other words
        are left out; answers to analogies still come from the vocabulary, so those that do not are left out too
    common : use only the items that all models cover
    methods : how to solve analogies; the first counts in the mean over tasks
    ignore_case : treat ``Paris`` and ``paris`` as one word, the more frequent of them (gensim's rule); a model whose
        tokenizer keeps case takes a word as it is written, if it has it so
    restrict_vocab : use only this many words, the first
    resamples : how many resamples to draw for the intervals of synonyms; with 0, these have none
    seed : seed of the resampling

    Examples
    --------
    >>> import numpy as np
    >>> from psdvec.evaluation.tasks import Pairs
    >>> e = Embeddings(("a", "b", "c"), np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    >>> pairs = Pairs("toy", (("a", "b"), ("a", "c"), ("b", "c")), np.array([3.0, 1.0, 2.0]))
    >>> round(evaluate(e, [pairs]).get("model", "toy").value, 6)
    1.0
    """
    demand_seed(seed)
    demand_positive(restrict_vocab, "restrict_vocab")
    if not 0 <= resamples <= _MOST_RESAMPLES:
        raise InputError(f"resamples is {resamples}; give a number from 0 to {_MOST_RESAMPLES:,}")
    if oov not in get_args(Oov):
        raise InputError(f"oov is '{oov}'; choose one of {', '.join(get_args(Oov))}")
    unknown = [method for method in methods if method not in ANALOGY_METHODS]
    if unknown or not methods:
        raise InputError(
            f"the methods are {list(methods)}; choose one or more of {', '.join(ANALOGY_METHODS)}"
        )
    given = {"model": models} if isinstance(models, Embeddings) else models
    named = {name: [found] if isinstance(found, Embeddings) else found for name, found in given.items()}
    tasks = tuple(tasks)
    for task in tasks:
        if not task.items:
            raise InputError(f"the task '{task.name}' holds no questions; leave it out")
    if oov == "spelling" and all(e.subwords is None for seeds in named.values() for e in seeds):
        raise InputError(
            'none of the models knows anything of spelling; choose oov="skip", or fit one with psdvec'
        )
    spell = tasks if oov == "spelling" else ()
    judge = partial(JudgedModel, restrict_vocab=restrict_vocab, ignore_case=ignore_case, spell=spell)
    judged = {name: [*map(judge, seeds)] for name, seeds in named.items()} if tasks else {}
    scores: list[Score] = []
    numbers: Numbers = {}
    for task in tasks:
        answers = answer_task(
            judged, task, task.links(numbers), oov=oov, common=common, methods=methods, progress=progress
        )
        scores += score_task(task, answers, resamples=resamples, seed=seed)
    cased = any(keeps_case(e.tokenizer) for seeds in named.values() for e in seeds)
    return Report(tuple(scores), oov, common, ignore_case, seed, cased=cased)


def add_tagging(report: Report, results: Sequence[TaggingResult], *, resamples: int = 1000) -> Report:
    """Return ``report`` with the results of one tagging task added, and their F1 among the scores."""
    scores = score_column(
        {result.model: SpanCounts(result.sentences) for result in results},
        task=results[0].task,
        kind="tagging",
        metric="f1",
        sections={
            result.model: {label: (counts.f1, counts.gold) for label, counts in result.labels.items()}
            for result in results
        },
        resamples=resamples,
        seed=report.seed,
    )
    return replace(report, scores=(*report.scores, *scores.values()), tagging=(*report.tagging, *results))


class JudgedModel:
    """The first ``restrict_vocab`` words of a model with their (n, d) vectors and (n,) lengths, as tasks spell them.

    ``first`` is by id that of the same word in another case, the more frequent; ``twins`` are by id all of them. Where
    case is ignored, ``ids`` leads to the first of them, unless the model keeps case: then ``written`` holds the others.
    Words of the tasks ``spell`` that the model lacks get vectors by their spelling; their ids follow those of its own
    words.
    """

    def __init__(
        self, e: Embeddings, *, restrict_vocab: int | None, ignore_case: bool, spell: Sequence[Task]
    ) -> None:
        words, self.lengths = e.words[:restrict_vocab], e.lengths[:restrict_vocab]
        self.vectors = e.vectors if restrict_vocab is None else e.vectors[:restrict_vocab]
        self.dim = e.dim
        self.fold = str.upper if ignore_case else str
        self.ids: dict[str, int] = {}
        firsts = (self.ids.setdefault(self.fold(word), i) for i, word in enumerate(words))
        self.first = np.fromiter(firsts, np.int64, len(words))
        self.twins: dict[int, list[int]] = {}
        others = np.flatnonzero(self.first != np.arange(len(words))).tolist()
        for i in others:
            self.twins[i] = self.twins.setdefault(first := int(self.first[i]), [first])
            self.twins[i].append(i)
        self.written = {words[i]: i for i in others} if keeps_case(e.tokenizer) else {}
        self.spelled = np.zeros((0, self.dim), np.float32)
        if spell and e.subwords is not None:
            asked = dict.fromkeys(word for task in spell for item in task.items for word in item)
            missing = [word for word in asked if self.fold(word) not in self.ids]
            forms = [e.look_up(word, unseen="spelling") for word in missing] if ignore_case else missing
            made = zip(missing, e.subwords.vectors_of(forms), strict=True)
            spelled = {word: unit_vector(vector) for word, vector in made if vector.any()}
            self.ids |= {self.fold(word): len(words) + k for k, word in enumerate(spelled)}
            self.spelled = np.stack([*spelled.values()]) if spelled else self.spelled

    def ids_of(self, task: Task) -> Int64s:
        """Return the (m, longest) ids of the items' words, -1 if missing; short items repeat their first word."""
        width = max(map(len, task.items))
        padded = (item + item[:1] * (width - len(item)) for item in task.items)
        return np.array([[self._id_of(word) for word in item] for item in padded], np.int64)

    def _id_of(self, word: str) -> int:
        return self.written.get(word, self.ids.get(self.fold(word), -1))

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
        for method in methods:
            found = solve_analogies(
                self.vectors, self.lengths, ids[known][:, :3],
                method=method, twins=self.twins, further=self.spelled, progress=progress,
            )  # fmt: skip
            right = np.zeros(len(ids))
            right[known] = self.first[found] == self.first[ids[known][:, 3]]
            answers[method] = Answers(used, right[None], None, rarest, spelled=known & ~own)
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
    links: Int64s | None,
    *,
    oov: Oov,
    common: bool,
    methods: Sequence[AnalogyMethod],
    progress: Progress,
) -> dict[str, dict[str, Answers]]:
    """Return by metric, then by model, what happened at the items of ``task``, which hang together by ``links``.

    A model may have several seeds.
    """
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
            answers.setdefault(metric, {})[name] = replace(first, outcomes=outcomes, links=links)
    return answers


def solve_analogies(
    vectors: Float32s,
    lengths: Float32s,
    questions: Int64s,
    *,
    method: AnalogyMethod = "3cosadd",
    twins: Mapping[int, Sequence[int]] | None = None,
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
    asked, inverse = np.unique(questions, return_inverse=True)
    places: Int64s = inverse.reshape(questions.shape)
    own = _own(asked, len(vectors))
    units: Float32s = vectors[own] / lengths[own][:, None]
    if further is not None:
        units = _put_further(units, further, asked, len(vectors))
    excluded = defaultdict(list)  # by block and question, the columns of its own words and of their twins
    for row, question in enumerate(questions.tolist()):
        words = [i for word in question for i in (word, *(twins or {}).get(word, ()))]
        for i in (i for i in words if i < len(vectors)):
            excluded[i - i % _COLUMNS, row].append(i % _COLUMNS)
    best = np.full(len(questions), -np.inf, dtype=np.float32)
    answers = np.zeros(len(questions), dtype=np.int64)
    with progress.stage(f"analogies by {method}", total=len(vectors), unit="words") as stage:
        for start in range(0, len(vectors), _COLUMNS):
            stop = min(start + _COLUMNS, len(vectors))
            cosines: Float32s = units @ vectors[start:stop].T
            cosines /= lengths[start:stop]
            plus, minus = _terms(cosines, method)
            scores = np.empty(stop - start, dtype=np.float32)
            for row, (a, a_star, b) in enumerate(places.tolist()):
                np.add(plus[a_star], plus[b], out=scores)
                np.subtract(scores, minus[a], out=scores)
                if (start, row) in excluded:
                    scores[excluded[start, row]] = -np.inf
                column = int(scores.argmax())
                if scores[column] > best[row]:
                    best[row], answers[row] = scores[column], start + column
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
