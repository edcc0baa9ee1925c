"""A report as one self-contained web page: its verdict, its tables, and plots drawn as inline SVG.

The plots (:mod:`psdvec.pages.plots`) are dots and lines only, so they are written by hand: a plotting package would be
a dependency of 30 MB for pictures that could not follow the reader's dark mode, or a script from the net without which
the page would be empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from psdvec.evaluation.report import (
    BEST,
    SEEN,
    MeanScore,
    Report,
    ReportTables,
    Table,
    mean_title,
    score_cells,
)
from psdvec.evaluation.scores import FEWEST_ITEMS, Answers, Score
from psdvec.evaluation.testsets import column_title, set_title
from psdvec.pages.plots import Row, Series, colour_at, draw_lines, draw_rows
from psdvec.pages.shell import (
    Section,
    explained_table,
    figure,
    folded,
    html_table,
    make_page,
    paragraph,
    plots,
)

_BANDS = {  # of ranks, from the first to before the second
    "1–1k": (0, 1_000),
    "1k–5k": (1_000, 5_000),
    "5k–20k": (5_000, 20_000),
    "20k–50k": (20_000, 50_000),
    "> 50k": (50_000, 10**9),
}
_TAGGING = {
    "NER": "named entities",
    "Chunk": "chunks, such as noun phrases",
    "F1": "the harmonic mean of precision and recall, over exact spans",
    "gain": "F1 above that of the tagger without vectors, the baseline",
    "tokens": "the percentage of words with the right tag",
    "dev F1": "F1 on the development part, by which penalty and scale were chosen",
    "penalty": "of the tagger's weights",
    "scale": "the standard deviation that vectors are scaled to",
    "s": "seconds of training",
}


def as_html(
    report: Report,
    tables: ReportTables,
    *,
    title: str = "Word vectors judged",
    about: str = "",
    before: Sequence[Section] = (),
    after: Sequence[Section] = (),
) -> str:
    """Return the report as one self-contained page, with further sections ``before`` and ``after`` its own."""
    parts = [*before, *(report_sections(report, tables) if report.scores else ()), *after]
    return make_page(title, tables.verdict, parts, about=about)


def report_sections(report: Report, tables: ReportTables) -> list[Section]:
    """Return the sections that the page of any report has."""
    columns = {column_title(*column): set_title(*column) for column in report.columns}
    sets = {column_title(task): set_title(task) for task in report.tasks}
    over = ", ".join(column_title(task) for task in report.counted)
    meanings = columns | {
        mean_title(report): f"of {over or 'no set'}",
        SEEN: "a difference from the highest that one test would find in four cases of five (a power of 80 %)",
    }
    return [
        Section("Scores", _explained(tables.scores, meanings) + paragraph(tables.rules, kind="note")),
        Section(
            "Scores with 95 % intervals",
            paragraph(
                "The line through a dot is how far the score might have been with other questions of the same kind. "
                "Axes begin where the scores do, not at 0.",
                kind="note",
            )
            + plots(_score_figures(report))
            + folded("The intervals as numbers", _table(tables.intervals, meanings)),
        ),
        Section("Scores by the rank of the rarest word", _bands(report)),
        Section("Spread over seeds", _table(tables.seeds, meanings)),
        Section("Coverage", _coverage(report, tables.coverage, sets)),
        Section("Tagging", _explained(tables.tagging, _TAGGING)),
        Section("Parts of the sets", "".join(_table(one, columns) for one in tables.sections)),
    ]  # fmt: skip


def frequency_bands(score: Score) -> list[tuple[str, float, int]]:
    """Return the name of each band of ranks, the score over its items, and how many items it has."""
    items = score.items
    if not isinstance(items, Answers):
        return []
    bands = []
    for name, (low, high) in _BANDS.items():
        within = (items.rarest >= low) & (items.rarest < high)
        size = int((within & items.used).sum())
        if size >= FEWEST_ITEMS:
            bands.append((name, items.score(within), size))
    return bands


def colour_of(report: Report, model: str) -> str:
    """Return the colour of a model in the plots of its report; the last one for a model that is not in it."""
    return colour_at(report.models.index(model) if model in report.models else -1)


def _table(table: Table | None, meanings: Mapping[str, str]) -> str:
    return html_table(table.header, table.rows, meanings=meanings, strong=BEST) if table else ""


def _explained(table: Table | None, meanings: Mapping[str, str]) -> str:
    return explained_table(table.header, table.rows, meanings, strong=BEST) if table else ""


def score_rows(report: Report) -> dict[str, list[Row]]:
    """Return by its title the rows of each column in which a score tells something, the means first."""
    return {title: rows for title, _, rows in _plotted(report) if rows}


def _plotted(report: Report, *, named: bool = False) -> list[tuple[str, str, list[Row]]]:
    """Return the title of each column, what it is, and a row per model, with the name of the model or of the column."""
    columns: list[tuple[str, str, list[Score | MeanScore | None]]] = [
        (column_title(*column), set_title(*column), [report.find(model, *column) for model in report.models])
        for column in report.columns
    ]
    if len(report.counted) > 1:
        columns.insert(0, (mean_title(report), f"over {len(report.counted)} sets", [*report.means.values()]))
    return [
        (title, note, _rows(report, scores, name=title if named else "")) for title, note, scores in columns
    ]


def _score_figures(report: Report) -> list[str]:
    """Return a plot per column, the means among them, with a row per model; of one model, one plot of all columns."""
    if len(report.models) == 1:
        rows = [row for _, _, own in _plotted(report, named=True) for row in own]
        return [figure(report.models[0], draw_rows(rows, label=report.models[0]))] if rows else []
    return [
        figure(title, draw_rows(rows, label=title), note=note)
        for title, note, rows in _plotted(report)
        if rows
    ]


def _rows(report: Report, scores: Sequence[Score | MeanScore | None], *, name: str = "") -> list[Row]:
    """Return a row for each score of a column that there is, with the name of its model, or the ``name`` given."""
    return [
        Row(
            name or score.model, 100 * score.value, cell, colour_of(report, score.model),
            low=100 * score.low, high=100 * score.high, strong=cell.endswith(BEST),
        )
        for score, cell in zip(scores, score_cells(scores), strict=True)
        if score and score.tells
    ]  # fmt: skip


def _bands(report: Report) -> str:
    """Return a plot per column with a line per model over the bands that have enough items."""
    figures = []
    for column in report.columns:
        series = _band_lines(report, *column)
        used = {place for one in series for place, _, _ in one.points}
        shown = {place: name for place, name in enumerate(_BANDS) if place in used}
        if shown:
            title = column_title(*column)
            figures.append(figure(title, draw_lines(shown, series, label=title), note=set_title(*column)))
    text = (
        "Items fall into bands by the frequency rank of their rarest word, from frequent to rare; bands of fewer than "
        f"{FEWEST_ITEMS} items are left out. Point at a mark to see how many there are."
    )
    return paragraph(text, kind="note") + plots(figures) if figures else ""


def _band_lines(report: Report, task: str, metric: str) -> list[Series]:
    """Return one line per model: its scores at the bands that have enough items, each at the band's place."""
    places = {name: place for place, name in enumerate(_BANDS)}
    lines = []
    for model in report.models:
        score = report.find(model, task, metric)
        points = [
            (places[name], 100 * value, f"{model}: {100 * value:.1f} at ranks {name} ({size} items)")
            for name, value, size in (frequency_bands(score) if score is not None else [])
            if math.isfinite(value)
        ]
        if points:
            lines.append(Series(model, colour_of(report, model), points))
    return lines


def _coverage(report: Report, table: Table, sets: Mapping[str, str]) -> str:
    """Return which items have vectors for all their words: one row if all models cover as many, else also plots."""
    text = paragraph("How many of a set's items have vectors for all their words.", kind="note")
    if len({row[1:] for row in table.rows}) == 1:
        name = "all models" if len(table.rows) > 1 else table.rows[0][0]
        return text + explained_table(table.header, [(name, *table.rows[0][1:])], sets)
    figures = []
    for task, metric in report.tasks.items():
        scores = [score for model in report.models if (score := report.find(model, task, metric))]
        rows = [
            Row(score.model, share, f"{share:.0f} %", colour_of(report, score.model))
            for score, share in ((score, 100 * score.reached / score.total) for score in scores)
        ]
        drawing = draw_rows(rows, label=f"Coverage of {column_title(task)}", bars=True, top=100.0)
        figures.append(figure(column_title(task), drawing, note=set_title(task)))
    return text + explained_table(table.header, table.rows, sets) + plots(figures)
