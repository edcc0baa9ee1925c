"""One new word beside fixed vectors: its weighted ridge regression, solved in closed form.

Takes the word's counts with the core words and their :class:`Regressors`, and returns its vector with a standard
deviation. Equations (9) to (12) of ``docs/theory.md``; nothing here knows of other new words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.kernels import lapack
from psdvec.kernels.contexts import add_seen, gather_into, solve_contexts
from psdvec.solver.pmi import Constants, WordScales, pair_terms
from psdvec.storage.arrays import Scratch
from psdvec.vectors.model import Model

CALIBRATION = 3.8  # of the posterior's standard deviation; measured, see docs/results/intervals.md
LEAST = 1e-6  # ridge in place of 0, as a share of the trace
SINGULAR = "the equations of a word are singular; give a greater ridge, such as ridge=1"
TOLERANCE = 1e-4  # of conjugate gradients; some six steps, each of which leaves less than a fourth
MOST_STEPS = 200
_BLOCK = 2048  # rows of a float32 product
CORRECTIONS = 2  # solves of what a float32 factor leaves over

_scratch = Scratch()


@dataclass(frozen=True)
class Regressors:
    """The fixed side of every regression: one row per core word, which has two cells, before the new word and after.

    ``features`` (c, k) float32: s_j J v_j, the constant direction last. ``scales`` of the core words in the counts
    at hand. Summed over the cells of a word that saw nothing: ``gram`` (k, k) is Σ ρ_j f fᵀ, ``total`` (k,) is
    Σ ρ_j s_j f, and ``square`` is Σ ρ_j s_j²; ``cells`` of them have a weight. ``damping`` (k, k) is η Σ f fᵀ, and
    ``damped`` (k,) are its eigenvalues.
    """

    features: Float32s
    scales: WordScales
    gram: Float64s
    total: Float64s
    square: float
    cells: int
    damping: Float64s
    damped: Float64s
    known: dict[float, Preconditioner] = field(default_factory=dict, repr=False)

    def preconditioner(self, ridge: float) -> Preconditioner | None:
        """Return what makes conjugate gradients fast at a ``ridge``; None where the sums are not fit for it."""
        if not np.trace(self.gram) > 0 or not self.damped.any() or not ridge:
            return None
        if ridge not in self.known:
            from scipy.linalg import eigh

            prior = self.damping + ridge * np.eye(len(self.total))
            try:
                values, directions = eigh(self.gram, prior)
            except (np.linalg.LinAlgError, ValueError) as error:  # singular, or not finite
                raise InputError(SINGULAR) from error
            self.known[ridge] = Preconditioner(
                prior,
                np.maximum(values, 0.0),
                np.ascontiguousarray(directions, np.float32),
                np.square(directions).sum(axis=0),
            )
        return self.known[ridge]


class Preconditioner(NamedTuple):
    """The ``prior`` P, and ``directions`` Q in which P is 1 and Σ ρ_j f fᵀ is diagonal, with ``values`` on it.

    If the contexts of a word were as frequent as those of all, A would be a multiple of the latter.
    """

    prior: Float64s
    values: Float64s
    directions: Float32s
    squares: Float64s  # Σ of each direction's squares


@dataclass(frozen=True)
class Cells:
    """What a word's seen cells add to those of a word that saw nothing, the two cells of a core word summed.

    ``rows`` of the core, their ``weights`` and ``targets`` in equation (10), and the ``square`` of equation (11);
    ``seen`` cells there are. ``weights`` are never negative: a seen pair weighs no less than the same pair unseen.
    """

    rows: Int64s
    weights: Float64s
    targets: Float64s
    square: float
    seen: int


def make_regressors(model: Model, scales: WordScales, *, damping: float) -> Regressors:
    """Return the features of the first ``len(scales)`` core words, and their sums over the background."""
    s = scales.emphases
    core = s.size
    rows = model.rows[:core] * model.signs
    if model.constant.any():
        rows = np.concatenate([rows, -model.constant[:core, None]], axis=1)
    features = (rows * s[:, None]).astype(np.float32)
    held = 2 * damping * _moment(features, np.ones(core))
    return Regressors(
        features,
        scales,
        gram=2 * _moment(features, scales.rho),
        total=2 * (scales.rho * s) @ features,
        square=2 * float(scales.rho @ s**2),
        cells=2 * int(np.count_nonzero(scales.rho)),
        damping=held,
        damped=np.maximum(np.linalg.eigvalsh(held), 0.0),
    )


def _moment(features: Float32s, weights: Float64s) -> Float64s:
    """Return Σ w f fᵀ: float32 products of blocks of rows, added up in float64."""
    total = np.zeros((features.shape[1], features.shape[1]))
    roots = np.sqrt(weights, dtype=np.float64).astype(np.float32)
    for start in range(0, len(features), _BLOCK):
        block = roots[start : start + _BLOCK, None] * features[start : start + _BLOCK]
        total += block.T @ block  # of one array, half the work to NumPy
    return total


def word_cells(
    word: WordScales,
    old: WordScales,
    constants: Constants,
    after: Int64s,
    H_after: Float64s,
    before: Int64s,
    H_before: Float64s,
) -> Cells:
    """Return what the seen cells of one word add to the background, equation (10).

    ``after``: core rows that follow the word, with counts ``H_after``; ``before``: those that it follows.
    """
    rows = np.concatenate([after, before])
    terms = pair_terms(
        np.concatenate([H_after, H_before]),
        np.concatenate([np.broadcast_to(word.row_sums, after.shape), old.row_sums[before]]),
        np.concatenate([old.unigrams[after], np.broadcast_to(word.unigrams, before.shape)]),
        word.frequencies * old.frequencies[rows],
        word.majorisers * old.majorisers[rows],
        old.emphases[rows],
        word.rho * old.rho[rows],
        constants=constants,
    )
    unique, place = np.unique(rows, return_inverse=True)
    weights, targets = (
        2 * np.bincount(place, weights=term, minlength=unique.size).astype(float)
        for term in (terms.weights, terms.targets)  # halves, since a fit averages the two directions
    )
    return Cells(unique, weights, targets, float(np.sum(terms.squares)), seen=rows.size)


class Solution(NamedTuple):
    """The solution at one ridge: its evidence, x, A + P, and the Cholesky factor of that."""

    evidence: float
    x: Float64s
    whole: Float64s
    factor: Array


def solve_word(
    cells: Cells,
    word: WordScales,
    regressors: Regressors,
    constants: Constants,
    *,
    ridges: Sequence[float],
    mean: Float64s | None = None,
) -> tuple[Float64s, float]:
    """Return x (k,) of equation (10), (Σ w f fᵀ + P) x = Σ w g f, and its standard deviation, equation (12).

    P is η Σ f fᵀ + μI. Of several rising ``ridges`` μ, the one with the greatest evidence is taken, equation (11).
    With a ``mean`` q of the prior, equation (16), x - q is what is solved for, and q·f taken off the targets.
    """
    if len(ridges) == 1 and (known := regressors.preconditioner(ridges[0])) is not None:
        return _solve_by_gradients(cells, word, regressors, constants, known, mean)
    F = regressors.features[cells.rows]
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    b = rho * log_kappa * regressors.total + cells.targets.astype(np.float32) @ F
    F *= np.sqrt(cells.weights[:, None], dtype=np.float32)
    A = rho * regressors.gram + F.T @ F  # of one array, half the work to NumPy
    square = cells.square + rho * log_kappa**2 * regressors.square
    if mean is not None:
        image = A @ mean
        square += float(mean @ image - 2 * b @ mean)
        b = b - image
    m, k = max(cells.seen, regressors.cells), b.size
    damped = A + regressors.damping
    least = 0.0 if regressors.damped.any() else LEAST * float(np.trace(A))
    best = None
    for mu in ridges:
        whole, L = _factorised(damped, mu or least)
        x: Float64s = lapack.cholesky_solve(L, b).astype(np.float64)
        log_prior = np.log(np.maximum(regressors.damped + mu, 1e-12)).sum()
        log_whole = 2 * np.log(np.diag(L), dtype=np.float64).sum()
        found, ceiling = evidence(log_prior, log_whole, m, np.maximum(square - b @ x, 1e-12))
        if best is None or found > best.evidence:
            best = Solution(found, x, whole, L)
        if best.evidence >= ceiling:
            break
    assert best is not None  # there is at least one ridge
    _, x, whole, L = best
    for _ in range(CORRECTIONS):
        x += lapack.cholesky_solve(L, b - whole @ x)
    loss = max(square - float(b @ x), 1e-12)
    return x if mean is None else x + mean, CALIBRATION * float(
        np.sqrt(loss / m * lapack.inverse_trace(L) / k)
    )


def _solve_by_gradients(
    cells: Cells,
    word: WordScales,
    regressors: Regressors,
    constants: Constants,
    known: Preconditioner,
    mean: Float64s | None,
) -> tuple[Float64s, float]:
    """Return what :func:`solve_word` returns at one ridge, by conjugate gradients, to float32 accuracy.

    The trace of (A + P)⁻¹ is that of the preconditioner, which is smaller by some 4 in 100.
    """
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    weights = cells.weights.astype(np.float32)
    F = _scratch.array(np.float32, cells.rows.size, regressors.features.shape[1])
    total, trace = gather_into(F, regressors.features, cells.rows, weights, cells.targets.astype(np.float32))
    b = total + rho * log_kappa * regressors.total
    square = cells.square + rho * log_kappa**2 * regressors.square
    if mean is not None:
        seen = np.zeros(b.size, np.float32)
        add_seen(F, weights, mean.astype(np.float32), seen)
        image = rho * (regressors.gram @ mean) + seen
        square += float(mean @ image - 2 * b @ mean)
        b = b - image
    usual = rho + trace / float(np.trace(regressors.gram))
    scales = 1 / (usual * known.values + 1)
    base = (rho * regressors.gram + known.prior).astype(np.float32)
    x32, steps = solve_contexts(
        F,
        weights,
        base,
        known.directions,
        scales.astype(np.float32),
        b.astype(np.float32),
        TOLERANCE,
        MOST_STEPS,
    )
    if steps == MOST_STEPS or not np.isfinite(x32).all():
        raise InputError(SINGULAR)
    x = x32.astype(np.float64)
    m, k = max(cells.seen, regressors.cells), b.size
    loss = max(square - float(b @ x), 1e-12)
    inverse = float(known.squares @ scales)
    return x if mean is None else x + mean, CALIBRATION * float(np.sqrt(loss / m * inverse / k))


def evidence(log_prior: Any, log_whole: Any, m: Any, loss: Any, *, xp: Any = np) -> tuple[Any, Any]:
    """Return twice equation (11) at one ridge, and what it reaches at no greater one.

    ``log_prior`` is log det P, ``log_whole`` log det(A + P), ``loss`` is Σ R s² g² - bᵀx. With a greater ridge the loss
    is no smaller, and log det P never exceeds log det(A + P): so -m log(loss) is a ceiling for all that follow.
    """
    ceiling = -m * xp.log(loss)
    return log_prior - log_whole + ceiling, ceiling


def _factorised(damped: Float64s, mu: float) -> tuple[Float64s, Array]:
    """Return A + P and its factor, in float32 where that suffices.

    A is a float32 product: where contexts are fewer than features, its least eigenvalues may lie below 0 by some 1e-7
    of the greatest.
    """
    whole = damped.copy()
    whole[np.diag_indices_from(whole)] += mu
    L = lapack.cholesky(whole.astype(np.float32))
    if L is None:
        L = lapack.cholesky(whole)
    if L is None:
        raise InputError(SINGULAR)
    return whole, L
