"""Leading eigenpairs of a symmetric operator that is known only by its products with tall blocks.

Goes in: a function from (n, k) to (n, k) float32 blocks, on the device of a backend. Comes out: :class:`Eigenpairs`,
the largest in absolute value or the largest algebraically. Block Lanczos from a random block for a cold start; for a
warm one a Nyström step, which costs one product, or a Rayleigh-Ritz step, which costs two and never loses
ground; section 7 of ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psdvec.solver.devices import Backend, Tall

Floats = npt.NDArray[np.float64]
Operator = Callable[[Tall], Tall]

BLOCK = 64  # columns a Lanczos step: wide enough for fast products, narrow enough for a deep Krylov space
BREADTH = 4.0  # Krylov basis vectors a wanted pair; see docs/theory.md for what was measured
DEPTH = 8  # Lanczos steps at least
NEGLIGIBLE = 1e-5  # a column that shrinks to this share of its length was a combination of others
SINGULAR = 1e-6  # eigenvalues below this share of the largest are float32 rounding


@dataclass(frozen=True)
class Eigenpairs:
    """``vectors`` (n, k) float32 with orthonormal columns, ``values`` (k,) float64, the wanted end first."""

    vectors: Tall
    values: Floats


def leading_eigenpairs(
    backend: Backend, operator: Operator, n: int, *, count: int, spectrum: str, seed: int
) -> Eigenpairs:
    """Return ``count`` leading eigenpairs by block Lanczos with full reorthogonalisation.

    Parameters
    ----------
    operator
        Multiplies the symmetric (n, n) operator with an (n, k) block.
    spectrum
        ``"signed"``: largest in absolute value; ``"positive"``: largest algebraically.
    """
    width = krylov_width(count)
    if width + BLOCK >= n:
        identity = backend.put(np.eye(n, dtype=np.float32))
        return ritz_pairs(backend, identity, operator(identity), count=count, spectrum=spectrum)
    basis, image = backend.zeros(n, width), backend.zeros(n, width)
    start = np.random.default_rng(seed).standard_normal((n, BLOCK), dtype=np.float32)
    block = orthonormal(backend, backend.put(start))
    used = 0
    while used < width and block.shape[1]:
        fresh = slice(used, min(used + block.shape[1], width))
        block = block[:, : fresh.stop - used]
        basis[:, fresh] = block
        product = operator(block)
        image[:, fresh] = product
        used = fresh.stop
        if used < width:
            block = orthonormal(backend, product, against=basis[:, :used])
    return ritz_pairs(backend, basis[:, :used], image[:, :used], count=count, spectrum=spectrum)


def krylov_width(count: int) -> int:
    """Return how many basis vectors a cold start makes for ``count`` pairs."""
    return max(int(np.ceil(BREADTH * count / BLOCK)), DEPTH) * BLOCK


def nystrom_eigenpairs(
    backend: Backend, basis: Tall, image: Tall, *, count: int, spectrum: str
) -> Eigenpairs:
    """Return the leading pairs of A·basis (basisᵀ A basis)⁻¹ (A·basis)ᵀ, which is A on the span of the basis.

    ``image`` is A·basis; no further product is needed.
    """
    values, rotation = _leading(backend.gram(basis, image), count=count, spectrum=spectrum)
    real = np.abs(values) > SINGULAR * np.abs(values).max()
    outer = backend.combine(image, rotation[:, real])
    vectors = orthonormal(backend, outer)
    inner = backend.gram(vectors, outer)
    values, rotation = _leading((inner / values[real]) @ inner.T, count=count, spectrum=spectrum)
    return Eigenpairs(backend.combine(vectors, rotation), values)


def improved_eigenpairs(
    backend: Backend, operator: Operator, basis: Tall, image: Tall, *, count: int, spectrum: str
) -> Eigenpairs:
    """Return Ritz pairs over ``basis`` and the residuals of its ``image`` under the operator.

    The new space contains the old, so that the best approximation in it is never worse than any in the old.
    """
    residual = orthonormal(backend, image, against=basis)
    if residual.shape[1]:
        basis, image = backend.join(basis, residual), backend.join(image, operator(residual))
    return ritz_pairs(backend, basis, image, count=count, spectrum=spectrum)


def ritz_pairs(backend: Backend, basis: Tall, image: Tall, *, count: int, spectrum: str) -> Eigenpairs:
    """Return the leading pairs of an operator within the span of an orthonormal ``basis``; ``image`` is A·basis."""
    values, rotation = _leading(backend.gram(basis, image), count=count, spectrum=spectrum)
    return Eigenpairs(backend.combine(basis, rotation), values)


def _leading(matrix: Floats, *, count: int, spectrum: str) -> tuple[Floats, Floats]:
    """Return the leading eigenvalues and eigenvectors of a small matrix that is symmetric but for rounding."""
    values, rotation = np.linalg.eigh((matrix + matrix.T) / 2)
    size = values if spectrum == "positive" else np.abs(values)
    kept = np.argsort(-size, kind="stable")[:count]
    return values[kept], rotation[:, kept]


def orthonormal(backend: Backend, block: Tall, *, against: Tall | None = None) -> Tall:
    """Return an orthonormal basis of ``block``'s columns, orthogonal to those of ``against``.

    By the eigenvectors of the Gram matrix, twice where it is ill conditioned; what lies in the span of the others to
    float32 accuracy is dropped. A Householder QR of the same block takes ten times as long.
    """
    matrix = backend.gram(block, block)
    before = after = np.sqrt(np.diag(matrix))
    if against is not None:
        for _ in range(2):
            block = _without(backend, block, against)
        matrix = backend.gram(block, block)
        after = np.sqrt(np.diag(matrix))
    fresh = after > NEGLIGIBLE * before
    lengths = after[fresh]
    matrix = matrix[np.ix_(fresh, fresh)] / np.outer(lengths, lengths)
    choice = np.eye(after.size)[:, fresh] / lengths
    for _ in range(2):
        values, rotation = np.linalg.eigh(matrix)
        kept = values > SINGULAR
        block = backend.combine(block, choice @ (rotation[:, kept] / np.sqrt(values[kept])))
        if not kept.any() or values[kept][0] > 1e-3:
            break
        if against is not None:
            block = _without(backend, block, against)
        matrix, choice = backend.gram(block, block), np.eye(block.shape[1])
    return block


def _without(backend: Backend, block: Tall, others: Tall) -> Tall:
    return block - backend.combine(others, backend.gram(others, block))
