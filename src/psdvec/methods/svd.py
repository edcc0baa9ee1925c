"""Methods that factorise a matrix of words and contexts: positive PMI itself, its SVD, and CCA.

PPMI and SVD are those of Levy, Goldberg and Dagan (2015), CCA that of Stratos, Collins and Hsu (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.methods.matrices import (
    context_matrix,
    leading_singular_vectors,
    positive_pmi,
    row_numbers,
    unit_rows,
    widened,
)
from psdvec.progress import LogProgress, Progress
from psdvec.resources import limit_threads
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sparse import sparse_vectors

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


def fit(
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
    from scipy import sparse

    words, contexts = matrix.sum(axis=1) ** root, matrix.sum(axis=0) ** (root * context_smoothing)
    values = matrix.data**root / np.sqrt(words[row_numbers(matrix)] * contexts[matrix.indices])
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
