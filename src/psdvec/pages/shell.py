"""The page around a report: one self-contained file with a title, a verdict, and sections of tables and plots.

The page loads nothing, and runs no script but a few lines where a table can be sorted. It has the colours of the
explorer's page, light or dark as the reader's system is, and never scrolls sideways: plots are as wide as their place
(:mod:`psdvec.pages.plots`), and a table that would be wider than the screen is shown as a list of its rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from unicodedata import east_asian_width

_LONG = 28  # letters; longer cells are broken into lines
_LETTER, _ROOM = 0.57, 1.05  # rem, of a letter and between columns
_FOLDS = re.compile(r"\bfold-(\d+)\b")


@dataclass(frozen=True)
class Section:
    """A part of a page: its title, and its content as HTML. One without content is left out."""

    title: str
    content: str


def make_page(title: str, verdict: str, sections: Sequence[Section], *, about: str = "") -> str:
    """Return a whole page; ``verdict`` is the one sentence to take away, ``about`` says what the page is of.

    >>> page = make_page("Title", "All is well.", [Section("Part", "<p>text</p>"), Section("None", "")])
    >>> page.count("<h2"), "All is well." in page
    (1, True)
    """
    shown = [section for section in sections if section.content]
    links = "".join(f'<a href="#{_anchor(one.title)}">{escape(one.title)}</a>' for one in shown)
    contents = f'<nav aria-label="On this page">{links}</nav>' if len(shown) > 1 else ""
    body = "".join(
        f'<section><h2 id="{_anchor(one.title)}">{escape(one.title)}</h2>{one.content}</section>'
        for one in shown
    )
    script = f"<script>\n{style('sort.js')}</script>\n" if "<th" in body and "<button" in body else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style('page.css')}{_fold_rules(body)}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>{paragraph(about, kind='about')}"
        f"{paragraph(verdict, kind='verdict')}{contents}</header>\n"
        f"<main>{body}</main>\n{script}</body>\n</html>\n"
    )


def paragraph(text: str, *, kind: str = "") -> str:
    """Return a paragraph of plain text, or nothing if there is none."""
    return f"<p{_class(kind)}>{escape(text)}</p>" if text else ""


def figure(title: str, drawing: str, *, note: str = "") -> str:
    """Return a drawing with its caption."""
    below = f"<span>{escape(note)}</span>" if note else ""
    return f"<figure><figcaption><b>{escape(title)}</b>{below}</figcaption>{drawing}</figure>"


def plots(figures: Sequence[str]) -> str:
    """Return figures side by side, as many as there is room for."""
    return f'<div class="plots">{"".join(figures)}</div>' if any(figures) else ""


def folded(summary: str, content: str) -> str:
    """Return ``content`` behind a line that opens it, or nothing if there is none."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def glossary(meanings: Mapping[str, str]) -> str:
    """Return what abbreviations stand for, to be put beside where they are used."""
    pairs = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in meanings.items())
    return f'<dl class="glossary">{pairs}</dl>' if pairs else ""


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    meanings: Mapping[str, str] | None = None,
    strong: str = "",
    sortable: bool = False,
) -> str:
    """Return a table; pointing at a heading or the name of a row shows its meaning, if it is among ``meanings``.

    Cells that end in ``strong`` are set in bold. A press on a heading sorts a ``sortable`` table. Where the table is
    wider than its place, each row is shown as a block of its own, with the headings beside the cells.
    """
    known = meanings or {}
    # The columns whose cells begin at the left.
    long = {place for row in rows for place, cell in enumerate(row) if _kind(cell)}
    head = "".join(
        f'<th scope="col" role="columnheader"{_class("long" if place in long else "")}>'
        f"{_heading(cell, known, is_button=sortable)}</th>"
        for place, cell in enumerate(header)
    )
    body = "".join(
        f'<tr role="row"><th scope="row" role="rowheader"{_class(_kind(row[0]))}>{_heading(row[0], known)}</th>'
        + "".join(_cell(name, cell, strong) for name, cell in zip(header[1:], row[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="table"><table role="table" class="fold-{_width(header, rows)}">'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody>'
        "</table></div>"
    )


def explained_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], meanings: Mapping[str, str], *, strong: str = ""
) -> str:
    """Return a table, and below it the ``meanings`` of its headings and of the names of its rows."""
    used = dict.fromkeys([*header, *(row[0] for row in rows)])
    below = glossary({name: meanings[name] for name in used if name in meanings})
    return html_table(header, rows, meanings=meanings, strong=strong) + below


def _cell(name: str, cell: str, strong: str) -> str:
    kind = "best" if strong and cell.endswith(strong) else _kind(cell)
    return f'<td role="cell" data-name="{escape(name)}"{_class(kind)}>{escape(cell)}</td>'


def _kind(cell: str) -> str:
    return "long" if _letters(cell) > _LONG else ""


def _heading(text: str, meanings: Mapping[str, str], *, is_button: bool = False) -> str:
    found = meanings.get(text)
    if is_button:
        return f'<button type="button" title="{escape(found or text)}">{escape(text)}</button>'
    return f'<abbr title="{escape(found)}">{escape(text)}</abbr>' if found else escape(text)


def _width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many rem a table takes at least: the width below which its rows become blocks.

    Headings may be broken between words, long cells anywhere, and other cells not at all.
    """
    letters = [max(map(_letters, re.findall(r"[^\s-]+-?", name)), default=0) for name in header]
    for row in rows:
        letters = [max(most, min(_letters(cell), _LONG)) for most, cell in zip(letters, row, strict=True)]
    return math.ceil(sum(_LETTER * most + _ROOM for most in letters))


def _letters(text: str) -> int:
    """Return how many letters wide a text is; one of Chinese, Japanese or Korean is as wide as two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _fold_rules(body: str) -> str:
    """Return the style of tables that are wider than their place, one rule for each width in ``body``."""
    rule = "@container (max-width: {0}rem) {{\n{1}}}\n"
    widths = sorted({int(width) for width in _FOLDS.findall(body)})
    return "".join(
        rule.format(width, style("folded.css").replace(".fold", f".fold-{width}")) for width in widths
    )


@cache
def style(name: str) -> str:
    """Return a file beside this one: a style, or a script."""
    return files("psdvec.pages").joinpath(name).read_text(encoding="utf-8")


def _anchor(title: str) -> str:
    """Return a title as the name of a place in the page.

    >>> _anchor("Time and memory")
    'time-and-memory'
    """
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def _class(kinds: str) -> str:
    return f' class="{kinds}"' if kinds else ""
