"""Scores of the paper's nine sets in points, by ``psdvec.evaluate``: Spearman, accuracy, 3CosMul.

One rule differs from ``psdvec evaluate``, so that figures stay comparable with older ones: a synonym question
counts when it and its answer have vectors, and wrong choices without one are never chosen.
"""

from __future__ import annotations

from dataclasses import replace

from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tables import column_title
from psdvec.evaluation.tasks import Choices
from psdvec.evaluation.testsets import NOT_IN_PAPER, find_tasks
from psdvec.vectors.embeddings import Embeddings


def nine_tasks(folder):
    """Return the paper's similarity, synonym and analogy tasks."""
    return [task for task in find_tasks(folder=folder) if task.name not in NOT_IN_PAPER]


def test_words(folder):
    """Return every word of the nine sets, lower-cased."""
    return {word.lower() for task in nine_tasks(folder) for item in task.items for word in item}


def score(words, vectors, folder):
    """Return the points of each set, and their mean as ``mean``."""
    tasks = [without_unknown_choices(task, set(words)) for task in nine_tasks(folder)]
    report = evaluate(Embeddings(words, vectors), tasks, methods=["3cosmul"], resamples=0)
    points = {column_title(task.name, ""): 100 * report.get("model", task.name).value for task in tasks}
    return points | {"mean": 100 * report.mean("model")}


def without_unknown_choices(task, known):
    if not isinstance(task, Choices):
        return task
    items = tuple((*item[:2], *(word for word in item[2:] if word.lower() in known)) for item in task.items)
    return replace(task, items=items)


def show(points):
    return "  ".join(f"{name} {value:.1f}" for name, value in points.items())
