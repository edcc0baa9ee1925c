"""The weighted approximation problem in sparse plus low-rank form, and its residual.

Goes in: a count store and the scales of its words. Comes out: a :class:`Problem`, which knows every pair's
weight and target without an (n, n) matrix, and the :class:`Residual` of a low-rank X in it. Equations (5), (6)
and (8) of ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psdvec.solver.devices import Backend, Pairs, Tall
from psdvec.solver.eigen import Eigenpairs
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe


@dataclass(frozen=True)
class Problem:
    """Minimise Σ W (T/W - X)²: a background for all pairs plus what the seen ``pairs`` add to it.

    On pair (i, j) the background's weight is ``rho_i rho_j`` and its weighted target ``log κ s_i s_j rho_i rho_j``.
    ``rho`` and ``scale`` (that is s) are (n,) float32 on the backend's device; ``constant`` is Σ (s s)² R G².
    """

    backend: Backend
    pairs: Pairs
    rho: Tall
    scale: Tall
    log_smoothing: float
    constant: float
    has_background: bool

    def __len__(self) -> int:
        return int(self.rho.shape[0])

    def start_times(self, block: Tall, *, half: float | None) -> Tall:
        """Return the first matrix to factorise times ``block``; equation (7) at X = 0, or at X = G/2 with this step.

        A block of m rows is multiplied with the first m rows and columns.
        """
        product = self.pairs.times(block)
        m = int(block.shape[0])
        s, weighted = self.scale[:m], self.scale[:m] * self.rho[:m]
        levels = [(weighted, 1.0)] if half is None else [(weighted, 0.5 * half), (s, 0.5)]
        for column, level in levels:
            product += self._rank_one(column, block, level * self.log_smoothing)
        return product

    def background_times(self, block: Tall, *parts: Eigenpairs) -> Tall:
        """Return ρρᵀ∘(log κ · s sᵀ - X) times ``block``, where X is the sum of the ``parts``."""
        backend = self.backend
        weighted = backend.scaled(self.rho, block)
        product = self._rank_one(self.scale, weighted, self.log_smoothing)
        for part in parts:
            product -= backend.combine(
                part.vectors, part.values[:, None] * backend.gram(part.vectors, weighted)
            )
        return backend.scaled(self.rho, product)

    def _rank_one(self, column: Tall, block: Tall, level: float) -> Tall:
        left = column[:, None]
        return self.backend.combine(left, level * self.backend.gram(left, block))


@dataclass(frozen=True)
class Residual:
    """R∘(G - X) at X, or a little ahead of it at X + θ (X - X').

    Q is the orthonormal basis of ``low_rank``, X. ``ahead`` are the parts that add up to the place looked at, X's own
    first, and ``image`` is the residual there times Q. ``objective`` is Σ R (G - X)² over all pairs at X, equation (6).
    """

    problem: Problem
    low_rank: Eigenpairs
    ahead: tuple[Eigenpairs, ...]
    image: Tall
    objective: float

    def step_image(self, step: float) -> Tall:
        """Return (Y + ω R∘(G - Y)) Q at the place Y looked at."""
        backend, Q = self.problem.backend, self.low_rank.vectors
        own, *others = self.ahead
        product = Q * backend.put(own.values)
        for part in others:
            product += backend.combine(part.vectors, part.values[:, None] * backend.gram(part.vectors, Q))
        product += step * self.image
        return product

    def times(self, block: Tall) -> Tall:
        """Return (X + R∘(G - X)) times ``block``, where nothing was looked ahead."""
        backend, X = self.problem.backend, self.low_rank
        product = self.problem.pairs.times(block) + self.problem.background_times(block, X)
        product += backend.combine(X.vectors, X.values[:, None] * backend.gram(X.vectors, block))
        return product


def build_problem(
    backend: Backend, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
) -> Problem:
    """Return the problem of the first ``len(scales)`` words of ``counts``."""
    pairs = backend.open_pairs(counts, scales, constants, recipe=recipe)
    log_kappa = float(np.log(constants.smoothing))
    unseen = log_kappa**2 * float(scales.emphases**2 @ scales.rho) ** 2
    rho, scale = (backend.put(x.astype(np.float32)) for x in (scales.rho, scales.emphases))
    return Problem(
        backend, pairs, rho, scale, log_kappa, pairs.squares + unseen, has_background=bool(scales.rho.any())
    )


def residual_of(
    problem: Problem,
    low_rank: Eigenpairs,
    *,
    previous: Eigenpairs | None = None,
    momentum: float = 0.0,
    with_image: bool = True,
) -> Residual:
    """Return the residual of X, looked at ahead along X - X' where the ``previous`` X' is given.

    The pairs' values must then be the residual at X'; they are the residual at X afterwards. The image costs half the
    time and may be left out.
    """
    backend, Q = problem.backend, low_rank.vectors
    P = Q * backend.put(low_rank.values)
    theta = 0.0 if previous is None else momentum
    image, tx, wxx = problem.pairs.renew(P, Q, momentum=theta, with_image=with_image)
    square, cross = _background_sums(problem, low_rank)
    ahead: tuple[Eigenpairs, ...] = (low_rank,)
    if theta and previous is not None:
        ahead = (
            Eigenpairs(Q, (1 + theta) * low_rank.values),
            Eigenpairs(previous.vectors, -theta * previous.values),
        )
    if with_image and problem.has_background:
        image = image + problem.background_times(Q, *ahead)
    objective = problem.constant + wxx + square - 2 * (tx + cross)
    return Residual(problem, low_rank, ahead, image, objective)


def _background_sums(problem: Problem, low_rank: Eigenpairs) -> tuple[float, float]:
    """Return Σ ρρ x² and Σ ρρ log κ s s x over all pairs, by a small Gram matrix."""
    if not problem.has_background:
        return 0.0, 0.0
    backend, Q, values = problem.backend, low_rank.vectors, low_rank.values
    inner = values[:, None] * backend.gram(Q, backend.scaled(problem.rho, Q))
    sums = backend.gram((problem.scale * problem.rho)[:, None], Q)[0]
    return float(np.sum(inner * inner.T)), problem.log_smoothing * float(sums**2 @ values)


def best_multiple(problem: Problem, low_rank: Eigenpairs) -> tuple[Eigenpairs, Residual]:
    """Return X times the number that lowers the objective most, and the residual there."""
    backend, Q = problem.backend, low_rank.vectors
    P = Q * backend.put(low_rank.values)
    _, tx, wxx = problem.pairs.renew(P, Q, momentum=0.0, with_image=False)
    square, cross = _background_sums(problem, low_rank)
    factor = (tx + cross) / (wxx + square) if wxx + square > 0 else 1.0
    best = Eigenpairs(Q, factor * low_rank.values)
    problem.pairs.rescale(factor)
    image = problem.pairs.times(Q)
    if problem.has_background:
        image = image + problem.background_times(Q, best)
    objective = problem.constant + factor**2 * (wxx + square) - 2 * factor * (tx + cross)
    return best, Residual(problem, best, (best,), image, objective)
