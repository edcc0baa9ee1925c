"""Model: vectors, everything needed to place a new word beside them, and the folder that keeps both.

A :class:`Model` is :class:`~psdvec.vectors.embeddings.Embeddings`, and answers all their questions; besides, it carries
the scales and constants of its fit. The folder is an artefact of kind ``embeddings``: the vectors in
``vectors.safetensors`` or, if they are sparse, as the arrays of a CSR matrix; words, counts, deviations and scales in
``.npy`` files, described in ``docs/formats.md``. Vectors without the scales of a fit are kept in such a folder too, and
come back as plain :class:`~psdvec.vectors.embeddings.Embeddings`. A compact folder holds the rows of the factorisation
in eight bits and no vectors; they are mixed from rows and n-grams when it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.counts.matrix import UNIT, summed_up
from psdvec.counts.vocabulary import MOST, TEXT_KEYS, Key, WordList, kind_of_all, read_words
from psdvec.errors import InputError, StoreError, check_fields, checked
from psdvec.options import Recipe
from psdvec.progress import Progress, count_of
from psdvec.storage.artefact import (
    Artefact,
    create_artefact,
    map_safetensors,
    open_artefact,
    release_memory,
    write_safetensors,
)
from psdvec.text.phrases import PHRASES, phrases_in
from psdvec.text.tokenizers import parameters_of, tokenizer_of
from psdvec.vectors.embeddings import Embeddings, Ranking
from psdvec.vectors.neighbours import csr_of, largest_columns, name_rows, rows_not_finite, sparse_vectors
from psdvec.vectors.subwords import Subwords, in_eight_bits, mix

KIND = "embeddings"
VERSION = 3  # the highest that is read
WRITTEN = 2  # of whole vectors; 3 is that of compact models
VECTORS = "vectors.safetensors"
SPARSE = ("data", "indices", "indptr")  # instead of it where vectors are sparse: the arrays of a CSR matrix
ROWS = "rows"  # beside the vectors in their file, where the two differ: the factor rows
CODES, STEPS = "codes", "steps"  # in their place in a compact model: these rows in eight bits
SCALES = {"signs": np.float32, "constant": np.float32, "row_sums": np.float64, "column_sums": np.float64}
NGRAMS = "ngrams.safetensors"
_WIDEST = 1 << 24  # columns that sparse vectors may have beside one per word: 64 MB for each looked up
LARGEST = 1e9  # that numbers of a model may be: real ones are near 1
ABOUT = ("title", "licence", "attribution")  # what a model may tell of itself
BEFORE = {"power": 0.5, "spelling": 0.0}  # what version 1 did without saying so
MOST_PAIRS = MOST / UNIT  # that counts may add up to
_RANGES = {
    **dict.fromkeys(("background", "exponent", "majoriser", "emphasis", "unigram"), (0.0, 1.0)),
    **dict.fromkeys(("cap", "mass", "total", "mean"), (1e-18, MOST_PAIRS)),
}


@dataclass(frozen=True)
class Constants:
    """The numbers of the formulas that hold for every word; saved with the model.

    ``cap`` is C of equation (3); ``mass`` is Σ_j c_j^α, ``total`` is Σ_j c_j, and ``mean`` the mean of
    (r + c) / 2, all over the whole count store.
    """

    smoothing: float
    background: float
    exponent: float
    majoriser: float
    emphasis: float
    unigram: float
    diagonal: bool
    cap: float
    mass: float
    total: float
    mean: float

    def __post_init__(self) -> None:
        check_fields(self)
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise InputError(f"{name} is {getattr(self, name)}; give a number from {low:g} to {high:g}")
        if not 0 < self.smoothing < 1 or self.background == 1:
            raise InputError(
                f"smoothing is {self.smoothing}, background {self.background}; give shares below 1"
            )


@dataclass(frozen=True, eq=False, repr=False)
class Model(Embeddings):
    """Words with vectors, and the scales of the first ``core`` of them, against which new words are solved.

    ``words``: n strings, the core most frequent first, later words in the order they were learned. ``counts``
    (n,) int64. ``vectors`` (n, d) float32. ``deviations`` (n,) float32: standard deviation of each coordinate of a
    word's vector; not a number where that is not known, as in vectors made elsewhere. ``signs`` (d,) float32,
    ±1: J of equation (7). ``constant`` (core,) float32: the direction that is left out of the vectors, its sign -1.
    ``rows`` (n, d) float32 are the rows V of the factorisation, against which new words are solved. The vectors show
    them with their coordinates multiplied by ``stretch`` (d,), and mixed with what the words' ``subwords`` say,
    equations (13) and (15).
    ``row_sums``, ``column_sums`` (core,) float64. Where the vectors were ``adopted``, the core was not fitted here: its
    scales were measured from counts (:mod:`psdvec.solver.extend`). ``counting`` says how the pairs were counted,
    ``sources`` what the model was made from, and ``origin`` names it among the sources of what is made from it.
    ``tokenizer`` is that of the counts, as are ``phrases``; of sentences from Python it is ``"whitespace"``.
    ``arithmetic`` says what the last bits rest on (:func:`psdvec.resources.arithmetic`); it is empty where that is not
    known. ``about`` tells whoever gets the model what it is, by the names of :data:`ABOUT`; what is made from it by
    further words tells the same.
    """

    counts: Int64s
    deviations: Float32s
    rows: Float32s = field(kw_only=True)
    stretch: Float32s = field(kw_only=True)
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
    arithmetic: Mapping[str, Any] = field(kw_only=True, default_factory=dict)
    about: Mapping[str, str] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        if self.tokenizer is None:
            object.__setattr__(self, "tokenizer", tokenizer_of(self.counting))
        super().__post_init__()

    @property
    def provenance(self) -> dict[str, Any]:
        """What is told of this model by what is made from it: where it is, and what was ``read`` for its counts."""
        sources = self.sources if "model" in self.origin else ()  # of other vectors, nothing is known
        told = [source["read"] for source in sources if isinstance(source.get("read"), list)]
        read = [one for files in told for one in files if isinstance(one, Mapping)]
        return {**self.origin, **({"read": summed_up(read)} if read else {})}

    @property
    def noun(self) -> str:
        """What the vectors are of: a ``"word"``, or of baskets an ``"item"``."""
        return str(self.counting.get("noun", "word"))

    @property
    def unspelled(self) -> Float32s:
        """The vectors without what the words' spelling says."""
        return self.rows * self.stretch

    @checked
    def complete(self, basket: Sequence[Key], *, topn: int = 10) -> Ranking:
        """Return what goes with the items of ``basket``: the likeliest others, and how likely each is to the model.

        The likelihood of an item j is the mean, over the items i of the basket, of ``u_j exp(G_ij)``, at most 1:
        G = V J Vᵀ are the PMI as they were fitted, equation (7), and u the smoothed frequencies, equation (1). Popular
        items are among the answers, where :meth:`most_similar` shows items that stand with the same ones. Items that
        the model does not know are left out; of a basket with none that it knows, this is an error.

        >>> import psdvec
        >>> orders = [["bread", "butter"], ["bread", "butter", "jam"], ["beer", "crisps"], ["beer", "crisps", "jam"]]
        >>> model = psdvec.train(orders * 5, items=True, dim=3, quiet=True)
        >>> model.complete(["bread"], topn=1)[0][0]
        'butter'
        """
        known = [self.key_to_index[item] for item in dict.fromkeys(basket) if item in self]
        if not known:
            raise InputError(f"the model knows no {self.noun} of this basket; give at least one that it has")
        scores = self.likelihoods(np.array(known))
        best = largest_columns(scores[None, :], max(topn, 0) + len(known))[0]
        return name_rows(self.words, best, scores[best], without=frozenset(known), topn=topn)

    def likelihoods(self, known: Int64s) -> Float32s:
        """Return how likely each word (n,) stands with the words of the ids ``known``, as :meth:`complete` says."""
        constant = np.full(len(self), self.constant.mean() if self.core else 0, np.float32)
        constant[: self.core] = self.constant  # words placed later have none of their own
        seen = np.maximum(self.counts, 1).astype(np.float32) ** np.float32(self.constants.unigram)
        fitted = (self.rows[known] * self.signs) @ self.rows.T - np.outer(constant[known], constant)
        log_likelihood = np.log(seen / seen.sum()) + fitted
        return np.asarray(np.exp(np.minimum(log_likelihood, 0)).mean(axis=0), np.float32)

    def own_fields(self) -> dict[str, Any]:
        """Return what a plain model is made of, by name."""
        return {one.name: getattr(self, one.name) for one in fields(Model)}

    def _facts(self) -> dict[str, str]:
        core = "scales measured" if self.adopted else "fitted together"
        return {**super()._facts(), "recipe": self.recipe.name, core: count_of(self.core, self.noun)}

    def _values(self) -> tuple[Any, ...]:
        scales = (getattr(self, name) for name in SCALES)
        how = (self.constants, self.recipe, self.core, self.adopted, dict(self.counting))
        return (*super()._values(), self.rows, self.stretch, *scales, *how)


