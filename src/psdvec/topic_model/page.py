"""Topics as one self-contained web page: a map, their sizes over a field, and a panel for each topic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.pages.plots import Series, colour_at, draw_areas, figure
from psdvec.pages.shell import Section, folded, html_table, make_page, paragraph, plots
from psdvec.progress import Shown, count_of
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.values import Topics

# How good topics are: the coherence of their words in the documents.

WINDOW = 10
_NEVER = 1e-12  # added to probabilities, as everyone who publishes this measure does


def coherence(documents: Documents, topics: Sequence[Int64s], *, words: int) -> Float64s:
    """Return the NPMI of each topic, given by the numbers of its top words; ``words`` is the size of the vocabulary."""
    from psdvec.topic_model.kernels import count_windows  # here, so that topics are read without numba

    asked = np.unique(np.concatenate([*topics, np.zeros(0, np.int64)]))
    slots = np.full(words, -1, np.int32)
    slots[asked] = np.arange(len(asked))
    together = np.zeros((len(asked), len(asked)), np.int64)
    windows = count_windows(documents.tokens, documents.starts, slots, together, WINDOW)
    found = npmi(together / max(windows, 1))
    return np.array([_mean_of_pairs(found[np.ix_(slots[ids], slots[ids])]) for ids in topics])


def npmi(joint: Float64s) -> Float64s:
    """Return normalised PMI of all pairs, from the probability of each pair and, on the diagonal, of each word.

    >>> npmi(np.array([[0.5, 0.25], [0.25, 0.5]]))[0, 1].round(6).tolist()
    0.0
    """
    alone = np.maximum(np.diag(joint), _NEVER)
    return np.asarray(np.log((joint + _NEVER) / np.outer(alone, alone)) / -np.log(joint + _NEVER))


def _mean_of_pairs(table: Float64s) -> float:
    size = len(table)
    return float((table.sum() - np.trace(table)) / (size * (size - 1))) if size > 1 else float("nan")


# What topics say of documents: their size over a field, how they group, and which documents stand for them.

_WIDTH = 1.96  # of a 95 % interval, in standard errors
_SHORT = 20.0  # words: a shorter document stands for its topic less well


@dataclass(frozen=True, eq=False, repr=False)
class Sizes(Shown):
    """Mean proportions over the values of a field.

    ``values``: in their order, numbers by size. ``documents`` (v,): how many have each value. ``means``, ``low``,
    ``high`` (v, K): the mean proportion of each topic, with its 95 % interval. ``missing``: how many documents have no
    value and are left out.
    """

    field: str
    values: tuple[str, ...]
    documents: tuple[int, ...]
    means: Float64s
    low: Float64s
    high: Float64s
    missing: int

    def _facts(self) -> dict[str, str]:
        values = self.values if len(self.values) <= 2 else (self.values[0], "...", self.values[-1])
        return {
            "size": f"{count_of(len(self.values), 'value')} of '{self.field}', {', '.join(values)}",
            "of": count_of(sum(self.documents), "document"),
            "without a value": f"{self.missing:,}",
        }


def sizes_over(topics: Topics, field: str) -> Sizes:
    """Return the sizes of topics over the values of ``field``."""
    if field not in topics.fields:
        has = ", ".join(topics.fields) or "none"
        raise InputError(
            f"the topics have no field '{field}' (they have: {has}); name it when topics are learned"
        )
    of = topics.fields[field]
    values = sorted({value for value in of if value is not None}, key=_order)
    rows, low, high, sizes = [], [], [], []
    for value in values:
        found = topics.proportions[[one == value for one in of]].astype(np.float64)
        mean = found.mean(axis=0)
        error = (
            found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.full(len(mean), np.nan)
        )
        rows.append(mean)
        low.append(np.maximum(mean - _WIDTH * error, 0.0))
        high.append(np.minimum(mean + _WIDTH * error, 1.0))
        sizes.append(len(found))
    missing = sum(value is None for value in of)
    return Sizes(field, tuple(values), tuple(sizes), np.array(rows), np.array(low), np.array(high), missing)


def _order(value: str) -> tuple[Any, ...]:
    """Put numbers in the order of their size, however long they are, and before all else.

    >>> sorted(["b", "10", "9", "a10", "a9", "07", "7", "²"], key=_order)
    ['07', '7', '9', '10', 'a9', 'a10', 'b', '²']
    """
    parts = [part for part in re.split(r"(\d+)", value) if part]
    return (
        [
            (0, len(part.lstrip("0")), part.lstrip("0")) if part.isdecimal() else (1, 0, part)
            for part in parts
        ],
        value,
    )


def hierarchy(topics: Topics) -> list[dict[str, Any]]:
    """Return how topics join, the most alike first: ``joined`` of two numbers, and ``at`` which cosine.

    Topics are numbered from 0; what is joined gets the next number after all topics.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    if len(topics) < 2:
        return []
    distances = np.clip(pdist(topics.vectors.astype(np.float64), "cosine"), 0.0, 2.0)
    return [
        {"joined": [int(a), int(b)], "at": round(1.0 - float(distance), 4)}
        for a, b, distance, _ in linkage(np.nan_to_num(distances, nan=1.0), "average")
    ]


