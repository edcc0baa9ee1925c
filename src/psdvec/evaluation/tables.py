"""A report in words and numbers: tables for people, CSV and JSON for machines.

Goes in: a :class:`~psdvec.evaluation.evaluate.Report`. Comes out: header and rows of cells, CSV text, or plain values.
Scores are in points, 100 is perfect; the best of a column is marked, and so is a score whose difference to it
is noise by the paired test. The page with plots is in :mod:`psdvec.evaluation.page`.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any

from psdvec.evaluation.crf import BASELINE, TaggingResult
from psdvec.evaluation.evaluate import Report, Score
from psdvec.evaluation.tags import Counts
from psdvec.evaluation.testsets import CATALOGUE

BEST = "*"
NOISE = "≈"
NONE = "–"
NOISE_LEVEL = 0.05

_COLUMNS = {entry.name: entry.column for entry in CATALOGUE} | {"conll2003": "NER", "conll2000": "Chunk"}
_METRICS = {"3cosmul": " ×", "3cosadd": " +"}


@dataclass(frozen=True)
class Table:
    """Header and rows of cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def column_title(task: str, metric: str) -> str:
    """Return the heading of a column; analogies by 3CosMul end in ×, by 3CosAdd in +.

    >>> column_title("google", "3cosadd")
    'Google +'
    """
    return _COLUMNS.get(task, task) + _METRICS.get(metric, "")


def score_table(report: Report) -> Table:
    """Return one row a model with its scores, marks and the mean over tasks."""
    header = ("model", *(column_title(*column) for column in report.columns), "mean")
    means = {model: report.mean(model) for model in report.models}
    highest = max((mean for mean in means.values() if math.isfinite(mean)), default=None)
    rows = []
    for model in report.models:
        cells = [
            _points(report.find(model, *column)) + mark(report, model, *column) for column in report.columns
        ]
        best = BEST if len(report.models) > 1 and means[model] == highest else " "
        rows.append((model, *cells, _number(means[model]) + best))
    return Table(header, tuple(rows))


def interval_table(report: Report) -> Table:
    """Return one row a model with the bootstrap intervals of its scores, in points."""
    rows = []
    for model in report.models:
        scores = [report.find(model, *column) for column in report.columns]
        known = [score if score is not None and math.isfinite(score.low) else None for score in scores]
        rows.append((model, *(f"{100 * s.low:.1f}-{100 * s.high:.1f}" if s else NONE for s in known)))
    return Table(("95 % between", *(column_title(*column) for column in report.columns)), tuple(rows))


def coverage_table(report: Report) -> Table:
    """Return one row a model with how many items of each task it covers."""
    firsts = dict(reversed(report.columns))
    columns = [(task, firsts[task]) for task in dict.fromkeys(task for task, _ in report.columns)]
    rows = []
    for model in report.models:
        scores = [report.find(model, *column) for column in columns]
        rows.append((model, *(f"{score.covered}/{score.total}" if score else NONE for score in scores)))
    return Table(("covered", *(_COLUMNS.get(task, task) for task, _ in columns)), tuple(rows))


def section_table(report: Report, task: str, metric: str) -> Table | None:
    """Return one row a section of a task with each model's score there, or None where it has no sections."""
    scores = [report.find(model, task, metric) for model in report.models]
    sections = dict.fromkeys(name for score in scores if score for name in score.sections)
    if not sections:
        return None
    rows = []
    for section in sections:
        found = [score.sections.get(section) if score else None for score in scores]
        size = max(count for _, count in filter(None, found))
        rows.append((section, str(size), *(_number(cell[0]) if cell else NONE for cell in found)))
    return Table((column_title(task, metric), "items", *report.models), tuple(rows))


