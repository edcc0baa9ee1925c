"""The fit: rounds of a majoriser for the weighted low-rank approximation, in sparse plus low-rank form.

First the leading eigenpairs of a symmetric operator that is known only by its products with tall blocks, (n, k) float32
on a device. A cold start is block Lanczos from a random block, with restarts where exact pairs are wanted; a warm one
is a Nyström step, which costs one product, or a Rayleigh-Ritz step, which costs two and never loses ground. Section 7
of ``docs/theory.md``.

Then the rounds. A :class:`Problem` is built from a count store and the scales of its words; it knows the weight and the
target of every pair without an (n, n) matrix. A :class:`Residual` is what a low-rank X leaves over in it, and
:func:`solve` takes rounds until X is good. Equations (5) to (8).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.progress import LogProgress, Progress
from psdvec.solver.devices import AMPLE, Device, DevicePairs, Room, Tall
from psdvec.solver.pmi import WordScales
from psdvec.storage.workspace import read_piece, write_piece
from psdvec.vectors.model import Constants

Operator = Callable[[Tall], Tall]

GUARDS = 8  # pairs iterated beside the wanted ones, at least, so that the last wanted ones converge too
BLOCK = 64  # columns per Lanczos step: wide enough for fast products, narrow enough for a deep Krylov space
BREADTH = 4.0  # Krylov basis vectors per wanted pair; see docs/results/recipe.md for what was measured
DEPTH = 8  # Lanczos steps at least
TOLERANCE = 5e-6  # of the largest eigenvalue: residuals of exact pairs; float32 leaves about half of that
RESTARTS = 10  # at most; two are usual from G/2, and none later
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
    device: Device, operator: Operator, n: int, *, count: int, spectrum: str, seed: int, exact: int = 0
) -> Eigenpairs:
    """Return ``count`` leading eigenpairs by block Lanczos with full reorthogonalisation.

    ``operator`` multiplies a symmetric (n, n) operator with an (n, k) block. The leading values of a ``"signed"``
    spectrum are the largest in absolute value, of a ``"positive"`` one the largest. Restarts from the leading pairs
    follow until the first ``exact`` of them have residuals of at most ``TOLERANCE``.
    """
    width = krylov_width(count)
    if width + BLOCK >= n:
        identity = device.put(np.eye(n, dtype=np.float32))
        return ritz_pairs(device, identity, operator(identity), count=count, spectrum=spectrum)
    start = np.random.default_rng(seed).standard_normal((n, BLOCK), dtype=np.float32)
    block = orthonormal(device, device.put(start))
    basis, image = device.zeros(n, width), device.zeros(n, width)
    used, residual = 0, np.inf
    for restart in range(RESTARTS + 1):
        while used < width and block.shape[1]:
            fresh = slice(used, min(used + block.shape[1], width))
            block = block[:, : fresh.stop - used]
            product, one = operator(block), np.ones(block.shape[1])
            device.add_products(basis[:, fresh], [(block, one)], keep=0)  # put there by threads
            device.add_products(image[:, fresh], [(product, one)], keep=0)
            used = fresh.stop
            if used < width or exact:
                block = orthonormal(device, product, against=basis[:, :used])
        if restart == RESTARTS and exact:
            warnings.warn(
                f"the leading eigenvectors are still off by {residual:.0e} after {RESTARTS} restarts, where "
                f"{TOLERANCE:.0e} was wanted: another seed gives slightly other vectors",
                RuntimeWarning,
                stacklevel=2,
            )
        if not exact or restart == RESTARTS or not block.shape[1]:
            break
        kept = -(-count // BLOCK) * BLOCK  # whole blocks, so that all blocks stay as wide
        values, rotation = leading_of(
            device, device.gram(basis[:, :used], image[:, :used]), count=kept, spectrum=spectrum
        )
        basis[:, :kept] = device.combine(basis[:, :used], rotation)
        product = device.combine(image[:, :used], rotation)
        image[:, :kept], used = product, kept
        device.add_products(product, [(basis[:, :kept], -values)])
        lengths = np.sqrt(np.diag(device.gram(product, product)))
        residual = lengths[:exact].max() / np.abs(values[:exact]).max()
        if residual <= TOLERANCE:
            break
    return ritz_pairs(device, basis[:, :used], image[:, :used], count=count, spectrum=spectrum)


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
    values, rotation = leading_of(device, device.gram(basis, image), count=count, spectrum=spectrum)
    real = np.abs(values) > SINGULAR * np.abs(values).max()
    outer = rotation[:, real]  # image · outer spans the new space; it is formed only where much cancels in it
    lengths = device.gram(image, image)
    squares = outer.T @ lengths @ outer
    if (np.diag(squares) < CANCELLED * (outer**2).T @ np.diag(lengths)).any():
        image, outer = device.combine(image, outer), np.eye(outer.shape[1])
        squares = device.gram(image, image)
    whitener, sound = _whitener(device, squares)
    if sound:
        vectors, turn, inner = image, outer @ whitener, whitener.T @ squares
    else:
        vectors = orthonormal(device, device.combine(image, outer @ whitener))
        turn, inner = np.eye(vectors.shape[1]), device.gram(vectors, image) @ outer
    values, rotation = leading_of(device, (inner / values[real]) @ inner.T, count=count, spectrum=spectrum)
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
    values, rotation = leading_of(device, device.gram(basis, image), count=count, spectrum=spectrum)
    return Eigenpairs(device.combine(basis, rotation), values)


def leading_of(device: Device, matrix: Float64s, *, count: int, spectrum: str) -> tuple[Float64s, Float64s]:
    """Return the leading eigenvalues and eigenvectors of a small matrix that is symmetric but for rounding."""
    values, rotation = device.eigh((matrix + matrix.T) / 2)
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
        whitener, sound = _whitener(device, matrix, least)
        block = device.combine(block, whitener)
        if sound:
            break
        if against is not None:
            block = _without(device, block, against)
        matrix, least = device.gram(block, block), np.zeros(block.shape[1])
    return block


def _whitener(device: Device, squares: Float64s, least: Float64s | float = 0.0) -> tuple[Float64s, bool]:
    """Return C such that block · C has orthonormal columns, given blockᵀ block, and whether float32 can be trusted.

    Columns that are no longer than ``least``, and what is a combination of others, are left out.
    """
    lengths = np.sqrt(np.maximum(np.diag(squares), 0))
    fresh = lengths > least
    lengths = lengths[fresh]
    values, rotation = device.eigh(squares[np.ix_(fresh, fresh)] / np.outer(lengths, lengths))
    kept = values > SINGULAR
    choice = np.eye(squares.shape[0])[:, fresh] / lengths
    return choice @ (rotation[:, kept] / np.sqrt(values[kept])), not kept.any() or values[kept][0] > SOUND


def _without(device: Device, block: Tall, others: Tall) -> Tall:
    rest = device.combine(others, -device.gram(others, block))
    rest += block
    return rest


# The weighted approximation problem in sparse plus low-rank form, and its residual.


@dataclass(frozen=True)
class Problem:
    """Minimise Σ W (T/W - X)²: a background for all pairs plus what the seen ``pairs`` add to it.

    On pair (i, j) the background's weight is ``rho_i rho_j`` and its weighted target ``log κ s_i s_j rho_i rho_j``.
    ``words`` is n; ``rho`` and ``scale`` (that is s) are (n,) float32 on the device; ``constant`` is Σ (s s)² R G².
    """

    device: Device
    words: int
    pairs: DevicePairs
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


@dataclass
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
        """Turn the image into (Y + ω R∘(G - Y)) Q at the place Y looked at, and return it; the residual gives up both.

        They take as much memory as X does, and are of no use any more.
        """
        device, Q, image = self.problem.device, self.low_rank.vectors, self.image
        own, *others = self.ahead
        terms = [(Q, own.values)]
        for part in others:
            terms.append((part.vectors, part.values[:, None] * device.gram(part.vectors, Q)))
        device.add_products(image, terms, keep=step)
        self.image, self.ahead = None, ()
        return image

    def times(self, block: Tall, *, step: float = 1.0) -> Tall:
        """Return (X + ω R∘(G - X)) times ``block``, where nothing was looked ahead."""
        device, X = self.problem.device, self.low_rank
        product = self.problem.pairs.times(block)
        self.problem.add_background(product, block, X)
        device.add_products(
            product, [(X.vectors, X.values[:, None] * device.gram(X.vectors, block))], keep=step
        )
        return product


def build_problem(
    device: Device,
    counts: Cooccurrence,
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

KEPT_AFTER = 2.0  # seconds of work that may be lost; to keep what takes less would take longer
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

    def moved(self, move: Callable[[Any], Any]) -> Round:
        """Return the same with all its arrays brought to a device, or back."""
        new, old = self.low_rank, self.previous
        return replace(
            self,
            low_rank=Eigenpairs(move(new.vectors), new.values),
            previous=old and Eigenpairs(move(old.vectors), old.values),
            image=None if self.image is None else move(self.image),
        )


def solve(
    problem: Problem,
    *,
    rank: int,
    recipe: Recipe,
    seed: int = 0,
    file: Path | None = None,
    writing: Writing | None = None,
    progress: Progress = LogProgress(),
) -> Round:
    """Run the rounds of ``recipe`` and return the last; equation (7).

    In ``file``, if there is one, a round is kept whenever ``KEPT_AFTER`` seconds have passed since the last was: an
    interrupted fit can be resumed on any device. The last may still be on its way if the caller does the ``writing``.
    """
    kept = time.monotonic()
    with ExitStack() as stack:
        writing = writing or stack.enter_context(Writing())
        stage = stack.enter_context(progress.stage("rounds", total=recipe.rounds, unit="rounds"))
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
                if file is not None and time.monotonic() - kept >= KEPT_AFTER:
                    writing.begin(file, state.moved(problem.device.get))
                    kept = time.monotonic()
            if state.number >= recipe.rounds:
                return state
            # What the next round does not need takes as much memory as what it makes.
            state = replace(state, previous=state.previous if recipe.exact else None, image=None)
            state, residual = _next_round(residual, state, rank=rank, recipe=recipe, seed=seed)


def first_operator(problem: Problem, recipe: Recipe) -> Operator:
    """Return the first matrix of equation (7), at X = 0 or X = G/2, as an operator."""
    return partial(problem.start_times, half=recipe.relaxation if recipe.start == "half" else None)


def _first_round(problem: Problem, *, rank: int, recipe: Recipe, seed: int) -> tuple[Round, Residual]:
    """Approximate the first matrix of equation (7) from a random start."""
    device, n = problem.device, problem.words
    count, head = iterated_pairs(rank, n), n if recipe.exact else min(recipe.head or n, n)
    operator, exact = first_operator(problem, recipe), rank if recipe.exact else 0
    pairs = leading_eigenpairs(
        device, operator, head, count=min(count, head), spectrum=recipe.spectrum, seed=seed, exact=exact
    )
    if head < n:
        pairs, image = _carried_over(device, operator, pairs, n, count=count, spectrum=recipe.spectrum)
    else:
        image = operator(pairs.vectors)
    low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
    if recipe.start == "zero":
        residual = best_multiple(problem, low_rank, image)
        return Round(1, residual.low_rank, None, residual.objective, residual.image), residual
    residual = residual_of(problem, low_rank, with_image=recipe.rounds > 1 and not recipe.exact)
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
    values, rotation = leading_of(device, device.gram(basis, product), count=count, spectrum=spectrum)
    vectors = device.combine(basis, rotation)
    del basis
    return Eigenpairs(vectors, values), device.combine(product, rotation)


def _resume(problem: Problem, saved: Round, recipe: Recipe) -> tuple[Round, Residual]:
    """Bring a saved round to the device, with its residual to the same bits."""
    state = saved.moved(problem.device.put)
    low_rank, previous = state.low_rank, state.previous
    if state.image is not None:
        return state, Residual(problem, low_rank, (low_rank,), state.image)
    if previous is not None:
        residual_of(problem, previous, with_image=False)
    return state, residual_of(problem, low_rank, previous=previous, momentum=recipe.momentum)


def _next_round(
    residual: Residual, state: Round, *, rank: int, recipe: Recipe, seed: int
) -> tuple[Round, Residual]:
    """Do one round of equation (7): a long step from ahead, and a short and safe one if that raised the objective."""
    problem, old, number = residual.problem, state.low_rank, state.number + 1
    # The first X is a multiple of another, not the end of a step.
    previous = old if state.number > 1 else None
    options: dict[str, Any] = {"count": iterated_pairs(rank, problem.words), "spectrum": recipe.spectrum}
    for safe in (False, True):
        if recipe.exact:
            place, step = (old, 1.0) if safe else (_ahead(problem, state, recipe), recipe.relaxation)
            operator = partial(residual_of(problem, place, with_image=False).times, step=step)
            pairs = leading_eigenpairs(
                problem.device, operator, problem.words, **options, seed=seed, exact=rank
            )
        elif safe:
            plain = residual_of(problem, old)
            pairs = improved_eigenpairs(
                problem.device, plain.times, old.vectors, plain.into_step_image(1.0), **options
            )
        else:
            pairs = nystrom_eigenpairs(
                problem.device, old.vectors, residual.into_step_image(recipe.relaxation), **options
            )
        low_rank = truncated(pairs, rank, spectrum=recipe.spectrum)
        new = residual_of(
            problem, low_rank, previous=previous, momentum=recipe.momentum,
            with_image=number < recipe.rounds and not recipe.exact,
        )  # fmt: skip
        if new.objective <= state.objective * (1 + ROUNDING):
            break
    return Round(number, low_rank, previous, new.objective), new


def _ahead(problem: Problem, state: Round, recipe: Recipe) -> Eigenpairs:
    """Return X + θ (X - X') as one sum over the columns of both, which are not orthogonal."""
    new, old, theta = state.low_rank, state.previous, recipe.momentum
    if old is None or not theta:
        return new
    values = np.concatenate([(1 + theta) * new.values, -theta * old.values])
    return Eigenpairs(problem.device.join(new.vectors, old.vectors), values)


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


class Writing:
    """Writes rounds to disk while the next are made; the last has been written when the block ends."""

    def __init__(self) -> None:
        self._beside = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def __enter__(self) -> Writing:
        return self

    def __exit__(self, *_: object) -> None:
        with self._beside:
            self._wait()

    def begin(self, path: Path, state: Round) -> None:
        """Begin to write ``state``, after all before it; an image is written at once, since the next round turns it."""
        self._wait()
        self._last = self._beside.submit(write_round, path, state)
        if state.image is not None:
            self._wait()

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()


def read_round(path: Path) -> Round | None:
    """Read what :func:`write_round` saved; None where there is no file."""
    if not path.exists():
        return None
    record, arrays = read_piece(path)
    pairs = Eigenpairs(arrays["vectors"], arrays["values"])
    old = Eigenpairs(arrays["old_vectors"], arrays["old_values"]) if "old_values" in arrays else None
    return Round(record["number"], pairs, old, record["objective"], arrays.get("image"))
