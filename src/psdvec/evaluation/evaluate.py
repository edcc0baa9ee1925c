"""Judging vectors: any models at any tasks, side by side.

Models are :class:`~psdvec.vectors.embeddings.Embeddings`, whoever made them; tasks come from
:mod:`psdvec.evaluation.testsets` or :mod:`psdvec.evaluation.tasks`. First every model answers every task
(:mod:`psdvec.evaluation.answers`), then the answers are scored and compared
(:mod:`psdvec.evaluation.scores`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from psdvec.arrays import Float32s
from psdvec.errors import InputError, checked, demand_positive, demand_seed
from psdvec.evaluation.answers import ANALOGY_METHODS, JudgedModel, Oov, answer_task
from psdvec.evaluation.report import Report
from psdvec.evaluation.scores import SpanCounts, score_column, score_task
from psdvec.evaluation.tagging import TaggingResult
from psdvec.evaluation.tasks import Task
from psdvec.progress import LogProgress, Progress
from psdvec.vectors.embeddings import AnalogyMethod, Embeddings

_MOST_RESAMPLES = 1_000_000


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
    ignore_case : treat ``Paris`` and ``paris`` as one word, the more frequent of them (gensim's rule)
    restrict_vocab : use only this many words, the first
    resamples : how many resamples to draw for each interval; with 0, only analogies have one
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
    named = {"model": models} if isinstance(models, Embeddings) else dict(models)
    tasks = tuple(tasks)
    for task in tasks:
        if not task.items:
            raise InputError(f"the task '{task.name}' holds no questions; leave it out")
    if oov == "spelling":
        _check_spelling(named)
    judged = {}
    for name, found in named.items() if tasks else ():  # lengths take a pass over the vectors
        seeds = [found] if isinstance(found, Embeddings) else found
        judged[name] = [
            _judged(e, restrict_vocab, ignore_case=ignore_case, spell=tasks if oov == "spelling" else ())
            for e in seeds
        ]
    answers = [
        answer_task(judged, task, oov=oov, common=common, methods=methods, progress=progress)
        for task in tasks
    ]
    scores = [
        score
        for task, answered in zip(tasks, answers, strict=True)
        for score in score_task(task, answered, resamples=resamples, seed=seed)
    ]
    return Report(tuple(scores), oov, common, ignore_case, seed)


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


def _check_spelling(named: Mapping[str, Embeddings | Sequence[Embeddings]]) -> None:
    models = [e for found in named.values() for e in ([found] if isinstance(found, Embeddings) else found)]
    if all(e.subwords is None for e in models):
        raise InputError(
            'none of the models knows anything of spelling; choose oov="skip", or fit one with psdvec'
        )


def _judged(
    e: Embeddings, restrict_vocab: int | None, *, ignore_case: bool, spell: Sequence[Task]
) -> JudgedModel:
    """Return the model as it is judged, with vectors by spelling for the words of the tasks ``spell`` that it lacks."""
    first = slice(restrict_vocab)
    words, lengths = e.words[first], e.lengths[first]
    vectors = e.vectors if restrict_vocab is None else e.vectors[first]
    spelled: dict[str, Float32s] = {}
    if spell and e.subwords is not None:
        asked = dict.fromkeys(word for task in spell for item in task.items for word in item)
        fold = str.upper if ignore_case else str
        own = {fold(word) for word in words}
        missing = [word for word in asked if fold(word) not in own]
        forms = [e.look_up(word, unseen="spelling") for word in missing] if ignore_case else missing
        found = zip(missing, e.subwords.vectors_of(forms), strict=True)
        spelled = {word: vector for word, vector in found if vector.any()}
    return JudgedModel(words, vectors, lengths, ignore_case=ignore_case, spelled=spelled)
