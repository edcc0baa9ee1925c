"""A change of meaning as a folder: the table ``change.csv``, the page ``change.html``, and all of it as JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from psdvec.errors import StoreError
from psdvec.pages.plots import draw_lines, draw_map, draw_rows
from psdvec.pages.shell import Section, figure, glossary, html_table, make_page, paragraph, plots
from psdvec.progress import count_of
from psdvec.slices.change import KIND, Change, Context, contexts_of, passages_of
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact, parse_json
from psdvec.text.concordance import Passage
from psdvec.text.readers import as_written

VERSION = 1
_TOLD, _LISTED = 40, 1000  # words with a panel each, and in the table
_NEAR, _PULLS, _SENTENCES = 10, 8, 3
_MEANINGS = {
    "distance": "how far apart the uses of the word are; chance adds nothing, so it may be below 0",
    "low": "the lower end of its 95 % interval, by which the words are in order: so much at least",
    "high": "the upper end of its 95 % interval",
    "p": "how likely so large a change is if documents were dealt to slices by chance",
    "q": "the share of false discoveries among all words with a p no larger",
    "cosine": "between the uses, as if each were known without chance; low and high as for the distance",
}


def write_change(change: Change, path: str | Path, *, overwrite: bool = False) -> None:
    """Write a change as the folder ``path``."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(change.rows())
    described = describe_change(change)
    parameters = {
        "slices": list(change.slices),
        "sizes": list(change.sliced.sizes),
        "documents": sum(change.sliced.sizes),
        "words": len(change),
        "permutations": change.permutations,
        "window": change.uses.blocks.window,
    }
    origin: dict[str, Any] = getattr(change.embeddings, "provenance", {"vectors": "in memory"})
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters=parameters, sources=[origin], overwrite=overwrite
    ) as writer:
        writer.add_text("change.csv", as_written(text.getvalue()))
        writer.add_text("change.json", as_written(json.dumps(described, ensure_ascii=False, indent=1) + "\n"))
        writer.add_text("change.html", as_written(as_html(change, described)))


def read_change(path: str | Path | Artefact) -> dict[str, Any]:
    """Return what :func:`describe_change` told of a change that was written as the folder ``path``."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    found = parse_json(artefact.file("change.json").read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not {"slices", "words"} <= found.keys():
        raise StoreError(f"'{artefact.path}' is damaged: its change.json holds no words; make it again")
    return found


def describe_change(change: Change) -> dict[str, Any]:
    """Return the words that changed most, as plain values; of the first ones, all that is known of them."""
    told: dict[tuple[str, str], list[str]] = {}
    for word in change.words[:_TOLD]:
        told.setdefault(change.farthest(word), []).append(word)
    contexts: dict[str, dict[str, list[Context]]] = {}
    passages: dict[str, dict[str, list[Passage]]] = {}
    for names, words_of in told.items():
        two = change.compared(names)
        contexts |= contexts_of(two, words_of, topn=_PULLS)
        passages |= passages_of(two, words_of, topn=_SENTENCES, most=1)
    words: list[dict[str, Any]] = []
    for i, word in enumerate(change.words[:_LISTED]):
        numbers = {
            name: float(f"{getattr(change, name)[i]:.6g}") for name in ("distance", "low", "high", "p", "q")
        }
        words.append({"word": word, "occurrences": change.occurrences[i].tolist(), **numbers})
        if i < _TOLD:
            path = zip(change.path[i], change.path_low[i], change.path_high[i], strict=True)
            words[-1] |= {
                "between": list(change.farthest(word)),
                "neighbours": {
                    name: [(other, round(float(cosine), 4)) for other, cosine in near]
                    for name, near in change.neighbours(word, topn=_NEAR).items()
                },
                "contexts": {name: [one._asdict() for one in own] for name, own in contexts[word].items()},
                "passages": {name: [vars(one) for one in own] for name, own in passages[word].items()},
                "path": [[float(f"{value:.6g}") for value in place] for place in path],
            }
    return {
        "slices": list(change.slices),
        "documents": list(change.sliced.sizes),
        "compared": len(change),
        "changed": int((change.q <= 0.05).sum()),
        "words": words,
    }


def as_html(change: Change, described: Mapping[str, Any]) -> str:
    """Return the page of a change, ``described`` as in ``change.json``."""
    sizes = zip(change.slices, change.sliced.sizes, strict=True)
    slices = ", ".join(f"{name}: {count_of(size, 'document') if size else 'counts'}" for name, size in sizes)
    sure = described["changed"]
    first = ", ".join(change.words[:5])
    return make_page(
        f"Words that changed between {change.slices[0]} and {change.slices[-1]}",
        f"These changed most, for sure: {first}." if sure else "No word changed for sure.",
        [
            Section("How much, at least", _intervals(change)),
            Section("What changed", plots([_panel(change, one) for one in described["words"][:_TOLD]])),
            Section("In one slice only", _only(change)),
            Section("All words", _table(change)),
        ],
        about=f"{slices}; {count_of(len(change), 'word')} occur often enough in each, and {sure:,} of them are used "
        "differently at a false discovery rate of 5 %.",
    )


def _intervals(change: Change) -> str:
    drawing = draw_rows(change.interval_rows(), label="Words used most differently")
    return figure(
        "Distance between the uses, with its 95 % interval", drawing, note="In the order of the lower ends."
    )


def _panel(change: Change, one: Mapping[str, Any]) -> str:
    """Return what changed about a word between the first slice and the one farthest from it."""
    word, names = one["word"], one["between"]
    marks, joined = change.map_of(word)
    parts = [
        draw_map(marks, joined=joined, label=f"{word} in {names[0]} and in {names[1]}, with what is near it")
    ]
    if len(change.slices) > 2:
        places = dict(enumerate(change.slices))
        series = [change.path_series(word)]
        parts.append(
            draw_lines(places, series, label=f"{word}, slice by slice", y_title=f"distance from {names[0]}")
        )
    near = [[other for other, _ in one["neighbours"][name]] for name in names]
    for name, own, theirs in zip(names, near, reversed(near), strict=True):
        shown = [
            f'<span class="note">{escape(other)}</span>' if other in theirs else escape(other)
            for other in own
        ]
        parts.append(f"<p><b>{escape(name)}</b>: {', '.join(shown)}</p>")
        counted = ((context["word"], *context["counts"]) for context in one["contexts"][name])
        pulls = [f"{context} ({first:,} : {second:,})" for context, first, second in counted]
        parts.append(paragraph(f"Stands more with {', '.join(pulls)}" if pulls else "", kind="note"))
        parts += [_quoted(passage) for passage in one["passages"][name][:_SENTENCES]]
    counts = " and ".join(f"{one['occurrences'][change.slices.index(name)]:,}" for name in names)
    note = f"{one['distance']:.2f}, at least {one['low']:.2f}; occurs {counts} times"
    return figure(word, "".join(parts), note=note)


def _quoted(passage: Mapping[str, str]) -> str:
    left, word, right = (escape(passage[part]) for part in ("left", "word", "right"))
    text = f"{left}<b>{word}</b>{right}"
    return f"<blockquote>{text} <span>({escape(passage['document'])})</span></blockquote>"


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
    left = len(rows) - len(cells)
    more = paragraph(f"{left:,} more words are in change.csv." if left else "", kind="note")
    names = [str(name) for name in head]
    return html_table(names, cells, meanings=_MEANINGS, sortable=True) + more + glossary(_MEANINGS)
