"""The weighted approximation problem in sparse plus low-rank form, and its residual.

A :class:`Problem` is built from a count store and the scales of its words; it knows the weight and the target of every
pair without an (n, n) matrix. A :class:`Residual` is what a low-rank X leaves over in it. Equations (5), (6) and (8)
of ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Int64s
from psdvec.errors import InputError, ResourceError
from psdvec.resources import format_size
from psdvec.solver.devices import Device, Pairs, Tall
from psdvec.solver.eigen import Eigenpairs
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe

TILE = 512  # words per side of a square of pairs
DENSE = 0.3  # share of seen pairs from which a dense square is faster than a sparse one, on a CPU
OVERLAP = 0.75  # share of the pairs of both directions that is left when they are put together


@dataclass(frozen=True)
class Problem:
    """Minimise Σ W (T/W - X)²: a background for all pairs plus what the seen ``pairs`` add to it.

    On pair (i, j) the background's weight is ``rho_i rho_j`` and its weighted target ``log κ s_i s_j rho_i rho_j``.
    ``words`` is n; ``rho`` and ``scale`` (that is s) are (n,) float32 on the device; ``constant`` is Σ (s s)² R G².
    """

    device: Device
    words: int
    pairs: Pairs
    rho: Tall
    scale: Tall
    log_smoothing: float
    constant: float
    has_background: bool

    def start_times(self, block: Tall, *, half: float | None) -> Tall:
        """Return the first matrix to factorise times ``block``; equation (7) at X = 0, or at X = G/2 with this step.

        A block of m rows is multiplied with the first m rows and columns.
        """
        m = int(block.shape[0])
        s, weighted = self.scale[:m], self.scale[:m] * self.rho[:m]
        levels = [(weighted, 1.0)] if half is None else [(weighted, 0.5 * half), (s, 0.5)]
        background = [self._rank_one(column, block, level * self.log_smoothing) for column, level in levels]
        product = self.pairs.times(block)
        for part in background:
            product += part
        return product

    def background_times(self, block: Tall, *parts: Eigenpairs) -> Tall:
        """Return ρρᵀ∘(log κ · s sᵀ - X) times ``block``, where X is the sum of the ``parts``."""
        device = self.device
        weighted = device.scaled(self.rho, block)
        product = self._rank_one(self.scale, weighted, self.log_smoothing)
        for part in parts:
            product -= device.combine(
                part.vectors, part.values[:, None] * device.gram(part.vectors, weighted)
            )
        return device.scaled(self.rho, product)

    def _rank_one(self, column: Tall, block: Tall, level: float) -> Tall:
        left = column[:, None]
        return self.device.combine(left, level * self.device.gram(left, block))


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
        device, Q = self.problem.device, self.low_rank.vectors
        own, *others = self.ahead
        product = Q * device.put(own.values)
        for part in others:
            product += device.combine(part.vectors, part.values[:, None] * device.gram(part.vectors, Q))
        product += step * self.image
        return product

    def times(self, block: Tall) -> Tall:
        """Return (X + R∘(G - X)) times ``block``, where nothing was looked ahead."""
        device, X = self.problem.device, self.low_rank
        product = self.problem.pairs.times(block) + self.problem.background_times(block, X)
        product += device.combine(X.vectors, X.values[:, None] * device.gram(X.vectors, block))
        return product


def lay_out(squares: Int64s, n: int) -> Int64s:
    """Return how many of the first columns of each row are kept dense, (n,), the same on every device.

    ``squares`` counts the directed pairs of each square of words. Widths are chosen so that dense products gain most
    over sparse ones. Pairs in these columns are kept however small they are, so that dropping negligible pairs
    elsewhere means the same on every device.
    """
    sizes = np.minimum(TILE, n - TILE * np.arange(len(squares)))
    gain = np.cumsum(OVERLAP * (squares + squares.T) - DENSE * np.outer(sizes, sizes), axis=1)
    tiles = np.where(gain.max(axis=1) > 0, gain.argmax(axis=1) + 1, 0)
    widths: Int64s = np.minimum(TILE * tiles, n)[np.arange(n) // TILE]
    return widths


def check_memory(needed: int, limit: int, *, dim: int, words: int) -> None:
    """Raise :class:`ResourceError` where the ``needed`` bytes exceed the ``limit``."""
    if needed <= limit:
        return
    fewer = int(words * limit / needed * 0.9)
    raise ResourceError(
        f"fitting {words} words in {dim} dimensions needs about {format_size(needed)} of memory, and "
        f"{format_size(limit)} is available; fit fewer words together, core={max(fewer, 1)}, and place the others by "
        "ridge"
    )


def build_problem(
    device: Device, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
) -> Problem:
    """Return the problem of the first ``len(scales)`` words of ``counts``."""
    rho, scale = (device.put(x.astype(np.float32)) for x in (scales.rho, scales.emphases))
    pairs = device.open_pairs(counts, scales, constants, recipe=recipe)
    log_kappa = float(np.log(constants.smoothing))
    constant = pairs.squares + log_kappa**2 * float(scales.emphases**2 @ scales.rho) ** 2
    if constant <= 0:
        raise InputError(
            f"no pair is left to fit: all differ from an unseen pair by less than negligible={recipe.negligible}; "
            "give a smaller value, such as negligible=0"
        )
    return Problem(
        device, scales.rho.size, pairs, rho, scale, log_kappa, constant,
        has_background=bool(scales.rho.any()),
    )  # fmt: skip


def residual_of(
    problem: Problem,
    low_rank: Eigenpairs,
    *,
    previous: Eigenpairs | None = None,
    momentum: float = 0.0,
    with_image: bool = True,
) -> Residual:
    """Return the residual of X, taken ahead along X - X' where the ``previous`` X' is given.

    The pairs' values must then be the residual at X'; afterwards they are the residual at X. The image takes half the
    time and may be left out.
    """
    device, Q = problem.device, low_rank.vectors
    P = Q * device.put(low_rank.values)
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
    device, Q, values = problem.device, low_rank.vectors, low_rank.values
    inner = values[:, None] * device.gram(Q, device.scaled(problem.rho, Q))
    sums = device.gram((problem.scale * problem.rho)[:, None], Q)[0]
    return float(np.sum(inner * inner.T)), problem.log_smoothing * float(sums**2 @ values)


def best_multiple(problem: Problem, low_rank: Eigenpairs) -> tuple[Eigenpairs, Residual]:
    """Return X times the number that lowers the objective most, and the residual there."""
    device, Q = problem.device, low_rank.vectors
    P = Q * device.put(low_rank.values)
    square, cross = _background_sums(problem, low_rank)
    _, tx, wxx = problem.pairs.renew(P, Q, momentum=0.0, with_image=False)
    factor = (tx + cross) / (wxx + square) if wxx + square > 0 else 1.0
    best = Eigenpairs(Q, factor * low_rank.values)
    background = problem.background_times(Q, best) if problem.has_background else None
    problem.pairs.rescale(factor)
    image = problem.pairs.times(Q)
    if background is not None:
        image = image + background
    objective = problem.constant + factor**2 * (wxx + square) - 2 * factor * (tx + cross)
    return best, Residual(problem, best, (best,), image, objective)
