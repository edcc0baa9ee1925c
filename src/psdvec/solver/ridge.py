"""One new word beside fixed vectors: its weighted ridge regression, solved in closed form.

Goes in: the word's counts with the core words, and their :class:`Regressors`. Comes out: its vector and the standard
deviation of it. Equations (9) to (12) of ``docs/theory.md``; nothing here knows of other new words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError
from psdvec.solver import lapack
from psdvec.solver.model import Model
from psdvec.solver.pmi import Constants, WordScales, pmi, weight

Block = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Solution = tuple[float, Floats, Floats, lapack.Floats]  # evidence, x, A + P and its Cholesky factor

CALIBRATION = 2.7  # of the posterior's standard deviation; measured, see section 8 of docs/theory.md
LEAST = 1e-6  # ridge in place of 0, as a share of the trace
SINGULAR = "a word's equations are singular; give a greater --ridge"
CORRECTIONS = 2  # solves of what a float32 factor has left over


@dataclass(frozen=True)
class Regressors:
    """The fixed side of every regression: one row a core word.

    ``features`` (c, k) float32: s_j J v_j, the constant direction last. ``scales`` of the core words in the counts
    at hand. Over the unseen cells of a word: ``gram`` (k, k) is Σ ρ_j f fᵀ, ``total`` (k,) is Σ ρ_j s_j f, and
    ``square`` is Σ ρ_j s_j²; ``cells`` of them have a weight. ``damping`` (k,) is η Σ f², the diagonal of η Σ f fᵀ.
    """

    features: Block
    scales: WordScales
    gram: Floats
    total: Floats
    square: float
    cells: int
    damping: Floats


@dataclass(frozen=True)
class Cells:
    """A word's seen cells with the core, both directions together: ``rows`` of the core, and equation (10)'s terms.

    ``weights`` are never negative: a seen pair weighs no less than the same pair unseen.
    """

    rows: Ints
    weights: Floats
    targets: Floats
    square: float


def make_regressors(model: Model, scales: WordScales, *, damping: float) -> Regressors:
    """Return the features of the first ``len(scales)`` core words, and their sums over the background."""
    core = len(scales)
    s = scales.emphases
    rows = model.vectors[:core] * model.signs
    if model.constant.any():
        rows = np.concatenate([rows, -model.constant[:core, None]], axis=1)
    features = (rows * s[:, None]).astype(np.float32)
    full = features.astype(np.float64)
    gram = full.T @ (scales.rho[:, None] * full)
    return Regressors(
        features,
        scales,
        gram,
        total=(scales.rho * s) @ full,
        square=float(scales.rho @ s**2),
        cells=int(np.count_nonzero(scales.rho)),
        damping=damping * np.square(full).sum(axis=0),
    )


def word_cells(
    word: WordScales,
    old: WordScales,
    constants: Constants,
    after: Ints,
    H_after: Floats,
    before: Ints,
    H_before: Floats,
) -> Cells:
    """Return what the seen cells of one word add to the background, equation (10), both directions summed.

    ``after``: core rows that follow the word, with counts ``H_after``; ``before``: those that it follows.
    """
    log_kappa = np.log(constants.smoothing)
    rows = np.concatenate([after, before])
    s = old.emphases[rows]
    r = np.concatenate([np.broadcast_to(word.row_sums, after.shape), old.row_sums[before]])
    u = np.concatenate([old.unigrams[after], np.broadcast_to(word.unigrams, before.shape)])
    B = word.rho * old.rho[rows]
    H = np.concatenate([H_after, H_before])
    f, a = word.frequencies * old.frequencies[rows], word.majorisers * old.majorisers[rows]
    R = weight(H, f, a, constants=constants)
    G = pmi(H, r, u, smoothing=constants.smoothing)
    unique, place = np.unique(rows, return_inverse=True)
    terms = np.stack([0.5 * (R - B), 0.5 * s * (R * G - B * log_kappa)])
    weights, targets = (
        np.bincount(place, weights=term, minlength=unique.size).astype(float) for term in terms
    )
    square = float(np.sum(0.5 * s**2 * (R * G**2 - B * log_kappa**2)))
    return Cells(unique, weights, targets, square)


def solve_word(
    cells: Cells, word: WordScales, regressors: Regressors, constants: Constants, *, ridges: Sequence[float]
) -> tuple[Floats, float]:
    """Return x (k,) of equation (10), (Σ w f fᵀ + P) x = Σ w g f, and its standard deviation, equation (12).

    P is ηD + μI. Of several rising ``ridges`` μ the first with greater evidence, equation (11), than the next is taken.
    """
    F = regressors.features[cells.rows]
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    b = rho * log_kappa * regressors.total + cells.targets.astype(np.float32) @ F
    F *= np.sqrt(cells.weights[:, None], dtype=np.float32)
    A = rho * regressors.gram + F.T @ F  # of one array, half the work to NumPy
    square = cells.square + rho * log_kappa**2 * regressors.square
    m, k = max(cells.rows.size, regressors.cells), b.size

    def solution(mu: float) -> Solution:
        prior = regressors.damping + mu
        whole, L = _factorised(A, prior)
        x: Floats = lapack.cholesky_solve(L, b).astype(np.float64)
        loss = max(square - float(b @ x), 1e-12)
        evidence = (
            float(np.log(np.maximum(prior, 1e-12)).sum())
            - 2 * float(np.log(np.diag(L), dtype=np.float64).sum())
            - m * np.log(loss)
        )
        return evidence, x, whole, L

    _, x, whole, L = _uphill(solution, ridges)
    for _ in range(CORRECTIONS):
        x += lapack.cholesky_solve(L, b - whole @ x)
    loss = max(square - float(b @ x), 1e-12)
    return x, CALIBRATION * float(np.sqrt(loss / m * lapack.inverse_trace(L) / k))


def _uphill(solution: Callable[[float], Solution], ridges: Sequence[float]) -> Solution:
    """Return the solution of greatest evidence, climbing from the smallest ridge: the evidence has one peak in μ."""
    best = solution(ridges[0])
    for mu in ridges[1:]:
        following = solution(mu)
        if following[0] <= best[0]:
            break
        best = following
    return best


def _factorised(A: Floats, prior: Floats) -> tuple[Floats, lapack.Floats]:
    """Return A + P and its factor, in float32 where that will do; P = 0 gets the smallest ridge that can be seen.

    A is a float32 product, so that where contexts are fewer than features its least eigenvalues may be some 1e-7 of the
    greatest below 0.
    """
    whole = A.copy()
    whole[np.diag_indices_from(whole)] += prior if prior.any() else LEAST * float(np.trace(A))
    L = lapack.cholesky(whole.astype(np.float32))
    if L is None:
        L = lapack.cholesky(whole)
    if L is None:
        raise InputError(SINGULAR)
    return whole, L
