"""Model: vectors with every scale and constant that is needed to place a new word beside them.

A model is made from the eigenpairs of a fit, or read from a folder. The folder is that of
:mod:`psdvec.formats.model`, whose vectors any program that reads safetensors can use, with the scales as further
arrays; the files are described in ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, StoreError
from psdvec.formats import model as folder
from psdvec.solver.pmi import Constants, WordScales, word_scales
from psdvec.solver.recipe import Recipe
from psdvec.storage.artefact import Artefact, open_artefact
from psdvec.vectors.embeddings import Embeddings

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

SCALES = (
    "signs",
    "constant",
    "row_sums",
    "column_sums",
)  # arrays of the folder that a model adds to plain vectors


@dataclass(frozen=True, eq=False)
class Model:
    """Words with vectors, and the scales of the first ``core`` of them, against which new words are solved.

    ``words``: n strings, the core most frequent first, later words in the order they were learned. ``counts``
    (n,) int64. ``vectors`` (n, d) float32. ``deviations`` (n,) float32: standard deviation of each coordinate of a
    word's vector; not a number for core words, whose joint fit has no posterior of its own. ``signs`` (d,) float32,
    ±1: J of equation (7). ``constant`` (core,) float32: the direction that is left out of the vectors, its sign -1.
    ``row_sums``, ``column_sums`` (core,) float64. ``counting`` says how the pairs were counted, ``sources`` what the
    model was made from.
    """

    words: tuple[str, ...]
    counts: Int64s
    vectors: Float32s
    deviations: Float32s
    signs: Float32s
    constant: Float32s
    row_sums: Float64s
    column_sums: Float64s
    constants: Constants
    recipe: Recipe
    core: int
    counting: Mapping[str, Any]
    sources: tuple[Mapping[str, Any], ...]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
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


def model_of(
    vectors: Float32s,
    values: Float64s,
    counts: Cooccurrence,
    *,
    dim: int,
    scales: WordScales,
    constants: Constants,
    recipe: Recipe,
) -> Model:
    """Split X = V J Vᵀ, given by its eigenpairs, into vectors, signs and the constant direction; undo the emphasis."""
    n = len(vectors)
    kept = np.flatnonzero(values)
    rows = vectors[:, kept] * np.sqrt(np.abs(values[kept])).astype(np.float32)
    rows /= scales.emphases[:, None].astype(np.float32)
    signs = np.sign(values[kept])
    constant = np.zeros(n, np.float32)
    if recipe.spectrum == "signed" and (signs < 0).any():
        place = int(np.argmin(values[kept]))
        constant = rows[:, place]
        rows, signs = np.delete(rows, place, axis=1), np.delete(signs, place)
    filled = np.zeros((n, dim), np.float32)
    filled[:, : min(dim, rows.shape[1])] = rows[:, :dim]
    all_signs = np.ones(dim, np.float32)
    all_signs[: min(dim, signs.size)] = signs[:dim]
    return Model(
        words=counts.vocabulary.words[:n],
        counts=np.array(counts.vocabulary.counts[:n]),
        vectors=filled,
        deviations=np.full(n, np.nan, np.float32),
        signs=all_signs,
        constant=np.ascontiguousarray(constant),
        row_sums=scales.row_sums,
        column_sums=scales.column_sums,
        constants=constants,
        recipe=recipe,
        core=n,
        counting=dict(counts.parameters),
        sources=(),
    )


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
    folder.write_model(
        model.embeddings,
        path,
        parameters=parameters,
        sources=[dict(source) for source in model.sources] if sources is None else sources,
        arrays={name: getattr(model, name) for name in SCALES},
        overwrite=overwrite,
    )


def read_model(path: str | Path | Artefact) -> Model:
    """Open a model that :func:`write_model` wrote; vectors and scales are read, and checked to be finite."""
    artefact = (
        path if isinstance(path, Artefact) else open_artefact(path, kind=folder.KIND, version=folder.VERSION)
    )
    parameters = artefact.parameters
    if "constants" not in parameters:
        raise StoreError(
            f"'{artefact.path}' holds vectors without the scales of a fit; give a model that psdvec fitted"
        )
    try:
        embeddings = folder.read_model(artefact)
        model = Model(
            words=tuple(embeddings.words),
            counts=np.asarray(embeddings.counts),
            vectors=embeddings.vectors,
            deviations=np.asarray(embeddings.deviations),
            constants=Constants(**parameters["constants"]),
            recipe=Recipe(**parameters["recipe"]),
            core=int(parameters["core"]),
            counting=dict(parameters["counting"]),
            sources=artefact.sources,
            **{name: artefact.array(name) for name in SCALES},
        )
    except (KeyError, TypeError, ValueError, OSError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    _check_shapes(model, artefact.path)
    return model


def _check_shapes(model: Model, path: Path) -> None:
    """Refuse arrays that do not belong together, and vectors that are not numbers."""
    n, core = len(model), model.core
    lengths = {"counts": n, "deviations": n, "constant": core, "row_sums": core, "column_sums": core}
    for name, length in lengths.items():
        found = getattr(model, name).shape
        if found != (length,):
            raise StoreError(
                f"'{path}' is damaged: {name} has shape {found} and not {(length,)}; make it again"
            )
    if not 0 < core <= n or model.signs.shape != (model.dim,) or not (np.abs(model.signs) == 1).all():
        raise StoreError(f"'{path}' is damaged: its scales do not fit its vectors; make it again")
    for name in ("constant", "row_sums", "column_sums"):
        if not np.isfinite(getattr(model, name)).all():
            raise StoreError(f"'{path}' is damaged: {name} holds a value that is not finite; make it again")
    if not np.isfinite(model.vectors).all():
        row = int(np.flatnonzero(~np.isfinite(model.vectors).all(axis=1))[0])
        raise StoreError(
            f"'{path}' is damaged: the vector of '{model.words[row]}' is not finite; make it again"
        )
