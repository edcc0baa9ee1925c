"""The paper's nine sets, and points at any tasks, by ``psdvec.evaluate`` itself: Spearman, accuracy, 3CosMul."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.report import column_title
from psdvec.evaluation.scores import FEWEST_ITEMS
from psdvec.evaluation.tasks import Task
from psdvec.evaluation.testsets import CATALOGUE, find_tasks, locate
from psdvec.vectors.embeddings import Embeddings


def named_tasks(names: Sequence[str], folder: str | Path) -> list[Task]:
    """Return the tasks of these names, all of them: a mean over fewer would have the same name and another meaning."""
    missing = [entry.name for entry in CATALOGUE if entry.name in names and not locate(entry, folder=folder)]
    if missing:
        raise InputError(
            f"test sets that this benchmark needs are not on this machine: {', '.join(missing)}; put them into "
            f"'{folder}' (psdvec testsets list says where each is from)"
        )
    return list(find_tasks(names, folder=folder))


def nine_tasks(folder: str | Path) -> list[Task]:
    """Return the paper's similarity, synonym and analogy tasks."""
    return named_tasks([entry.name for entry in CATALOGUE if entry.in_paper], folder)


def test_words(folder: str | Path) -> set[str]:
    """Return every word of the nine sets, lower-cased."""
    return {word.lower() for task in nine_tasks(folder) for item in task.items for word in item}


def score(embeddings: Embeddings, tasks: Sequence[Task]) -> dict[str, float]:
    """Return the points at each task, and as ``mean`` the mean over those with enough questions that have vectors."""
    report = evaluate(embeddings, tasks, methods=["3cosmul"], resamples=0)
    scores = {column_title(task.name, ""): report.get("model", task.name) for task in tasks}
    points = {name: 100 * one.value for name, one in scores.items()}
    enough = [points[name] for name, one in scores.items() if one.covered >= FEWEST_ITEMS]
    return points | {"mean": float(np.mean(enough)) if enough else float("nan")}


def show(points: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.1f}" for name, value in points.items())
