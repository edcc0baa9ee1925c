"""Leading eigenpairs of a symmetric operator that is known only by its products with tall blocks.

Goes in: a function from (n, k) to (n, k) float32 blocks. Comes out: :class:`Eigenpairs`, the largest in absolute
value or the largest algebraically. Block Lanczos from a random block for a cold start, and one Rayleigh-Ritz
step over the old basis and its residuals for a warm one; section 7 of ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Block = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Operator = Callable[[Block], Block]

BLOCK = 64  # columns a Lanczos step: wide enough for fast products, narrow enough for a deep Krylov space
BREADTH = 4.0  # Krylov basis vectors a wanted pair; see docs/theory.md for what was measured
DEPTH = 8  # Lanczos steps at least
NEGLIGIBLE = 1e-5  # a column that shrinks to this share of its length was a combination of others
SINGULAR = 1e-6  # eigenvalues of a Gram matrix of unit columns below this are float32 rounding
CHUNK = 4096  # rows whose products are summed in float32 before they are added up in float64


@dataclass(frozen=True)
class Eigenpairs:
    """``vectors`` (n, k) float32 with orthonormal columns, ``values`` (k,) float64, the wanted end first."""

    vectors: Block
    values: Floats


def leading_eigenpairs(operator: Operator, n: int, *, count: int, spectrum: str, seed: int) -> Eigenpairs:
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
        identity = np.eye(n, dtype=np.float32)
        return ritz_pairs(identity, operator(identity), count=count, spectrum=spectrum)
    basis = np.empty((n, width), np.float32)
    image = np.empty((n, width), np.float32)
    block = orthonormal(np.random.default_rng(seed).standard_normal((n, BLOCK), dtype=np.float32))
    used = 0
    while used < width and block.shape[1]:
        fresh = slice(used, min(used + block.shape[1], width))
        basis[:, fresh] = block[:, : fresh.stop - used]
        image[:, fresh] = operator(np.ascontiguousarray(basis[:, fresh]))
        used = fresh.stop
        if used < width:
            block = orthonormal(image[:, fresh], against=basis[:, :used])
    return ritz_pairs(basis[:, :used], image[:, :used], count=count, spectrum=spectrum)


def krylov_width(count: int) -> int:
    """Return how many basis vectors a cold start makes for ``count`` pairs."""
    return max(int(np.ceil(BREADTH * count / BLOCK)), DEPTH) * BLOCK


def improved_eigenpairs(
    operator: Operator, basis: Block, image: Block, *, count: int, spectrum: str
) -> Eigenpairs:
    """Return Ritz pairs over ``basis`` and the residuals of its ``image`` under the operator.

    The new space contains the old, so that the best approximation in it is never worse than any in the old.
    """
    residual = orthonormal(image, against=basis)
    both = np.concatenate([basis, residual], axis=1)
    images = np.concatenate([image, operator(residual)], axis=1) if residual.shape[1] else image
    return ritz_pairs(both, images, count=count, spectrum=spectrum)


def ritz_pairs(basis: Block, image: Block, *, count: int, spectrum: str) -> Eigenpairs:
    """Return the leading pairs of an operator within the span of an orthonormal ``basis``; ``image`` is A·basis."""
    B = (basis.T @ image).astype(np.float64)
    values, rotation = np.linalg.eigh((B + B.T) / 2)
    size = values if spectrum == "positive" else np.abs(values)
    kept = np.argsort(-size, kind="stable")[:count]
    return Eigenpairs(basis @ rotation[:, kept].astype(np.float32), values[kept])


def orthonormal(block: Block, *, against: Block | None = None) -> Block:
    """Return an orthonormal basis of ``block``'s columns, orthogonal to those of ``against``.

    By the eigenvectors of the Gram matrix, twice where it is ill conditioned; what lies in the span of the others to
    float32 accuracy is dropped. A Householder QR of the same block takes ten times as long.
    """
    size = np.linalg.norm(block, axis=0)
    if against is not None:
        for _ in range(2):
            block = block - against @ (against.T @ block)
    left = np.linalg.norm(block, axis=0)
    fresh = left > NEGLIGIBLE * size
    block = block[:, fresh] / left[fresh]
    for _ in range(2):
        values, rotation = np.linalg.eigh(_gram(block))
        kept = values > SINGULAR
        block = block @ (rotation[:, kept] / np.sqrt(values[kept])).astype(np.float32)
        if not kept.any() or values[kept][0] > 1e-3:
            break
        if against is not None:
            block = block - against @ (against.T @ block)
    return block


def _gram(block: Block) -> Floats:
    """Return blockᵀ block, a chunk of rows at a time, summed in float64."""
    total = np.zeros((block.shape[1], block.shape[1]))
    for start in range(0, block.shape[0], CHUNK):
        part = block[start : start + CHUNK]
        total += part.T @ part
    return total
