"""Running one method, whichever it is, from counts (and text) on disk to vectors on disk.

:func:`fit_method` looks a method up by name, gives it what it reads, and writes its vectors as a model folder that says
how they were made. :func:`settings_of` and :func:`parse_settings` list and read a method's hyper-parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psdvec.errors import InputError, demand_positive, demand_seed
from psdvec.methods import method_named
from psdvec.options import Recipe, make_recipe
from psdvec.progress import LogProgress, Progress

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.text.corpus import Corpus
    from psdvec.vectors.embeddings import Embeddings
    from psdvec.vectors.model import Model

_COMMON = ("dim", "seed", "workers", "progress", "vocabulary")


def settings_of(name: str) -> dict[str, Any]:
    """Return the hyper-parameters of a method with their defaults, including the numbers of its recipe."""
    method = method_named(name)
    own = {
        one.name: one.default
        for one in _parameters(name)
        if one.kind is one.KEYWORD_ONLY and one.name not in (*_COMMON, *method.fixed)
    }
    return own if method.recipe is None else own | asdict(make_recipe(**method.recipe))


def parse_settings(name: str, texts: Iterable[str]) -> dict[str, Any]:
    """Read settings of a method, each a text ``setting=value``; refuse unknown settings and bad values.

    >>> parse_settings("glove", ["x_max=10", "epochs=5"])
    {'x_max': 10.0, 'epochs': 5}
    """
    known = settings_of(name)
    types = {one.name: one.type for one in fields(Recipe)}
    types |= {one.name: one.annotation for one in _parameters(name)}
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if key not in known:
            raise InputError(f"the method {name} has no setting '{key}'; its settings are {', '.join(known)}")
        if not equals:
            raise InputError(f"the setting '{key}' has no value; write one after it, with '=' between them")
        settings[key] = _parse(key, value, str(types[key]).partition(" ")[0])
    return settings


def _parameters(name: str) -> Collection[inspect.Parameter]:
    return inspect.signature(method_named(name).function).parameters.values()


def _parse(key: str, text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if kind == "bool" and text in ("true", "false"):
        return text == "true"
    try:
        return {"int": int, "float": float}[kind](text)
    except (KeyError, ValueError):
        wanted = {"bool": "true or false", "int": "a whole number"}.get(kind, "a number")
        raise InputError(f"the setting '{key}' cannot be '{text}'; give {wanted}") from None


def fit_method(
    name: str,
    counts: str | Path,
    *,
    output: str | Path,
    corpus: Iterable[str | Path] | None = None,
    settings: Mapping[str, Any] | None = None,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Model | Embeddings:
    """Make vectors by the method ``name`` and write them to ``output``.

    ``corpus`` names the text for methods that read it; it is read, and split into words, as it was for ``counts``.
    ``settings`` replace the method's hyper-parameters.
    """
    from psdvec.counts.matrix import load_counts
    from psdvec.storage.artefact import check_output
    from psdvec.text.tokenizers import tokenizer_of
    from psdvec.vectors.model import KIND, Model, write_model

    demand_positive(dim, "dim")
    demand_seed(seed)
    method = method_named(name)
    changed = dict(settings or {})
    if method.reads == "counts" and corpus is not None:
        raise InputError(f"the method {name} reads only counts; leave out the corpus")
    if method.reads == "corpus" and corpus is None and changed.get("vectors") is None:
        raise InputError(f"the method {name} reads the text itself; give the corpus as well as its counts")
    check_output(output, overwrite=overwrite, kind=KIND)
    store = load_counts(counts)
    source = store if method.reads == "counts" else _open_corpus(corpus, store)
    common = dict(zip(_COMMON, (dim, seed, workers, progress, store.vocabulary), strict=True))
    accepted = inspect.signature(method.function).parameters
    options = {key: value for key, value in common.items() if key in accepted}
    vectors: Model | Embeddings = method.function(source, **options, **changed)
    if isinstance(vectors, Model):
        write_model(vectors, output, overwrite=overwrite)
        return vectors
    vectors = replace(vectors, tokenizer=tokenizer_of(store.parameters), phrases=store.phrases)
    made: dict[str, Any] = {"method": name, "dim": vectors.dim, "words": len(vectors), "seed": seed}
    made["settings"] = {**settings_of(name), **changed}
    write_model(vectors, output, parameters=made, sources=[store.provenance], overwrite=overwrite)
    return vectors


def _open_corpus(corpus: Iterable[str | Path] | None, counts: Cooccurrence) -> Corpus | None:
    from psdvec.text.corpus import read_corpus
    from psdvec.text.tokenizers import parameters_of, tokenizer_of

    if corpus is None:
        return None
    # Counts of sentences made in Python name no tokenizer: their words are taken as they stand in the text.
    cutting = parameters_of(tokenizer_of(counts.parameters) or "whitespace")
    source = next(iter(counts.sources), {})
    how = {name: source[name] for name in ("field", "column", "where", "encoding") if name in source}
    return read_corpus(corpus, **cutting, **how)
