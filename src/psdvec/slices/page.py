"""A change of meaning as a folder: the table ``change.csv`` and the page ``change.html``."""

from __future__ import annotations

import csv
from html import escape
from io import StringIO
from pathlib import Path

from psdvec.pages.plots import Row, colour_at, draw_rows
from psdvec.pages.shell import Section, figure, glossary, html_table, make_page, plots
from psdvec.progress import count_of
from psdvec.slices.change import KIND, Change
from psdvec.storage.artefact import create_artefact

VERSION = 1
_DRAWN, _PANELS, _LISTED = 30, 40, 300
_NEAR = 10
_MEANINGS = {
    "distance": "how far apart the uses of the word are; chance adds nothing, so it may be below 0",
    "low": "the lower end of its 95 % interval, by which the words are in order: so much at least",
    "high": "the upper end of its 95 % interval",
    "p": "how likely so large a change is if documents were dealt to slices by chance",
    "q": "the share of false discoveries among all words with a p no larger",
}


def write_change(change: Change, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a change as the folder ``path``."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(change.rows())
    parameters = {
        "slices": list(change.slices),
        "documents": sum(change.documents),
        "sizes": list(change.documents),
        "words": len(change),
        "permutations": change.permutations,
    }
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters=parameters, sources=[], overwrite=overwrite
    ) as writer:
        writer.add_text("change.csv", text.getvalue())
        writer.add_text("change.html", as_html(change))


def as_html(change: Change) -> str:
    """Return the page of a change."""
    sizes = zip(change.slices, change.documents, strict=True)
    slices = ", ".join(f"{name}: {count_of(size, 'document')}" for name, size in sizes)
    sure = int((change.q <= 0.05).sum())
    first = ", ".join(change.words[:5])
    return make_page(
        f"Words that changed between {' and '.join(change.slices[:: max(len(change.slices) - 1, 1)])}",
        f"These changed most, for sure: {first}." if sure else "No word changed for sure.",
        [
            Section("How much, at least", _intervals(change)),
            Section("What changed", plots([_panel(change, word) for word in change.words[:_PANELS]])),
            Section("In one slice only", _only(change)),
            Section("All words", _table(change)),
        ],
        about=f"{slices}; {count_of(len(change), 'word')} occur often enough in each, and {sure:,} of them are used "
        "differently at a false discovery rate of 5 %.",
    )


def _intervals(change: Change) -> str:
    rows = [
        Row(
            word, change.distance[i], f"{change.distance[i]:.2f}", colour_at(0), change.low[i], change.high[i]
        )
        for i, word in enumerate(change.words[:_DRAWN])
    ]
    return figure(
        "Distance between the uses, with its 95 % interval",
        draw_rows(rows, label="Words that changed most"),
        note="In the order of the lower ends.",
    )


def _panel(change: Change, word: str) -> str:
    """Return what lies near a word in the first and in the last slice, those that the other has not in bold."""
    near = change.neighbours(word, topn=_NEAR)
    names = (change.slices[0], change.slices[-1])
    found = [[other for other, _ in near[name]] for name in names]
    parts = []
    for name, own, theirs in zip(names, found, reversed(found), strict=True):
        shown = [escape(other) if other in theirs else f"<b>{escape(other)}</b>" for other in own]
        parts.append(f"<p><i>{escape(name)}</i>: {', '.join(shown)}</p>")
    return figure(word, "".join(parts))


def _only(change: Change) -> str:
    shown = {
        name: ", ".join(f"{word} ({number:,})" for word, number in words[:_LISTED])
        for name, words in change.only.items()
        if words
    }
    return glossary(shown)


def _table(change: Change) -> str:
    head, *rows = change.rows()
    cells = [[str(row[0]), *(f"{cell:,}" if isinstance(cell, int) else f"{cell:.3g}" for cell in row[1:])]
             for row in rows[:_LISTED]]  # fmt: skip
    return html_table([str(name) for name in head], cells, meanings=_MEANINGS) + glossary(_MEANINGS)
