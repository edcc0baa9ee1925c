"""A comparison as a report: the paper's three tables, remarks, Markdown and JSON, and one web page with plots."""

from __future__ import annotations

import datetime
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from psdvec.compare.jobs import CORE, Bench, versions
from psdvec.compare.values import Comparison, Setup, TrainingRun
from psdvec.evaluation.page import as_html, colour_of
from psdvec.evaluation.report import NONE, ReportTables, Table
from psdvec.methods import METHODS
from psdvec.pages.plots import Series, draw_points
from psdvec.pages.shell import Section, explained_table, figure, folded, glossary, plots
from psdvec.resources import format_size
from psdvec.system import total_memory

# A comparison in words and numbers: what was compared, the paper's three tables, remarks, Markdown and JSON.

COSTS = "Training time and memory"
CORE_WORDS = "Core words against words placed by ridge"


def make_header(setup: Setup, benches: Sequence[Bench], also: Mapping[str, str | Path]) -> dict[str, str]:
    """Return by name what was compared, on what machine, and when."""
    memory = format_size(total_memory())
    header = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {memory} of memory, {platform.system()}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items())
        + f", Python {platform.python_version()}",
        "threads": str(setup.workers),
    }
    for title, bench in zip(("corpus", "second corpus"), benches, strict=False):
        names = [Path(file).name for file in bench.files[:3]] + ["…"] * (len(bench.files) > 3)
        header[title] = f"{', '.join(names)}, {format_size(bench.bytes)}"
        if bench.size:
            header[title] += f", {bench.size['tokens']:,} words, vocabulary of {bench.size['vocabulary']:,}"
    header["dimensions"] = str(setup.dim)
    header["seed"] = str(setup.seed)
    if setup.seeds != 1:
        header["seeds per method"] = str(setup.seeds)
    if also:
        header["also judged"] = ", ".join(f"{name} ({Path(path).name})" for name, path in also.items())
    return header


def _processor() -> str:
    try:
        found = re.search(
            r"^model name\s*:\s*(.+)$",
            Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"),
            re.MULTILINE,
        )
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def make_tables(
    evaluation: ReportTables,
    runs: Sequence[TrainingRun],
    second: Sequence[TrainingRun],
    *,
    sizes: Sequence[Mapping[str, int]],
    settings: Mapping[str, Mapping[str, Any]],
) -> dict[str, Table]:
    """Return by title the tables of a report, and those of what its models cost and how they were trained."""
    trained_with = [
        (name, METHODS[name].title, ", ".join(f"{key} {x}" for key, x in own.items() if x is not None))
        for name, own in settings.items()
    ]
    titled = {
        "Table 1. Scores": evaluation.scores if evaluation.scores.rows else None,
        "Spread over seeds": evaluation.seeds,
        f"Table 2. {COSTS}": _cost_table(runs, second),
        f"Table 3. {CORE_WORDS}": _core_table(runs, second, sizes),
        "Items covered": evaluation.coverage if evaluation.scores.rows else None,
        "Tagging": evaluation.tagging,
        "Settings": Table(("method", "what it is", "settings of counting and training"), tuple(trained_with)),
    }
    return {title: table for title, table in titled.items() if table is not None}


def _cost_table(runs: Sequence[TrainingRun], second: Sequence[TrainingRun]) -> Table:
    """Return seconds and peak memory per method; with a second corpus, also the ratio of the training times."""
    header: tuple[str, ...] = ("method", "seeds", "training s", "processor s", "peak memory", "counting s")
    header += ("text to vectors s",)
    if second:
        header += ("second: training s", "processor s", "peak memory", "ratio of times")
    rows = []
    for place, run in enumerate(runs):
        cells = [run.method, str(len(run.vectors)) if run.vectors else NONE, *_cost_cells(run)]
        if second:
            other = second[place]
            one, two = run.training, other.training
            ratio = f"{one.wall / two.wall:.1f}" if one and two else NONE
            cells += [*_cost_cells(other)[:3], ratio]
        rows.append(tuple(cells))
    return Table(header, tuple(rows))


