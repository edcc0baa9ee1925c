"""GloVe: weighted least squares of the logarithms of counts (Pennington, Socher and Manning 2014).

The vector of a word is the sum of its vectors as a word and as a context. Every pair is visited once per epoch, always
in the same random order, and the loss is reported. Loss and steps are defined in :mod:`tests.reference.glove`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Float32s, Int32s
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError, demand_positive
from psdvec.kernels import kernel
from psdvec.methods.matrices import context_matrix, row_numbers
from psdvec.progress import LogProgress, Progress
from psdvec.resources import in_stretches, limit_threads, thread_limit
from psdvec.vectors.embeddings import Embeddings

# GloVe's pass over all pairs on the CPU, in numba.


# rows, columns int32[m]; logs, weights float32[m]; vectors, squares float32[2, n, d+1], the last column the bias
@kernel(fastmath=True, error_model="numpy")
def pass_over_pairs(rows, columns, logs, weights, vectors, squares, eta, begin, end):
    """Take one AdaGrad step per pair from ``begin`` to ``end``; return Σ f(X) (w·c + b - log X)² / 2."""
    d, loss = vectors.shape[2] - 1, 0.0
    for k in range(begin, end):
        w, c = vectors[0, rows[k]], vectors[1, columns[k]]
        w_squares, c_squares = squares[0, rows[k]], squares[1, columns[k]]
        difference = w[d] + c[d] - logs[k]
        for i in range(d):
            difference += w[i] * c[i]
        weighted = weights[k] * difference
        loss += 0.5 * weighted * difference
        step = np.float32(eta * weighted)
        for i in range(d):
            w_gradient, c_gradient = step * c[i], step * w[i]
            w[i] -= w_gradient / np.sqrt(w_squares[i])
            c[i] -= c_gradient / np.sqrt(c_squares[i])
            w_squares[i] += w_gradient * w_gradient
            c_squares[i] += c_gradient * c_gradient
        w[d] -= step / np.sqrt(w_squares[d])
        c[d] -= step / np.sqrt(c_squares[d])
        w_squares[d] += step * step
        c_squares[d] += step * step
    return loss


class WeighedPairs(NamedTuple):
    """Pairs in the order in which they are visited, with the logarithms of their counts, and weights; all (m,)."""

    rows: Int32s
    columns: Int32s
    logs: Float32s
    weights: Float32s


def fit(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    x_max: float = 10.0,
    alpha: float = 0.75,
    eta: float = 0.05,
    epochs: int = 25,
) -> Embeddings:
    """Fit vectors by AdaGrad; the same seed gives the same vectors with one worker, and similar ones with more.

    Parameters
    ----------
    x_max, alpha
        A pair seen x times has weight ``min((x / x_max)^alpha, 1)``.
    eta
        The initial step of AdaGrad.
    epochs
        Passes over all pairs.
    """
    demand_positive(dim, "dim")
    if min(x_max, eta) <= 0 or epochs < 1:
        raise InputError(
            f"x_max {x_max}, eta {eta} and epochs {epochs} must all be above 0; give greater ones"
        )
    generator = np.random.default_rng(seed)
    pairs = weigh_pairs(context_matrix(counts), x_max=x_max, alpha=alpha, generator=generator)
    vectors = first_vectors(len(counts), dim, generator)
    with limit_threads(workers), progress.stage("GloVe", total=epochs, unit="epochs") as stage:
        for loss in descend(pairs, vectors, eta=eta, epochs=epochs):
            stage.advance(1)
            stage.note(f"loss {loss / len(pairs.rows):.5f}")
    together = vectors[0, :, :dim] + vectors[1, :, :dim]
    return Embeddings(counts.vocabulary.words, together, counts.vocabulary.counts)


def weigh_pairs(matrix: Any, *, x_max: float, alpha: float, generator: np.random.Generator) -> WeighedPairs:
    """Return the pairs of a context matrix in random order, with the logarithms of their counts, and weights."""
    order = generator.permutation(matrix.nnz)
    values = matrix.data[order]
    return WeighedPairs(
        row_numbers(matrix)[order],
        matrix.indices[order].astype(np.int32),
        np.log(values).astype(np.float32),
        np.minimum((values / x_max) ** alpha, 1).astype(np.float32),
    )


def first_vectors(words: int, dim: int, generator: np.random.Generator) -> Float32s:
    """Return random vectors of words and contexts, (2, n, dim + 1); the last column holds the biases."""
    vectors = generator.random((2, words, dim + 1), dtype=np.float32)
    vectors -= np.float32(0.5)
    vectors /= np.float32(dim + 1)
    return vectors


def descend(pairs: WeighedPairs, vectors: Float32s, *, eta: float, epochs: int) -> Iterator[float]:
    """Change ``vectors`` in place, epoch by epoch, and yield the loss of each."""
    squares, threads = np.ones_like(vectors), thread_limit()

    def step(begin: int, end: int) -> float:
        return float(pass_over_pairs(*pairs, vectors, squares, eta, begin, end))

    with ThreadPoolExecutor(threads) as pool:
        for _ in range(epochs):
            yield sum(in_stretches(pool, step, len(pairs.rows), threads=threads))
