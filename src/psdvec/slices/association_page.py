"""An association as a folder: the table ``association.csv`` and the page ``association.html``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from psdvec.pages.plots import Row, colour_at, draw_rows
from psdvec.pages.shell import Section, explained_table, figure, make_page, paragraph, plots
from psdvec.progress import count_of
from psdvec.slices.association import ASSOCIATION, DIFFERENCE, EFFECT, KIND, PROJECTION, Association, Estimate
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact
from psdvec.text.readers import as_written

VERSION = 1
_DRAWN, _LISTED = 60, 300
_MEANINGS = {
    "effect": "how far apart the two lists of targets are on the axis of the attributes, in standard deviations of all "
    "target words",
    "association": "mean cosine of a target word with the first attributes, less that with the second",
    "projection": "cosine of a word with the axis from the second attributes to the first",
    "low": "lower end of the 95 % interval over words: other words might stand in the lists",
    "high": "its upper end",
    "documents low": "lower end of the 95 % interval over documents: other documents might have been written",
    "documents high": "its upper end",
    "p": "of an effect, the share of ways to deal the target words to two lists that are as far apart; of a "
    "difference, how likely one as large is if documents were dealt to slices by chance",
}


def write_association(
    found: Association, path: str | Path, *, origin: Mapping[str, Any], overwrite: bool = False
) -> None:
    """Write an association as the folder ``path``; ``origin`` tells of the vectors."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(found.rows())
    parameters = {
        "targets": {name: list(words) for name, words in found.targets.items()},
        "attributes": {name: list(words) for name, words in found.attributes.items()},
        "slices": list(found.slices),
        "sizes": list(found.documents),
        "documents": sum(found.documents),
        "permutations": found.permutations,
    }
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters=parameters, sources=[dict(origin)], overwrite=overwrite
    ) as writer:
        writer.add_text("association.csv", as_written(text.getvalue()))
        writer.add_text("association.html", as_written(as_html(found)))


def read_association(path: str | Path | Artefact) -> list[dict[str, str]]:
    """Return the rows of the table in the folder ``path``, as they are written, by the names of its columns."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    text = artefact.file("association.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(StringIO(text)))


def as_html(found: Association) -> str:
    """Return the page of an association."""
    sizes = zip(found.slices, found.documents, strict=False)
    slices = ", ".join(f"{name}: {count_of(size, 'document')}" for name, size in sizes)
    return make_page(
        f"{' and '.join(found.targets) or 'Words'} between {' and '.join(found.attributes)}",
        _verdict(found),
        [
            Section("The effect", plots(_figures(found, EFFECT, "Effect"))),
            Section("Target words", plots(_figures(found, ASSOCIATION, "Association"))),
            Section("Along the axis", plots(_figures(found, PROJECTION, "Projection on the axis"))),
            Section("Left out", "".join(paragraph(sentence) for sentence in found.left_out())),
            Section("All figures", _table(found)),
        ],
        about=slices or "From the vectors of the model itself.",
    )


def _verdict(found: Association) -> str:
    said = []
    for name, one in found.effects.items():
        if isfinite(one.value):
            ways = {"words": one[5:7], "documents": one[7:9]}
            sure = {way: (low, high) for way, (low, high) in ways.items() if isfinite(low)}
            shown = ", ".join(f"{low:.2f} to {high:.2f} over {way}" for way, (low, high) in sure.items())
            chance = any(low <= 0 <= high for low, high in sure.values())
            said.append(f" {name}: {one.value:.2f} ({shown}){', which may be chance' if chance else ''}.")
    pairs = zip(found.targets, found.attributes, strict=False)
    return (
        f"An effect above 0: {' and '.join(f'{x} goes with {a}' for x, a in pairs)}.{''.join(said)}"
        if said
        else ""
    )


def _figures(found: Association, measure: str, title: str) -> list[str]:
    """Draw the effects together, and the words of each slice in a figure of its own; with one for each interval."""
    chosen = [one for one in found.estimates if one.measure == measure and isfinite(one.value)]
    if not chosen:
        return []
    names = [""] if measure == EFFECT else list(dict.fromkeys(one.slice for one in chosen))
    over = ["words", *(["documents"] if found.documents else [])]
    return [
        figure(
            f"{title}{f', {name}' if name and len(names) > 1 else ''}",
            draw_rows(_rows([one for one in chosen if name in ("", one.slice)], found, way), label=title),
            note=f"95 % interval over {way}.",
        )
        for name in names
        for way in over
    ]


def _rows(estimates: list[Estimate], found: Association, way: str) -> list[Row]:
    colours = {name: colour_at(place) for place, name in enumerate(found.targets)}
    if len(estimates) > _DRAWN:
        estimates = estimates[: _DRAWN // 2] + estimates[-_DRAWN // 2 :]
    return [
        Row(
            one.word or one.slice, one.value, f"{one.listed * bool(one.word)} {one.value:.2f}",
            colours.get(one.listed, colour_at(0)),
            *((one.low, one.high) if way == "words" else (one.documents_low, one.documents_high)),
            strong=one.slice == DIFFERENCE,
        )
        for one in estimates
    ]  # fmt: skip


def _table(found: Association) -> str:
    head, *rows = found.rows()
    cells = [
        [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows[:_LISTED]
    ]
    measures = {one.measure for one in found.estimates}
    meanings = {name: text for name, text in _MEANINGS.items() if name in head or name in measures}
    return explained_table([str(name) for name in head], cells, meanings)
