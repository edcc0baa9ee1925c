"""Sparse rows of positive pointwise mutual information (Levy, Goldberg and Dagan 2015).

The vectors have as many dimensions as there are words; they are :class:`~psdvec.vectors.sparse.SparseRows`, so that no
dense (n, n) matrix is ever made.
"""

from __future__ import annotations

from psdvec.counts.matrix import Cooccurrence
from psdvec.methods.matrices import context_matrix, positive_pmi
from psdvec.progress import LogProgress, Progress
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sparse import sparse_vectors


def fit(
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
