"""The models being explored: vectors and, where they are known, the scales of their fit and their counts.

:func:`open_model` makes an :class:`ExploredModel` out of the paths that the command line was given. A missing part is
not an error: the page offers what can be done, and ``no_extending`` and ``no_contexts`` say why something cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from psdvec.explore.contexts import ContextIndex
from psdvec.explore.map import WordMap, make_map
from psdvec.formats import load
from psdvec.progress import LogProgress, Progress
from psdvec.solver.model import Model
from psdvec.vectors.embeddings import Embeddings

MAP_WORDS = 20_000


@dataclass(frozen=True, eq=False)
class ExploredModel:
    """Vectors under the ``name`` that is shown; ``model`` and ``contexts`` if known, otherwise why not."""

    name: str
    embeddings: Embeddings
    model: Model | None = None
    contexts: ContextIndex | None = None
    no_extending: str = ""
    no_contexts: str = ""
    map_words: int = MAP_WORDS

    @cached_property
    def map(self) -> WordMap:
        """The map of the most frequent words, by PCA."""
        return make_map(self.embeddings, limit=self.map_words)


def open_model(
    path: str | Path,
    *,
    counts: str | Path | None = None,
    map_words: int = MAP_WORDS,
    progress: Progress = LogProgress(),
) -> ExploredModel:
    """Open the vectors at ``path``, in any format psdvec reads, and the ``counts`` they were made from, if given."""
    embeddings = load(path, progress=progress)
    model = embeddings if isinstance(embeddings, Model) else None
    no_extending = "" if model else "these vectors come without the scales of a fit; fit them with psdvec"
    contexts, no_contexts = (
        None,
        "start the explorer with counts=FOLDER, the counts that the model was made from",
    )
    if counts is not None:
        if model is None:
            no_contexts = no_extending
        else:
            from psdvec.counts.matrix import load_counts

            contexts, no_contexts = ContextIndex(model, load_counts(counts)), ""
    name = Path(path).absolute().name
    return ExploredModel(name, embeddings, model, contexts, no_extending, no_contexts, map_words)
