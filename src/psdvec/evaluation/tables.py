"""A report in words and numbers: tables for people, CSV and JSON for programs.

Scores are in points, where 100 is perfect; the best of each column is marked where the paired test tells it apart from
all others, and otherwise those among which it does not decide. All numbers come from the
:class:`~psdvec.evaluation.report.Report`: nothing is computed here. What follows from them is said by
:mod:`psdvec.evaluation.verdict`; the page with plots is in :mod:`psdvec.evaluation.page`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from psdvec.evaluation.report import NOISE_LEVEL, MeanScore, Report, leaders
from psdvec.evaluation.scores import FEWEST_ITEMS, Score
from psdvec.evaluation.tagging.crf import BASELINE, TaggingResult
from psdvec.evaluation.tagging.tags import Counts
from psdvec.evaluation.testsets import column_title
from psdvec.evaluation.verdict import make_verdict, say_left_out

BEST = "*"
NOISE = "≈"
NONE = "–"
SEEN = "detectable"


@dataclass(frozen=True)
class Table:
    """Header and rows of cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportTables:
    """Every table of a report, its ``verdict`` and ``rules`` in sentences, and all of it as ``values`` for JSON."""

    verdict: str
    scores: Table
    intervals: Table
    coverage: Table
    tagging: Table | None
    seeds: Table | None
    sections: tuple[Table, ...]
    rules: str
    values: Mapping[str, Any]


def make_tables(report: Report) -> ReportTables:
    """Return all that is shown of a report; text, page and JSON read the same."""
    sections = [section_table(report, *column) for column in report.columns]
    return ReportTables(
        verdict=make_verdict(report),
        scores=score_table(report),
        intervals=interval_table(report),
        coverage=coverage_table(report),
        tagging=tagging_table(report),
        seeds=seed_table(report),
        sections=tuple(filter(None, sections)),
        rules=rules(report),
        values=as_values(report),
    )


def score_table(report: Report) -> Table:
    """Return one row per model with its scores, their marks, and the mean over tasks.

    With several models, a last row says what difference from the best could have been seen in each column: the median
    over the other models.
    """
    header = ("model", *(column_title(*column) for column in report.columns), mean_title(report))
    columns: list[list[Score | MeanScore | None]]
    columns = [[report.find(model, *column) for model in report.models] for column in report.columns]
    columns.append([*report.means.values()])
    cells = zip(*map(score_cells, columns), strict=True)
    rows = [(model, *row) for model, row in zip(report.models, cells, strict=True)]
    if len(report.models) > 1:
        rows.append((SEEN, *map(_detectable, columns)))
    return Table(header, tuple(rows))


def score_cells(column: Sequence[Score | MeanScore | None]) -> list[str]:
    """Return the scores of a column in points, each with its mark.

    ``*`` marks the best where the test tells it apart from every other, ``≈`` those among which it does not decide.
    Of too few items, their number stands for the score.
    """
    known = [score for score in column if score and score.tells]
    leading = leaders(known) if len(known) > 1 else ()
    mark = BEST if len(leading) == 1 else NOISE
    return [
        (too_few(score.size) if isinstance(score, Score) and score.too_few else _number(score.value))
        + (mark if score.model in leading else " ")
        if score
        else f"{NONE} "
        for score in column
    ]


def too_few(size: int) -> str:
    """Return what stands in place of a score of ``size`` items, fewer than :data:`FEWEST_ITEMS`."""
    return f"too few ({size})"


def mean_title(report: Report) -> str:
    """Return the title of the column of means, which says how many sets they are over if that is not all."""
    if not report.left_out or not report.counted:
        return "mean"
    return f"mean of {len(report.counted)} of {len(report.candidates)}"


def interval_table(report: Report) -> Table:
    """Return one row per model with the intervals of its scores and of their mean, in points."""
    rows = []
    for model in report.models:
        scores = [*(report.find(model, *column) for column in report.columns), report.means[model]]
        known = [score if score is not None and math.isfinite(score.low) else None for score in scores]
        rows.append((model, *(f"{100 * s.low:.1f}-{100 * s.high:.1f}" if s else NONE for s in known)))
    header = ("95 % between", *(column_title(*column) for column in report.columns), mean_title(report))
    return Table(header, tuple(rows))


