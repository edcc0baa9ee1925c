"""The folder that keeps topics: an artefact of kind ``topics``, with tables and a page for people in it.

``docs/formats.md`` describes the files.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array
from psdvec.counts.vocabulary import WordList, read_words
from psdvec.errors import InputError, StoreError
from psdvec.storage.arrays import parse_json, write_npy
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact
from psdvec.text.tokenizers import find_tokenizer
from psdvec.topic_model.learn import Prior, Space
from psdvec.topic_model.page import as_html, hierarchy, representatives, sizes_over
from psdvec.topic_model.values import Topics

KIND, VERSION = "topics", 1
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
    described = describe_topics(topics)
    parameters = {
        "topics": len(topics), "words": len(topics.space.words), "dim": int(topics.tilts.shape[1]),
        "documents": len(topics.names), "tokenizer": topics.tokenizer, "labels": list(topics.labels),
        "prior": [topics.prior.topic, topics.prior.background], "hold": topics.hold, "bounds": list(topics.bounds),
        "fields": list(topics.fields),
    }  # fmt: skip
    with create_artefact(
        path,
        kind=KIND,
        version=VERSION,
        parameters=parameters,
        sources=[dict(source) for source in topics.sources],
        overwrite=overwrite,
    ) as writer:
        packed = WordList.pack(topics.space.words)
        writer.add_array("words", packed.blob)
        writer.add_array("word_offsets", packed.offsets)
        for name, (dtype, *_) in _ARRAYS.items():
            with (writer.folder / f"{name}.npy").open("wb") as file:
                write_npy(file, _array(topics, name).astype(dtype, copy=False))
            writer.add_file(f"{name}.npy")
        documents = [
            {"name": name, **{field: values[i] for field, values in topics.fields.items()}}
            for i, name in enumerate(topics.names)
        ]
        writer.add_text("documents.json", json.dumps(documents, ensure_ascii=False))
        writer.add_text("topics.json", json.dumps(described, ensure_ascii=False, indent=1) + "\n")
        writer.add_text("hierarchy.json", json.dumps(hierarchy(topics), indent=1) + "\n")
        writer.add_text("proportions.csv", _table(_proportion_rows(topics)))
        for name, field in _table_names(topics.fields).items():
            writer.add_text(name, _table(_size_rows(topics, field)))
        writer.add_text("topics.html", as_html(topics, described))


def describe_topics(topics: Topics) -> list[dict[str, Any]]:
    """Return what is known of each topic, the words that name it first."""
    words, exclusive, nearest = topics.top_words(), topics.exclusive_words(), topics.nearest_words()
    stand = representatives(topics)
    return [
        {
            "topic": k,
            "label": topics.labels[k],
            "words": words[k],
            "exclusive": exclusive[k],
            "nearest": nearest[k],
            "size": round(float(topics.sizes[k]), 6),
            "coherence": None if np.isnan(topics.coherence[k]) else round(float(topics.coherence[k]), 4),
            "documents": stand[k],
        }
        for k in range(len(topics))
    ]


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
            tokenizer=made["tokenizer"],
            prior=Prior(topic, background),
            hold=made["hold"],
            sources=artefact.sources,
        )
        _check(found)
        said = [made[name] for name in ("topics", "dim", "words", "documents")]
        if said != [*found.tilts.shape, len(words), len(documents)]:
            raise ValueError("it holds other topics than it says")
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return found


def _check(topics: Topics) -> None:
    """Raise ValueError unless everything has its shape, and lies where what was written can lie."""
    k, d = topics.tilts.shape
    sizes = {"n": len(topics.space.words), "K": k, "d": d, "m": len(topics.names)}
    for name, (_, axes, low, high) in _ARRAYS.items():
        array, shape = _array(topics, name), tuple(sizes[axis] for axis in axes)
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
    if topics.tokenizer is not None:
        find_tokenizer(topics.tokenizer)


def _array(topics: Topics, name: str) -> Array:
    found: Array = getattr(topics.space if name in ("vectors", "shares", "weights") else topics, name)
    return found


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
    return text.getvalue().encode("utf-8", "replace").decode("utf-8")


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
