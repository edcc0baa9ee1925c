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

Operator = Callable[[Tall], Tall]

GUARDS = 8  # pairs iterated beside the wanted ones, at least, so that the last wanted ones converge too
BLOCK = 64  # columns per Lanczos step: wide enough for fast products, narrow enough for a deep Krylov space
BREADTH = 4.0  # Krylov basis vectors per wanted pair; see docs/results/recipe.md for what was measured
DEPTH = 8  # Lanczos steps at least
NEGLIGIBLE = 1e-5  # a column that shrinks to this share of its length was a combination of others
SINGULAR = 1e-6  # eigenvalues below this share of the largest are float32 rounding
CANCELLED = 1e-3  # share of the squares of columns below which their combination is float32 rounding
SOUND = 1e-3  # eigenvalues of a Gram matrix of unit columns above which one pass makes them orthonormal


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


def truncated(pairs: Eigenpairs, rank: int, *, spectrum: str) -> Eigenpairs:
    """Return the pairs with eigenvalues beyond the rank set to 0, and negative ones where the spectrum is positive."""
    values = pairs.values.copy()
    values[rank:] = 0
    return Eigenpairs(pairs.vectors, np.maximum(values, 0) if spectrum == "positive" else values)


def nystrom_eigenpairs(device: Device, basis: Tall, image: Tall, *, count: int, spectrum: str) -> Eigenpairs:
    """Return the leading pairs of A·basis (basisᵀ A basis)⁻¹ (A·basis)ᵀ, which is A on the span of the basis.

    ``image`` is A·basis; no further product is needed.
    """
    values, rotation = leading_of(device.gram(basis, image), count=count, spectrum=spectrum)
    real = np.abs(values) > SINGULAR * np.abs(values).max()
    outer = rotation[:, real]  # image · outer spans the new space; it is formed only where much cancels in it
    lengths = device.gram(image, image)
    squares = outer.T @ lengths @ outer
    if (np.diag(squares) < CANCELLED * (outer**2).T @ np.diag(lengths)).any():
        image, outer = device.combine(image, outer), np.eye(outer.shape[1])
        squares = device.gram(image, image)
    whitener, sound = _whitener(squares)
    if sound:
        vectors, turn, inner = image, outer @ whitener, whitener.T @ squares
    else:
        vectors = orthonormal(device, device.combine(image, outer @ whitener))
        turn, inner = np.eye(vectors.shape[1]), device.gram(vectors, image) @ outer
    values, rotation = leading_of((inner / values[real]) @ inner.T, count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(vectors, turn @ rotation), values)


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
    values, rotation = leading_of(device.gram(basis, image), count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(basis, rotation), values)


def leading_of(matrix: Float64s, *, count: int, spectrum: str) -> tuple[Float64s, Float64s]:
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
    least = np.zeros(matrix.shape[0])
    if against is not None:
        least = NEGLIGIBLE * np.sqrt(np.diag(matrix))
        for _ in range(2):
            block = _without(device, block, against)
        matrix = device.gram(block, block)
    for _ in range(2):
        whitener, sound = _whitener(matrix, least)
        block = device.combine(block, whitener)
        if sound:
            break
        if against is not None:
            block = _without(device, block, against)
        matrix, least = device.gram(block, block), np.zeros(block.shape[1])
    return block


def _whitener(squares: Float64s, least: Float64s | float = 0.0) -> tuple[Float64s, bool]:
    """Return C such that block · C has orthonormal columns, given blockᵀ block, and whether float32 can be trusted.

    Columns that are no longer than ``least``, and what is a combination of others, are left out.
    """
    lengths = np.sqrt(np.maximum(np.diag(squares), 0))
    fresh = lengths > least
    lengths = lengths[fresh]
    values, rotation = np.linalg.eigh(squares[np.ix_(fresh, fresh)] / np.outer(lengths, lengths))
    kept = values > SINGULAR
    choice = np.eye(squares.shape[0])[:, fresh] / lengths
    return choice @ (rotation[:, kept] / np.sqrt(values[kept])), not kept.any() or values[kept][0] > SOUND


def _without(device: Device, block: Tall, others: Tall) -> Tall:
    rest = device.combine(others, -device.gram(others, block))
    rest += block
    return rest