def say_empty(progress: Progress, filled: int, dim: int, *, words: int, noun: str = "word") -> None:
    """Say so where there are fewer dimensions in the data than were asked for."""
    if filled < dim:
        text, more = ("this text", "text") if noun == "word" else ("these counts", "to count")
        progress.say(
            f"{count_of(words, noun)} of {text} fill only {filled:,} of the {dim:,} dimensions asked for, and all "
            f"further numbers of each vector are 0; ask for {max(filled, 1):,}, or give more {more}"
        )


def write_model(
    embeddings: Embeddings,
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    is_compact: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a model folder. A model knows how it was made; of plain vectors, ``parameters`` and ``sources`` tell.

    Of a model ``is_compact``, only the rows of the factorisation are written, in eight bits. What is read back has them
    so rounded, and the vectors that follow from them.

    Examples
    --------
    >>> import tempfile
    >>> e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(e, f"{folder}/model")
    ...     read_model(f"{folder}/model") == e
    True
    """
    made, csr, subwords = dict(parameters or {}), csr_of(embeddings.vectors), embeddings.subwords
    arrays: dict[str, Array | None] = {"word_counts": embeddings.counts, "deviations": embeddings.deviations}
    tensors: dict[str, Array] = {"vectors": embeddings.vectors}
    if isinstance(embeddings, Model):
        made, sources = _parameters_of(embeddings), embeddings.sources
        arrays |= {name: getattr(embeddings, name) for name in SCALES}
        if is_compact:
            codes, steps = in_eight_bits(np.asarray(embeddings.rows))
            tensors = {CODES: codes, STEPS: steps}
        elif embeddings.rows is not embeddings.vectors:
            tensors[ROWS] = embeddings.rows
        if len(tensors) > 1:
            arrays["stretch"] = embeddings.stretch
    elif embeddings.tokenizer is not None:
        made |= parameters_of(embeddings.tokenizer)
    if csr is not None:
        made["columns"] = embeddings.dim
        arrays |= {name: getattr(csr, name) for name in SPARSE}
    if subwords is not None:
        made["subwords"] = {
            name: getattr(subwords, name) for name in ("share", "length", "leverage", "slope", "size")
        }
    kind = kind_of_all(embeddings.words)
    if kind != TEXT_KEYS:
        made["keys"] = kind
    packed = WordList.pack(embeddings.words)
    arrays |= {"words": packed.blob, "word_offsets": packed.offsets}
    with create_artefact(
        path, kind=KIND, version=VERSION if CODES in tensors else WRITTEN, parameters=made,
        sources=[dict(source) for source in sources], overwrite=overwrite,
    ) as writer:  # fmt: skip
        if csr is None:
            write_safetensors(writer.folder / VECTORS, tensors)
            writer.add_file(VECTORS)
        if subwords is not None:
            write_safetensors(writer.folder / NGRAMS, subwords.arrays())
            writer.add_file(NGRAMS)
        if embeddings.phrases is not None:
            writer.add_text(PHRASES, embeddings.phrases.text())
        for name, array in arrays.items():
            if array is not None:
                writer.add_array(name, array)


def _parameters_of(model: Model) -> dict[str, Any]:
    words, dim = model.vectors.shape
    return {
        "dim": dim,
        "words": words,
        "core": model.core,
        **({"adopted": True} if model.adopted else {}),
        "recipe": asdict(model.recipe),
        "constants": asdict(model.constants),
        "counting": dict(model.counting),
        **({"arithmetic": dict(model.arithmetic)} if model.arithmetic else {}),
        **({"about": dict(model.about)} if model.about else {}),
    }


def read_model(path: str | Path | Artefact) -> Embeddings:
    """Open a model folder: a :class:`Model`, or plain vectors where the folder holds no scales of a fit.

    The vectors stay on disk until they are used. All of them are looked at once, because one number that is not finite
    would spoil every answer: a fitted model of 50,000 words with 300 dimensions opens in 25 ms instead of 13 if it is
    in the system's cache, and otherwise it takes the time to read it. The memory that this takes is given back.
    """
    artefact = path if isinstance(path, Artefact) else open_artefact(path, kind=KIND, version=VERSION)
    made, damaged = artefact.parameters, f"'{artefact.path}' is damaged"
    origin = {"model": artefact.path.name, "digest": artefact.digest}
    words = read_words(artefact)
    is_sparse = f"{SPARSE[0]}.npy" in artefact.files
    tensors = {} if is_sparse else map_safetensors(artefact.file(VECTORS))
    subwords = _subwords_of(artefact)
    if CODES in tensors:
        tensors = _unfolded(artefact, tensors, words, subwords)
    vectors = _sparse_of(artefact) if is_sparse else tensors.get("vectors")
    if vectors is None or vectors.ndim != 2 or len(vectors) != len(words):
        raise StoreError(f"{damaged}: it does not hold one vector per word; make it again")
    for array in (vectors, tensors.get(ROWS)):
        if array is not None and array.shape == vectors.shape:
            for row in rows_not_finite(array):
                raise StoreError(f"{damaged}: the vector of '{words[row]}' is not finite; make it again")
            release_memory(array)
    arrays: dict[str, Any] = {}
    for name, file, dtype in (("counts", "word_counts", np.int64), ("deviations", "deviations", np.float32)):
        if f"{file}.npy" in artefact.files:
            arrays[name] = artefact.array(file, dtype)
    deviations = arrays.get("deviations", np.empty(0, np.float32))
    if not (np.isnan(deviations) | (deviations >= 0) & (deviations < np.inf)).all():
        raise StoreError(f"{damaged}: deviations holds a value that cannot be; make it again")
    if (made.get("words", len(words)), made.get("dim", vectors.shape[1])) != vectors.shape:
        raise StoreError(f"{damaged}: it holds other vectors than it says; make it again")
    if subwords is not None and subwords.dim != vectors.shape[1]:
        raise StoreError(f"{damaged}: its n-grams do not fit its vectors; make it again")
    phrases = phrases_in(artefact)
    try:
        if "constants" not in made:
            return Embeddings(
                words, vectors, **arrays, tokenizer=tokenizer_of(made), subwords=subwords, phrases=phrases
            )
        recipe = Recipe(**(BEFORE | made["recipe"]))
        arrays |= {name: artefact.array(name, dtype) for name, dtype in SCALES.items()}
        is_shown = ROWS in tensors
        arrays["rows"] = tensors[ROWS] if is_shown else vectors
        width = vectors.shape[1]
        arrays["stretch"] = artefact.array("stretch", np.float32) if is_shown else np.ones(width, np.float32)
        _check_scales(arrays, vectors.shape, made["core"], damaged)
        return Model(
            words,
            vectors,
            **arrays,
            constants=Constants(**made["constants"]),
            recipe=recipe,
            core=made["core"],
            adopted=bool(made.get("adopted", False)),
            counting=dict(made["counting"]),
            sources=artefact.sources,
            subwords=subwords,
            phrases=phrases,
            origin=origin,
            arithmetic=dict(made.get("arithmetic", {})),
            about=_about_of(made),
        )
    except (KeyError, TypeError, ValueError, OSError, InputError) as error:
        raise StoreError(f"{damaged} ({error}); make it again") from error


def _subwords_of(artefact: Artefact) -> Subwords | None:
    """Return the n-grams of a model, or None if it has none."""
    if "subwords" not in artefact.parameters:
        return None
    try:
        parts: dict[str, Any] = map_safetensors(artefact.file(NGRAMS))
        return Subwords(**parts, **artefact.parameters["subwords"])
    except (TypeError, ValueError, AttributeError, InputError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error


def _unfolded(
    artefact: Artefact, tensors: Mapping[str, Array], words: Sequence[str], subwords: Subwords | None
) -> dict[str, Array]:
    """Return the rows and the vectors of a compact model, in float32 and in memory."""
    codes, steps, stretch = tensors[CODES], tensors.get(STEPS), artefact.array("stretch", np.float32)
    n, dim = len(words), stretch.size
    is_whole = codes.dtype == np.int8 and codes.shape == (n, dim)
    if not is_whole or steps is None or steps.dtype != np.float32 or steps.shape != (n,):
        raise StoreError(f"'{artefact.path}' is damaged: it does not hold one vector per word; make it again")
    if subwords is not None and subwords.dim != dim:
        raise StoreError(f"'{artefact.path}' is damaged: its n-grams do not fit its vectors; make it again")
    spelled = None if subwords is None else subwords.predict(words)
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of numbers that are too large is refused
        rows = codes * steps[:, None]
        vectors = mix(rows, stretch, spelled, share=0.0 if subwords is None else subwords.share)
    return {"vectors": vectors, ROWS: rows}


def _about_of(made: Mapping[str, Any]) -> dict[str, str]:
    about = made.get("about", {})
    if not isinstance(about, dict) or not all(isinstance(said, str) for said in about.values()):
        raise ValueError("what it tells about itself is no text")
    return dict(about)


def _sparse_of(artefact: Artefact) -> Array | None:
    """Return the vectors of a CSR matrix, or None if it is none; SciPy's own check passes over some that are not."""
    from scipy import sparse  # slow to import, and few vectors are sparse

    ids = (np.int32, np.int64)
    data, indices, indptr = (
        artefact.array(name, *dtypes) for name, dtypes in zip(SPARSE, ((np.float32,), ids, ids), strict=True)
    )
    width = artefact.parameters.get("columns")
    is_csr = (
        type(width) is int
        and len(data) == len(indices)
        and len(indptr) > 0
        and 0 <= width <= max(len(indptr), _WIDEST)
        and indptr[0] == 0
        and indptr[-1] == len(indices)
        and not (indptr[1:] < indptr[:-1]).any()
        and indices.min(initial=0) >= 0
        and indices.max(initial=-1) < width
    )
    if not is_csr:
        return None
    return sparse_vectors(sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width)))


