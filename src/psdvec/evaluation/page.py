"""A report as one self-contained web page: tables, and plots drawn as inline SVG.

The plots (:mod:`psdvec.evaluation.svg`) are bars and lines only, so they are written by hand: a plotting package would
be a dependency of 30 MB for pictures that could not follow the reader's dark mode, or a script from the net without
which the page would be empty.
"""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise

from psdvec.evaluation.report import Report
from psdvec.evaluation.scores import Answers, Score
from psdvec.evaluation.svg import Mark, draw_bars, draw_lines, figure
from psdvec.evaluation.tables import BEST, ReportTables, Table, column_title, coverage_of
from psdvec.evaluation.testsets import CATALOGUE

_COLOURS = (
    "#4477aa", "#ee7733", "#228866", "#aa4499", "#cc3344", "#997722", "#55aacc", "#777777",
    "#7766dd", "#99aa22", "#dd88aa", "#336655",
)  # fmt: skip
_RANKS = (0, 1_000, 5_000, 20_000, 50_000, 10**9)
_FEWEST = 10  # items of a band that is shown
_TALL, _LOW = 240, 150  # pixels
_TITLES = {entry.name: entry.title for entry in CATALOGUE} | {
    "conll2000": "CoNLL-2000, chunks (Tjong Kim Sang and Buchholz 2000)",
    "conll2003": "CoNLL-2003, named entities (Tjong Kim Sang and De Meulder 2003)",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8883; --card: #8881; }}
body {{ font: 16px/1.55 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }}
h1 {{ font-size: 1.9rem; margin: 0 0 .5rem; }}
h2 {{ font-size: 1.25rem; margin: 2.8rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }}
p {{ max-width: 60rem; margin: .4rem 0; }}
.key {{ position: sticky; top: 0; background: Canvas; padding: .5rem 0; display: flex; flex-wrap: wrap;
  gap: .3rem 1.4rem; font-weight: 600; }}
.key i {{ display: inline-block; width: .85em; height: .85em; border-radius: 2px; margin-right: .45em; }}
table {{ border-collapse: collapse; margin: .8rem 0; font-size: .92rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .75rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; }}
.sets th, .sets td {{ text-align: left; }}
thead th {{ border-bottom-width: 2px; }}
tbody tr:hover {{ background: var(--card); }}
.best {{ font-weight: 700; }}
.plots {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: 1rem; }}
figure {{ margin: 0; padding: .8rem 1rem .4rem; background: var(--card); border-radius: 8px; }}
figcaption b {{ display: block; }}
figcaption {{ font-size: .8rem; margin-bottom: .2rem; }}
figure svg {{ width: 100%; height: auto; }}
svg text {{ font-size: 12px; fill: currentColor; }}
svg .tick {{ text-anchor: end; opacity: .75; }}
svg .middle, svg .name, svg .label {{ text-anchor: middle; }}
svg .name {{ font-weight: 600; }}
svg .label {{ font-size: 10.5px; }}
svg .grid {{ stroke: currentColor; opacity: .13; }}
svg .foot {{ stroke: currentColor; opacity: .55; }}
svg .interval {{ stroke: currentColor; fill: none; stroke-width: 1.2; opacity: .8; }}
.scroll {{ overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
{lead}
<p>{rules}</p>
<p class="key">{key}</p>
<div class="scroll">{scores}</div>
<h2>Scores with 95 % intervals</h2>
<div class="scroll">{bars}</div>
<details><summary>The intervals as numbers</summary><div class="scroll">{intervals}</div></details>
{bands}
{seeds}
<h2>Coverage</h2>
<p>The percentage of a set's items that have vectors for all their words.</p>
<div class="scroll">{covered}</div>
<div class="scroll">{coverage}</div>
{tagging}
{sections}
<h2>The sets</h2>
<div class="scroll sets">{sets}</div>
</body>
</html>
"""


def as_html(
    report: Report, tables: ReportTables, *, title: str = "Word vectors compared", lead: str = ""
) -> str:
    """Return the report as one self-contained page; ``lead`` is HTML that precedes the scores."""
    parts = {
        "title": escape(title),
        "lead": lead,
        "rules": escape(tables.rules),
        "key": "".join(
            f'<span><i style="background:{colour_of(report, model)}"></i>{escape(model)}</span>'
            for model in report.models
        ),
        "scores": html_table(tables.scores),
        "intervals": html_table(tables.intervals),
        "coverage": html_table(tables.coverage),
        "seeds": f"<h2>Spread over seeds</h2>{_scrolling(tables.seeds)}" if tables.seeds else "",
        "tagging": f"<h2>Tagging</h2>{_scrolling(tables.tagging)}" if tables.tagging else "",
        "sections": _plots("Sections", "", "".join(_scrolling(table) for table in tables.sections)),
        "sets": html_table(_set_table(report)),
    }
    bars, covered = _score_bars(report), _coverage_bars(report)
    lines = {column: _band_lines(report, *column) for column in report.columns}
    used = {place for column in lines.values() for line in column for place, _ in line}
    names = {place: name for place, name in enumerate(_band_names()) if place in used}
    bands = "".join(
        figure(
            column_title(*column),
            draw_lines(names, lines[column], height=_LOW),
            note=_TITLES.get(column[0], ""),
        )
        for column in lines
        if lines[column]
    )
    return _PAGE.format(
        **parts,
        bars=draw_bars(bars, height=_TALL),
        covered=draw_bars(covered, height=_LOW, top=100.0),
        bands=_plots(
            "Scores by the rank of the rarest word",
            "Items fall into bands by the frequency rank of their rarest word, from frequent to rare; bands of "
            f"fewer than {_FEWEST} items are left out. Point at a mark to see how many there are.",
            bands,
        ),
    )


def frequency_bands(score: Score) -> list[tuple[str, float, int]]:
    """Return the name of each band of ranks, the score over its items, and how many items it has."""
    items = score.items
    if not isinstance(items, Answers):
        return []
    bands = []
    for name, (low, high) in zip(_band_names(), pairwise(_RANKS), strict=True):
        within = (items.rarest >= low) & (items.rarest < high)
        size = int((within & items.used).sum())
        if size >= _FEWEST:
            bands.append((name, items.score(within), size))
    return bands


def html_table(table: Table) -> str:
    """Return a table, the best of each column in bold."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td{_class(cell)}>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def colour_of(report: Report, model: str) -> str:
    """Return the colour of a model in the plots of its report; the last one for a model that is not in it."""
    return _COLOURS[report.models.index(model) % len(_COLOURS) if model in report.models else -1]


def _class(cell: str) -> str:
    return ' class="best"' if cell.endswith(BEST) else ""


def _scrolling(table: Table) -> str:
    return f'<div class="scroll">{html_table(table)}</div>'


def _plots(heading: str, text: str, content: str) -> str:
    """Return a part of the page whose contents stand side by side, or nothing if it has none."""
    if not content:
        return ""
    return f'<h2>{heading}</h2><p>{text}</p><div class="plots">{content}</div>'


def _set_table(report: Report) -> Table:
    rows = [(column_title(task, ""), _TITLES.get(task, "your own file")) for task in report.tasks]
    return Table(("column", "set"), tuple(rows))


def _score_bars(report: Report) -> list[tuple[str, list[Mark]]]:
    """Return one group of bars per column of the report, one bar per model."""
    groups = []
    for column in report.columns:
        marks = []
        for model in report.models:
            score = report.find(model, *column)
            if score is not None and math.isfinite(score.value):
                note = f"{model}: {100 * score.value:.1f} ({coverage_of(score)} covered)"
                ends = 100 * score.low, 100 * score.high
                marks.append(Mark(100 * score.value, *ends, colour_of(report, model), note))
        if marks:
            groups.append((column_title(*column), marks))
    return groups


def _coverage_bars(report: Report) -> list[tuple[str, list[Mark]]]:
    """Return one group of bars per task, each the share of its items that a model covers."""
    groups = []
    for task, metric in report.tasks.items():
        scores = [score for model in report.models if (score := report.find(model, task, metric))]
        marks = [
            Mark(
                100 * (score.covered + score.covered_by_spelling) / score.total, math.nan, math.nan,
                colour_of(report, score.model), f"{score.model}: {coverage_of(score)}",
            )
            for score in scores
        ]  # fmt: skip
        groups.append((column_title(task, ""), marks))
    return groups


def _band_lines(report: Report, task: str, metric: str) -> list[list[tuple[int, Mark]]]:
    """Return one line per model: its scores at the bands that have enough items, each with the band's place."""
    places = {name: place for place, name in enumerate(_band_names())}
    lines = []
    for model in report.models:
        score = report.find(model, task, metric)
        colour = colour_of(report, model)
        marks = [
            (
                places[name],
                Mark(100 * value, math.nan, math.nan, colour, f"{model}: {100 * value:.1f} ({size} items)"),
            )
            for name, value, size in (frequency_bands(score) if score is not None else [])
            if math.isfinite(value)
        ]
        if marks:
            lines.append(marks)
    return lines


def _band_names() -> list[str]:
    thousands = [f"{rank // 1000}k" if rank else "1" for rank in _RANKS]
    return [f"{low}–{high}" for low, high in pairwise(thousands[:-1])] + [f"> {thousands[-2]}"]
