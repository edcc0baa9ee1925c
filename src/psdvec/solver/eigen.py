"""Leading eigenpairs of a symmetric operator that is known only by its products with tall blocks.

Takes a function from (n, k) to (n, k) float32 blocks on a device, and returns :class:`Eigenpairs`, the largest in
absolute value or the largest algebraically. A cold start is block Lanczos from a random block; a warm one is a Nyström
step, which costs one product, or a Rayleigh-Ritz step, which costs two and never loses ground. Section 7 of
``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float64s
from psdvec.solver.devices import Device, Tall
from psdvec.solver.pmi import SparseCounts

Operator = Callable[[Tall], Tall]

GUARDS = 8  # pairs iterated beside the wanted ones, at least, so that the last wanted ones converge too
BLOCK = 64  # columns per Lanczos step: wide enough for fast products, narrow enough for a deep Krylov space
BREADTH = 4.0  # Krylov basis vectors per wanted pair; see docs/theory.md for what was measured
DEPTH = 8  # Lanczos steps at least
NEGLIGIBLE = 1e-5  # a column that shrinks to this share of its length was a combination of others
SINGULAR = 1e-6  # eigenvalues below this share of the largest are float32 rounding
OVERHEAD = 100_000_000  # bytes for everything that is not predicted by itself


@dataclass(frozen=True)
class Eigenpairs:
    """``vectors`` (n, k) float32 with orthonormal columns, ``values`` (k,) float64, the wanted end first."""

    vectors: Tall
    values: Float64s


def leading_eigenpairs(
    device: Device, operator: Operator, n: int, *, count: int, spectrum: str, seed: int
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
        identity = device.put(np.eye(n, dtype=np.float32))
        return ritz_pairs(device, identity, operator(identity), count=count, spectrum=spectrum)
    start = np.random.default_rng(seed).standard_normal((n, BLOCK), dtype=np.float32)
    block = orthonormal(device, device.put(start))
    basis, image = device.zeros(n, width), device.zeros(n, width)
    used = 0
    while used < width and block.shape[1]:
        fresh = slice(used, min(used + block.shape[1], width))
        block = block[:, : fresh.stop - used]
        basis[:, fresh] = block
        product = operator(block)
        image[:, fresh] = product
        used = fresh.stop
        if used < width:
            block = orthonormal(device, product, against=basis[:, :used])
    return ritz_pairs(device, basis[:, :used], image[:, :used], count=count, spectrum=spectrum)


def rank_for(dim: int, n: int, *, spectrum: str) -> int:
    """Return the rank of X: the dimensions, and one more for the constant direction of a signed spectrum."""
    return min(dim + (spectrum == "signed"), n)


def iterated_pairs(rank: int, n: int) -> int:
    """Return how many pairs are iterated for this rank: the guards are added, and blocks filled up."""
    return min(-(-(rank + GUARDS) // BLOCK) * BLOCK, n)


def krylov_width(count: int) -> int:
    """Return how many basis vectors a cold start makes for ``count`` pairs."""
    return max(int(np.ceil(BREADTH * count / BLOCK)), DEPTH) * BLOCK


def predicted_memory(device: Device, counts: SparseCounts, n: int, *, rank: int, head: int) -> int:
    """Predict the most bytes held at once while X is fitted: the seen pairs and the blocks, not the count store."""
    count, head = iterated_pairs(rank, n), min(head or n, n)
    cold = 2 * min(krylov_width(count), head) * head // n
    return device.predicted_memory(counts, n, columns=max(cold, 10 * count)) + OVERHEAD


def truncated(pairs: Eigenpairs, rank: int, *, spectrum: str) -> Eigenpairs:
    """Return the pairs with eigenvalues beyond the rank set to 0, and negative ones where the spectrum is positive."""
    values = pairs.values.copy()
    values[rank:] = 0
    return Eigenpairs(pairs.vectors, np.maximum(values, 0) if spectrum == "positive" else values)


def nystrom_eigenpairs(device: Device, basis: Tall, image: Tall, *, count: int, spectrum: str) -> Eigenpairs:
    """Return the leading pairs of A·basis (basisᵀ A basis)⁻¹ (A·basis)ᵀ, which is A on the span of the basis.

    ``image`` is A·basis; no further product is needed.
    """
    values, rotation = _leading(device.gram(basis, image), count=count, spectrum=spectrum)
    real = np.abs(values) > SINGULAR * np.abs(values).max()
    outer = device.combine(image, rotation[:, real])
    vectors = orthonormal(device, outer)
    inner = device.gram(vectors, outer)
    values, rotation = _leading((inner / values[real]) @ inner.T, count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(vectors, rotation), values)


def improved_eigenpairs(
    device: Device, operator: Operator, basis: Tall, image: Tall, *, count: int, spectrum: str
) -> Eigenpairs:
    """Return Ritz pairs over ``basis`` and the residuals of its ``image`` under the operator.

    The new space contains the old, so that the best approximation in it is never worse than any in the old.
    """
    residual = orthonormal(device, image, against=basis)
    if residual.shape[1]:
        basis, image = device.join(basis, residual), device.join(image, operator(residual))
    return ritz_pairs(device, basis, image, count=count, spectrum=spectrum)


def ritz_pairs(device: Device, basis: Tall, image: Tall, *, count: int, spectrum: str) -> Eigenpairs:
    """Return the leading pairs of an operator within the span of an orthonormal ``basis``; ``image`` is A·basis."""
    values, rotation = _leading(device.gram(basis, image), count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(basis, rotation), values)


def _leading(matrix: Float64s, *, count: int, spectrum: str) -> tuple[Float64s, Float64s]:
    """Return the leading eigenvalues and eigenvectors of a small matrix that is symmetric but for rounding."""
    values, rotation = np.linalg.eigh((matrix + matrix.T) / 2)
    size = values if spectrum == "positive" else np.abs(values)
    kept = np.argsort(-size, kind="stable")[:count]
    return values[kept], rotation[:, kept]


def orthonormal(device: Device, block: Tall, *, against: Tall | None = None) -> Tall:
    """Return an orthonormal basis of ``block``'s columns, orthogonal to those of ``against``.

    By the eigenvectors of the Gram matrix, twice where it is ill conditioned; what lies in the span of the others to
    float32 accuracy is dropped. A Householder QR of the same block takes ten times as long.
    """
    matrix = device.gram(block, block)
    before = after = np.sqrt(np.diag(matrix))
    if against is not None:
        for _ in range(2):
            block = _without(device, block, against)
        matrix = device.gram(block, block)
        after = np.sqrt(np.diag(matrix))
    fresh = after > NEGLIGIBLE * before
    lengths = after[fresh]
    matrix = matrix[np.ix_(fresh, fresh)] / np.outer(lengths, lengths)
    choice = np.eye(after.size)[:, fresh] / lengths
    for _ in range(2):
        values, rotation = np.linalg.eigh(matrix)
        kept = values > SINGULAR
        block = device.combine(block, choice @ (rotation[:, kept] / np.sqrt(values[kept])))
        if not kept.any() or values[kept][0] > 1e-3:
            break
        if against is not None:
            block = _without(device, block, against)
        matrix, choice = device.gram(block, block), np.eye(block.shape[1])
    return block


def _without(device: Device, block: Tall, others: Tall) -> Tall:
    return block - device.combine(others, device.gram(others, block))
