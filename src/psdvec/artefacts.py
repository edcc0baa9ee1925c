"""Opening an artefact of any kind: one table from kinds to the functions that load them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from psdvec import counts
from psdvec.errors import StoreError
from psdvec.resources import format_size
from psdvec.store import Artefact, open_artefact

LOADERS: dict[str, Callable[[Artefact], Any]] = {counts.KIND: counts.load_counts}


def load(path: str | Path) -> Any:
    """Open whatever psdvec has made at ``path``, its arrays mapped into memory.

    >>> counts = load("counts/")  # doctest: +SKIP
    >>> counts.vocabulary.words[:3]  # doctest: +SKIP
    ('the', 'of', 'and')
    """
    artefact = open_artefact(path)
    if artefact.kind not in LOADERS:
        raise StoreError(f"'{path}' holds {artefact.kind}, which this psdvec does not know; update psdvec")
    return LOADERS[artefact.kind](artefact)


def describe(artefact: Artefact) -> dict[str, Any]:
    """Return what there is to know about an artefact without reading its arrays."""
    cells = {name.removesuffix(".npy"): record["bytes"] for name, record in artefact.files.items()}
    return {
        "kind": artefact.kind,
        "version": artefact.version,
        "made by": artefact.made_by,
        "digest": artefact.digest,
        "size": format_size(artefact.size),
        **artefact.parameters,
        "sources": [dict(source) for source in artefact.sources],
        "files": cells,
    }
