"""Rows that are mostly zeros, in the place of a matrix of vectors.

Goes in: a SciPy CSR matrix. Comes out: :class:`SparseRows`, which answers to the few operations that
:class:`~psdvec.vectors.embeddings.Embeddings`, :mod:`psdvec.evaluation.analogies` and
:mod:`psdvec.vectors.neighbours` ask of a NumPy matrix, so that the same code finds neighbours and answers analogies
of both. Products of rows are dense, a block at a time; the whole is never made dense.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def sparse_vectors(matrix: Any) -> Floats:
    """Return the rows of a CSR matrix as vectors for :class:`~psdvec.vectors.embeddings.Embeddings`.

    >>> from scipy import sparse
    >>> len(sparse_vectors(sparse.csr_array(np.eye(3))))
    3
    """
    matrix = matrix.astype(np.float32, copy=False)
    return cast(Floats, SparseRows(matrix))


def csr_of(vectors: Any) -> Any:
    """Return the CSR matrix of vectors that are sparse, None of others."""
    return vectors.matrix if isinstance(vectors, SparseRows) else None


class SparseRows:
    """An (n, d) matrix by rows; ``matrix`` is the CSR array it wraps."""

    ndim = 2
    __array_ufunc__ = None  # so that ``dense @ rows`` comes here

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def T(self) -> SparseRows:  # noqa: N802
        """Its transpose, to be multiplied with."""
        return SparseRows(self.matrix.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Return one row as a dense vector, or several as sparse rows."""
        if isinstance(rows, int | np.integer):
            return self.matrix[[int(rows)]].toarray()[0]
        return SparseRows(self.matrix[rows])

    def __truediv__(self, column: Floats) -> SparseRows:
        """Divide every row by its number in ``column``, (n, 1)."""
        return SparseRows(self.matrix.multiply(1 / column).tocsr())

    def __matmul__(self, other: Any) -> Floats:
        product = self.matrix @ (other.matrix if isinstance(other, SparseRows) else other)
        return np.asarray(product.toarray() if hasattr(product, "toarray") else product, dtype=np.float32)

    def __rmatmul__(self, other: Floats) -> Floats:
        return np.asarray((self.matrix.T @ other.T).T, dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.matrix.toarray(), dtype=dtype)

    def mean(self, axis: int) -> Floats:
        """Return the mean of all rows, a dense vector, as ``axis`` 0 asks for."""
        return np.asarray(self.matrix.mean(axis=axis), dtype=np.float32)
