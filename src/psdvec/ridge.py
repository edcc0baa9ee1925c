"""One new word beside fixed vectors: its weighted ridge regression, solved in closed form.

Goes in: the word's counts with the core words, and their :class:`Regressors`. Comes out: its vector and the standard
deviation of it. Equations (9) to (12) of ``docs/theory.md``; nothing here knows of other new words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psdvec import lapack
from psdvec.errors import InputError
from psdvec.model import Model
from psdvec.pmi import Constants, WordScales, pmi, weight
from psdvec.recipe import USUAL_RIDGE

Block = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Solution = tuple[float, Floats, Floats, lapack.Floats]  # evidence, x, A + μ I and its Cholesky factor

CALIBRATION = 0.5  # of the posterior's standard deviation; measured, see section 8 of docs/theory.md
CORRECTIONS = 2  # solves of what a float32 factor has left over


@dataclass(frozen=True)
class Regressors:
    """The fixed side of every regression: one row a core word.

    ``features`` (c, k) float32: s_j J v_j, the constant direction last. ``scales`` of the core words in the counts
    at hand. Over the unseen cells of a word: ``gram`` (k, k) is Σ ρ_j f fᵀ, ``total`` (k,) is Σ ρ_j s_j f, and
    ``square`` is Σ ρ_j s_j².
    """

    features: Block
    scales: WordScales
    gram: Floats
    total: Floats
    square: float


@dataclass(frozen=True)
class Cells:
    """A word's seen cells with the core, both directions together: ``rows`` of the core, and equation (10)'s terms."""

    rows: Ints
    weights: Floats
    targets: Floats
    square: float


def make_regressors(model: Model, scales: WordScales) -> Regressors:
    """Return the features of the first ``len(scales)`` core words, and their sums over the background."""
    core = len(scales)
    s = scales.emphases
    rows = model.vectors[:core] * model.signs
    if model.constant.any():
        rows = np.concatenate([rows, -model.constant[:core, None]], axis=1)
    features = (rows * s[:, None]).astype(np.float32)
    full = features.astype(np.float64)
    gram = full.T @ (scales.rho[:, None] * full)
    return Regressors(features, scales, gram, (scales.rho * s) @ full, float(scales.rho @ s**2))


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
    """Return x (k,) of equation (10), (Σ w f fᵀ + μ I) x = Σ w g f, and its standard deviation, equation (12).

    Of several ``ridges`` the one with the greatest evidence, equation (11), is taken.
    """
    F = regressors.features[cells.rows]
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    A = rho * regressors.gram + (F * cells.weights[:, None].astype(np.float32)).T @ F
    b = rho * log_kappa * regressors.total + cells.targets @ F
    square = cells.square + rho * log_kappa**2 * regressors.square
    m, k = cells.rows.size, b.size

    def solution(mu: float) -> Solution:
        whole, L = _factorised(A, mu)
        x: Floats = lapack.cholesky_solve(L, b).astype(np.float64)
        loss = max(square - float(b @ x), 1e-12)
        evidence = (
            k * np.log(max(mu, 1e-12))
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
    """Return the solution of greatest evidence, climbing from the usual ridge: the evidence has one peak in μ."""
    place = ridges.index(USUAL_RIDGE) if USUAL_RIDGE in ridges else 0
    best = solution(ridges[place])
    for step in (1, -1):
        start = place
        while 0 <= place + step < len(ridges):
            following = solution(ridges[place + step])
            if following[0] <= best[0]:
                break
            best, place = following, place + step
        if place != start:
            break
    return best


def _factorised(A: Floats, mu: float) -> tuple[Floats, lapack.Floats]:
    """Return A + μ I and its factor, in float32 where that will do; μ = 0 gets the smallest ridge that can be seen."""
    whole = A.copy()
    whole[np.diag_indices_from(whole)] += mu if mu > 0 else 1e-6 * float(np.trace(A)) / A.shape[0]
    L = lapack.cholesky(whole.astype(np.float32))
    if L is None:
        L = lapack.cholesky(whole)
    if L is None:
        raise InputError("a word's equations are singular; give a greater --ridge")
    return whole, L
