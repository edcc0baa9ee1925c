"""One method, from counts (and text) on disk to vectors on disk, whichever method it is.

Goes in: the name of a method, a folder of counts, the corpus where the method reads text, and the settings to change.
Comes out: vectors, written as a model folder that says how they were made.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from psdvec.errors import InputError
from psdvec.methods import Method, method_named
from psdvec.progress import LogProgress, Progress
from psdvec.solver.recipe import Recipe, make_recipe

_COMMON = ("dim", "seed", "workers", "progress", "vocabulary")


def settings_of(name: str) -> dict[str, Any]:
    """Return the hyper-parameters of a method with their defaults, the numbers of its recipe among them."""
    method = method_named(name)
    own = {
        one.name: one.default
        for one in inspect.signature(method.function).parameters.values()
        if one.kind is one.KEYWORD_ONLY and one.name not in _COMMON
    }
    return own if method.recipe is None else own | asdict(make_recipe(**method.recipe))


def parse_settings(name: str, texts: Iterable[str]) -> dict[str, Any]:
    """Read ``setting=value`` texts for a method; a setting it does not have, or a bad value, is refused.

    >>> parse_settings("glove", ["x_max=10", "epochs=5"])
    {'x_max': 10.0, 'epochs': 5}
    """
    known = settings_of(name)
    types = {one.name: one.type for one in fields(Recipe)}
    types |= inspect.get_annotations(method_named(name).function)
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            raise InputError(
                f"'{text}' is no setting of the method {name}; its settings are {', '.join(known)}, each written "
                "name=value"
            )
        settings[key] = _parse(key, value, str(types[key]).partition(" ")[0])
    return settings


def _parse(key: str, text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if kind == "bool" and text in ("true", "false"):
        return text == "true"
    try:
        return {"int": int, "float": float}[kind](text)
    except (KeyError, ValueError):
        wanted = {"bool": "true or false", "int": "a whole number"}.get(kind, "a number")
        raise InputError(f"{key}={text} cannot be; give {wanted}") from None


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
) -> Any:
    """Make vectors by the method ``name`` and write them to ``output``.

    ``corpus`` names the text of methods that read it, cut into words as for ``counts``; ``settings`` change the
    method's hyper-parameters.
    """
    from psdvec.counts.matrix import open_counts
    from psdvec.storage.artefact import check_output

    method = method_named(name)
    changed = dict(settings or {})
    _check_text(name, method, corpus, changed)
    check_output(output, overwrite=overwrite)
    store, parent = open_counts(counts)
    parameters = inspect.signature(method.function).parameters
    options = {
        "dim": dim,
        "seed": seed,
        "workers": workers,
        "progress": progress,
        "vocabulary": store.vocabulary,
    }
    options = {key: value for key, value in options.items() if key in parameters}
    source = store if method.reads == "counts" else _open_corpus(corpus, store.parameters["tokenizer"])
    vectors = method.function(source, **options, **changed)
    made = {"method": name, "dim": vectors.dim, "words": len(vectors), "seed": seed}
    made["settings"] = {**settings_of(name), **changed}
    _write(vectors, output, parameters=made, sources=[parent], overwrite=overwrite)
    return vectors


def _check_text(name: str, method: Method, corpus: Any, settings: Mapping[str, Any]) -> None:
    if method.reads == "counts" and corpus is not None:
        raise InputError(f"the method {name} reads counts alone; leave --corpus out")
    if method.reads == "corpus" and corpus is None and settings.get("vectors") is None:
        raise InputError(f"the method {name} reads the text itself; name the files with --corpus")


def _open_corpus(corpus: Iterable[str | Path] | None, tokenizer: str) -> Any:
    from psdvec.text.corpus import read_corpus
    from psdvec.text.tokenizers import TOKENIZERS

    if corpus is None:
        return None
    # counts of sentences from Python know no tokenizer: their words are taken as they stand in the text
    return read_corpus(corpus, tokenizer=tokenizer if tokenizer in TOKENIZERS else "whitespace")


def _write(
    vectors: Any, output: str | Path, *, parameters: dict[str, Any], sources: Any, overwrite: bool
) -> None:
    from psdvec import formats
    from psdvec.solver import model

    if isinstance(vectors, model.Model):
        model.write_model(vectors, output, sources=sources, overwrite=overwrite)
    else:
        formats.write_model(vectors, output, parameters=parameters, sources=sources, overwrite=overwrite)