def _cost_cells(run: TrainingRun) -> list[str]:
    cost = run.training
    counting = f"{run.charged.wall:.1f}" if run.charged else NONE
    if cost is None:
        return ["failed", NONE, NONE, counting, NONE]
    return [
        f"{cost.wall:.1f}", f"{cost.processor:.1f}", format_size(cost.memory), counting, f"{run.total:.1f}",
    ]  # fmt: skip


def _core_table(
    runs: Sequence[TrainingRun], second: Sequence[TrainingRun], sizes: Sequence[Mapping[str, int]]
) -> Table | None:
    """Return the paper's table 3, core words against the others, or None if its method was not trained."""
    rows: list[tuple[str, ...]] = []
    for label, trained, size in zip(("", "second corpus: "), (runs, second), sizes, strict=False):
        run = next((one for one in trained if one.method == "psd" and one.error is None), None)
        if run is None:
            continue
        (name, core), (_, ridge) = run.steps.items()
        words = int(name.removeprefix(f"{CORE}-").partition("-")[0])
        others = size["vocabulary"] - words
        core_speed = 60 * words / core.wall
        for what, number, cost in (("core", words, core), ("by ridge", others, ridge)):
            speed = 60 * number / cost.wall
            measured = (f"{number:,}", f"{cost.wall:.1f}", format_size(cost.memory))
            rows.append((f"{label}{what}", *measured, f"{speed:,.0f}", f"{speed / core_speed:.1f}"))
    header = ("words", "number", "time s", "peak memory", "words per minute", "speedup")
    return Table(header, tuple(rows)) if rows else None


def make_remarks(
    runs: Sequence[TrainingRun], second: Sequence[TrainingRun], left_out: Mapping[str, str], *, judged: bool
) -> tuple[str, ...]:
    """Return in sentences what was left out, what failed, and how the numbers were made."""
    lines = [f"{name} was left out: {why}." for name, why in left_out.items()]
    for title, trained in (("", runs), (" on the second corpus", second)):
        lines += [f"{run.method} failed{title}: {run.error}." for run in trained if run.error is not None]
    if not judged:
        lines.append(
            "No test set was found on this machine, so nothing was judged; see psdvec testsets fetch."
        )
    lines.append(
        "Times are seconds of whole processes, from start to vectors on disk, all with the same number of threads: "
        "wall seconds, and beside them those of all processor cores together, which depend less on what else the "
        "machine does; peak memory is the largest resident size. Kernels were compiled beforehand. Counting is listed "
        "separately; methods that read the text take only the vocabulary from the counts and are not charged for it."
    )
    shared = [run.method for run in runs if len(run.steps) > 1]
    if shared:
        lines.append(
            f"The times of {' and '.join(shared)} are sums over their steps; "
            "a step that two methods share was run once."
        )
    if any(len(run.vectors) > 1 for run in runs):
        lines.append(
            "Of a method trained with several seeds, scores are means over them, and times and memory medians. Tests "
            "and intervals allow for other items and for other seeds; how far seeds scatter is shown beside them. "
            "Taggers use the vectors of the first seed."
        )
    return tuple(lines)


def as_markdown(comparison: Comparison) -> str:
    """Return the whole report as Markdown."""
    parts = ["# Word vectors compared", "", f"**{comparison.evaluation.verdict}**", ""]
    parts += [f"- {name}: {text}" for name, text in comparison.header.items()]
    for title, table in comparison.tables.items():
        rows = [table.header, ("---", *("---:" for _ in table.header[1:])), *table.rows]
        cells = ((cell.strip().replace("|", "\\|") for cell in row) for row in rows)
        parts += ["", f"## {title}", "", *(f"| {' | '.join(row)} |" for row in cells)]
    notes = [comparison.evaluation.rules, *comparison.remarks]
    return "\n".join([*parts, "", "## Remarks", "", *(f"- {line}" for line in notes), ""])


