"""Canonical correlations of words and contexts (Stratos, Collins and Hsu 2015; their program is Singular).

The vectors are the rows of U Σ^p, scaled to length 1, where U Σ Vᵀ approximates
``#(w,c)^t / sqrt(#(w)^t (#(c)^t)^α)``: all counts are raised to the power t first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.methods.matrices import (
    context_matrix,
    leading_singular_vectors,
    row_numbers,
    unit_rows,
    widened,
)
from psdvec.progress import LogProgress, Progress
from psdvec.resources import limit_threads
from psdvec.vectors.embeddings import Embeddings


def fit(
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
