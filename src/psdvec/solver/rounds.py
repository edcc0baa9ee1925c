"""The fit: rounds of a majoriser for the weighted low-rank approximation, in sparse plus low-rank form.

A :class:`Problem` is built from a count store and the scales of its words; it knows the weight and the target of every
pair without an (n, n) matrix. A :class:`Residual` is what a low-rank X leaves over in it, and :func:`solve` takes
rounds until X is good. Equations (5) to (8) of ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.progress import LogProgress, Progress
from psdvec.solver.devices import AMPLE, Device, Pairs, Room, Tall
from psdvec.solver.eigen import (
    Eigenpairs,
    Operator,
    improved_eigenpairs,
    iterated_pairs,
    leading_eigenpairs,
    leading_of,
    nystrom_eigenpairs,
    orthonormal,
    truncated,
)
from psdvec.solver.pmi import SparseCounts, WordScales
from psdvec.storage.workspace import read_piece, write_piece
from psdvec.vectors.model import Constants

# The weighted approximation problem in sparse plus low-rank form, and its residual.

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


# The rounds of the core solver: weighted low-rank approximation of the PMI matrix, signed or positive semidefinite.

ROUNDING = 1e-6  # a rise of the objective by this share is float32 rounding


@dataclass(frozen=True)
class Round:
    """Where the solver stands after a round: X as eigenpairs, zeros beyond the rank, the X before, the objective.

    After a first round from zero there is the ``image`` of the residual, which no later pass gives to the same bits.
    """

    number: int
    low_rank: Eigenpairs
    previous: Eigenpairs | None
    objective: float
    image: Tall | None = None


def solve(
    problem: Problem,
    *,
    rank: int,
    recipe: Recipe,
    seed: int = 0,
    file: Path | None = None,
    progress: Progress = LogProgress(),
) -> Round:
    """Run the rounds of ``recipe`` and return the last; equation (7).

    Each round is kept in ``file``, if there is one, so that an interrupted fit can be resumed on any device.
    """
    with progress.stage("rounds", total=recipe.rounds, unit="rounds") as stage:
        saved = None if file is None else read_round(file)
        if saved is None:
            state, residual = _first_round(problem, rank=rank, recipe=recipe, seed=seed)
        else:
            progress.say(f"resuming after round {saved.number}")
            stage.advance(saved.number)
            state, residual = _resume(problem, saved, recipe)
        while True:
            if saved is None or state.number > saved.number:
                stage.advance(1)
                progress.say(f"round {state.number}: objective {state.objective / problem.constant:.6f}")
                if file is not None:
                    write_round(file, _from_device(state, problem.device))
            if state.number >= recipe.rounds:
                return state
            state, residual = _next_round(residual, state, rank=rank, recipe=recipe)


def _from_device(state: Round, device: Device) -> Round:
    """Return ``state`` with all its arrays in NumPy."""
    new, old = state.low_rank, state.previous
    return replace(
        state,
        low_rank=Eigenpairs(device.get(new.vectors), new.values),
        previous=old and Eigenpairs(device.get(old.vectors), old.values),
        image=None if state.image is None else device.get(state.image),
    )


def _first_round(problem: Problem, *, rank: int, recipe: Recipe, seed: int) -> tuple[Round, Residual]:
    """Approximate the first matrix of equation (7), at X = 0 or X = G/2, from a random start."""
    half = recipe.relaxation if recipe.start == "half" else None
    device, n = problem.device, problem.words
    count, head = iterated_pairs(rank, n), min(recipe.head or n, n)
    operator = partial(problem.start_times, half=half)
    pairs = leading_eigenpairs(
        device, operator, head, count=min(count, head), spectrum=recipe.spectrum, seed=seed
    )
    if head < n:
        pairs, image = _carried_over(device, operator, pairs, n, count=count, spectrum=recipe.spectrum)
    else:
        image = operator(pairs.vectors)
    low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
    if half is None:
        residual = best_multiple(problem, low_rank, image)
        return Round(1, residual.low_rank, None, residual.objective, residual.image), residual
    residual = residual_of(problem, low_rank, with_image=recipe.rounds > 1)
    return Round(1, low_rank, None, residual.objective), residual


def _carried_over(
    device: Device, operator: Operator, pairs: Eigenpairs, n: int, *, count: int, spectrum: str
) -> tuple[Eigenpairs, Tall]:
    """Return eigenpairs of all n words from those of the first ones, and the operator times them."""
    start = device.zeros(n, pairs.values.size)
    start[: pairs.vectors.shape[0]] = pairs.vectors
    product = operator(start)
    del start, pairs  # as large as what follows
    basis = orthonormal(device, product)
    product = operator(basis)
    values, rotation = leading_of(device.gram(basis, product), count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(basis, rotation), values), device.combine(product, rotation)


def _resume(problem: Problem, saved: Round, recipe: Recipe) -> tuple[Round, Residual]:
    """Bring a saved round to the device, with its residual to the same bits."""
    put, new, old = problem.device.put, saved.low_rank, saved.previous
    low_rank = Eigenpairs(put(new.vectors), new.values)
    previous = old and Eigenpairs(put(old.vectors), old.values)
    if saved.image is not None:
        return replace(saved, low_rank=low_rank), Residual(problem, low_rank, (low_rank,), put(saved.image))
    if previous is not None:
        residual_of(problem, previous, with_image=False)
    residual = residual_of(problem, low_rank, previous=previous, momentum=recipe.momentum)
    return replace(saved, low_rank=low_rank, previous=previous), residual


def _next_round(residual: Residual, state: Round, *, rank: int, recipe: Recipe) -> tuple[Round, Residual]:
    """Do one round of equation (7): a long step from ahead, and a short and safe one if that raised the objective."""
    problem, old, number = residual.problem, state.low_rank, state.number + 1
    # The first X is a multiple of another, not the end of a step.
    previous = old if state.number > 1 else None
    options: dict[str, Any] = {"count": iterated_pairs(rank, problem.words), "spectrum": recipe.spectrum}
    pairs = nystrom_eigenpairs(
        problem.device, old.vectors, residual.into_step_image(recipe.relaxation), **options
    )
    for safe in (False, True):
        if safe:
            plain = residual_of(problem, old)
            pairs = improved_eigenpairs(
                problem.device, plain.times, old.vectors, plain.into_step_image(1.0), **options
            )
        low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
        new = residual_of(
            problem, low_rank, previous=previous, momentum=recipe.momentum, with_image=number < recipe.rounds
        )
        if new.objective <= state.objective * (1 + ROUNDING):
            break
    return Round(number, low_rank, previous, new.objective), new


def write_round(path: Path, state: Round) -> None:
    """Save ``state`` as the file ``path``, whole or not at all."""
    old = state.previous
    write_piece(
        path,
        {"number": state.number, "objective": float(state.objective)},
        vectors=state.low_rank.vectors,
        values=state.low_rank.values,
        old_vectors=None if old is None else old.vectors,
        old_values=None if old is None else old.values,
        image=state.image,
    )


def read_round(path: Path) -> Round | None:
    """Read what :func:`write_round` saved; None where there is no file."""
    if not path.exists():
        return None
    record, arrays = read_piece(path)
    pairs = Eigenpairs(arrays["vectors"], arrays["values"])
    old = Eigenpairs(arrays["old_vectors"], arrays["old_values"]) if "old_values" in arrays else None
    return Round(record["number"], pairs, old, record["objective"], arrays.get("image"))