def as_values(comparison: Comparison) -> dict[str, Any]:
    """Return the whole report as plain values."""
    return {
        "header": dict(comparison.header),
        "settings": {name: dict(settings) for name, settings in comparison.settings.items()},
        "costs": [_run_values(run) for run in comparison.runs],
        "second": [_run_values(run) for run in comparison.second],
        "sizes": [dict(size) for size in comparison.sizes],
        "left_out": dict(comparison.left_out),
        "evaluation": comparison.evaluation.values,
    }


def _run_values(run: TrainingRun) -> dict[str, Any]:
    return {
        "method": run.method,
        "error": run.error,
        "seeds": len(run.vectors),
        "counting": asdict(run.counting) if run.counting else None,
        "training": asdict(run.training) if run.training else None,
        "steps": {name: asdict(cost) for name, cost in run.steps.items()},
    }


# A comparison as one self-contained web page: quality against time, growth of cost, and the whole report.

_MEANINGS = {
    "seeds": "how often the method was trained",
    "training s": "seconds of training",
    "processor s": "seconds of all processor cores together",
    "peak memory": "the largest resident size of a process",
    "counting s": "seconds of counting pairs; none for a method that reads the text",
    "text to vectors s": "seconds of counting and training together",
    "second: training s": "seconds of training on the second corpus",
    "ratio of times": "training time on the first corpus divided by that on the second",
    "speedup": "words per minute, as a multiple of those of the core",
}


def as_page(comparison: Comparison) -> str:
    """Return the comparison as one self-contained page."""
    shown = {
        title: explained_table(table.header, table.rows, _MEANINGS)
        for title, table in comparison.tables.items()
    }
    header, methods = comparison.header, {run.method: METHODS[run.method].title for run in comparison.runs}
    pictures = plots([quality_plot(comparison), growth_plot(comparison)])
    remarks = "".join(f"<li>{escape(line)}</li>" for line in comparison.remarks)
    settings = folded("The settings of each method", shown["Settings"])
    dimensions = f"{header['dimensions']} dimensions" if "dimensions" in header else ""
    return as_html(
        comparison.report,
        comparison.evaluation,
        title="Methods compared",
        about=", ".join(filter(None, (header.get("corpus"), dimensions, header.get("date")))),
        before=[Section("Quality and time", pictures + glossary(methods))],
        after=[
            Section(COSTS, shown[f"Table 2. {COSTS}"]),
            Section(CORE_WORDS, shown.get(f"Table 3. {CORE_WORDS}", "")),
            Section("Remarks", f"<ul>{remarks}</ul>"),
            Section("What was compared", glossary(header) + settings),
        ],
    )


def quality_plot(comparison: Comparison) -> str:
    """Draw each method's mean score over the time it took from text to vectors."""
    series = []
    for run in comparison.runs:
        value = 100 * comparison.quality.get(run.method, math.nan)
        if run.error is None and math.isfinite(value):
            point = (run.total, value, f"{run.method}: {value:.1f} in {run.total:.1f} s")
            series.append(Series(run.method, colour_of(comparison.report, run.method), [point]))
    if not series:
        return ""
    title = "Quality against time: up and to the left is better"
    drawing = draw_points(series, label=title, x_title="seconds from text to vectors", y_title="mean score")
    return figure(title, drawing)


def growth_plot(comparison: Comparison) -> str:
    """Draw each method's training time on both corpora over their sizes; nothing without a second corpus."""
    series = []
    for one, two in zip(comparison.runs, comparison.second, strict=False):
        if one.training is not None and two.training is not None:
            both = zip(comparison.sizes, (one.training.wall, two.training.wall), strict=True)
            points = [
                (size["tokens"], wall, f"{one.method}: {wall:.1f} s for {size['tokens']:,.0f} words")
                for size, wall in both
            ]
            series.append(Series(one.method, colour_of(comparison.report, one.method), points))
    if not series:
        return ""
    title = "Growth of the training time"
    drawing = draw_points(
        series, label=title, x_title="words of the corpus", y_title="training seconds", log_y=True
    )
    return figure(title, drawing)
