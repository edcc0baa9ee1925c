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
from psdvec.storage.artefact import Artefact, ArtefactWriter, create_artefact, open_artefact
from psdvec.text.tokenizers import find_tokenizer
from psdvec.topic_model.learn import Prior, Space
from psdvec.topic_model.page import as_html, hierarchy, representatives, sizes_over
from psdvec.topic_model.values import Topics

KIND, VERSION = "topics", 1
_MATRICES = {"vectors": np.float32, "tilts": np.float64, "expected": np.float32, "proportions": np.float32}
_COLUMNS = ("shares", "weights", "coherence", "lengths")  # of float64
_TINY, _HUGE = 1e-12, 1e12  # numbers that are written lie between them


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
        writer.add_array("shares", topics.space.shares)
        writer.add_array("weights", topics.space.weights)
        writer.add_array("coherence", topics.coherence)
        writer.add_array("lengths", topics.lengths)
        for name, matrix in (
            ("vectors", topics.space.vectors),
            ("tilts", topics.tilts),
            ("expected", topics.expected.astype(np.float32)),
            ("proportions", topics.proportions),
        ):
            _add_matrix(writer, name, matrix)
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
        arrays = {name: artefact.array(name, dtype, dimensions=2) for name, dtype in _MATRICES.items()}
        arrays |= {name: artefact.array(name, np.float64) for name in _COLUMNS}
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
        said = {name: made[name] for name in ("topics", "words", "dim", "documents")}
        if list(said.values()) != [
            *found.tilts.shape[:1],
            len(words),
            *found.tilts.shape[1:],
            len(documents),
        ]:
            raise ValueError("it holds other topics than it says")
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return found


def _check(topics: Topics) -> None:
    """Raise ValueError unless everything has its shape, and lies where what was written can lie."""
    n, (k, d) = len(topics.space.words), topics.tilts.shape
    arrays: dict[str, tuple[Array, tuple[int, ...], float, float]] = {
        "vectors": (topics.space.vectors, (n, d), -1.01, 1.01),
        "expected": (topics.expected, (n, k), 0.0, _HUGE),
        "proportions": (topics.proportions, (len(topics.names), k), 0.0, 1.01),
        "shares": (topics.space.shares, (n,), _TINY, 1.01),
        "weights": (topics.space.weights, (n,), _TINY, 1.01),
        "coherence": (topics.coherence, (k,), -1.01, 1.01),
        "lengths": (topics.lengths, (len(topics.names),), 0.0, _HUGE),
        "tilts": (topics.tilts, (k, d), -_HUGE, _HUGE),
    }
    for name, (array, shape, low, high) in arrays.items():
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


def _add_matrix(writer: ArtefactWriter, name: str, matrix: Array) -> None:
    with (writer.folder / f"{name}.npy").open("wb") as file:
        write_npy(file, matrix)
    writer.add_file(f"{name}.npy")


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
