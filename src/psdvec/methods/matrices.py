"""Matrices of words and contexts, for the methods that decompose them.

Goes in: a count store. Comes out: sparse matrices (words by contexts, both sides of a word counted), their
positive PMI, and their leading singular vectors. Products are those of our own solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError

Floats = npt.NDArray[np.float32]
GUARDS = 16  # singular vectors iterated beside the wanted ones, so that the last wanted ones converge too
VANISHING = 1e-5  # a singular value below this share of the first is float32 rounding


def context_matrix(counts: Any) -> Any:
    """Return how often each word (row) has each context (column), before or after it: H + Hᵀ, CSR float64."""
    from scipy import sparse

    n = len(counts.indptr) - 1
    H = sparse.csr_array((counts.values / UNIT, counts.indices, counts.indptr), shape=(n, n))
    both = sparse.csr_array(H + H.T)
    if both.nnz == 0:
        raise InputError("the count store holds no pair; count a longer text or a wider window")
    both.sort_indices()
    return both


def row_numbers(matrix: Any) -> npt.NDArray[np.int32]:
    """Return the row of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))


def positive_pmi(matrix: Any, *, shift: float, context_smoothing: float) -> Any:
    """Return max(log(#(w,c) Σ#(c)^α / (#(w) #(c)^α)) - log ``shift``, 0) of a context matrix, CSR float32.

    α is ``context_smoothing`` and ``shift`` the number of negative samples that skip-gram would draw (Levy,
    Goldberg and Dagan 2015).
    """
    from scipy import sparse

    if shift <= 0 or not 0 < context_smoothing <= 1:
        raise InputError(
            f"shift {shift} and context_smoothing {context_smoothing} make no PMI; give a shift above 0 and a "
            "smoothing above 0, at most 1"
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

    left: Floats
    values: npt.NDArray[np.float64]
    right: Floats


def leading_singular_vectors(matrix: Any, *, rank: int, seed: int) -> SingularVectors:
    """Return the ``rank`` leading singular vectors of a square CSR matrix, fewer where there are fewer.

    They are the eigenvectors of A Aᵀ, by block Lanczos (:func:`psdvec.solver.eigen.leading_eigenpairs`).
    """
    from psdvec.solver.devices.cpu import Cpu
    from psdvec.solver.eigen import leading_eigenpairs

    if rank < 1:
        raise InputError(f"{rank} dimensions cannot hold a vector; give 1 or more")
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
    """Return the function that multiplies a CSR matrix with a tall block."""
    from psdvec.solver.devices.cpu import product_into

    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    values = matrix.data.astype(np.float32)

    def times(block: Floats) -> Floats:
        product = np.zeros(block.shape, np.float32)
        product_into(indptr, indices, values, np.ascontiguousarray(block), product)
        return product

    return times


def widened(vectors: Floats, dim: int) -> Floats:
    """Return ``vectors`` with columns of zeros added up to ``dim``."""
    return np.pad(vectors, ((0, 0), (0, dim - vectors.shape[1]))).astype(np.float32, copy=False)


def unit_rows(vectors: Floats) -> Floats:
    """Return ``vectors`` with rows of length 1; rows of zeros stay."""
    from psdvec.vectors.neighbours import lengths_of

    return np.asarray(vectors / lengths_of(vectors)[:, None], dtype=np.float32)
