"""Opening whatever psdvec reads: its own folders by their kind, vectors of other programs by their content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from psdvec.counts import matrix
from psdvec.errors import InputError, StoreError, checked
from psdvec.options import Recipe
from psdvec.resources import format_size
from psdvec.storage.artefact import (
    MANIFEST,
    MAP,
    META,
    PUBLISHED,
    Artefact,
    find_model,
    open_artefact,
    open_published,
    verify_artefact,
)
from psdvec.text.tokenizers import CHANGES
from psdvec.vectors import model
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import say_weights

# The KIND of psdvec.topic_model.topics, psdvec.search.index, psdvec.documents.distinctive and modules of psdvec.slices,
# which are loaded when needed
TOPICS, CHANGE, ASSOCIATION, STABILITY, INDEX = "topics", "change", "association", "stability", "index"
DISTINCTIVE = "distinctive"


KINDS = (matrix.KIND, model.KIND, TOPICS, CHANGE, ASSOCIATION, STABILITY, INDEX, DISTINCTIVE)
COUNTED = ("tokenizer", "phrases", "window", "weighting", "gaps", *CHANGES)
SHOWN = 5  # sources in a summary
_DIGITS = 12  # of a digest there
T = TypeVar("T")


@overload
def load(path: str | Path) -> Any: ...
@overload
def load(path: str | Path, expected: type[T]) -> T: ...


@checked
def load(path: str | Path, expected: Any = object) -> Any:
    """Open whatever is at ``path``: what psdvec made, or vectors in any format that it reads.

    If there is nothing at it, it may be the name of an installed model, such as ``"simplewiki"``. What there is, only
    the files tell. ``load(path, psdvec.Model)`` returns a model or raises :class:`InputError`, and editors and type
    checkers know so. The kinds are :class:`~psdvec.Model` and :class:`~psdvec.Embeddings`, of which
    each model is one too, :class:`~psdvec.Cooccurrence`, :class:`~psdvec.Topics`, :class:`~psdvec.DocumentIndex` and
    :class:`~psdvec.Stability`. Of a change and of distinctive words, it returns what their JSON tells, a ``dict``, of
    an association the ``list`` of the rows of its table. The arrays of counts, models and indexes are mapped into
    memory; :func:`psdvec.formats.load` lists the formats of vectors.

    >>> load("counts/").vocabulary.words[:3]
    ('the', 'and', 'in')
    >>> load("vectors.bin", Embeddings).doesnt_match(["berlin", "rome", "violin"])
    'violin'
    """
    if not isinstance(expected, type):
        raise InputError("expected is no class; give one, such as psdvec.Model, or leave it out")
    path = find_model(path)
    if not (path / META).is_file():
        from psdvec import formats

        if path.exists():
            _demand_kind(path, Embeddings, expected, told="at most Embeddings")  # before much is read
        return formats.load(path)
    artefact = open_artefact(path)
    if artefact.kind == MAP:
        raise StoreError(f"'{path}' is the map of a model, without its vectors; give the model's folder")
    found = _load(artefact)
    _demand_kind(path, type(found), expected, told=type(found).__name__)
    return found


def _demand_kind(path: str | Path, kind: type, expected: type, *, told: str) -> None:
    """Raise :class:`InputError` unless what is at ``path`` is of the class that was expected."""
    if not issubclass(kind, expected):
        raise InputError(
            f"'{path}' holds {told}, and {expected.__name__} was expected; give another path, or expect "
            f"{kind.__name__}"
        )


def _load(artefact: Artefact) -> Any:
    read: Callable[[Artefact], Any]
    match artefact.kind:
        case matrix.KIND:
            read = matrix.load_counts
        case model.KIND:
            read = model.read_model
        case "topics":
            from psdvec.topic_model.page import read_topics as read
        case "change":
            from psdvec.slices.page import read_change as read
        case "association":
            from psdvec.slices.association_page import read_association as read
        case "stability":
            from psdvec.slices.stability import read_stability as read
        case "index":
            from psdvec.search.index import read_index as read
        case "distinctive":
            from psdvec.documents.distinctive import read_distinctive as read
        case _:
            raise StoreError(
                f"'{artefact.path}' holds {artefact.kind}, which this version of psdvec does not know; update psdvec"
            )
    return read(artefact)


def open_made(path: str | Path) -> Artefact:
    """Open whatever folder psdvec has made, also one that is published for other programs."""
    folder = find_model(path)
    is_published = not (folder / META).is_file() and (folder / MANIFEST).is_file()
    return open_published(folder) if is_published else open_artefact(folder)


def verify(artefact: Artefact) -> None:
    """Raise :class:`StoreError` unless every file of ``artefact`` is as it was written, and :func:`load` opens it."""
    if artefact.kind != matrix.KIND:  # counts are compared with their checksums whenever they are opened
        verify_artefact(artefact)
    if artefact.kind == PUBLISHED:
        load(artefact.path)
    elif artefact.kind != MAP:
        _load(artefact)


def describe_artefact(artefact: Artefact) -> dict[str, Any]:
    """Return everything that is known of an artefact, as plain values for programs; no array is read through.

    >>> describe_artefact(open_artefact("counts/"))["words"]
    163
    """
    _check_parameters(artefact)
    sizes = {name.removesuffix(".npy"): record["bytes"] for name, record in artefact.files.items()}
    return {
        "kind": artefact.kind,
        "version": artefact.version,
        "made by": artefact.made_by,
        "digest": artefact.digest,
        "size": format_size(artefact.size),
        "bytes": artefact.size,
        **_extent(artefact),
        **artefact.parameters,
        "recipe name": _recipe_name(artefact.parameters),
        "sources": [dict(source) for source in artefact.sources],
        "files": sizes,
    }


def summarise(artefact: Artefact) -> dict[str, str]:
    """Return what people want to know of an artefact: a short text for each name.

    >>> summarise(open_artefact("counts/"))["counted"]
    'tokenizer unicode, window 20, weighting harmonic, gaps keep'
    """
    facts = describe_artefact(artefact)
    counting = facts if artefact.kind == matrix.KIND else facts.get("counting", {})
    tally = facts.get("tally", {"tokens": 0, "sentences": 0})
    # Another program may have counted, and not have said how many sentences there were.
    noun = str(counting.get("noun", "word"))
    grouped = "baskets" if noun == "item" else "sentences"
    sentences = f" in {tally['sentences']:,} {grouped}" if tally["sentences"] else ""
    lines = {
        "what": _what(facts, noun),
        f"{noun}s": _words(facts),
        "dimensions": f"{facts['dim']:,}" if "dim" in facts else "",
        "pairs": f"{facts['pairs']:,}" if "pairs" in facts else "",
        "recipe": facts["recipe name"],
        "settings": _listed(facts.get("settings", {})),
        "spelling": _spelling(facts),
        "counted": _listed(
            {name.replace("_", " "): say_counted(counting[name]) for name in COUNTED if name in counting}
        ),
        "read": f"{tally['tokens']:,} {noun}s{sentences}" if "tally" in facts else "",
        "from": _sources(artefact.sources),
        "text": _sources(_texts(artefact.sources)),
        "size": f"{facts['size']} in {len(artefact.files) + 1} files",
        "made by": artefact.made_by,
        "computed": _computed_with(facts.get("arithmetic", {})),
        **{name: str(facts.get("about", {}).get(name, "")) for name in model.ABOUT},
    }
    return {name: text for name, text in lines.items() if text}


_SHAPES: dict[str, type] = {
    "words": int, "dim": int, "topics": int, "documents": int, "refits": int, "core": int, "method": str,
    "recipe": dict, "settings": dict, "counting": dict, "tally": dict, "arithmetic": dict, "about": dict,
}  # fmt: skip


def _check_parameters(artefact: Artefact) -> None:
    """Raise :class:`StoreError` unless what an artefact says of itself is of the shape in which it was written."""
    for name, kind in _SHAPES.items():
        if name in artefact.parameters and type(artefact.parameters[name]) is not kind:
            raise StoreError(
                f"'{artefact.path}' is damaged: its '{name}' is not what it should be; make it again"
            )
    tally = artefact.parameters.get("tally", {"tokens": 0, "sentences": 0})
    if not all(type(tally.get(name)) is int for name in ("tokens", "sentences")):
        raise StoreError(f"'{artefact.path}' is damaged: it does not say what was read; make it again")


def _extent(artefact: Artefact) -> dict[str, int]:
    """Return how much an artefact holds, whoever wrote it."""
    if artefact.kind not in KINDS or artefact.kind in (CHANGE, ASSOCIATION, INDEX, DISTINCTIVE):
        return {}
    extent = {"words": int(artefact.array("word_offsets", np.int64).size) - 1}
    if artefact.kind == matrix.KIND:
        return {**extent, "pairs": int(artefact.array("values", np.int64).size)}
    return extent if "dim" in artefact.parameters else {**extent, "dim": model.read_model(artefact).dim}


def _spelling(facts: Mapping[str, Any]) -> str:
    """Say how much spelling weighs in the vectors of a model that has learned it."""
    try:
        told = [facts["subwords"][name] for name in ("share", "leverage", "size")]
        noise = facts["recipe"]["spelling_noise"] if "recipe" in facts else Recipe.spelling_noise
        return say_weights(*told, noise=noise)
    except (KeyError, TypeError, ZeroDivisionError):  # no spelling, or of an older version
        return ""


def _recipe_name(parameters: Mapping[str, Any]) -> str | None:
    numbers = parameters.get("recipe")
    try:
        return None if numbers is None else Recipe(**numbers).name
    except (TypeError, InputError):  # numbers that this version does not know
        return "of another version of psdvec"


def _what(facts: Mapping[str, Any], noun: str) -> str:
    if facts["kind"] == matrix.KIND:
        return f"counts of {noun}s and of pairs of {noun}s"
    if facts["kind"] == PUBLISHED:
        return (
            f"word vectors{' in eight bits' if facts.get('quantized') else ''}, published for other programs"
        )
    if facts["kind"] == MAP:
        return "a map of words, which psdvec explore shows"
    if facts["kind"] == TOPICS:
        return f"{facts['topics']:,} topics of {facts['documents']:,} documents"
    if facts["kind"] == CHANGE:
        return f"words that changed between {_listed_names(facts)}, in {facts['documents']:,} documents"
    if facts["kind"] == ASSOCIATION:
        lists = (" and ".join(map(str, facts.get(name, ()))) for name in ("targets", "attributes"))
        return " with ".join(filter(None, lists)) + ": how these lists of words go together"
    if facts["kind"] == STABILITY:
        return f"how stable neighbours are, by {facts['refits']:,} refits of {facts['documents']:,} documents"
    if facts["kind"] == DISTINCTIVE:
        return f"words that tell groups of documents apart: {', '.join(map(str, facts.get('groups', [])))}"
    if facts["kind"] == INDEX:
        return f"an index of {facts['documents']:,} documents, which psdvec search asks"
    if facts["kind"] != model.KIND:
        return f"{facts['kind']}, which this version of psdvec does not know"
    if "constants" in facts:
        return f"a model: {noun} vectors, and what places new {noun}s"
    return f"word vectors, by the method {facts['method']}" if "method" in facts else "word vectors"


def _listed_names(facts: Mapping[str, Any]) -> str:
    return " and ".join(map(str, facts["slices"])) if isinstance(facts.get("slices"), list) else "slices"


def _words(facts: Mapping[str, Any]) -> str:
    total, core = facts.get("words"), facts.get("core")
    if total is None or core is None:
        return "" if total is None else f"{total:,}"
    fitted, others = "fitted together", "placed by ridge"
    if facts.get("adopted"):
        fitted, others = "with scales measured from counts", "others"
    return f"{total:,}: {core:,} {fitted}" + (f", {total - core:,} {others}" if total > core else "")


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def say_counted(value: Any) -> Any:
    """Return a setting of counting as it is shown; of stop words and lemmas, how many there are."""
    return f"{len(value):,}" if isinstance(value, list | dict) else value


def _computed_with(arithmetic: Mapping[str, Any]) -> str:
    """Name what people can change: versions, and for which processor they computed."""
    if not arithmetic:
        return ""
    versions = _listed({name: arithmetic.get(name, "unknown") for name in ("numpy", "scipy", "numba")})
    kernels = sorted({one.rpartition(" ")[2] for one in str(arithmetic.get("blas", "unknown")).split(", ")})
    others = " and others" if "others" in arithmetic else ""
    return f"with {versions}, BLAS {' '.join(kernels)}, on {arithmetic.get('processor', 'unknown')}{others}"


def _sources(sources: Sequence[Mapping[str, Any]]) -> str:
    shown = []
    for source in sources[:SHOWN]:
        kind = next((kind for kind in ("model", "counts", "vectors") if kind in source), None)
        shown.append(_file(source) if kind is None else f"the {kind} '{source[kind]}'")
    more = [f"and {len(sources) - SHOWN:,} more"] if len(sources) > SHOWN else []
    return ", ".join(shown + more)


def _texts(sources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return, each once, the texts that were read for the counts and models among ``sources``."""
    read = [one for source in sources for one in _listed_in(source, "read") if isinstance(one, Mapping)]
    return list({_file(one): one for one in read}.values())


def _file(source: Mapping[str, Any]) -> str:
    """Name a file that was read, with its size and the beginning of its digest, and say which part of it it was."""
    size, digest, where = source.get("bytes"), source.get("sha256"), source.get("where")
    known = [format_size(size)] if isinstance(size, int) and size else []
    known += [f"sha256 {digest[:_DIGITS]}"] if isinstance(digest, str) else []
    known += [f"column {source['column']}"] if "column" in source else []
    if isinstance(where, Mapping):
        known += [f"{name} {' or '.join(map(str, _listed_in(where, name)))}" for name in where]
    told = f" ({', '.join(known)})" if known else ""
    return f"{source.get('name', 'a text without a name')}{told}"


def _listed_in(source: Mapping[str, Any], name: str) -> Sequence[Any]:
    found = source.get(name)
    return found if isinstance(found, list) else []
