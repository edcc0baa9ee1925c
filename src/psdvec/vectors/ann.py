"""Approximate neighbours for vocabularies of millions of words, with usearch.

:func:`build_index` makes an :class:`ApproximateIndex`, which answers ``most_similar_many`` in a time that hardly grows
with the vocabulary, and which can be saved and mapped into memory later. Building it takes far longer than a search:
the exact search of :mod:`psdvec.vectors.neighbours` needs no index, never misses a neighbour, and is as fast for large
batches of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.errors import InputError, import_extra
from psdvec.progress import LogProgress, Progress
from psdvec.storage.files import replaced_file
from psdvec.vectors.embeddings import Embeddings, Ranking
from psdvec.vectors.neighbours import ROW_BLOCK


@dataclass(frozen=True, eq=False)
class ApproximateIndex:
    """A graph of the vectors, made by :func:`build_index` or opened by :func:`load_index`."""

    embeddings: Embeddings
    graph: Any

    def most_similar_many(self, words: Sequence[str], *, topn: int = 10) -> list[Ranking]:
        """Return approximately the ``topn`` nearest words of each of ``words``, as ``most_similar`` does."""
        e = self.embeddings
        ids = [e.get_index(word) for word in words]
        found = self.graph.search(np.asarray(e.vectors[ids]), topn + 1)
        rankings = []
        for row, own in enumerate(ids):
            match = found[row] if len(ids) > 1 else found
            keys = zip(match.keys.tolist(), match.distances.tolist(), strict=True)
            rankings.append([(e.words[key], 1 - distance) for key, distance in keys if key != own][:topn])
        return rankings

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the graph to ``path``; the vectors are not part of it."""
        with replaced_file(Path(path), overwrite=overwrite) as file:
            self.graph.save(file.name)


def build_index(
    embeddings: Embeddings,
    *,
    connectivity: int = 16,
    expansion: int = 128,
    progress: Progress = LogProgress(),
) -> ApproximateIndex:
    """Build the graph of ``embeddings``; a greater ``connectivity`` or ``expansion`` finds more, but more slowly."""
    graph = _new_graph(embeddings, connectivity, expansion)
    with progress.stage("building the index", total=len(embeddings), unit="words") as stage:
        for start in range(0, len(embeddings), ROW_BLOCK):
            block = np.asarray(embeddings.vectors[start : start + ROW_BLOCK])
            graph.add(np.arange(start, start + len(block)), block)
            stage.advance(len(block))
    return ApproximateIndex(embeddings, graph)


def load_index(embeddings: Embeddings, path: str | Path) -> ApproximateIndex:
    """Map the graph at ``path``, which must have been built from the same ``embeddings``."""
    if not Path(path).is_file():
        raise InputError(
            f"there is no index '{path}'; build it with psdvec.vectors.ann.build_index and save it"
        )
    usearch = import_extra("usearch.index", extra="ann", purpose="an approximate index")
    graph = usearch.Index.restore(str(path), view=True)
    if graph is None or len(graph) != len(embeddings) or graph.ndim != embeddings.dim:
        raise InputError(f"the index '{path}' was not built from these vectors; build it again")
    return ApproximateIndex(embeddings, graph)


def _new_graph(embeddings: Embeddings, connectivity: int, expansion: int) -> Any:
    usearch = import_extra("usearch.index", extra="ann", purpose="an approximate index")
    return usearch.Index(
        ndim=embeddings.dim,
        metric="cos",
        dtype="f32",
        connectivity=connectivity,
        expansion_add=expansion,
        expansion_search=expansion,
    )
