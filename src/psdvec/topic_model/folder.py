"""The folder that keeps topics: an artefact of kind ``topics``, with tables and a page for people in it.

``docs/formats.md`` describes the files.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float64s
from psdvec.counts.vocabulary import WordList, read_words
from psdvec.errors import StoreError
from psdvec.storage.artefact import Artefact, ArtefactWriter, create_artefact, open_artefact
from psdvec.storage.json_text import parse_json
from psdvec.storage.npy import map_array
from psdvec.storage.numbers import write_npy
from psdvec.topic_model.learn import Prior
from psdvec.topic_model.page import as_html
from psdvec.topic_model.space import Space
from psdvec.topic_model.tables import hierarchy, representatives, sizes_over
from psdvec.topic_model.values import Topics

KIND, VERSION = "topics", 1
_SHAPED = ("vectors", "tilts", "expected", "proportions")
_LISTS = ("shares", "weights", "coherence")


def write_topics(
    topics: Topics, path: str | Path, *, lengths: Float64s | None = None, overwrite: bool = False
) -> None:
    """Write ``topics`` as the folder ``path``; ``lengths``: of the documents, in words, if they are known."""
    own = lengths if lengths is not None else np.full(len(topics.names), np.inf)
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
        writer.add_text(
            "topics.json", json.dumps(describe_topics(topics, own), ensure_ascii=False, indent=1) + "\n"
        )
        writer.add_text("hierarchy.json", json.dumps(hierarchy(topics), indent=1) + "\n")
        writer.add_text("proportions.csv", _table(_proportion_rows(topics)))
        for field in topics.fields:
            writer.add_text(f"sizes-{_plain(field)}.csv", _table(_size_rows(topics, field)))
        writer.add_text("topics.html", as_html(topics, describe_topics(topics, own)))


def describe_topics(topics: Topics, lengths: Float64s) -> list[dict[str, Any]]:
    """Return what is known of each topic, the words that name it first."""
    words, exclusive, nearest = topics.top_words(), topics.exclusive_words(), topics.nearest_words()
    stand = representatives(topics, lengths)
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
        arrays = {name: np.asarray(map_array(artefact.file(f"{name}.npy"))) for name in _SHAPED}
        shares, weights, coherence = (np.asarray(artefact.array(name)) for name in _LISTS)
        documents = parse_json(artefact.file("documents.json").read_text(encoding="utf-8"))
        fields = {field: tuple(document[field] for document in documents) for field in made["fields"]}
        found = Topics(
            space=Space(words, arrays["vectors"], shares, weights, len(words)),
            tilts=arrays["tilts"],
            expected=arrays["expected"].astype(np.float64),
            labels=tuple(made["labels"]),
            names=tuple(document["name"] for document in documents),
            fields=fields,
            proportions=arrays["proportions"],
            coherence=coherence,
            bounds=tuple(made["bounds"]),
            tokenizer=made["tokenizer"],
            prior=Prior(*made["prior"]),
            hold=float(made["hold"]),
            sources=artefact.sources,
        )
        _check(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return found


def _check(topics: Topics) -> None:
    n, (k, d) = len(topics.space.words), topics.tilts.shape
    shapes: dict[str, tuple[Array, tuple[int, ...]]] = {
        "vectors": (topics.space.vectors, (n, d)),
        "expected": (topics.expected, (n, k)),
        "proportions": (topics.proportions, (len(topics.names), k)),
        "shares": (topics.space.shares, (n,)),
        "weights": (topics.space.weights, (n,)),
        "coherence": (topics.coherence, (k,)),
        "tilts": (topics.tilts, (k, d)),
    }
    for name, (array, shape) in shapes.items():
        if array.shape != shape or array.dtype.kind != "f":
            raise ValueError(f"its {name} have shape {array.shape} and not {shape}")
        if name != "coherence" and not np.isfinite(array).all():
            raise ValueError(f"its {name} hold a value that is not finite")
    if len(topics.labels) != k or not (np.minimum(topics.space.shares, topics.space.weights) > 0).all():
        raise ValueError("its labels, shares or weights do not fit")


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


def _plain(field: str) -> str:
    """Return the name of a field as it can stand in the name of a file."""
    return re.sub(r"[^\w-]", "_", field)[:60]
