"""Vectors that are mostly zeros, in place of a dense matrix.

:class:`SparseRows` wraps a SciPy CSR matrix and supports the few operations that
:class:`~psdvec.vectors.embeddings.Embeddings`, :mod:`psdvec.evaluation.analogies` and
:mod:`psdvec.vectors.neighbours` need of a NumPy matrix, so that the same code finds neighbours and solves analogies
with both. Products are dense, one block at a time; the whole matrix never is.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from psdvec.arrays import Array, Float32s


def sparse_vectors(matrix: Any) -> Float32s:
    """Return the rows of a CSR matrix as vectors for :class:`~psdvec.vectors.embeddings.Embeddings`.

    >>> from scipy import sparse
    >>> len(sparse_vectors(sparse.csr_array(np.eye(3))))
    3
    """
    matrix = matrix.astype(np.float32, copy=False)
    return cast(Float32s, SparseRows(matrix))


def csr_of(vectors: Any) -> Any:
    """Return the CSR matrix of sparse vectors, or None for dense ones."""
    return vectors.matrix if isinstance(vectors, SparseRows) else None


class SparseRows:
    """An (n, d) matrix stored by rows; ``matrix`` is the CSR array that it wraps."""

    ndim = 2
    __array_ufunc__ = None  # so that ``dense @ rows`` calls ``__rmatmul__``

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def T(self) -> SparseRows:  # noqa: N802
        """The transpose, to multiply by."""
        return SparseRows(self.matrix.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Return one row as a dense vector, or several as sparse rows."""
        if isinstance(rows, int | np.integer):
            return self.matrix[[int(rows)]].toarray()[0]
        return SparseRows(self.matrix[rows])

    def __truediv__(self, column: Float32s) -> SparseRows:
        """Divide each row by its entry of ``column``, (n, 1)."""
        return SparseRows(self.matrix.multiply(1 / column).tocsr())

    def __matmul__(self, other: Any) -> Float32s:
        product = self.matrix @ (other.matrix if isinstance(other, SparseRows) else other)
        return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float32)

    def __rmatmul__(self, other: Float32s) -> Float32s:
        return np.asarray((self.matrix.T @ other.T).T, dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.matrix.toarray(), dtype=dtype)

    def mean(self, axis: int) -> Float32s:
        """Return the mean of all rows (``axis`` 0) as a dense vector."""
        return np.asarray(self.matrix.mean(axis=axis), dtype=np.float32)
