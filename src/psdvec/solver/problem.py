"""The weighted approximation problem in sparse plus low-rank form, and its residual.

A :class:`Problem` is built from a count store and the scales of its words; it knows the weight and the target of every
pair without an (n, n) matrix. A :class:`Residual` is what a low-rank X leaves over in it. Equations (5), (6) and (8)
of ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.solver.devices import AMPLE, Device, Pairs, Room, Tall
from psdvec.solver.eigen import Eigenpairs
from psdvec.solver.pmi import Constants, SparseCounts, WordScales

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
        m, device = int(block.shape[0]), self.device
        s, weighted = self.scale[:m, None], (self.scale * self.rho)[:m, None]
        levels = [(weighted, 1.0)] if half is None else [(weighted, 0.5 * half), (s, 0.5)]
        product = self.pairs.times(block)
        for column, level in levels:
            device.add_products(product, [(column, level * self.log_smoothing * device.gram(column, block))])
        return product

    def add_background(
        self, product: Tall, block: Tall, *parts: Eigenpairs, inner: Float64s | None = None
    ) -> None:
        """Add ρρᵀ∘(log κ · s sᵀ - X) times ``block`` to ``product``, where X is the sum of the ``parts``.

        ``inner`` is Qᵀ diag(ρ) block for the first part, where it is known.
        """
        if not self.has_background:
            return
        device, s = self.device, self.scale[:, None]
        terms = [(s, self.log_smoothing * device.gram(s, block, weights=self.rho))]
        for part in parts:
            known = inner if part is parts[0] else None
            found = device.gram(part.vectors, block, weights=self.rho) if known is None else known
            terms.append((part.vectors, -part.values[:, None] * found))
        device.add_products(product, terms, weights=self.rho)


@dataclass(frozen=True)
class Residual:
    """R∘(G - X) at X, or a little ahead of it at X + θ (X - X').

    Q is the orthonormal basis of ``low_rank``, X. ``ahead`` are the parts that add up to the place looked at, X's own
    first, and ``image`` is the residual there times Q. ``square`` is Σ R X² and ``cross`` Σ R G X over all pairs.
    """

    problem: Problem
    low_rank: Eigenpairs
    ahead: tuple[Eigenpairs, ...]
    image: Tall
    square: float = 0.0
    cross: float = 0.0

    @property
    def objective(self) -> float:
        """Σ R (G - X)² over all pairs at X, equation (6)."""
        return self.problem.constant + self.square - 2 * self.cross

    def into_step_image(self, step: float) -> Tall:
        """Turn the image into (Y + ω R∘(G - Y)) Q at the place Y looked at, and return it."""
        device, Q = self.problem.device, self.low_rank.vectors
        own, *others = self.ahead
        terms = [(Q, own.values)]
        for part in others:
            terms.append((part.vectors, part.values[:, None] * device.gram(part.vectors, Q)))
        device.add_products(self.image, terms, keep=step)
        return self.image

    def times(self, block: Tall) -> Tall:
        """Return (X + R∘(G - X)) times ``block``, where nothing was looked ahead."""
        device, X = self.problem.device, self.low_rank
        product = self.problem.pairs.times(block)
        self.problem.add_background(product, block, X)
        device.add_products(product, [(X.vectors, X.values[:, None] * device.gram(X.vectors, block))])
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


def build_problem(
    device: Device,
    counts: SparseCounts,
    scales: WordScales,
    constants: Constants,
    *,
    recipe: Recipe,
    room: Room = AMPLE,
) -> Problem:
    """Return the problem of the first ``len(scales)`` words of ``counts``; its pairs take the ``room`` given."""
    rho, scale = (device.put(x.astype(np.float32)) for x in (scales.rho, scales.emphases))
    pairs = device.open_pairs(counts, scales, constants, recipe=recipe, room=room)
    log_kappa = float(np.log(constants.smoothing))
    constant = pairs.squares + log_kappa**2 * float(scales.emphases**2 @ scales.rho) ** 2
    if constant <= 0:
        raise InputError(_nothing_to_fit(len(scales), recipe))
    return Problem(
        device, scales.rho.size, pairs, rho, scale, log_kappa, constant,
        has_background=bool(scales.rho.any()),
    )  # fmt: skip


def _nothing_to_fit(words: int, recipe: Recipe) -> str:
    """Say why no pair tells anything."""
    if words == 1:
        return "only one word is to be fitted, and it says nothing by itself; fit more words together"
    if recipe.negligible:
        return (
            f"no pair is left to fit: all differ from an unseen pair by less than negligible={recipe.negligible}; "
            "give a smaller value, such as negligible=0"
        )
    return (
        "no pair is left to fit: no two different words were seen together other than by chance; give more text, or "
        "count with a wider window"
    )


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
    Q, theta = low_rank.vectors, 0.0 if previous is None else momentum
    image, tx, wxx = problem.pairs.renew(Q, low_rank.values, momentum=theta, with_image=with_image)
    square, cross, inner = _background_sums(problem, low_rank)
    ahead: tuple[Eigenpairs, ...] = (low_rank,)
    if theta and previous is not None:
        ahead = (
            Eigenpairs(Q, (1 + theta) * low_rank.values),
            Eigenpairs(previous.vectors, -theta * previous.values),
        )
    if with_image:
        problem.add_background(image, Q, *ahead, inner=inner)
    return Residual(problem, low_rank, ahead, image, wxx + square, tx + cross)


def _background_sums(problem: Problem, low_rank: Eigenpairs) -> tuple[float, float, Float64s | None]:
    """Return Σ ρρ x² and Σ ρρ log κ s s x over all pairs, by the small matrix Qᵀ diag(ρ) Q, and that matrix."""
    if not problem.has_background:
        return 0.0, 0.0, None
    device, Q, values = problem.device, low_rank.vectors, low_rank.values
    inner = device.gram(Q, Q, weights=problem.rho)
    scaled = values[:, None] * inner
    sums = device.gram(problem.scale[:, None], Q, weights=problem.rho)[0]
    return float(np.sum(scaled * scaled.T)), problem.log_smoothing * float(sums**2 @ values), inner


def best_multiple(problem: Problem, low_rank: Eigenpairs, image: Tall) -> Residual:
    """Return the residual at X times the number that lowers the objective most.

    ``image`` is the residual at X = 0 times Q. The residual is linear in X, so that one pass over the pairs is enough;
    afterwards they hold the residual at X itself.
    """
    found = residual_of(problem, low_rank)
    factor = found.cross / found.square if found.square > 0 else 1.0
    best = Eigenpairs(low_rank.vectors, factor * low_rank.values)
    at_best = found.image
    at_best *= factor
    image *= 1 - factor
    at_best += image
    return Residual(problem, best, (best,), at_best, factor**2 * found.square, factor * found.cross)
