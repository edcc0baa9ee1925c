"""Methods that factorise a matrix of words and contexts: positive PMI itself, its SVD, and CCA.

PPMI and SVD are those of Levy, Goldberg and Dagan (2015), CCA that of Stratos, Collins and Hsu (2015). From counts come
sparse matrices of words by contexts, on both sides of a word; from these their positive PMI and their leading singular
vectors, found with the products and eigenvectors of our own solver.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from psdvec.arrays import Float32s, Float64s, Int32s
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import InputError, demand_positive
from psdvec.kernels import kernel
from psdvec.progress import LogProgress, Progress
from psdvec.resources import in_stretches, limit_threads, thread_limit
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.rounds import leading_eigenpairs
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import say_empty
from psdvec.vectors.neighbours import lengths_of, sparse_vectors

GUARDS = 16  # singular vectors computed beyond those wanted, so that the last of these converge too
VANISHING = 1e-5  # a singular value below this share of the first is only float32 rounding
BLOCKS = 128  # blocks of rows of a sparse matrix, each row of one thread
COLUMNS = 512  # columns taken at a time: 512 rows of a block 320 wide are 0.6 MB and stay in cache


# Sparse rows of positive pointwise mutual information (Levy, Goldberg and Dagan 2015).


def fit_ppmi(
    counts: Cooccurrence,
    *,
    progress: Progress = LogProgress(),
    shift: float = 1.0,
    context_smoothing: float = 0.75,
) -> Embeddings:
    """Make one sparse row of positive PMI per word.

    Parameters
    ----------
    shift
        log ``shift`` is subtracted from every PMI; it is the number of negative samples that skip-gram would draw.
    context_smoothing
        The frequencies of contexts are raised to this power, so that rare contexts weigh less.
    """
    with progress.stage("positive PMI", total=None, unit="pairs") as stage:
        pmi = positive_pmi(context_matrix(counts), shift=shift, context_smoothing=context_smoothing)
        stage.advance(pmi.nnz)
    return Embeddings(counts.vocabulary.words, sparse_vectors(pmi), counts.vocabulary.counts)


# Truncated SVD of the positive PMI matrix (Levy, Goldberg and Dagan 2015).


def fit_svd(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    shift: float = 1.0,
    context_smoothing: float = 0.75,
    power: float = 0.5,
    add_contexts: bool = False,
) -> Embeddings:
    """Factorise the positive PMI matrix of ``counts``.

    Parameters
    ----------
    shift, context_smoothing
        See :func:`fit_ppmi`.
    power
        p of U Σ^p; 1 is the SVD of textbooks, which the authors advise against.
    add_contexts
        Whether to add to each word's vector its vector as a context, both scaled to length 1 (w+c).
    """
    with limit_threads(workers), progress.stage("SVD of positive PMI", total=None, unit="pairs") as stage:
        pmi = positive_pmi(context_matrix(counts), shift=shift, context_smoothing=context_smoothing)
        found = leading_singular_vectors(pmi, rank=dim, seed=seed)
        stage.advance(pmi.nnz)
    scale = (found.values**power).astype(np.float32)
    vectors = found.left * scale
    if add_contexts:
        vectors = unit_rows(vectors) + unit_rows(found.right * scale)
    return Embeddings(counts.vocabulary.words, widened(vectors, dim, progress), counts.vocabulary.counts)


# Canonical correlations of words and contexts (Stratos, Collins and Hsu 2015; their program is Singular).


def fit_cca(
    counts: Cooccurrence,
    *,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    root: float = 0.5,
    context_smoothing: float = 0.75,
    power: float = 0.5,
) -> Embeddings:
    """Factorise the matrix of scaled correlations of ``counts``.

    Parameters
    ----------
    root
        t: counts are raised to this power first, which evens out their variances; 1 is plain CCA.
    context_smoothing
        α: the counts of contexts are raised to this power as well.
    power
        p: singular values are raised to this power; 0 is CCA proper.
    """
    if not 0 < root <= 1:
        raise InputError(f"root is {root}; give a power above 0 and at most 1")
    with limit_threads(workers), progress.stage("canonical correlations", total=None, unit="pairs") as stage:
        matrix = correlations(context_matrix(counts), root=root, context_smoothing=context_smoothing)
        found = leading_singular_vectors(matrix, rank=dim, seed=seed)
        stage.advance(matrix.nnz)
    vectors = unit_rows(found.left * (found.values**power).astype(np.float32))
    return Embeddings(counts.vocabulary.words, widened(vectors, dim, progress), counts.vocabulary.counts)


def correlations(matrix: Any, *, root: float, context_smoothing: float) -> Any:
    """Return #(w,c)^t / sqrt(#(w)^t (#(c)^t)^α) of a context matrix, as CSR with the same pattern."""
    words, contexts = matrix.sum(axis=1) ** root, matrix.sum(axis=0) ** (root * context_smoothing)
    values = matrix.data**root / np.sqrt(words[row_numbers(matrix)] * contexts[matrix.indices])
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


# Matrices of words and contexts, and their leading singular vectors.


def context_matrix(counts: Cooccurrence) -> Any:
    """Return how often each word (row) has each context (column) before or after it: H + Hᵀ, CSR float64."""
    n = len(counts.indptr) - 1
    H = sparse.csr_array((counts.values / UNIT, counts.indices, counts.indptr), shape=(n, n))
    both = sparse.csr_array(H + H.T)
    if both.nnz == 0:
        raise InputError("the counts hold no pairs; count a longer text, or with a wider window")
    both.sort_indices()
    return both