def representatives(topics: Topics, *, topn: int = 3) -> list[list[dict[str, Any]]]:
    """Return, for each topic, the documents that are most about it, each with its ``name`` and ``share``."""
    return [
        [
            {"name": topics.names[i], "share": round(float(topics.proportions[i, k]), 4)}
            for i in _first(topics, k, topn)
        ]
        for k in range(len(topics))
    ]


def _first(topics: Topics, k: int, topn: int) -> list[int]:
    shares: Float32s = topics.proportions[:, k]
    scores = shares * topics.lengths / (topics.lengths + _SHORT)
    order = np.argsort(-scores, kind="stable")[:topn]
    return [int(i) for i in order if shares[i] > 0]


_LETTER, _LINE = 7.0, 15.0  # of a name on the map
_LARGEST = 9  # topics that a plot over a field shows by name
_MAIN = 3  # topics that a value is said to be about
_ROUNDS = 300
_DIGITS = 10  # of a longer number, which is no time
_ABOUT_MAP = (
    "Topics that lie close have words in common. The larger a circle, the more words are of the topic; follow it to "
    "the topic's panel."
)
_ABOUT_SIZES = (
    "The mean share of a document's words that each topic has; what is missing to 100 % belongs to no topic."
)


@dataclass(frozen=True)
class _Sheet:
    """What a map is drawn on: its class in the page's style, its size, and the radius of a topic of all words."""

    kind: str
    width: float
    height: float
    largest: float


_SHEETS = (_Sheet("wide", 960, 620, 60), _Sheet("narrow", 400, 480, 40))  # the second is for telephones


