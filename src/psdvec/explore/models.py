"""What is looked at: vectors, and beside them the scales of their fit and their counts, where these are at hand.

Goes in: the paths of the command line. Comes out: a :class:`Subject` each. A missing part is not an error: the page
offers what can be done, and says in ``no_extending`` and ``no_contexts`` why something cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from psdvec import formats
from psdvec.errors import PSDVecError
from psdvec.explore.contexts import ContextIndex
from psdvec.explore.map import WordMap, make_map
from psdvec.progress import LogProgress, Progress
from psdvec.storage.artefact import META
from psdvec.vectors.embeddings import Embeddings

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.solver.model import Model

MAP_WORDS = 20_000


@dataclass(frozen=True, eq=False)
class Subject:
    """Vectors with a ``name`` to show; ``model`` and ``contexts`` where known, else a sentence that says why not."""

    name: str
    embeddings: Embeddings
    model: Model | None = None
    contexts: ContextIndex | None = None
    no_extending: str = ""
    no_contexts: str = ""
    map_words: int = MAP_WORDS

    @cached_property
    def map(self) -> WordMap:
        """The most frequent words on a plane, by PCA."""
        return make_map(self.embeddings, limit=self.map_words)


def open_subject(
    path: str | Path,
    *,
    counts: str | Path | None = None,
    map_words: int = MAP_WORDS,
    progress: Progress = LogProgress(),
) -> Subject:
    """Open the vectors at ``path``, in any format psdvec reads, and the ``counts`` they were made from, if given."""
    embeddings = formats.load(path, progress=progress)
    model, no_extending = _open_model(Path(path))
    contexts, no_contexts = (
        None,
        "start the page with --counts FOLDER, the counts that the model was made from",
    )
    if counts is not None:
        if model is None:
            no_contexts = no_extending
        else:
            contexts, no_contexts = ContextIndex(model, _open_counts(counts)), ""
    name = Path(path).absolute().name
    return Subject(name, embeddings, model, contexts, no_extending, no_contexts, map_words)


def _open_model(path: Path) -> tuple[Model | None, str]:
    """Return the model with the scales of its fit, or why there is none."""
    if not (path / META).is_file():
        return None, "these vectors come without the scales of a fit; only a model of 'psdvec fit' has them"
    from psdvec.solver.model import read_model  # brings numba

    try:
        return read_model(path), ""
    except PSDVecError as error:
        return None, str(error).replace(str(path), path.absolute().name)  # where it lies is nobody's business


def _open_counts(path: str | Path) -> Cooccurrence:
    from psdvec.counts.matrix import load_counts

    return load_counts(path)
