"""A comparison in words and numbers: the paper's three tables, as Markdown and as plain values.

Goes in: a :class:`~psdvec.compare.run.Comparison`. Comes out: titled tables of cells, Markdown text, or values for
JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from psdvec.compare.process import Cost
from psdvec.compare.run import Comparison
from psdvec.compare.steps import CORE, Outcome
from psdvec.evaluation.tables import NONE, Table, coverage_table, rules, score_table, tagging_table
from psdvec.evaluation.tables import as_values as report_values
from psdvec.methods import METHODS
from psdvec.resources import format_size

FAILED = "failed"


def tables(comparison: Comparison) -> Iterator[tuple[str, Table]]:
    """Yield every table with its title."""
    if comparison.report.scores:
        yield "Table 1. Scores", score_table(comparison.report)
    yield "Table 2. Training time and memory", cost_table(comparison)
    core = core_table(comparison)
    if core is not None:
        yield "Table 3. Core words against words placed by ridge", core
    if comparison.report.scores:
        yield "Items covered", coverage_table(comparison.report)
    tagging = tagging_table(comparison.report)
    if tagging is not None:
        yield "Tagging", tagging
    yield "Settings", settings_table(comparison)


def cost_table(comparison: Comparison) -> Table:
    """Return seconds and peak memory of each method; with a second corpus, the ratio of the training times."""
    header: tuple[str, ...] = ("method", "training s", "peak memory", "counting s", "text to vectors s")
    if comparison.second:
        header += ("second: training s", "peak memory", "ratio of times")
    rows = []
    for place, outcome in enumerate(comparison.outcomes):
        cells = [outcome.method, *_cost_cells(outcome)]
        if comparison.second:
            other = comparison.second[place]
            one, two = outcome.training, other.training
            ratio = f"{one.wall / two.wall:.1f}" if one and two else NONE
            cells += [*_cost_cells(other)[:2], ratio]
        rows.append(tuple(cells))
    return Table(header, tuple(rows))


def _cost_cells(outcome: Outcome) -> list[str]:
    cost = outcome.training
    charged = outcome.counting is not None and METHODS[outcome.method].reads == "counts"
    counting = f"{outcome.counting.wall:.1f}" if outcome.counting and charged else NONE
    if cost is None:
        return [FAILED, NONE, counting, NONE]
    return [f"{cost.wall:.1f}", format_size(cost.memory), counting, f"{outcome.total:.1f}"]


def core_table(comparison: Comparison) -> Table | None:
    """Return the paper's table 3, or None where its method was not trained: core words against the others."""
    rows: list[tuple[str, ...]] = []
    for outcomes, size in zip((comparison.outcomes, comparison.second), comparison.sizes, strict=False):
        outcome = next((one for one in outcomes if one.method == "psd" and one.error is None), None)
        if outcome is None:
            continue
        (name, core), (_, ridge) = outcome.steps.items()
        words = int(name.removeprefix(f"{CORE}-").partition("-")[0])
        others = size["vocabulary"] - words
        speeds = [60 * words / core.wall, 60 * others / ridge.wall]
        label = "" if outcomes is comparison.outcomes else "second corpus: "
        for what, number, cost, speed in (
            ("core", words, core, speeds[0]),
            ("by ridge", others, ridge, speeds[1]),
        ):
            rows.append(_core_row(label + what, number, cost, speed, speed / speeds[0]))
    header = ("words", "number", "time s", "peak memory", "words a minute", "speedup")
    return Table(header, tuple(rows)) if rows else None


def _core_row(label: str, number: int, cost: Cost, speed: float, ratio: float) -> tuple[str, ...]:
    return (
        label,
        f"{number:,}",
        f"{cost.wall:.1f}",
        format_size(cost.memory),
        f"{speed:,.0f}",
        f"{ratio:.1f}",
    )


def settings_table(comparison: Comparison) -> Table:
    """Return one row a method with every setting it was trained with."""
    rows = [
        (
            name,
            METHODS[name].title,
            ", ".join(f"{key} {value}" for key, value in settings.items() if value is not None),
        )
        for name, settings in comparison.settings.items()
    ]
    return Table(("method", "what it is", "settings of counting and training"), tuple(rows))


def remarks(comparison: Comparison) -> list[str]:
    """Return in sentences what was left out, what failed, and how numbers were made."""
    lines = [f"{name} was left out: {why}." for name, why in comparison.left_out.items()]
    for title, outcomes in (("", comparison.outcomes), (" on the second corpus", comparison.second)):
        lines += [f"{one.method} failed{title}: {one.error}." for one in outcomes if one.error is not None]
    if not comparison.report.scores:
        lines.append("No test set was on this machine, so nothing was judged; see psdvec testsets fetch.")
    lines.append(
        "Times are wall seconds of whole processes, from start to vectors on disk, all with the same number of "
        "threads; peak memory is the largest resident size. Kernels were compiled beforehand. Counting is stated "
        "apart; methods that read the text take the vocabulary from it and are not charged with it."
    )
    shared = [one.method for one in comparison.outcomes if len(one.steps) > 1]
    if shared:
        lines.append(
            f"The times of {' and '.join(shared)} are sums over their steps; "
            "a step that two methods share was run once."
        )
    return lines


def as_markdown(comparison: Comparison) -> str:
    """Return the whole report as Markdown."""
    parts = ["# Word vectors compared", ""]
    parts += [f"- {name}: {text}" for name, text in comparison.header.items()]
    for title, table in tables(comparison):
        parts += ["", f"## {title}", "", _markdown(table)]
    notes = [rules(comparison.report), *remarks(comparison)]
    return "\n".join([*parts, "", "## Remarks", "", *(f"- {line}" for line in notes), ""])


def _markdown(table: Table) -> str:
    rows = [table.header, ("---", *("---:" for _ in table.header[1:])), *table.rows]
    return "\n".join(
        "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in row) + " |" for row in rows
    )


def as_values(comparison: Comparison) -> dict[str, Any]:
    """Return the whole report as plain values."""
    return {
        "header": dict(comparison.header),
        "settings": {name: dict(settings) for name, settings in comparison.settings.items()},
        "costs": [_outcome_values(one) for one in comparison.outcomes],
        "second": [_outcome_values(one) for one in comparison.second],
        "sizes": [dict(size) for size in comparison.sizes],
        "left_out": dict(comparison.left_out),
        "evaluation": report_values(comparison.report),
    }


def _outcome_values(outcome: Outcome) -> dict[str, Any]:
    return {
        "method": outcome.method,
        "error": outcome.error,
        "counting": asdict(outcome.counting) if outcome.counting else None,
        "training": asdict(outcome.training) if outcome.training else None,
        "steps": {name: asdict(cost) for name, cost in outcome.steps.items()},
    }