def seed_table(report: Report) -> Table | None:
    """Return one row per model with its number of seeds and how far they scatter, or None if all have one."""
    rows = []
    for model in report.models:
        scores = [report.find(model, *column) for column in report.columns]
        seeds = max((score.seeds for score in scores if score), default=1)
        if seeds > 1:
            known = [score.spread if score and score.tells else math.nan for score in scores]
            spreads = [*known, report.means[model].spread]
            rows.append((model, str(seeds), *(_number(spread, digits=2) for spread in spreads)))
    titles = (*(column_title(*column) for column in report.columns), mean_title(report))
    header = ("standard deviation", "seeds", *titles)
    return Table(header, tuple(rows)) if rows else None


def coverage_table(report: Report) -> Table:
    """Return one row per model with how many items of each task it covers, as :func:`coverage_of` writes it."""
    rows = []
    for model in report.models:
        scores = [report.find(model, *column) for column in report.tasks.items()]
        rows.append((model, *(coverage_of(score) if score else NONE for score in scores)))
    return Table(("covered", *map(column_title, report.tasks)), tuple(rows))


def coverage_of(score: Score) -> str:
    """Return the items covered of all, as ``210/250``; ``210+30/250`` if 30 more are thanks to spelling."""
    more = f"+{score.covered_by_spelling}" if score.covered_by_spelling else ""
    return f"{score.covered}{more}/{score.total}"


def section_table(report: Report, task: str, metric: str) -> Table | None:
    """Return one row per section of a task with each model's score there, or None if it has no sections."""
    scores = [report.find(model, task, metric) for model in report.models]
    sections = dict.fromkeys(name for score in scores if score for name in score.sections)
    if not sections:
        return None
    rows = []
    for section in sections:
        found = [score.sections.get(section) if score else None for score in scores]
        size = max(count for _, count in filter(None, found))
        rows.append((section, str(size), *(_section_cell(*cell) if cell else NONE for cell in found)))
    return Table((column_title(task, metric), "items", *report.models), tuple(rows))


def _section_cell(value: float, size: int) -> str:
    return _number(value) if size >= FEWEST_ITEMS else too_few(size)


def tagging_table(report: Report) -> Table | None:
    """Return one row per tagging task for the baseline and each model, or None if there is no such task."""
    base = {result.task: result.total.f1 for result in report.tagging if result.model == BASELINE}
    rows = []
    for result in report.tagging:
        total = result.total
        gain = "" if result.model == BASELINE else f"{100 * (total.f1 - base[result.task]):+.2f}"
        numbers = [f"{100 * value:.2f}" for value in (total.precision, total.recall, total.f1)]
        tokens = f"{100 * result.accuracy:.2f}"
        if len(result.sentences) < FEWEST_ITEMS:
            numbers, gain, tokens = [NONE, NONE, too_few(len(result.sentences))], NONE, NONE
        scale = NONE if result.scale is None else f"{result.scale:g}"
        rows.append(
            (
                column_title(result.task),
                result.model,
                *numbers,
                gain,
                tokens,
            )
            + (f"{100 * result.dev_f1:.2f}", f"{result.penalty:g}", scale, f"{result.seconds:.0f}")
        )
    header: tuple[str, ...] = ("task", "model", "precision", "recall", "F1", "gain")
    header += ("tokens", "dev F1", "penalty", "scale", "s")
    return Table(header, tuple(rows)) if rows else None


