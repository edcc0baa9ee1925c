"""A comparison as one self-contained web page: quality against time, growth of cost, and the whole report.

The parts that any report has, scores by frequency band among them, come from :mod:`psdvec.evaluation.page`.
"""

from __future__ import annotations

import math
from html import escape

from psdvec.compare.values import Comparison
from psdvec.evaluation.page import as_html, colour_of, html_table
from psdvec.evaluation.svg import Series, draw_series, figure

_WIDTH, _HEIGHT = 525, 340
_COLUMNS = "grid-template-columns: repeat(auto-fill, minmax(28rem, 1fr))"


def as_page(comparison: Comparison) -> str:
    """Return the comparison as one self-contained page."""
    tables = comparison.tables
    header = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in comparison.header.items()
    )
    notes = "".join(f"<li>{escape(line)}</li>" for line in tables.remarks)
    core = tables.core
    parts = [
        f"<table>{header}</table>",
        f'<div class="plots" style="{_COLUMNS}">{quality_plot(comparison)}{growth_plot(comparison)}</div>',
        f'<h2>Training time and memory</h2><div class="scroll">{html_table(tables.costs)}</div>',
        f"<h2>Core words against words placed by ridge</h2>{html_table(core)}" if core else "",
        f"<ul>{notes}</ul>",
        f"<details><summary>Settings</summary>{html_table(tables.settings)}</details>",
    ]
    return as_html(comparison.report, tables.evaluation, title="Methods compared", lead="".join(parts))


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
    drawing = draw_series(
        series, "seconds from text to vectors", "mean score", log_y=False, width=_WIDTH, height=_HEIGHT
    )
    return figure("Quality against time: up and to the left is better", drawing)


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
    drawing = draw_series(
        series, "words of the corpus", "training seconds", log_y=True, width=_WIDTH, height=_HEIGHT
    )
    return figure("Growth of the training time", drawing)
