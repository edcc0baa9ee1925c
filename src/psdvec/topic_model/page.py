"""What is written of topics: the folder that keeps them, tables for people in it, and one self-contained web page.

``docs/formats.md`` describes the files of the folder, an artefact of kind ``topics``. The page has a map, the sizes of
topics over a field, and a panel for each topic.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float64s
from psdvec.counts.vocabulary import WordList, read_words
from psdvec.errors import InputError, StoreError
from psdvec.pages.figures import bars_figure, dots_figure, lines_figure
from psdvec.pages.plots import NAME_HEIGHT, Row, Series, colour_at, draw_areas, place_names
from psdvec.pages.shell import Section, figure, folded, html_table, make_page, paragraph, plots
from psdvec.progress import Shown, count_of
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact, parse_json, write_npy
from psdvec.text.phrases import PHRASES, phrases_in
from psdvec.text.readers import as_written
from psdvec.text.tokenizers import find_tokenizer, is_custom, parameters_of, tokenizer_of
from psdvec.topic_model.documents import bin_dates, times_of
from psdvec.topic_model.learn import Prior, Space
from psdvec.topic_model.topics import KIND, Topics, describe_topics, representatives

VERSION = 1
LINES = "lines.json"  # a line of each document, in folders of newer versions
SNIPPETS = "snippets.json"  # parts of some documents, likewise
_TINY, _HUGE = 1e-12, 1e12  # numbers that are written lie between them

# The arrays: their type, their shape (n words, K topics, d dimensions, m documents), and the least and the most in them
_ARRAYS: dict[str, tuple[type, str, float, float]] = {
    "vectors": (np.float32, "nd", -1.01, 1.01),
    "tilts": (np.float64, "Kd", -_HUGE, _HUGE),
    "expected": (np.float32, "nK", 0.0, _HUGE),
    "proportions": (np.float32, "mK", 0.0, 1.01),
    "shares": (np.float64, "n", _TINY, 1.01),
    "weights": (np.float64, "n", _TINY, 1.01),
    "coherence": (np.float64, "K", -1.01, 1.01),
    "lengths": (np.float64, "m", 0.0, _HUGE),
}


def write_topics(topics: Topics, path: str | Path, *, overwrite: bool = False) -> None:
    """Write ``topics`` as the folder ``path``."""
    described, joined, arrays = describe_topics(topics), hierarchy(topics), _arrays_of(topics)
    parameters = {
        "topics": len(topics), "words": len(topics.space.words), "dim": int(topics.tilts.shape[1]),
        "documents": len(topics.names), **parameters_of(topics.tokenizer), "labels": list(topics.labels),
        "prior": [topics.prior.topic, topics.prior.background], "hold": topics.hold, "bounds": list(topics.bounds),
        "fields": list(topics.fields),
    }  # fmt: skip
    sources = [dict(source) for source in topics.sources]
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters=parameters, sources=sources, overwrite=overwrite
    ) as writer:
        packed = WordList.pack(topics.space.words)
        writer.add_array("words", packed.blob)
        writer.add_array("word_offsets", packed.offsets)
        for name, array in arrays.items():
            with (writer.folder / f"{name}.npy").open("wb") as file:
                write_npy(file, array.astype(_ARRAYS[name][0], copy=False))
            writer.add_file(f"{name}.npy")
        documents = [
            {"name": name, **{field: values[i] for field, values in topics.fields.items()}}
            for i, name in enumerate(topics.names)
        ]
        if topics.phrases is not None:
            writer.add_text(PHRASES, topics.phrases.text())
        writer.add_text("documents.json", json.dumps(documents, ensure_ascii=False))
        if topics.lines:
            writer.add_text(LINES, json.dumps(topics.lines, ensure_ascii=False))
        if topics.snippets:
            writer.add_text(SNIPPETS, json.dumps(topics.snippets, ensure_ascii=False))
        writer.add_text("topics.json", json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        writer.add_text("hierarchy.json", json.dumps(joined, indent=1) + "\n")
        writer.add_text("proportions.csv", _table(_proportion_rows(topics)))
        for name, field in _table_names(topics.fields).items():
            writer.add_text(name, _table(_size_rows(topics, field)))
        writer.add_text("topics.html", as_html(topics, described))


def read_topics(path: str | Path | Artefact) -> Topics:
    """Open a folder that :func:`write_topics` wrote."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    made = artefact.parameters
    try:
        words = read_words(artefact)
        arrays = {
            name: artefact.array(name, dtype, dimensions=len(shape))
            for name, (dtype, shape, *_) in _ARRAYS.items()
        }
        documents = parse_json(artefact.file("documents.json").read_text(encoding="utf-8"))
        topic, background = made["prior"]
        fields = {field: tuple(document[field] for document in documents) for field in made["fields"]}
        found = Topics(
            space=Space(words, arrays["vectors"], arrays["shares"], arrays["weights"], len(words)),
            tilts=arrays["tilts"],
            expected=arrays["expected"].astype(np.float64),
            labels=tuple(made["labels"]),
            names=tuple(document["name"] for document in documents),
            lengths=arrays["lengths"],
            fields=fields,
            proportions=arrays["proportions"],
            coherence=arrays["coherence"],
            bounds=tuple(made["bounds"]),
            tokenizer=_known(made),
            prior=Prior(topic, background),
            hold=made["hold"],
            sources=artefact.sources,
            phrases=phrases_in(artefact),
            lines=_lines_in(artefact, len(documents)),
            snippets=_snippets_in(artefact, len(documents)),
        )
        _check(found)
        said = [made[name] for name in ("topics", "dim", "words", "documents")]
        if said != [*found.tilts.shape, len(words), len(documents)]:
            raise ValueError("it holds other topics than it says")
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return found


