"""Opening whatever psdvec reads: its own folders by their kind, vectors of other programs by their content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from psdvec import formats
from psdvec.counts import matrix
from psdvec.errors import StoreError
from psdvec.resources import format_size
from psdvec.solver import model
from psdvec.storage.artefact import META, Artefact, open_artefact

LOADERS: dict[str, Callable[[Artefact], Any]] = {
    matrix.KIND: matrix.load_counts,
    model.KIND: model.read_model,
}


def load(path: str | Path) -> Any:
    """Open whatever is at ``path``: counts or a model made by psdvec, or vectors in any format that it reads.

    The arrays of counts and models are mapped into memory; :func:`psdvec.formats.load` lists the formats of vectors.

    >>> load("counts/").vocabulary.words[:3]
    ('the', 'and', 'in')
    >>> load("vectors.bin").doesnt_match(["berlin", "rome", "violin"])
    'violin'
    """
    if not (Path(path) / META).is_file():
        return formats.load(path)
    artefact = open_artefact(path)
    if artefact.kind not in LOADERS:
        raise StoreError(
            f"'{path}' holds {artefact.kind}, which this version of psdvec does not know; update psdvec"
        )
    return LOADERS[artefact.kind](artefact)


def describe(artefact: Artefact) -> dict[str, Any]:
    """Return what is known of an artefact without reading its arrays."""
    sizes = {name.removesuffix(".npy"): record["bytes"] for name, record in artefact.files.items()}
    return {
        "kind": artefact.kind,
        "version": artefact.version,
        "made by": artefact.made_by,
        "digest": artefact.digest,
        "size": format_size(artefact.size),
        **artefact.parameters,
        "sources": [dict(source) for source in artefact.sources],
        "files": sizes,
    }
