"""Sparse coding of given vectors in more directions than they have dimensions (Faruqui et al. 2015).

The given vectors, by default word2vec's of the corpus, become vectors of ``factor`` times as many dimensions, most of
them zero. Over all words, a dictionary D and codes A are sought that minimise ``Σ |x - a D|² / 2 + l1 |a|₁``, with the
vectors x scaled to length 1. Codes and dictionary are improved in turn, by products of whole matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psdvec.arrays import Array, Float32s
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError
from psdvec.formats import load
from psdvec.methods import gensim
from psdvec.methods.matrices import unit_rows
from psdvec.progress import LogProgress, Progress
from psdvec.resources import limit_threads
from psdvec.text.corpus import Corpus, Sentences
from psdvec.vectors.embeddings import Embeddings

BLOCK = 4096  # words coded at a time
STEPS = 20  # steps of the codes in each pass, which starts from the codes of the pass before
LAST_STEPS = 100


def fit(
    corpus: Corpus | Sentences | None,
    *,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    vectors: str | None = None,
    factor: int = 5,
    l1: float = 0.05,
    nonnegative: bool = False,
    passes: int = 10,
) -> Embeddings:
    """Code the vectors in the file or folder ``vectors``, or word2vec's of ``corpus`` in ``dim`` dimensions.

    Parameters
    ----------
    factor
        How many times as many dimensions the codes have as the given vectors; the paper used 5.
    l1
        The cost of the size of a code: the greater, the more zeros.
    nonnegative
        Whether to forbid negative numbers in codes.
    passes
        How often codes and dictionary are improved in turn.
    """
    if vectors is not None:
        given = _words_of(load(Path(vectors)), vocabulary)
    elif corpus is None:
        raise InputError("there is neither a corpus nor vectors to code; give one of the two")
    else:
        given = gensim.fit(
            corpus, vocabulary=vocabulary, dim=dim, seed=seed, workers=workers, progress=progress
        )
    return encode(
        given, factor=factor, l1=l1, nonnegative=nonnegative, passes=passes, seed=seed, workers=workers,
        progress=progress,
    )  # fmt: skip


def encode(
    embeddings: Embeddings,
    *,
    factor: int = 5,
    l1: float = 0.05,
    nonnegative: bool = False,
    passes: int = 10,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Embeddings:
    """Return the same words with sparse codes of their vectors; see :func:`fit`."""
    if factor < 1 or l1 <= 0 or passes < 1:
        raise InputError(
            f"factor {factor}, l1 {l1} and passes {passes} must all be above 0; give greater ones"
        )
    X = unit_rows(np.asarray(embeddings.vectors))
    D = _first_dictionary(X, factor * embeddings.dim, np.random.default_rng(seed))
    A = np.zeros((len(X), len(D)), np.float32)
    with limit_threads(workers), progress.stage("sparse coding", total=passes, unit="passes") as stage:
        for number in range(1, passes + 1):
            last = number == passes
            lower_codes(X, D, A, l1=l1, nonnegative=nonnegative, steps=LAST_STEPS if last else STEPS)
            if not last:
                D = better_dictionary(X, D, A)
            stage.advance(1)
            stage.note(f"objective {objective(X, D, A, l1=l1) / len(X):.5f}")
    return Embeddings(embeddings.words, A, embeddings.counts)


def objective(X: Float32s, D: Float32s, A: Float32s, *, l1: float) -> float:
    """Return Σ |x - a D|² / 2 + l1 |a|₁; ``X`` (n, d) vectors, ``D`` (k, d) dictionary, ``A`` (n, k) codes."""
    total = 0.0
    for rows in _blocks(len(X)):
        rest = X[rows] - A[rows] @ D
        total += 0.5 * float(np.vdot(rest, rest)) + l1 * float(np.abs(A[rows]).sum())
    return total


def lower_codes(X: Float32s, D: Float32s, A: Float32s, *, l1: float, nonnegative: bool, steps: int) -> None:
    """Lower the objective over the codes ``A``, in place, by accelerated proximal gradient (FISTA with restarts)."""
    step = 1 / max(float(np.linalg.eigvalsh((D.T @ D).astype(np.float64))[-1]), 1e-12)
    for rows in _blocks(len(X)):
        x, old = X[rows], A[rows].copy()
        ahead, t = old.copy(), 1.0
        for _ in range(steps):
            new = _shrunk(ahead - step * ((ahead @ D - x) @ D.T), l1 * step, nonnegative)
            if float(np.vdot(ahead - new, new - old)) > 0:  # momentum points uphill
                t = 1.0
            faster = (1 + math.sqrt(1 + 4 * t * t)) / 2
            ahead = new + (t - 1) / faster * (new - old)
            old, t = new, faster
        A[rows] = old


def _shrunk(codes: Array, amount: float, nonnegative: bool) -> Float32s:
    """Move every number towards zero by ``amount``, and negative ones to zero if ``nonnegative``."""
    if nonnegative:
        return np.asarray(np.maximum(codes - amount, 0), np.float32)
    return np.asarray(codes - np.clip(codes, -amount, amount), np.float32)


def better_dictionary(X: Float32s, D: Float32s, A: Float32s) -> Float32s:
    """Return a dictionary with a lower objective: each atom in turn takes its best value of length 1 at most."""
    gram, target = (A.T @ A).astype(np.float64), (A.T @ X).astype(np.float64)
    better = D.astype(np.float64)
    for k in np.flatnonzero(np.diag(gram) > 0):
        atom = better[k] + (target[k] - gram[k] @ better) / gram[k, k]
        better[k] = atom / max(float(np.linalg.norm(atom)), 1.0)
    return better.astype(np.float32)


def _first_dictionary(X: Float32s, atoms: int, generator: np.random.Generator) -> Float32s:
    """Return the vectors of randomly chosen words, slightly perturbed so that no two are equal."""
    chosen = generator.permutation(np.resize(generator.permutation(len(X)), atoms))
    shaken = X[chosen] + np.float32(0.01) * generator.standard_normal((atoms, X.shape[1]), dtype=np.float32)
    return unit_rows(shaken)


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, rows, BLOCK))


def _words_of(embeddings: Embeddings, vocabulary: Vocabulary) -> Embeddings:
    """Return the vectors of those words of the vocabulary that have one."""
    known = [word for word in vocabulary.words if word in embeddings]
    if not known:
        raise InputError(
            "no word of the vocabulary is among the vectors to code; give vectors of these words"
        )
    return embeddings.select(known)
