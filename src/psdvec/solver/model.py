"""Model: vectors, everything needed to place a new word beside them, and the folder that keeps both.

A :class:`Model` is :class:`~psdvec.vectors.embeddings.Embeddings`, and answers all their questions; besides, it carries
the scales and constants of its fit. The folder is an artefact of kind ``embeddings``: the vectors in
``vectors.safetensors`` or, if they are sparse, as the arrays of a CSR matrix; words, counts, deviations and scales in
``.npy`` files, described in ``docs/formats.md``. Vectors without the scales of a fit are kept in such a folder too, and
come back as plain :class:`~psdvec.vectors.embeddings.Embeddings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.counts.vocabulary import WordList, read_words
from psdvec.errors import InputError, StoreError
from psdvec.solver.pmi import Constants, WordScales, word_scales
from psdvec.solver.recipe import Recipe
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact
from psdvec.storage.tensors import map_safetensors, write_safetensors
from psdvec.text.tokenizers import tokenizer_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sparse import csr_of, sparse_vectors

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

KIND = "embeddings"
VERSION = 1
VECTORS = "vectors.safetensors"
SPARSE = ("data", "indices", "indptr")  # instead of it where vectors are sparse: the arrays of a CSR matrix
SCALES = ("signs", "constant", "row_sums", "column_sums")  # arrays that a model adds to plain vectors


@dataclass(frozen=True, eq=False, repr=False)
class Model(Embeddings):
    """Words with vectors, and the scales of the first ``core`` of them, against which new words are solved.

    ``words``: n strings, the core most frequent first, later words in the order they were learned. ``counts``
    (n,) int64. ``vectors`` (n, d) float32. ``deviations`` (n,) float32: standard deviation of each coordinate of a
    word's vector; not a number for core words, whose joint fit has no posterior of its own. ``signs`` (d,) float32,
    ±1: J of equation (7). ``constant`` (core,) float32: the direction that is left out of the vectors, its sign -1.
    ``row_sums``, ``column_sums`` (core,) float64. Where the vectors were ``adopted``, the core was not fitted here: its
    scales were measured from counts (:mod:`psdvec.solver.adopt`). ``counting`` says how the pairs were counted,
    ``sources`` what the model was made from, and ``origin`` names it among the sources of what is made from it.
    ``tokenizer`` is that of the counts; of sentences from Python it is ``"whitespace"``.
    """

    counts: Int64s
    deviations: Float32s
    signs: Float32s = field(kw_only=True)
    constant: Float32s = field(kw_only=True)
    row_sums: Float64s = field(kw_only=True)
    column_sums: Float64s = field(kw_only=True)
    constants: Constants = field(kw_only=True)
    recipe: Recipe = field(kw_only=True)
    core: int = field(kw_only=True)
    adopted: bool = field(kw_only=True, default=False)
    counting: Mapping[str, Any] = field(kw_only=True)
    sources: tuple[Mapping[str, Any], ...] = field(kw_only=True, default=())
    origin: Mapping[str, Any] = field(kw_only=True, default_factory=lambda: {"model": "in memory"})

    def __post_init__(self) -> None:
        if self.tokenizer is None:
            object.__setattr__(self, "tokenizer", tokenizer_of(self.counting))
        super().__post_init__()

    @property
    def scales(self) -> WordScales:
        """The scales of the core words."""
        return word_scales(self.row_sums, self.column_sums, self.constants)

    def own_fields(self) -> dict[str, Any]:
        """Return what a plain model is made of, by name."""
        return {one.name: getattr(self, one.name) for one in fields(Model)}

    def _facts(self) -> dict[str, str]:
        core = "scales measured" if self.adopted else "fitted together"
        return {**super()._facts(), "recipe": self.recipe.name, core: f"{self.core:,} words"}

    def _values(self) -> tuple[Any, ...]:
        scales = (getattr(self, name) for name in SCALES)
        how = (self.constants, self.recipe, self.core, self.adopted, dict(self.counting))
        return (*super()._values(), *scales, *how)


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
        sources=(counts.origin,),
    )


def write_model(
    embeddings: Embeddings,
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    overwrite: bool = False,
) -> None:
    """Write a model folder. A model knows how it was made; of plain vectors, ``parameters`` and ``sources`` tell.

    Examples
    --------
    >>> import tempfile
    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(e, f"{folder}/model")
    ...     read_model(f"{folder}/model") == e
    True
    """
    if isinstance(embeddings, Model):
        parameters, sources = _parameters_of(embeddings), embeddings.sources
    elif embeddings.tokenizer is not None:
        parameters = {**(parameters or {}), "tokenizer": embeddings.tokenizer}
    packed = WordList.pack(embeddings.words)
    arrays: dict[str, Array] = {"words": packed.blob, "word_offsets": packed.offsets}
    if embeddings.counts is not None:
        arrays["word_counts"] = embeddings.counts
    if embeddings.deviations is not None:
        arrays["deviations"] = embeddings.deviations
    if isinstance(embeddings, Model):
        arrays |= {name: getattr(embeddings, name) for name in SCALES}
    csr = csr_of(embeddings.vectors)
    sparse = {} if csr is None else {"columns": embeddings.dim}
    with create_artefact(
        path,
        kind=KIND,
        version=VERSION,
        parameters={**(parameters or {}), **sparse},
        sources=[dict(source) for source in sources],
        overwrite=overwrite,
    ) as writer:
        if csr is None:
            write_safetensors(writer.folder / VECTORS, {"vectors": embeddings.vectors})
            writer.add_file(VECTORS)
        else:
            for name in SPARSE:
                writer.add_array(name, getattr(csr, name))
        for name, array in arrays.items():
            writer.add_array(name, array)


def _parameters_of(model: Model) -> dict[str, Any]:
    return {
        "dim": model.dim,
        "words": len(model),
        "core": model.core,
        **({"adopted": True} if model.adopted else {}),
        "recipe": asdict(model.recipe),
        "constants": asdict(model.constants),
        "counting": dict(model.counting),
    }


def read_model(path: str | Path | Artefact) -> Embeddings:
    """Open a model folder: a :class:`Model`, or plain vectors where the folder holds no scales of a fit.

    The vectors stay on disk until they are used.
    """
    artefact = path if isinstance(path, Artefact) else open_artefact(path, kind=KIND, version=VERSION)
    words = read_words(artefact)
    vectors = _sparse_of(artefact) if f"{SPARSE[0]}.npy" in artefact.files else _dense_of(artefact)
    if vectors is None or vectors.shape[:1] != (len(words),):
        raise StoreError(f"'{artefact.path}' is damaged: it does not hold one vector per word; make it again")
    arrays: dict[str, Any] = {
        name: np.asarray(artefact.array(file))
        for name, file in (("counts", "word_counts"), ("deviations", "deviations"))
        if f"{file}.npy" in artefact.files
    }
    made = artefact.parameters
    if "constants" not in made:
        return Embeddings(words, vectors, **arrays, tokenizer=tokenizer_of(made))
    try:
        arrays |= {name: artefact.array(name) for name in SCALES}
        model = Model(
            words,
            vectors,
            **arrays,
            constants=Constants(**made["constants"]),
            recipe=Recipe(**made["recipe"]),
            core=int(made["core"]),
            adopted=bool(made.get("adopted", False)),
            counting=dict(made["counting"]),
            sources=artefact.sources,
            origin={"model": artefact.path.name, "digest": artefact.digest},
        )
        _check_shapes(model, artefact.path)
    except (KeyError, TypeError, ValueError, OSError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return model


def _dense_of(artefact: Artefact) -> Array | None:
    return map_safetensors(artefact.file(VECTORS)).get("vectors")


def _sparse_of(artefact: Artefact) -> Array | None:
    from scipy import sparse  # slow to import, and few vectors are sparse

    data, indices, indptr = (artefact.array(name) for name in SPARSE)
    try:
        width = int(artefact.parameters["columns"])
        matrix = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
        matrix.check_format()
    except (KeyError, TypeError, ValueError):
        return None
    return sparse_vectors(matrix)


def _check_shapes(model: Model, path: Path) -> None:
    """Refuse arrays that do not belong together."""
    n, core = len(model.words), model.core
    lengths = {"counts": n, "deviations": n, "constant": core, "row_sums": core, "column_sums": core}
    for name, length in lengths.items():
        found = getattr(model, name).shape
        if found != (length,):
            raise StoreError(
                f"'{path}' is damaged: {name} has shape {found} and not {(length,)}; make it again"
            )
    if (
        not 0 < core <= n
        or model.signs.shape != model.vectors.shape[1:]
        or not (np.abs(model.signs) == 1).all()
    ):
        raise StoreError(f"'{path}' is damaged: its scales do not fit its vectors; make it again")
    for name in ("constant", "row_sums", "column_sums"):
        if not np.isfinite(getattr(model, name)).all():
            raise StoreError(f"'{path}' is damaged: {name} holds a value that is not finite; make it again")


def check_vectors(model: Model) -> None:
    """Raise :class:`StoreError` where a vector is not finite; all vectors are read."""
    if not np.isfinite(model.vectors).all():
        row = int(np.flatnonzero(~np.isfinite(model.vectors).all(axis=1))[0])
        raise StoreError(
            f"the model is damaged: the vector of '{model.words[row]}' is not finite; make it again"
        )
