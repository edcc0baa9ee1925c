"""The weighted approximation problem in sparse plus low-rank form, and its residual.

Goes in: a count store and the scales of its words. Comes out: a :class:`Problem`, which knows every pair's
weight and target without an (n, n) matrix, and the :class:`Residual` of a low-rank X in it. Equations (5), (6)
and (8) of ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psdvec.backends import cpu
from psdvec.eigen import Block, Eigenpairs
from psdvec.pmi import Constants, SparseCounts, WordScales
from psdvec.weighting import UNIT


@dataclass(frozen=True)
class Problem:
    """Minimise Σ W (T/W - X)²: a background for all pairs plus what the seen pairs add to it.

    On pair (i, j) the weight is ``(rho_i sigma_j + sigma_i rho_j) / 2 + terms[k, 0]`` and the weighted target
    ``log κ s_i s_j (rho_i sigma_j + sigma_i rho_j) / 2 + terms[k, 1]``; ``terms[k, 2]``, where there is a third
    column, is s_i s_j (G - log κ), symmetrised. ``indptr`` (n + 1,) int64, ``indices`` (m,) int32, ``terms``
    (m, 2 or 3) float32; ``rho``, ``sigma``, ``scale`` (that is s) (n,) float32; ``constant`` is Σ (s s)² R G².
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    terms: Block
    rho: npt.NDArray[np.float32]
    sigma: npt.NDArray[np.float32]
    scale: npt.NDArray[np.float32]
    log_smoothing: float
    constant: float

    def __len__(self) -> int:
        return self.rho.size

    def background_times(self, block: Block, low_rank: Eigenpairs | None, *, level: float = 1.0) -> Block:
        """Return B∘(level · log κ · s sᵀ - X) times ``block``; B = (ρσᵀ + σρᵀ)/2 and X is ``low_rank``, if any."""
        product = np.zeros(block.shape, np.float32)
        if not self.rho.any():
            return product
        for left, right in ((self.rho, self.sigma), (self.sigma, self.rho)):
            weighted = right[:, None] * block
            factors = [(0.5 * level * self.log_smoothing) * (self.scale @ weighted)[None, :]]
            basis = self.scale[:, None]
            if low_rank is not None:
                factors.append(-0.5 * low_rank.values[:, None] * (low_rank.vectors.T @ weighted))
                basis = np.concatenate([basis, low_rank.vectors], axis=1)
            half = basis @ np.concatenate(factors).astype(np.float32)
            half *= left[:, None]
            product += half
        return product


@dataclass(frozen=True)
class Residual:
    """R∘(G - X) for a low-rank X: ``values`` (m,) float32 on the seen pairs, ``image`` its product with X's basis.

    ``objective`` is Σ R (G - X)² over all pairs, equation (6).
    """

    problem: Problem
    low_rank: Eigenpairs
    values: npt.NDArray[np.float32]
    image: Block
    objective: float

    def times(self, block: Block) -> Block:
        """Return the residual matrix times ``block``, (n, k)."""
        product = self.problem.background_times(block, self.low_rank)
        cpu.product_into(self.problem.indptr, self.problem.indices, self.values, block, product)
        return product


def build_problem(
    counts: SparseCounts,
    scales: WordScales,
    constants: Constants,
    *,
    negligible: float = 0.0,
    with_pmi: bool = False,
) -> Problem:
    """Return the problem of the first ``len(scales)`` words of ``counts``; ``with_pmi`` adds the third column.

    Seen pairs that would change the background's target by less than ``negligible`` count as unseen.
    """
    n = len(scales)
    _, _, column_lengths = cpu.margins(counts.indptr, counts.indices, counts.values)
    indptr = np.concatenate([[0], np.cumsum(np.diff(counts.indptr[: n + 1]) + column_lengths[:n])])
    indices = np.empty(indptr[-1], np.int32)
    terms = np.empty((indptr[-1], 3 if with_pmi else 2), np.float32)
    s, k = scales, constants
    kept, squares = cpu.symmetric_terms_into(
        counts.indptr, counts.indices, counts.values, float(UNIT),
        (s.row_sums, s.unigrams, s.expected, s.majorisers, s.emphases, s.rho, s.sigma),
        (k.smoothing, k.background, k.exponent, k.cap, float(k.diagonal)), negligible,
        indptr, indices, terms,
    )  # fmt: skip
    cpu.close_gaps_into(indptr, kept, indices, terms)
    indices.resize(indptr[-1], refcheck=False)
    terms.resize((indptr[-1], terms.shape[1]), refcheck=False)
    log_kappa = float(np.log(k.smoothing))
    unseen = log_kappa**2 * float(s.emphases**2 @ s.rho) * float(s.emphases**2 @ s.sigma)
    rho, sigma, scale = (x.astype(np.float32) for x in (s.rho, s.sigma, s.emphases))
    return Problem(indptr, indices, terms, rho, sigma, scale, log_kappa, float(squares.sum()) + unseen)


def residual_of(problem: Problem, low_rank: Eigenpairs, *, with_image: bool) -> Residual:
    """Return the residual of X = Q diag(values) Qᵀ; the product with Q costs half the time and may be left out."""
    Q, eigenvalues = low_rank.vectors, low_rank.values
    P = Q * eigenvalues.astype(np.float32)
    image = problem.background_times(Q, low_rank) if with_image else np.zeros((len(problem), 0), np.float32)
    values = np.empty(problem.indices.size, np.float32)
    losses = np.zeros(len(problem))
    cpu.residual_into(problem.indptr, problem.indices, problem.terms, P, Q, values, image, losses)
    return Residual(problem, low_rank, values, image, _objective(problem, low_rank, float(losses.sum())))


def _objective(problem: Problem, low_rank: Eigenpairs, seen: float) -> float:
    """Add the background's part, Σ B (x² - 2 log κ s s x), by two small Gram matrices."""
    if not problem.rho.any():
        return problem.constant + seen
    Q, values, a = low_rank.vectors, low_rank.values, problem.scale
    grams = [(Q.T @ (weights[:, None] * Q)).astype(np.float64) for weights in (problem.rho, problem.sigma)]
    sums = [((a * weights) @ Q).astype(np.float64) for weights in (problem.rho, problem.sigma)]
    square = float(np.sum((values[:, None] * grams[0]) * (values[:, None] * grams[1]).T))
    cross = float(np.sum(sums[0] * sums[1] * values))
    return problem.constant + seen + square - 2 * problem.log_smoothing * cross


def start_values(problem: Problem, *, step: float) -> npt.NDArray[np.float32]:
    """Return the sparse part of X + ω R∘(G - X) at X = G/2; its low-rank part is (log κ / 2)(s sᵀ + ω B∘s sᵀ)."""
    rows = np.repeat(np.arange(len(problem)), np.diff(problem.indptr))
    columns = problem.indices
    weights, targets, excess = problem.terms.T
    a, rho, sigma = problem.scale, problem.rho, problem.sigma
    full = weights + 0.5 * (rho[rows] * sigma[columns] + sigma[rows] * rho[columns])
    level = 0.5 * problem.log_smoothing * a[rows] * a[columns]
    values: npt.NDArray[np.float32] = 0.5 * excess * (1 - step * full) + step * (targets - level * weights)
    return values
