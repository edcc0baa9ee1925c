"""How stable neighbours are: what becomes of them where other documents of the same kind had been read.

Resampling documents and fitting again, hundreds of times, would tell (Antoniak and Mimno 2018). :func:`stability` does
so a few times. What a refit changes is a matrix over all axes, the same for all words, and an error of each word. Which
words err alike, because they rest on the same documents, a few refits tell: each has as many numbers for a word as
there are axes. Further resamples are drawn from that, normal, with the same covariances between words and between axes
(docs/how-to/stability.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.counts.count import count_pairs
from psdvec.counts.vocabulary import Key, WordList, read_words
from psdvec.errors import InputError, StoreError, checked, demand_positive, demand_seed
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import arithmetic, limit_blas, resolve_workers
from psdvec.slices.contrasts import WIDTH
from psdvec.solver.fit import fit
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact, write_npy
from psdvec.storage.workspace import check_resumable, digest_of, open_workspace, read_piece, write_piece
from psdvec.topic_model.documents import Documents, Source, read_documents
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import Interval, largest_columns

KIND = "stability"
VERSION = 1
FEWEST_DOCUMENTS = 16
MOST_REFITS, MOST_RESAMPLES = 100, 100_000
HELD = 2.0  # how firmly a refit is held at a multiple of the model, by dimensions over words
CANDIDATES = 30  # words, for each that is shown, that may take its place
NEGLIGIBLE = 1e-9  # share of the largest variance of an axis below which it has none
_AT_ONCE = 1 << 23  # numbers of the resamples that are held at once


class Neighbour(NamedTuple):
    """A neighbour: its cosine, the share of resamples in which it stays among the nearest, and the cosine's bounds."""

    word: Key
    cosine: float
    stays: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Shown):
    """What :func:`stability` found: the vectors of a model, and what other documents would make of them.

    ``middle`` (n, d) float32: where resampled documents put each word, in the mean. ``errors`` (refits, n, d) float16:
    how far each refit was from there, in units in which all axes have variance 1. ``axes`` (d, d) float64: the square
    root of the covariance of the axes.
    """

    embeddings: Embeddings
    middle: Float32s
    errors: Array
    axes: Float64s
    documents: int
    sources: tuple[Mapping[str, Any], ...] = ()

    def _facts(self) -> dict[str, str]:
        return {
            "size": f"{count_of(len(self.embeddings), 'word')} × {self.embeddings.dim} dimensions",
            "from": f"{count_of(len(self.errors), 'refit')} of {count_of(self.documents, 'document')}",
        }

    @checked
    def most_similar(
        self, word: Key, *, topn: int = 10, resamples: int = 200, seed: int = 0
    ) -> list[Neighbour]:
        """Return the neighbours of a word, as the model has them, with how often each stays among the ``topn`` nearest.

        The bounds hold 95 of 100 of the cosines that resampled documents give.
        """
        demand_positive(topn, "topn")
        nearest = self.embeddings.most_similar(word, topn=topn)
        ids = self.embeddings.key_to_index
        rows = [ids[other] for other, _ in nearest]
        own = self.embeddings.get_index(word)
        chosen = np.array([own, *rows, *self._rivals(own, rows, CANDIDATES * topn)])
        cosines = self._drawn(chosen, resamples, seed)
        places = np.sum(cosines[:, None, :] > cosines[:, : len(rows), None], axis=2)
        stays = (places < topn).mean(axis=0)
        bounds = self._bounds(np.array([cosine for _, cosine in nearest]), cosines[:, : len(rows)])
        return [
            Neighbour(other, cosine, float(share), low, high)
            for (other, cosine), share, (_, low, high) in zip(nearest, stays, bounds, strict=True)
        ]

    @checked
    def similarity(self, a: Key, b: Key, *, resamples: int = 200, seed: int = 0) -> Interval:
        """Return the cosine of two words in the model, with the bounds that resampled documents give it."""
        value = self.embeddings.similarity(a, b)
        chosen = np.array([self.embeddings.get_index(a), self.embeddings.get_index(b)])
        if a == b:
            return Interval(value, value, value)
        return self._bounds(np.array([value]), self._drawn(chosen, resamples, seed))[0]

    def _bounds(self, values: Float64s, drawn: Float64s) -> list[Interval]:
        """Return the bounds of cosines whose resamples are the columns of ``drawn``; they hold the ``values``.

        Covariances from few refits are uncertain, hence 1 + 1/refits.
        """
        mean = drawn.mean(axis=0)
        reach = WIDTH * drawn.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(self.errors))
        low = np.maximum(np.minimum(mean - reach, values), -1)
        high = np.minimum(np.maximum(mean + reach, values), 1)
        return [Interval(*each) for each in zip(values.tolist(), low.tolist(), high.tolist(), strict=True)]

    def _rivals(self, own: int, rows: list[int], number: int) -> Int64s:
        """Return the words beside ``rows`` whose cosines with the word ``own`` are largest in expectation."""
        noise = float((self.axes**2).sum()) / (len(self.errors) * self.embeddings.dim)
        products = self.middle @ self.middle[own].astype(np.float64)
        squares = np.einsum("nd,nd->n", self.middle, self.middle, dtype=np.float64)
        for one in self.errors:
            errors = one.astype(np.float32)
            products += noise * (errors @ errors[own])
            squares += noise * np.einsum("nd,nd->n", errors, errors)
        scores = products / np.sqrt(np.maximum(squares, 1e-300))
        scores[[own, *rows]] = -np.inf
        left = len(scores) - len(rows) - 1
        return np.asarray(largest_columns(scores[None, :].astype(np.float32), min(number, left))[0])

    def _drawn(self, chosen: Int64s, resamples: int, seed: int) -> Float64s:
        """Return the cosines of the first of the ``chosen`` words with the others, (resamples, others)."""
        if not 2 <= resamples <= MOST_RESAMPLES:
            raise InputError(f"resamples={resamples} does not do; give 2 to {MOST_RESAMPLES:,}")
        demand_seed(seed)
        middle = np.asarray(self.middle[chosen])
        dim = middle.shape[1]
        generator = np.random.default_rng(seed)
        with limit_blas(1):  # so that the last bits are the same for any number of threads
            flat = np.hstack([one[chosen].astype(np.float64) for one in self.errors])
            # Normal errors with the covariance of these words: only the triangle of their factors matters.
            factor = (np.asarray(np.linalg.qr(flat.T, mode="r")).T / np.sqrt(flat.shape[1])).astype(
                np.float32
            )
            axes = self.axes.astype(np.float32)
            found: list[Float64s] = []
            step = max(_AT_ONCE // (len(chosen) * dim), 1)
            for begin in range(0, resamples, step):
                shape = (min(step, resamples - begin), factor.shape[1], dim)
                vectors = middle + factor @ generator.standard_normal(shape, np.float32) @ axes
                lengths = np.linalg.norm(vectors, axis=2)
                products = np.einsum("rd,rnd->rn", vectors[:, 0], vectors[:, 1:])
                found.append(products / np.maximum(lengths[:, :1] * lengths[:, 1:], 1e-30))
        return np.concatenate(found).astype(np.float64)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the folder ``path``, which :func:`psdvec.load` opens."""
        e = self.embeddings
        parameters = {"words": len(e), "dim": e.dim, "refits": len(self.errors), "documents": self.documents}
        sources = [dict(source) for source in self.sources]
        packed = WordList.pack(e.words)
        with create_artefact(
            path, kind=KIND, version=VERSION, parameters=parameters, sources=sources, overwrite=overwrite
        ) as writer:
            writer.add_array("words", packed.blob)
            writer.add_array("word_offsets", packed.offsets)
            arrays = (e.vectors, self.middle, self.errors, self.axes)
            for name, array in zip(_ARRAYS, arrays, strict=True):
                with (writer.folder / f"{name}.npy").open("wb") as file:
                    write_npy(file, np.asarray(array, _ARRAYS[name][0]))
                writer.add_file(f"{name}.npy")


_ARRAYS: dict[str, tuple[Any, int]] = {
    "vectors": (np.float32, 2), "middle": (np.float32, 2), "errors": (np.float16, 3), "axes": (np.float64, 2)
}  # fmt: skip


def read_stability(path: str | Path | Artefact) -> Stability:
    """Open a folder that :meth:`Stability.save` wrote; its arrays are mapped."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    words, made = read_words(artefact), artefact.parameters
    vectors, middle, errors, axes = (
        artefact.array(name, dtype, dimensions=dimensions) for name, (dtype, dimensions) in _ARRAYS.items()
    )
    n, d = vectors.shape
    said = [made.get(name) for name in ("words", "dim", "refits", "documents")]
    fits = len(words) == n and middle.shape == (n, d) and errors.shape[1:] == (n, d) and axes.shape == (d, d)
    if not fits or said[:3] != [n, d, len(errors)] or type(said[3]) is not int or not len(errors):
        raise StoreError(f"'{artefact.path}' is damaged: its parts do not fit together; make it again")
    if not all(np.isfinite(array).all() for array in (vectors, middle, errors, axes)):
        raise StoreError(f"'{artefact.path}' is damaged: a number is not finite; make it again")
    return Stability(Embeddings(words, vectors), middle, errors, axes, said[3], artefact.sources)


@checked
def stability(
    model: Model | str | Path,
    documents: Source,
    *,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    refits: int = 4,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Stability:
    """Find out how the neighbours of words would differ, had other documents of the same kind been read.

    Parameters
    ----------
    model
        A model that psdvec has fitted, or its folder.
    documents
        The documents that it was fitted to, in any form that :func:`psdvec.topics` reads; they are what is resampled.
    column, where, encoding, tokenizer
        How they are read; see :func:`psdvec.topics`.
    refits
        How many times documents are drawn and a model is fitted to them, which is what takes time; more are better.
    seed
        Of the draws.
    output
        Folder to write to. If the work is interrupted, refits that are done are kept beside it.

    Examples
    --------
    >>> texts = [f"{a} drinks {b} with {c}" for a in "ann bob".split() for b in "tea milk".split()
    ...          for c in "joy care ease calm zest".split()]
    >>> import psdvec
    >>> model = psdvec.train(texts, dim=3, min_count=2, quiet=True)
    >>> found = stability(model, texts, quiet=True)
    >>> 0 <= found.most_similar("tea", topn=3)[0].stays <= 1
    True
    """
    progress = SilentProgress() if quiet else progress
    demand_positive(refits, "refits")
    if refits > MOST_REFITS:
        raise InputError(f"refits={refits} are more than anyone needs; give at most {MOST_REFITS}")
    demand_seed(seed)
    threads = resolve_workers(workers)
    check_resumable(output, kind=KIND, overwrite=overwrite)
    own = model if isinstance(model, Embeddings) else load(model, progress=progress)
    if not isinstance(own, Model) or own.adopted or own.noun != "word" or "window" not in own.counting:
        raise InputError(
            "only a model that psdvec has fitted to text can be fitted again; train one on your documents first"
        )
    read = read_documents(
        documents, own, column=column, where=where, encoding=encoding, tokenizer=tokenizer, progress=progress
    )
    _check_documents(own, read, progress)
    with ExitStack() as stack:
        work = None
        if output is not None:
            plan = {
                "model": dict(own.origin), "documents": digest_of(read.tokens, read.starts), "seed": seed,
                "arithmetic": arithmetic(),
            }  # fmt: skip
            work = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        refitted: list[Float32s] = []
        with progress.stage("refits", total=refits, unit="refits") as stage:
            for number in range(refits):
                refitted.append(_kept(own, read, number, seed=seed, workers=threads, work=work))
                stage.advance(1)
        found = _compare(own, refitted, documents=len(read))
        if output is not None:
            found.save(output, overwrite=overwrite)
    return found


def _check_documents(model: Model, read: Documents, progress: Progress) -> None:
    if len(read) < FEWEST_DOCUMENTS:
        raise InputError(
            f"there are only {count_of(len(read), 'document')}, and resampling takes {FEWEST_DOCUMENTS} or more; "
            "give a document a line, or smaller documents"
        )
    seen, known = int((read.tokens >= 0).sum()), int(model.counts.sum())
    if not seen:
        raise InputError("no document has a word of the model; give the documents that it was fitted to")
    if abs(seen - known) > known / 10:
        progress.say(
            f"the documents have {seen:,} words of the model, which was fitted to {known:,}: what is said holds for as "
            "much text as these documents have"
        )


def _kept(
    model: Model, read: Documents, number: int, *, seed: int, workers: int, work: Path | None
) -> Float32s:
    """Return what a refit says, from the workspace if it was done before."""
    file = None if work is None else work / f"refit-{number}"
    if file is not None and file.exists():
        return np.asarray(read_piece(file)[1]["vectors"])
    vectors = refit(model, read, np.random.default_rng([seed, number]), workers=workers)
    if file is not None:
        write_piece(file, {"number": number}, vectors=vectors)
    return vectors


def refit(model: Model, read: Documents, generator: np.random.Generator, *, workers: int) -> Float32s:
    """Draw as many documents as there are, with replacement, and fit the words of ``model`` to them, (n, d).

    Words that were not drawn, or too seldom, have zeros.
    """
    how = model.counting
    drawn = np.sort(generator.integers(0, len(read), len(read)))
    counts = count_pairs(
        _sentences(model, read, drawn), vocabulary=model.words, window=how["window"], weighting=how["weighting"],
        gaps=how["gaps"], workers=workers, quiet=True,
    )  # fmt: skip
    core = None if model.core == len(model) else model.core
    again = fit(counts, dim=model.dim, changes=asdict(model.recipe), core=core, workers=workers, quiet=True)
    vectors = np.zeros(model.vectors.shape, np.float32)
    vectors[[model.key_to_index[word] for word in again.words]] = again.vectors
    return vectors


def _sentences(model: Model, read: Documents, drawn: Int64s) -> Iterator[list[str]]:
    """Yield the words of the ``drawn`` documents; where the model has no word, there is one that it cannot have."""
    other = "x" * (1 + max((len(word) for word in model.words), default=0))
    names = np.array([*model.words, other], dtype=object)
    for document in drawn.tolist():
        yield names[read.tokens[read.starts[document] : read.starts[document + 1]]].tolist()


def _compare(model: Model, refitted: list[Float32s], *, documents: int) -> Stability:
    """Tell what refits change in all words alike from what they change in each word."""
    n, d = model.vectors.shape
    vectors = np.asarray(model.vectors, np.float64)
    with limit_blas(1):
        turned = [_turned(one, vectors) for one in refitted]  # in single precision, as they are many
        gram = vectors.T @ vectors
        firmness = HELD * d / n * np.trace(gram) / d
        held = gram + firmness * np.eye(d)
        middle = np.zeros_like(vectors)
        for one in turned:
            scale = float((one * vectors).sum() / max(np.trace(gram), 1e-300))
            right = vectors.T @ one + firmness * scale * np.eye(d)
            middle += vectors @ np.linalg.lstsq(held, right, rcond=None)[0] / len(turned)
        errors = np.zeros((len(turned), n, d), np.float16)
        covariance = np.zeros((d, d))
        for place, one in enumerate(turned):
            off = one - middle
            own = off.T @ off / n
            covariance += own / len(turned)
            errors[place] = off @ _root(own, -0.5)
        axes = _root(covariance, 0.5)
    shown = Embeddings(model.words, np.asarray(model.vectors))
    sources = (model.provenance,)
    return Stability(shown, middle.astype(np.float32), errors, axes, documents, sources)


def _turned(one: Float32s, onto: Float64s) -> Float32s:
    """Return vectors rotated to where they are nearest to others (Procrustes)."""
    left, _, right = np.linalg.svd(one.T @ onto)
    return np.asarray(one @ (left @ right), np.float32)


def _root(covariance: Float64s, power: float) -> Float64s:
    """Return the symmetric power of a covariance; axes without any variance stay without."""
    values, vectors = np.linalg.eigh(covariance)
    real = values > NEGLIGIBLE * max(float(values.max(initial=0.0)), 1e-300)
    powers = np.where(real, np.where(real, values, 1.0) ** power, 0.0)
    return np.asarray((vectors * powers) @ vectors.T)
