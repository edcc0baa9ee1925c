"""A comparison as one self-contained web page: quality against time, growth of cost, and the whole report.

The parts that any report has, scores by frequency band among them, come from :mod:`psdvec.evaluation.page`, and the
page around them from :mod:`psdvec.pages.shell`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from psdvec.compare.values import Comparison
from psdvec.evaluation.page import as_html, colour_of
from psdvec.evaluation.report import Table
from psdvec.methods import METHODS
from psdvec.pages.shell import Section, explained_table, folded, glossary, plots
from psdvec.pages.svg import Series, draw_points, figure

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
    tables, header = comparison.tables, comparison.header
    core = tables.core
    remarks = "".join(f"<li>{escape(line)}</li>" for line in tables.remarks)
    methods = {run.method: METHODS[run.method].title for run in comparison.runs}
    before = [
        Section(
            "Quality and time",
            plots([quality_plot(comparison), growth_plot(comparison)]) + glossary(methods),
        )
    ]
    after = [
        Section("Training time and memory", _table(tables.costs)),
        Section("Core words against words placed by ridge", _table(core) if core else ""),
        Section("Remarks", f"<ul>{remarks}</ul>"),
        Section(
            "What was compared",
            glossary(header) + folded("The settings of each method", _table(tables.settings)),
        ),
    ]
    about = ", ".join(filter(None, (header.get("corpus"), _dimensions(header), header.get("date"))))
    return as_html(
        comparison.report,
        tables.evaluation,
        title="Methods compared",
        about=about,
        before=before,
        after=after,
    )


def quality_plot(comparison: Comparison) -> str:
    """Draw each method's mean score over the time it took from text to vectors."""
    series = []
    for run in comparison.runs:
        value = 100 * comparison.quality.get(run.method, math.nan)
        if run.error is None and math.isfinite(value):
            note = f"{run.method}: {value:.1f} in {run.total:.1f} s"
            series.append(
                Series(run.method, colour_of(comparison.report, run.method), [(run.total, value, note)])
            )
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


def _table(table: Table) -> str:
    return explained_table(table.header, table.rows, _MEANINGS)


def _dimensions(header: Mapping[str, str]) -> str:
    return f"{header['dimensions']} dimensions" if "dimensions" in header else ""