def _lines_in(artefact: Artefact, documents: int) -> tuple[str, ...]:
    """Return the lines of documents, or none where they were not kept."""
    if LINES not in artefact.files:
        return ()
    found = parse_json(artefact.file(LINES).read_text(encoding="utf-8"))
    if (
        not isinstance(found, list)
        or len(found) != documents
        or not all(isinstance(one, str) for one in found)
    ):
        raise ValueError("its lines are not those of its documents")
    return tuple(found)


def _snippets_in(artefact: Artefact, documents: int) -> dict[int, str]:
    """Return the parts of some documents, or none where they were not kept."""
    if SNIPPETS not in artefact.files:
        return {}
    found = parse_json(artefact.file(SNIPPETS).read_text(encoding="utf-8"))
    kept = {int(number): text for number, text in found.items()}
    if not all(0 <= number < documents and isinstance(text, str) for number, text in kept.items()):
        raise ValueError("its snippets are not those of its documents")
    return kept


def _known(made: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that is recorded; one that there is none of is refused."""
    name = made["tokenizer"]
    if name is not None and not is_custom(name):
        find_tokenizer(name)
    return tokenizer_of(made)


def _check(topics: Topics) -> None:
    """Raise ValueError unless everything has its shape, and lies where what was written can lie."""
    k, d = topics.tilts.shape
    sizes = {"n": len(topics.space.words), "K": k, "d": d, "m": len(topics.names)}
    for name, array in _arrays_of(topics).items():
        _, axes, low, high = _ARRAYS[name]
        shape = tuple(sizes[axis] for axis in axes)
        if array.shape != shape:
            raise ValueError(f"its {name} have shape {array.shape} and not {shape}")
        unknown = np.isnan(array) if name == "coherence" else False
        if not (unknown | ((array >= low) & (array <= high))).all():
            raise ValueError(f"its {name} hold a value that cannot be")
    numbers = [topics.prior.topic, topics.prior.background, topics.hold]
    if not all(type(number) in (int, float) and _TINY <= number <= _HUGE for number in numbers):
        raise ValueError("its prior or its hold is not a number that can be")
    if not all(type(bound) is float for bound in topics.bounds):
        raise ValueError("its bounds are not numbers")
    values = (value for column in topics.fields.values() for value in column if value is not None)
    texts = (*topics.labels, *topics.names, *topics.fields, *values)
    if len(topics.labels) != k or not all(isinstance(text, str) for text in texts):
        raise ValueError("its labels, names or fields do not fit")


def _arrays_of(topics: Topics) -> dict[str, Array]:
    of_space = ("vectors", "shares", "weights")
    return {name: getattr(topics.space if name in of_space else topics, name) for name in _ARRAYS}


def _proportion_rows(topics: Topics) -> Iterator[list[Any]]:
    yield ["document", *topics.fields, *(f"topic {k}" for k in range(len(topics)))]
    for i, name in enumerate(topics.names):
        shares = [f"{share:.4f}" if share else "0" for share in topics.proportions[i].tolist()]
        yield [name, *(values[i] for values in topics.fields.values()), *shares]


def _size_rows(topics: Topics, field: str) -> Iterator[list[Any]]:
    sizes = sizes_over(topics, field)
    yield [field, "documents", "topic", "label", "mean", "low", "high"]
    for v, value in enumerate(sizes.values):
        for k in range(len(topics)):
            numbers = [f"{table[v, k]:.4f}" for table in (sizes.means, sizes.low, sizes.high)]
            yield [value, sizes.documents[v], k, topics.labels[k], *numbers]


def _table(rows: Iterator[list[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return as_written(text.getvalue())


def _table_names(fields: Iterable[str]) -> dict[str, str]:
    """Return the names of the tables over some fields, which may hold anything, and of each name the field.

    >>> _table_names(["year", "a/b", "a.b"])
    {'sizes-year.csv': 'year', 'sizes-a_b.csv': 'a/b', 'sizes-a_b-2.csv': 'a.b'}
    """
    found: dict[str, str] = {}
    for field in fields:
        plain = re.sub(r"[^\w-]", "_", field)[:60]
        number = 1 + sum(name.startswith(f"sizes-{plain}") for name in found)
        found[f"sizes-{plain}.csv" if number == 1 else f"sizes-{plain}-{number}.csv"] = field
    return found


# What topics say of documents: their size over a field, and how they group.

MOST_VALUES = 100  # of a field, above which dates are put together, and the page shows the commonest
_WIDTH = 1.96  # of a 95 % interval, in standard errors


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

    def commonest(self, most: int) -> Sizes:
        """Return the values that most documents have, in their order."""
        kept = np.sort(np.argsort(-np.array(self.documents, int), kind="stable")[:most])
        return replace(
            self, values=tuple(self.values[i] for i in kept), documents=tuple(self.documents[i] for i in kept),
            means=self.means[kept], low=self.low[kept], high=self.high[kept],
        )  # fmt: skip

    def _facts(self) -> dict[str, str]:
        values = self.values if len(self.values) <= 2 else (self.values[0], "...", self.values[-1])
        return {
            "size": f"{count_of(len(self.values), 'value')} of '{self.field}', {', '.join(values)}",
            "of": count_of(sum(self.documents), "document"),
            "without a value": f"{self.missing:,}",
        }


def sizes_over(topics: Topics, field: str) -> Sizes:
    """Return the sizes of topics over the values of ``field``; many dates are put into years, or the like."""
    if field not in topics.fields:
        has = ", ".join(topics.fields) or "none"
        raise InputError(
            f"the topics have no field '{field}' (they have: {has}); name it when topics are learned"
        )
    of = topics.fields[field]
    known = {value for value in of if value is not None}
    if len(known) > MOST_VALUES:
        _, binned = bin_dates(known, most=MOST_VALUES)
        of = tuple(binned.get(value, value) if value is not None else None for value in of)
    values = sorted({value for value in of if value is not None}, key=order_of)
    rows = [topics.proportions[[one == value for one in of]].astype(np.float64) for value in values]
    means = np.array([found.mean(axis=0) for found in rows])
    unknown = np.full(len(topics), np.nan)
    errors = np.array(
        [found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else unknown for found in rows]
    )
    low, high = np.maximum(means - _WIDTH * errors, 0.0), np.minimum(means + _WIDTH * errors, 1.0)
    missing = sum(value is None for value in of)
    return Sizes(field, tuple(values), tuple(map(len, rows)), means, low, high, missing)


def order_of(value: str) -> tuple[Any, ...]:
    """Put numbers in the order of their size, however long they are, and before all else.

    >>> sorted(["b", "10", "9", "a10", "a9", "07", "7", "²"], key=order_of)
    ['07', '7', '9', '10', 'a9', 'a10', 'b', '²']
    """
    bare = [(part, part.lstrip("0")) for part in re.split(r"(\d+)", value) if part]
    return [(0, len(digits), digits) if part.isdecimal() else (1, 0, part) for part, digits in bare], value


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


# The same as columns of data frames, and as figures.

_BARS, _LINES, _GROUPS, _LETTERS = (
    30,
    6,
    12,
    48,
)  # topics of a figure, and by a field; values; letters of a name


def columns_of_topics(topics: Topics) -> dict[str, Any]:
    """Return the columns of a table with a row for each topic."""
    first = [found[0] if found else {} for found in representatives(topics, topn=1)]
    return {
        "topic": range(len(topics)),
        "label": topics.labels,
        "words": [", ".join(words) for words in topics.top_words()],
        "share": topics.sizes,
        "documents": np.bincount(topics.main[topics.main >= 0], minlength=len(topics)),
        "coherence": topics.coherence,
        "example": [found.get("line") or found.get("name") for found in first],
    }


def columns_of_documents(topics: Topics) -> dict[str, Any]:
    """Return the columns of a table with a row for each document: its main topic, None without one, and its fields."""
    own = {
        "id": topics.names,
        "topic": [None if k < 0 else k for k in topics.main.tolist()],
        "label": [None if k < 0 else topics.labels[k] for k in topics.main.tolist()],
        "share": topics.proportions.max(axis=1, initial=0),
        **({"title": topics.lines} if topics.lines else {}),
    }
    return own | {f"field {name}" if name in own else name: values for name, values in topics.fields.items()}


def columns_of_sizes(topics: Topics, field: str) -> dict[str, Any]:
    """Return the columns of a table with a row for each value of a field and each topic."""
    sizes, k = sizes_over(topics, field), len(topics)
    return {
        "value": np.repeat(np.array(sizes.values, object), k),
        "documents": np.repeat(sizes.documents, k),
        "topic": np.tile(np.arange(k), len(sizes.values)),
        "label": topics.labels * len(sizes.values),
        "mean": sizes.means.ravel(),
        "low": sizes.low.ravel(),
        "high": sizes.high.ravel(),
    }


def figure_of(topics: Topics, chosen: Sequence[int] | None, *, by: str | None, topn: int | None) -> Any:
    """Draw topics by their size or, over the values of a field, lines if these are times, and dots if not."""
    order = np.argsort(-topics.sizes, kind="stable").tolist() if chosen is None else list(chosen)
    if by is None:
        rows = [_bar(topics, k) for k in order[: topn or _BARS]]
        return bars_figure(rows, title="Topics by their size", x_title="% of all words")
    sizes, drawn = sizes_over(topics, by), order[: topn or _LINES]
    times, title, axis = times_of(sizes.values), f"Topics over {by}", "% of words, with 95 % intervals"
    if times:
        lines = [_line(topics, sizes, k, place, list(times)) for place, k in enumerate(drawn)]
        return lines_figure(times, lines, title=title, y_title=axis)
    shown = sizes.commonest(_GROUPS)
    groups = [[_dot(shown, v, k) for v in range(len(shown.values))] for k in drawn]
    return dots_figure([topics.labels[k] for k in drawn], groups, title=title, x_title=axis)


def _bar(topics: Topics, k: int) -> Row:
    share = 100 * float(topics.sizes[k])
    return Row(_name_of(topics.labels[k], topics.top_words()[k]), share, f"{share:.1f} %", colour_at(0))


def _name_of(label: str, words: Sequence[str]) -> str:
    """Return a label and as many further words of its topic as there is room for.

    >>> _name_of("dog, cat", ["cat", "dog", "pig"]), _name_of("pets", ["cat", "dog"])
    ('dog, cat, pig', 'pets: cat, dog')
    """
    own = label.split(", ")
    name, mark = label, ", " if set(own) <= set(words) else ": "
    for word in (one for one in words if one not in own):
        if len(name) + len(mark) + len(word) > _LETTERS:
            break
        name, mark = f"{name}{mark}{word}", ", "
    return name


def _line(topics: Topics, sizes: Sizes, k: int, place: int, times: Sequence[int]) -> Series:
    mean, low, high = (100 * table[:, k] for table in (sizes.means, sizes.low, sizes.high))
    band = [(at, a, b) for at, a, b in zip(times, low.tolist(), high.tolist(), strict=True) if np.isfinite(a)]
    points = [(at, share, "") for at, share in zip(times, mean.tolist(), strict=True)]
    return Series(topics.labels[k], colour_at(place), points, band)


def _dot(sizes: Sizes, v: int, k: int) -> Row:
    mean, low, high = (100 * float(table[v, k]) for table in (sizes.means, sizes.low, sizes.high))
    return Row(f"{sizes.values[v]} ({sizes.documents[v]:,})", mean, f"{mean:.1f} %", colour_at(v), low, high)


# The web page.

_LARGEST = 9  # topics that a plot over a field shows by name
_MAIN = 3  # topics that a value is said to be about
_ROUNDS = 300
_ABOUT_MAP = (
    "Topics that lie close have words in common. The larger a circle, the more words are of the topic; follow it to "
    "the topic's panel."
)
_ABOUT_SIZES = (
    "The mean share of a document's words that each topic has; what is missing to 100 % belongs to no topic."
)

# What a map is drawn on: its class in the page's style, its width and height, and the radius of a topic of all words.
_SHEETS = (("wide", 960, 620, 60), ("narrow", 400, 480, 40))  # the second is for telephones
_PLOTS = (
    ("wide", 860, 48),
    ("narrow", 400, 16),
)  # likewise over a field: class, width, and letters of a name


def as_html(topics: Topics, described: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of ``topics``, ``described`` as in ``topics.json``."""
    coherent = topics.coherence[np.isfinite(topics.coherence)]
    quality = f"coherence {coherent.mean():.3f} (NPMI of the ten top words), " if len(coherent) else ""
    # A few long documents, of lists or code say, may have most of all words: here each document counts alike.
    shares = topics.proportions.mean(axis=0)
    largest = [topics.labels[k] for k in np.argsort(-shares, kind="stable")[:3]]
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
    low, high = places.min(axis=0), places.max(axis=0)
    parts = (places - (low + high) / 2) / np.maximum(high - low, 1e-9)
    order = np.argsort(-topics.sizes, kind="stable").tolist()
    named = [_named(one) for one in described]
    drawn = ""
    for kind, width, height, largest in _SHEETS:
        x = (width * (0.5 + 0.8 * parts[:, 0])).tolist()
        y = (height * (0.5 - 0.8 * parts[:, 1])).tolist()
        drawn += (
            f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="group" aria-label="map of topics">'
        )
        for k in order:
            about = escape(f"topic {k}: {', '.join(named[k])} ({100 * topics.sizes[k]:.1f} % of all words)")
            radius = 6 + largest * float(np.sqrt(topics.sizes[k]))
            drawn += (
                f'<a href="#topic-{k}" aria-label="{about}"><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" '
                f'r="{radius:.1f}" fill="{colour_at(k)}" fill-opacity=".55"><title>{about}</title></circle></a>'
            )
        first = [(named[k][0], x[k], y[k] + 4, "strong") for k in order]
        more = [(", ".join(named[k][1:]), x[k], y[k] + 4 + NAME_HEIGHT, "more") for k in order]
        drawn += place_names([*first, *more], width) + "</svg>"
    return paragraph(_ABOUT_MAP) + drawn


def _named(one: Mapping[str, Any]) -> list[str]:
    """Return what stands on the map: the three words that name a topic, or a name that was given and two words."""
    words, own = one["words"], one["label"].split(", ")
    return own if set(own) <= set(words) else [one["label"], *words[:2]]


def _over(topics: Topics, field: str) -> str:
    """Return how large topics are over the values of a field: areas over years, a table over other values."""
    every = sizes_over(topics, field)
    sizes = every.commonest(MOST_VALUES)
    missing = f"Without a {field}, and left out: {count_of(sizes.missing, 'document')}."
    more = f"{len(every.values) - MOST_VALUES:,} more are in the table of sizes"
    left = f"The {MOST_VALUES} values with most documents; {more}."
    about = paragraph(_ABOUT_SIZES) + paragraph(missing if sizes.missing else "")
    about += paragraph(left if len(every.values) > MOST_VALUES else "")
    times = times_of(sizes.values)
    shown = _areas(topics, sizes, times) if times else _mains(topics, sizes)
    return about + shown + folded("All numbers, with 95 % intervals", _numbers(topics, sizes))


def _areas(topics: Topics, sizes: Sizes, places: Mapping[int, str]) -> str:
    named = _LARGEST if len(topics) > _LARGEST + 1 else len(topics)  # a single other one has a name, too
    largest = np.argsort(-sizes.means.mean(axis=0), kind="stable")[:named].tolist()
    rest = [k for k in range(len(topics)) if k not in largest]

    def series(name: str, colour: str, shares: Float64s) -> Series:
        percent = zip(places.items(), (100 * shares).tolist(), strict=True)
        return Series(
            name, colour, [(at, share, f"{name}, {when}: {share:.1f} %") for (at, when), share in percent]
        )

    drawn = ""
    for kind, width, letters in _PLOTS:
        bands = [
            series(_first_words(topics.labels[k], letters), colour_at(i), sizes.means[:, k])
            for i, k in enumerate(largest)
        ]
        if rest:
            others = sizes.means[:, rest].sum(axis=1)
            bands.append(series(f"{len(rest)} others", "var(--line)", others))
        drawn += draw_areas(
            places, bands, label=f"topics over {sizes.field}", y_title="% of words", width=width, letters=letters,
            kind=kind,
        )  # fmt: skip
    return f'<div class="broad">{figure(f"Topics over {sizes.field}", drawn)}</div>'


def _first_words(label: str, letters: int) -> str:
    """Return as many words of a label as there is room for, and one at least.

    >>> _first_words("warsaw, lisbon, madrid", 16), _first_words("innovation, nature", 8)
    ('warsaw, lisbon', 'innovation')
    """
    words = label.split(", ")
    return next(
        (one for n in range(len(words), 0, -1) if len(one := ", ".join(words[:n])) <= letters), words[0]
    )


def _mains(topics: Topics, sizes: Sizes) -> str:
    rows = []
    for v, value in enumerate(sizes.values):
        means = sizes.means[v]
        first = [k for k in np.argsort(-means, kind="stable")[:_MAIN].tolist() if means[k] > 0]
        said = "; ".join(f"{topics.labels[k]} ({100 * means[k]:.0f}\N{NO-BREAK SPACE}%)" for k in first)
        rows.append((value, f"{sizes.documents[v]:,}", said))
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
    documents = "".join(
        f"<li>{escape(found.get('line') or found['name'])} "
        f'<span class="note">{escape(_told(found))}</span>{_marked(found.get("snippet", ""))}</li>'
        for found in one["documents"]
    )
    lines = (
        paragraph(", ".join(one["words"]))
        + paragraph(f"Mostly here: {', '.join(one['exclusive'][:6])}", kind="note")
        + paragraph(f"Nearest: {', '.join(one['nearest'][:6])}", kind="note")
        + (f"{paragraph('Documents:', kind='note')}<ul>{documents}</ul>" if documents else "")
    )
    size = f"{100 * one['size']:.1f} % of all words{coherent}"
    shown = figure(f"{one['topic']}: {one['label']}", lines, note=size)
    return f'<div id="topic-{one["topic"]}">{shown}</div>'


def _marked(snippet: str) -> str:
    """Return a part of a document, the words between two stars in bold.

    >>> _marked("a **cat** sat")
    '<blockquote>a <b>cat</b> sat</blockquote>'
    """
    pieces = [escape(piece) for piece in snippet.split("**")]
    shown = "".join(f"<b>{piece}</b>" if place % 2 else piece for place, piece in enumerate(pieces))
    return f"<blockquote>{shown}</blockquote>" if shown else ""


def _told(document: Mapping[str, Any]) -> str:
    """Return what stands after the line of a document: its name, unless that is the line, and the topic's share."""
    name = f"{document['name']}, " if document.get("line") else ""
    return f"({name}{100 * document['share']:.0f}\N{NO-BREAK SPACE}%)"
