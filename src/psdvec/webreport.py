"""A report as one web page that needs nothing else: tables, and plots drawn as inline SVG.

Goes in: a :class:`~psdvec.evaluation.Report`. Comes out: HTML text. The plots are written by hand because
they are bars and lines only: a plotting package would be a dependency of 30 MB for pictures that could not
follow the reader's dark mode, and its script from the net would end the page's independence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise

import numpy as np

from psdvec.evaluation import Report, Score
from psdvec.outcomes import Answers
from psdvec.reporting import (
    Table,
    column_title,
    coverage_table,
    rules,
    score_table,
    section_table,
    tagging_table,
)

_COLOURS = ("#3366a8", "#c2571a", "#3d8b4f", "#8a4fa3", "#a8323e", "#7a6a3a")
_RANKS = (0, 1_000, 5_000, 20_000, 50_000, 10**9)
_FEWEST = 10
_HEIGHT = 150

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; }}
th:first-child, td:first-child {{ text-align: left; }}
.best {{ font-weight: bold; }}
.plots {{ display: flex; flex-wrap: wrap; gap: 1.5rem; }}
figure {{ margin: 0; }}
figcaption {{ font-weight: 600; }}
svg text {{ font: 11px system-ui, sans-serif; fill: currentColor; }}
svg .axis {{ stroke: currentColor; opacity: .35; }}
.key span {{ display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }}
.scroll {{ overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{rules}</p>
<p class="key">{key}</p>
<div class="scroll">{scores}</div>
<h2>Scores with 95 % bootstrap intervals</h2>
<div class="plots">{bars}</div>
<h2>Scores by the rank of the rarest word</h2>
<p>Items fall into bands by the frequency rank of their rarest word; bands of fewer than {fewest} items are
left out.</p>
<div class="plots">{bands}</div>
<h2>Coverage</h2>
<div class="scroll">{coverage}</div>
<div class="plots">{covered}</div>
{tagging}
<h2>Sections</h2>
<div class="plots">{sections}</div>
</body>
</html>
"""


def as_html(report: Report, *, title: str = "Word vectors compared") -> str:
    """Return the report as one self-contained page."""
    sections = [section_table(report, *column) for column in report.columns]
    tagging = tagging_table(report)
    return _PAGE.format(
        title=escape(title),
        rules=escape(rules(report)),
        key="".join(
            f'<span style="background:{_colour(i)}"></span>{escape(model)}'
            for i, model in enumerate(report.models)
        ),
        scores=_table(score_table(report)),
        bars="".join(_bars(report, *column) for column in report.columns),
        fewest=_FEWEST,
        bands="".join(_bands(report, *column) for column in report.columns),
        coverage=_table(coverage_table(report)),
        covered="".join(
            _coverage_bars(report, task) for task in dict.fromkeys(task for task, _ in report.columns)
        ),
        tagging=f'<h2>Tagging</h2><div class="scroll">{_table(tagging)}</div>' if tagging else "",
        sections="".join(f'<div class="scroll">{_table(table)}</div>' for table in sections if table),
    )


def frequency_bands(score: Score) -> list[tuple[str, float, int]]:
    """Return for each band of ranks its name, the score over its items, and how many there are."""
    items = score.items
    if not isinstance(items, Answers):
        return []
    bands = []
    for low, high in pairwise(_RANKS):
        within = (items.rarest >= low) & (items.rarest < high)
        size = int((within & items.used).sum())
        if size >= _FEWEST:
            name = f"≤{high // 1000}k" if high < _RANKS[-1] else f">{low // 1000}k"
            bands.append((name, items.score(within), size))
    return bands


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td{_class(cell)}>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _class(cell: str) -> str:
    return ' class="best"' if cell.endswith("*") else ""


def _colour(i: int) -> str:
    return _COLOURS[i % len(_COLOURS)]