def rules(report: Report) -> str:
    """Return in sentences how the scores were made."""
    missing = {
        "skip": "items with a word that has no vector are left out",
        "zero": "a word that has no vector counts as a vector of zeros",
        "mean": "a word that has no vector counts as the mean of all vectors",
        "spelling": "a word that has no vector has that of its spelling, and the items that this adds stand after + in "
        "the coverage; the others with such a word are left out",
    }[report.oov]
    if report.common:
        covered = "only items that all models cover are used"
        missing = f"{missing.partition(';')[0]}; {covered}" if report.oov == "spelling" else covered
    case = "case is ignored" if report.ignore_case else "case matters"
    text = f"Scores are in points; {missing}; {case}. The mean takes analogies by the first method shown."
    if len(report.models) > 1:
        text += (
            f" {BEST} best: told apart from every other model; {NOISE} highest, or not told apart from the highest at "
            f"this size (paired test, p ≥ {NOISE_LEVEL} by Holm's method over all pairs of models in the column). "
            f"{SEEN}: a difference from the highest that one test would find in four cases of five (a power of 80 %)."
        )
    if seed_table(report):
        text += " Scores of a method trained with several seeds are means over them."
    if any(score.too_few for score in report.scores):
        text += f" too few (n): n items are too few to tell; a score takes at least {FEWEST_ITEMS}."
    return f"{text} {say_left_out(report)}".rstrip()


def as_csv(report: Report) -> str:
    """Return one line per model, task and metric, and one per model for the mean."""
    file = io.StringIO()
    fields = ["model", "task", "metric", "score", "low", "high", "covered"]
    if report.oov == "spelling":
        fields.append("covered_by_spelling")
    fields += ["total", "too_few", "best", "p_against_best"]
    fields += ["p_adjusted", "detectable", "seeds", "spread"]
    writer = csv.DictWriter(file, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_record(score, report) for score in report.scores)
    sets = {"covered": len(report.counted), "total": len(report.candidates)}
    writer.writerows(
        {"model": model, "task": "mean", **sets, **_mean_record(mean)} for model, mean in report.means.items()
    )
    return file.getvalue()


def as_values(report: Report) -> dict[str, Any]:
    """Return the report as plain values, ready for JSON; NaN becomes None."""
    return {
        "rules": {
            "oov": report.oov,
            "common": report.common,
            "ignore_case": report.ignore_case,
            "seed": report.seed,
        },
        "means": {model: _mean_record(mean) for model, mean in report.means.items()},
        "mean_over": list(report.counted),
        "left_out": {
            task: {score.model: score.size for score in scores} for task, scores in report.left_out.items()
        },
        "scores": [
            _record(score, report)
            | {
                "sections": {
                    name: {"score": _finite(value), "items": size, "too_few": size < FEWEST_ITEMS}
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
        "too_few": len(result.sentences) < FEWEST_ITEMS,
        "token_accuracy": result.accuracy,
        "dev_f1": result.dev_f1,
        "penalty": result.penalty,
        "scale": result.scale,
        "seconds": result.seconds,
        "labels": {label: shares(counts) for label, counts in result.labels.items()},
    }


def _record(score: Score, report: Report) -> dict[str, Any]:
    spelled = {"covered_by_spelling": score.covered_by_spelling} if report.oov == "spelling" else {}
    return {
        "model": score.model,
        "task": score.task,
        "metric": score.metric,
        "score": _finite(score.value),
        "low": _finite(score.low),
        "high": _finite(score.high),
        "covered": score.covered,
        **spelled,
        "total": score.total,
        "too_few": score.too_few,
        **_comparison_record(score),
        "seeds": score.seeds,
    }


def _mean_record(mean: MeanScore) -> dict[str, Any]:
    return {
        "score": _finite(mean.value),
        "low": _finite(mean.low),
        "high": _finite(mean.high),
        **_comparison_record(mean),
    }


def _comparison_record(score: Score | MeanScore) -> dict[str, Any]:
    return {
        "best": score.is_best,
        "p_against_best": _finite(score.against_best.p),
        "p_adjusted": _finite(score.p_adjusted),
        "detectable": _finite(score.against_best.detectable),
        "spread": _finite(score.spread),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _detectable(scores: Sequence[Score | MeanScore | None]) -> str:
    """Return the median over models of the difference from the best that could have been seen.

    A model that does the same as the best at every item tells nothing of that.
    """
    found = [score.against_best.detectable for score in scores if score]
    known = [value for value in found if value > 1e-9]  # of rounding
    return _number(median(known) if known else math.nan) + " "


def _number(value: float, *, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}" if math.isfinite(value) else NONE