def as_html(topics: Topics, described: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of ``topics``, ``described`` as in ``topics.json``."""
    coherent = topics.coherence[np.isfinite(topics.coherence)]
    quality = f"coherence {coherent.mean():.3f} (NPMI of the ten top words), " if len(coherent) else ""
    largest = [topics.labels[k] for k in np.argsort(-topics.sizes, kind="stable")[:3]]
    sections = [
        Section("Map", _maps(topics, described)),
        *(Section(f"Topics over {field}", _over(topics, field)) for field in topics.fields),
        Section("Topics", plots([_panel(one) for one in described])),
    ]
    return make_page(
        f"{count_of(len(topics), 'topic')} in {count_of(len(topics.names), 'document')}",
        f"The documents are most about: {'; '.join(largest)}.",
        sections,
        about=f"From {len(topics.space.words):,} words; {quality}diversity {topics.diversity:.2f}.",
    )


def places_of(vectors: Float64s) -> Float64s:
    """Return places on a plane, (K, 2), whose distances are those of the vectors as nearly as can be (SMACOF).

    It begins with the principal axes, so the same vectors always give the same map.
    """
    k = len(vectors)
    if k == 1:
        return np.zeros((1, 2))
    target = np.sqrt(np.maximum(2.0 - 2.0 * vectors @ vectors.T, 0.0))
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((k, 2))
    wide = min(2, len(sizes))
    places[:, :wide] = left[:, :wide] * sizes[:wide]
    places += 1e-6 * np.column_stack([np.arange(k), np.arange(k)[::-1]])  # topics on one spot can part
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = np.where(apart > 1e-9, target / np.maximum(apart, 1e-9), 0.0)
        places = (ratio.sum(axis=1)[:, None] * places - ratio @ places) / k
    return places


def _maps(topics: Topics, described: Sequence[Mapping[str, Any]]) -> str:
    """Return the map, drawn for wide screens and for narrow ones; a single topic needs none."""
    if len(topics) == 1:
        return ""
    places = places_of(topics.vectors.astype(np.float64))
    return paragraph(_ABOUT_MAP) + "".join(_map(topics, described, places, sheet) for sheet in _SHEETS)


def _map(topics: Topics, described: Sequence[Mapping[str, Any]], places: Float64s, sheet: _Sheet) -> str:
    low, high = places.min(axis=0), places.max(axis=0)
    parts = (places - (low + high) / 2) / np.maximum(high - low, 1e-9)
    x = (sheet.width * (0.5 + 0.8 * parts[:, 0])).tolist()
    y = (sheet.height * (0.5 - 0.8 * parts[:, 1])).tolist()
    order = np.argsort(-topics.sizes, kind="stable").tolist()
    named = [_named(one) for one in described]
    circles = []
    for k in order:
        about = f"topic {k}: {', '.join(named[k])} ({100 * topics.sizes[k]:.1f} % of all words)"
        radius = 6 + sheet.largest * float(np.sqrt(topics.sizes[k]))
        circles.append(
            f'<a href="#topic-{k}" aria-label="{escape(about)}"><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" '
            f'r="{radius:.1f}" fill="{colour_at(k)}" fill-opacity=".55"><title>{escape(about)}</title></circle></a>'
        )
    first = [(named[k][0], x[k], y[k] + 4, "strong") for k in order]
    more = [(", ".join(named[k][1:]), x[k], y[k] + 4 + _LINE, "more") for k in order]
    names = place_names([*first, *more], sheet.width)
    frame = f'viewBox="0 0 {sheet.width:.0f} {sheet.height:.0f}" role="group" aria-label="map of topics"'
    return f'<svg class="{sheet.kind}" {frame}>{"".join(circles)}{names}</svg>'


def _named(one: Mapping[str, Any]) -> list[str]:
    """Return what stands on the map: the name that was given to a topic and two words, or its first three words."""
    words: list[str] = list(one["words"][:3])
    return words if one["label"] == ", ".join(words) else [one["label"], *words[:2]]


def place_names(wanted: Sequence[tuple[str, float, float, str]], width: float) -> str:
    """Write names at their places, the first ones first; one that would cover another is left out."""
    shown: list[str] = []
    taken: list[tuple[float, ...]] = []
    for text, place, y, kind in wanted:
        half = _LETTER * len(text) / 2
        x = max(half, min(width - half, place))
        box = (x - half, x + half, y - _LINE + 1, y)  # a line below does not touch it, however y is rounded
        if not any(_cover(box, other) for other in taken):
            taken.append(box)
            shown.append(
                f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="middle" aria-hidden="true" '
                f'pointer-events="none">{escape(text)}</text>'
            )
    return "".join(shown)


def _cover(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Say whether two boxes (left, right, top, bottom) cover one another."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _over(topics: Topics, field: str) -> str:
    """Return how large topics are over the values of a field: areas over years, a table over other values."""
    sizes = sizes_over(topics, field)
    missing = (
        f"Without a {field}, and left out: {count_of(sizes.missing, 'document')}." if sizes.missing else ""
    )
    shown = _areas(topics, sizes) if _are_times(sizes.values) else _mains(topics, sizes)
    return (
        paragraph(_ABOUT_SIZES)
        + paragraph(missing)
        + shown
        + folded("All numbers, with 95 % intervals", _numbers(topics, sizes))
    )


def _are_times(values: Sequence[str]) -> bool:
    """Say whether the values of a field are different whole numbers, such as years."""
    whole = [int(value) for value in values if value.isdecimal() and len(value) < _DIGITS]
    return len(set(whole)) == len(values) > 1


def _areas(topics: Topics, sizes: Sizes) -> str:
    places = {int(value): value for value in sizes.values}
    largest = np.argsort(-sizes.means.mean(axis=0), kind="stable")[:_LARGEST].tolist()
    rest = [k for k in range(len(topics)) if k not in largest]
    bands = [(topics.labels[k], colour_at(place), sizes.means[:, k]) for place, k in enumerate(largest)]
    if rest:
        bands.append((f"{len(rest)} others", "var(--line)", sizes.means[:, rest].sum(axis=1)))
    series = [
        Series(
            name,
            colour,
            [
                (at, 100 * float(v), f"{name}, {at}: {100 * v:.1f} %")
                for at, v in zip(places, band, strict=True)
            ],
        )
        for name, colour, band in bands
    ]
    drawing = draw_areas(places, series, label=f"topics over {sizes.field}", y_title="% of words")
    return plots([figure(f"Topics over {sizes.field}", drawing)])


def _mains(topics: Topics, sizes: Sizes) -> str:
    rows = []
    for v, value in enumerate(sizes.values):
        first = np.argsort(-sizes.means[v], kind="stable")[:_MAIN].tolist()
        said = [
            f"{topics.labels[k]} ({100 * sizes.means[v, k]:.0f} %)" for k in first if sizes.means[v, k] > 0
        ]
        rows.append((value, str(sizes.documents[v]), "; ".join(said)))
    return html_table((sizes.field, "documents", "about"), rows)


def _numbers(topics: Topics, sizes: Sizes) -> str:
    header = ("topic", *(f"{value} ({n})" for value, n in zip(sizes.values, sizes.documents, strict=True)))
    rows = [
        (topics.labels[k], *(_interval(sizes, v, k) for v in range(len(sizes.values))))
        for k in range(len(topics))
    ]
    return html_table(header, rows)


def _interval(sizes: Sizes, v: int, k: int) -> str:
    mean, low, high = (100 * float(table[v, k]) for table in (sizes.means, sizes.low, sizes.high))
    return f"{mean:.1f} %" if np.isnan(low) else f"{mean:.1f} % ({low:.1f} to {high:.1f})"


def _panel(one: Mapping[str, Any]) -> str:
    coherent = "" if one["coherence"] is None else f", coherence {one['coherence']:.2f}"
    about = "; ".join(f"{found['name']} ({100 * found['share']:.0f} %)" for found in one["documents"])
    lines = (
        paragraph(", ".join(one["words"]))
        + paragraph(f"Mostly here: {', '.join(one['exclusive'][:6])}", kind="note")
        + paragraph(f"Nearest: {', '.join(one['nearest'][:6])}", kind="note")
        + paragraph(f"Documents: {about}" if about else "", kind="note")
    )
    size = f"{100 * one['size']:.1f} % of all words{coherent}"
    shown = figure(f"{one['topic']}: {one['label']}", lines, note=size)
    return f'<div id="topic-{one["topic"]}">{shown}</div>'