def _bars(report: Report, task: str, metric: str) -> str:
    """Draw one bar a model with its interval."""
    bars = []
    for i, model in enumerate(report.models):
        score = report.find(model, task, metric)
        if score is not None and math.isfinite(score.value):
            note = f"{model}: {100 * score.value:.1f} ({score.covered}/{score.total} covered)"
            bars.append((_colour(i), score.value, score.low, score.high, note))
    return _figure(column_title(task, metric), _draw_bars(bars)) if bars else ""


def _coverage_bars(report: Report, task: str) -> str:
    bars = []
    for i, model in enumerate(report.models):
        score = next((score for score in report.scores if (score.model, score.task) == (model, task)), None)
        if score is not None:
            share = score.covered / score.total
            bars.append((_colour(i), share, math.nan, math.nan, f"{model}: {score.covered}/{score.total}"))
    return _figure(column_title(task, ""), _draw_bars(bars))


def _draw_bars(bars: Sequence[tuple[str, float, float, float, str]]) -> str:
    top = max(0.01, *(max(value, high if math.isfinite(high) else 0) for _, value, _, high, _ in bars))
    parts = []
    for place, (colour, value, low, high, note) in enumerate(bars):
        x, height = 30 + 34 * place, _HEIGHT * max(value, 0) / top
        parts.append(
            f'<rect x="{x}" y="{20 + _HEIGHT - height:.1f}" width="24" height="{height:.1f}" fill="{colour}">'
            f"<title>{escape(note)}</title></rect>"
            f'<text x="{x + 12}" y="{_HEIGHT + 34}" text-anchor="middle">{100 * value:.1f}</text>'
        )
        if math.isfinite(low):
            ends = [20 + _HEIGHT * (1 - max(end, 0) / top) for end in (low, high)]
            parts.append(f'<path d="M{x + 12} {ends[0]:.1f}V{ends[1]:.1f}" stroke="currentColor"/>')
    return _svg(50 + 34 * len(bars), "".join(parts), top)


def _bands(report: Report, task: str, metric: str) -> str:
    """Draw one line a model over the bands of frequency."""
    lines, names, top = [], [], 0.01
    for i, model in enumerate(report.models):
        score = report.find(model, task, metric)
        bands = frequency_bands(score) if score is not None else []
        if bands:
            lines.append((i, model, bands))
            names += [name for name, _, _ in bands if name not in names]
            top = max(top, *(value for _, value, _ in bands if math.isfinite(value)), 0.01)
    if not lines:
        return ""
    names.sort(key=lambda name: (name[0] == ">", int(name[1:-1])))
    parts = [
        f'<text x="{50 + 46 * place}" y="{_HEIGHT + 34}" text-anchor="middle">{escape(name)}</text>'
        for place, name in enumerate(names)
    ]
    for i, model, bands in lines:
        points = [
            (50 + 46 * names.index(name), 20 + _HEIGHT * (1 - max(value, 0) / top), value, size)
            for name, value, size in bands
            if math.isfinite(value)
        ]
        line = " ".join(f"{x},{y:.1f}" for x, y, _, _ in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{_colour(i)}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x}" cy="{y:.1f}" r="3" fill="{_colour(i)}">'
            f"<title>{escape(model)}: {100 * value:.1f} ({size} items)</title></circle>"
            for x, y, value, size in points
        ]
    return _figure(column_title(task, metric), _svg(60 + 46 * len(names), "".join(parts), top))


def _svg(width: int, content: str, top: float) -> str:
    """Wrap a drawing with an axis from 0 to ``top``."""
    ticks = "".join(
        f'<text x="24" y="{24 + _HEIGHT * (1 - share):.1f}" text-anchor="end">{100 * top * share:.0f}</text>'
        f'<path class="axis" d="M28 {20 + _HEIGHT * (1 - share):.1f}H{width}"/>'
        for share in np.linspace(0, 1, 3)
    )
    return f'<svg width="{width}" height="{_HEIGHT + 44}" role="img">{ticks}{content}</svg>'


def _figure(caption: str, drawing: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"
