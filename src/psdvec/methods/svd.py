"""Truncated SVD of the positive PMI matrix (Levy, Goldberg and Dagan 2015).

The vectors are the rows of U Σ^p; those of V Σ^p can be added to them.
"""

from __future__ import annotations

import numpy as np

from psdvec.counts.matrix import Cooccurrence
from psdvec.methods.matrices import context_matrix, leading_singular_vectors, positive_pmi, unit_rows, widened
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
    shift: float = 1.0,
    context_smoothing: float = 0.75,
    power: float = 0.5,
    add_contexts: bool = False,
) -> Embeddings:
    """Factorise the positive PMI matrix of ``counts``.

    Parameters
    ----------
    shift, context_smoothing
        See :func:`psdvec.methods.ppmi.fit`.
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
