"""Model: vectors with every scale and constant that is needed to place a new word beside them.

Goes in: what a method fitted, or a folder. Comes out: a :class:`Model`, an artefact of kind ``embeddings`` whose
vectors any reader of :mod:`safetensors` can use. The files are described in ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.counts.vocabulary import WordList, read_words
from psdvec.errors import StoreError
from psdvec.formats.model import KIND, VECTORS, VERSION
from psdvec.formats.tensors import map_safetensors, write_safetensors
from psdvec.solver.pmi import Constants, WordScales, word_scales
from psdvec.solver.recipe import Recipe
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact
from psdvec.vectors.embeddings import Embeddings


@dataclass(frozen=True, eq=False)
class Model:
    """Words with vectors, and the scales of the first ``core`` of them, against which new words are solved.

    ``words``: n strings, the core most frequent first, later words in the order they were learned. ``counts``
    (n,) int64. ``vectors`` (n, d) float32. ``deviations`` (n,) float32: standard deviation of a word's vector, a
    coordinate; not a number for core words, whose joint fit has no posterior of its own. ``signs`` (d,) float32,
    ±1: J of equation (7). ``constant`` (core,) float32: the direction that is left out of the vectors, its sign -1.
    ``row_sums``, ``column_sums`` (core,) float64. ``counting`` says how the pairs were counted, ``sources`` what the
    model was made from.
    """

    words: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]
    deviations: npt.NDArray[np.float32]
    signs: npt.NDArray[np.float32]
    constant: npt.NDArray[np.float32]
    row_sums: npt.NDArray[np.float64]
    column_sums: npt.NDArray[np.float64]
    constants: Constants
    recipe: Recipe
    core: int
    counting: Mapping[str, Any]
    sources: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Numbers a word."""
        return int(self.vectors.shape[1])

    @cached_property
    def ids(self) -> dict[str, int]:
        """The row of every word."""
        return {word: i for i, word in enumerate(self.words)}

    @property
    def embeddings(self) -> Embeddings:
        """The vectors as a value that answers questions: neighbours, similarities, analogies."""
        return Embeddings(self.words, self.vectors, counts=self.counts, deviations=self.deviations)

    @property
    def scales(self) -> WordScales:
        """The scales of the core words."""
        return word_scales(self.row_sums, self.column_sums, self.constants)


def write_model(
    model: Model, path: str | Path, *, sources: list[dict[str, Any]] | None = None, overwrite: bool = False
) -> None:
    """Write ``model`` as an artefact; ``sources`` name its parents, those of the model itself if None."""
    parameters = {
        "dim": model.dim,
        "words": len(model),
        "core": model.core,
        "recipe": asdict(model.recipe),
        "constants": asdict(model.constants),
        "counting": dict(model.counting),
    }
    parents = [dict(source) for source in model.sources] if sources is None else sources
    words = WordList.pack(model.words)
    with create_artefact(
        path, kind=KIND, version=VERSION, parameters=parameters, sources=parents, overwrite=overwrite
    ) as writer:
        write_safetensors(writer.folder / VECTORS, {"vectors": model.vectors})
        writer.add_file(VECTORS)
        writer.add_array("words", words.blob)
        writer.add_array("word_offsets", words.offsets)
        writer.add_array("word_counts", model.counts)
        for name in ("deviations", "signs", "constant", "row_sums", "column_sums"):
            writer.add_array(name, getattr(model, name))


def read_model(path: str | Path | Artefact) -> Model:
    """Open a model that :func:`write_model` wrote; vectors and scales are read, and checked to be finite."""
    artefact = path if isinstance(path, Artefact) else open_artefact(path, kind=KIND, version=VERSION)
    parameters = artefact.parameters
    if "constants" not in parameters:
        raise StoreError(
            f"'{artefact.path}' holds vectors without the scales of a fit; give a model that 'psdvec fit' made"
        )
    words = read_words(artefact)
    arrays = {
        name: artefact.array(name) for name in ("deviations", "signs", "constant", "row_sums", "column_sums")
    }
    try:
        vectors = map_safetensors(artefact.file(VECTORS))["vectors"]
        model = Model(
            words=words,
            counts=artefact.array("word_counts"),
            vectors=vectors,
            constants=Constants(**parameters["constants"]),
            recipe=Recipe(**parameters["recipe"]),
            core=int(parameters["core"]),
            counting=dict(parameters["counting"]),
            sources=artefact.sources,
            **arrays,
        )
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    _check_shapes(model, artefact.path)
    return model


def _check_shapes(model: Model, path: Path) -> None:
    """Refuse arrays that do not belong together, and vectors that are not numbers."""
    n, core = len(model), model.core
    lengths = {
        "vectors": n,
        "counts": n,
        "deviations": n,
        "constant": core,
        "row_sums": core,
        "column_sums": core,
    }
    for name, length in lengths.items():
        found = getattr(model, name).shape[0]
        if found != length:
            raise StoreError(
                f"'{path}' is damaged: {found} rows of {name} where {length} belong; make it again"
            )
    if not 0 < core <= n or model.signs.shape != (model.dim,) or not (np.abs(model.signs) == 1).all():
        raise StoreError(f"'{path}' is damaged: its scales do not fit its vectors; make it again")
    for name in ("constant", "row_sums", "column_sums"):
        if not np.isfinite(getattr(model, name)).all():
            raise StoreError(f"'{path}' is damaged: {name} holds what is not a number; make it again")
    if not np.isfinite(model.vectors).all():
        row = int(np.flatnonzero(~np.isfinite(model.vectors).all(axis=1))[0])
        raise StoreError(
            f"'{path}' is damaged: the vector of '{model.words[row]}' is not a number; make it again"
        )