def tagging_table(report: Report) -> Table | None:
    """Return one row for the base line and each model at each tagging task, or None where there is none."""
    base = {result.task: result.total.f1 for result in report.tagging if result.model == BASELINE}
    rows = []
    for result in report.tagging:
        total = result.total
        gain = "" if result.model == BASELINE else f"{100 * (total.f1 - base[result.task]):+.2f}"
        numbers = [f"{100 * value:.2f}" for value in (total.precision, total.recall, total.f1)]
        scale = NONE if result.scale is None else f"{result.scale:g}"
        rows.append(
            (
                _COLUMNS.get(result.task, result.task),
                result.model,
                *numbers,
                gain,
                f"{100 * result.accuracy:.2f}",
            )
            + (f"{100 * result.dev_f1:.2f}", f"{result.penalty:g}", scale, f"{result.seconds:.0f}")
        )
    header = (
        "task",
        "model",
        "precision",
        "recall",
        "F1",
        "gain",
        "tokens",
        "dev F1",
        "penalty",
        "scale",
        "s",
    )
    return Table(header, tuple(rows)) if rows else None


def mark(report: Report, model: str, task: str, metric: str) -> str:
    """Return ``*`` for the best of a column, ``≈`` for one that the paired test cannot tell from it."""
    score, best = report.find(model, task, metric), report.best(task, metric)
    if score is None or best is None or len(report.models) == 1 or not math.isfinite(score.value):
        return " "
    if model == best:
        return BEST
    return NOISE if report.difference(model, best, task, metric) >= NOISE_LEVEL else " "


def rules(report: Report) -> str:
    """Return in sentences how the scores were made."""
    missing = {
        "skip": "items with a word that has no vector are left out",
        "zero": "a word that has no vector counts as a vector of zeros",
        "mean": "a word that has no vector counts as the mean of all vectors",
    }[report.oov]
    if report.common:
        missing = "only items that all models cover are used"
    case = "case is ignored" if report.ignore_case else "case matters"
    text = f"Scores are in points; {missing}; {case}. The mean takes analogies by the first method shown."
    if len(report.models) > 1:
        text += f" {BEST} best; {NOISE} no different from the best (paired test, p ≥ {NOISE_LEVEL})."
    return text


def as_csv(report: Report) -> str:
    """Return one line for every model, task and metric."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        ["model", "task", "metric", "score", "low", "high", "covered", "total", "best", "p_against_best"]
    )
    for score in report.scores:
        record = _record(report, score)
        writer.writerow(
            [record[name] for name in ("model", "task", "metric", "score", "low", "high")]
            + [record[name] for name in ("covered", "total", "best", "p_against_best")]
        )
    return file.getvalue()


def as_values(report: Report) -> dict[str, Any]:
    """Return the report as plain values, ready for JSON; what is not a number becomes None."""
    return {
        "rules": {
            "oov": report.oov,
            "common": report.common,
            "ignore_case": report.ignore_case,
            "seed": report.seed,
        },
        "means": {model: _finite(report.mean(model)) for model in report.models},
        "scores": [
            _record(report, score)
            | {
                "sections": {
                    name: {"score": _finite(value), "items": size}
                    for name, (value, size) in score.sections.items()
                }
            }
            for score in report.scores
        ],
        "tagging": [_tagging_record(result) for result in report.tagging],
    }


def _tagging_record(result: TaggingResult) -> dict[str, Any]:
    def shares(counts: Counts) -> dict[str, float | int]:
        return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1, "spans": counts.gold}

    return {
        "task": result.task,
        "model": result.model,
        **shares(result.total),
        "token_accuracy": result.accuracy,
        "dev_f1": result.dev_f1,
        "penalty": result.penalty,
        "scale": result.scale,
        "seconds": result.seconds,
        "labels": {label: shares(counts) for label, counts in result.labels.items()},
    }


def _record(report: Report, score: Score) -> dict[str, Any]:
    best = report.best(score.task, score.metric)
    chance = None
    if best is not None and best != score.model and math.isfinite(score.value):
        chance = _finite(report.difference(score.model, best, score.task, score.metric))
    return {
        "model": score.model,
        "task": score.task,
        "metric": score.metric,
        "score": _finite(score.value),
        "low": _finite(score.low),
        "high": _finite(score.high),
        "covered": score.covered,
        "total": score.total,
        "best": score.model == best,
        "p_against_best": chance,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _points(score: Score | None) -> str:
    return NONE if score is None else _number(score.value)


def _number(value: float) -> str:
    return f"{100 * value:.1f}" if math.isfinite(value) else NONE