def _check_scales(arrays: Mapping[str, Array], shape: tuple[int, ...], core: Any, damaged: str) -> None:
    """Refuse the arrays of a model with vectors of this ``shape`` that do not belong together."""
    if type(core) is not int:
        raise ValueError(f"{str(core)[:40]!r} where a whole number should be")
    for name in ("constant", "row_sums", "column_sums"):
        if arrays[name].shape != (core,):
            raise StoreError(
                f"{damaged}: {name} has shape {arrays[name].shape} and not {(core,)}; make it again"
            )
    if (
        not 0 < core <= shape[0]
        or arrays["rows"].shape != shape
        or arrays["signs"].shape != shape[1:]
        or arrays["stretch"].shape != shape[1:]
        or not (np.abs(arrays["signs"]) == 1).all()
    ):
        raise StoreError(f"{damaged}: its scales do not fit its vectors; make it again")
    for name, low, high in (
        ("stretch", 1 / LARGEST**2, LARGEST),
        ("constant", -LARGEST, LARGEST),
        ("row_sums", 0.0, MOST_PAIRS),
        ("column_sums", 0.0, MOST_PAIRS),
        ("counts", 0, MOST),
    ):
        if not ((arrays[name] >= low) & (arrays[name] <= high)).all():
            raise StoreError(f"{damaged}: {name} holds a value that cannot be; make it again")


def demand_finite(vectors: Array, words: Sequence[str]) -> None:
    """Raise :class:`InputError` where a vector that was just computed is not finite."""
    for row in rows_not_finite(vectors):
        raise InputError(
            f"the vector of '{words[row]}' came out with numbers that are not finite, because the counts, the recipe "
            "or the model hold numbers too large or too small to compute with; make them again"
        )


def check_vectors(model: Model) -> None:
    """Raise :class:`StoreError` where a vector is not finite, or a row of the factorisation; all are read."""
    for array in (model.vectors, model.rows):
        for row in rows_not_finite(array):
            raise StoreError(
                f"the model is damaged: the vector of '{model.words[row]}' is not finite; make it again"
            )