def row_numbers(matrix: Any) -> Int32s:
    """Return the row number of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))


def positive_pmi(matrix: Any, *, shift: float, context_smoothing: float) -> Any:
    """Return max(log(#(w,c) Σ#(c)^α / (#(w) #(c)^α)) - log ``shift``, 0) of a context matrix, CSR float32.

    α is ``context_smoothing``, and ``shift`` is the number of negative samples that skip-gram would draw (Levy,
    Goldberg and Dagan 2015).
    """
    if shift <= 0 or not 0 < context_smoothing <= 1:
        raise InputError(
            f"no PMI can be computed with shift {shift} and context_smoothing {context_smoothing}; give a shift above "
            "0, and a smoothing above 0 and at most 1"
        )
    words, contexts = matrix.sum(axis=1), matrix.sum(axis=0)
    powers = np.where(contexts > 0, contexts, 1.0) ** context_smoothing * (contexts > 0)
    values = np.log(matrix.data * powers.sum() / (words[row_numbers(matrix)] * powers[matrix.indices]))
    values -= np.log(shift)
    pmi = sparse.csr_array(
        (np.maximum(values, 0).astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    pmi.eliminate_zeros()
    return pmi


@dataclass(frozen=True)
class SingularVectors:
    """``left`` (n, k) and ``right`` (m, k) float32 with orthonormal columns, ``values`` (k,) float64, falling."""

    left: Float32s
    values: Float64s
    right: Float32s


def leading_singular_vectors(matrix: Any, *, rank: int, seed: int) -> SingularVectors:
    """Return the ``rank`` leading singular vectors of a square CSR matrix, or as many as it has.

    The left ones are the eigenvectors of A Aᵀ, found by block Lanczos
    (:func:`psdvec.solver.rounds.leading_eigenpairs`).
    """
    demand_positive(rank, "dim")
    n = matrix.shape[0]
    forth, back = _product_with(matrix), _product_with(matrix.T.tocsr())
    count = min(rank + GUARDS, n)
    pairs = leading_eigenpairs(
        Cpu(), lambda block: forth(back(block)), n, count=count, spectrum="positive", seed=seed
    )
    values = np.sqrt(np.maximum(pairs.values[:rank], 0))
    kept = values > VANISHING * max(values[0], 1e-30)
    left = np.ascontiguousarray(pairs.vectors[:, :rank][:, kept])
    right = back(left) / values[kept].astype(np.float32)
    return SingularVectors(left, values[kept], right)


def _product_with(matrix: Any) -> Any:
    """Return a function that multiplies a CSR matrix by a tall block."""
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    values, bounds = matrix.data.astype(np.float32), deal_rows(indptr, matrix.shape[0])

    def times(block: Float32s) -> Float32s:
        block, threads = np.ascontiguousarray(block), thread_limit()
        product = np.zeros(block.shape, np.float32)

        def add_rows(begin: int, end: int) -> None:
            product_into(product, indptr, indices, values, block, bounds, begin, end)

        with ThreadPoolExecutor(threads) as pool:
            in_stretches(pool, add_rows, BLOCKS, threads=threads)
        return product

    return times


def widened(vectors: Float32s, dim: int, progress: Progress) -> Float32s:
    """Return ``vectors`` with columns of zeros added up to ``dim``, and say so."""
    say_empty(progress, int(vectors.any(axis=0).sum()), dim, words=len(vectors))
    return np.pad(vectors, ((0, 0), (0, dim - vectors.shape[1]))).astype(np.float32, copy=False)


def unit_rows(vectors: Float32s) -> Float32s:
    """Return ``vectors`` with rows scaled to length 1; rows of zeros stay zeros."""
    return np.asarray(vectors / lengths_of(vectors)[:, None], dtype=np.float32)


# A sparse matrix by rows times a tall block, block of rows by block, so that each row belongs to one thread.


# indptr int64[n+1]; int64[BLOCKS+1] comes back
@kernel
def deal_rows(indptr, n):
    """Cut the first n rows into blocks with equally many pairs, so that any number of threads gets equal work."""
    shares = np.arange(1, BLOCKS) * (indptr[n] / BLOCKS)
    bounds = np.zeros(BLOCKS + 1, np.int64)
    bounds[1:-1] = np.minimum(np.searchsorted(indptr[: n + 1], shares), n)
    bounds[-1] = n
    return bounds


# indptr int64[>n], indices int32[nnz], values float32[nnz], Q and Y float32[n, k]; bounds int64[BLOCKS+1]
@kernel(fastmath=True, error_model="numpy")
def product_into(Y, indptr, indices, values, Q, bounds, begin, end):
    """Add the first n rows and columns of the sparse matrix times Q to Y, four pairs at a time, columns in blocks.

    Only the rows of the blocks ``begin`` to ``end`` of :func:`deal_rows` are computed.
    """
    n, d = Q.shape
    for block in range(begin, end):
        lo, hi = bounds[block], bounds[block + 1]
        cursor = indptr[lo:hi].copy()
        for first in range(0, n, COLUMNS):
            last = min(first + COLUMNS, n)
            for i in range(lo, hi):
                k = stop = cursor[i - lo]
                while stop < indptr[i + 1] and indices[stop] < last:
                    stop += 1
                cursor[i - lo] = stop
                y = Y[i]
                while k + 4 <= stop:
                    q0, q1, q2, q3 = Q[indices[k]], Q[indices[k + 1]], Q[indices[k + 2]], Q[indices[k + 3]]
                    v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
                    for c in range(d):
                        y[c] += v0 * q0[c] + v1 * q1[c] + v2 * q2[c] + v3 * q3[c]
                    k += 4
                while k < stop:
                    q0, v0 = Q[indices[k]], values[k]
                    for c in range(d):
                        y[c] += v0 * q0[c]
                    k += 1
