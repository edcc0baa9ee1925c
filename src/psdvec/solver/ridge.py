"""One new word beside fixed vectors: its weighted ridge regression, solved in closed form.

Takes the word's counts with the core words and their :class:`Regressors`, and returns its vector with a standard
deviation. Equations (9) to (12) of ``docs/theory.md``; nothing here knows of other new words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.errors import InputError
from psdvec.solver import lapack
from psdvec.solver.model import Model
from psdvec.solver.pmi import Constants, WordScales, pair_terms

CALIBRATION = 2.7  # of the posterior's standard deviation; measured, see section 8 of docs/theory.md
LEAST = 1e-6  # ridge in place of 0, as a share of the trace
SINGULAR = "the equations of a word are singular; give a greater ridge, such as ridge=1"
CORRECTIONS = 2  # solves of what a float32 factor leaves over


@dataclass(frozen=True)
class Regressors:
    """The fixed side of every regression: one row per core word.

    ``features`` (c, k) float32: s_j J v_j, the constant direction last. ``scales`` of the core words in the counts
    at hand. Over the unseen cells of a word: ``gram`` (k, k) is Σ ρ_j f fᵀ, ``total`` (k,) is Σ ρ_j s_j f, and
    ``square`` is Σ ρ_j s_j²; ``cells`` of them have a weight. ``damping`` (k,) is η Σ f², the diagonal of η Σ f fᵀ.
    """

    features: Float32s
    scales: WordScales
    gram: Float64s
    total: Float64s
    square: float
    cells: int
    damping: Float64s


@dataclass(frozen=True)
class Cells:
    """A word's seen cells with the core, both directions together: ``rows`` of the core, and equation (10)'s terms.

    ``weights`` are never negative: a seen pair weighs no less than the same pair unseen.
    """

    rows: Int64s
    weights: Float64s
    targets: Float64s
    square: float


def make_regressors(model: Model, scales: WordScales, *, damping: float) -> Regressors:
    """Return the features of the first ``len(scales)`` core words, and their sums over the background."""
    s = scales.emphases
    core = s.size
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
    after: Int64s,
    H_after: Float64s,
    before: Int64s,
    H_before: Float64s,
) -> Cells:
    """Return what the seen cells of one word add to the background, equation (10), both directions summed.

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
        np.bincount(place, weights=term, minlength=unique.size).astype(float)
        for term in (terms.weights, terms.targets)
    )
    return Cells(unique, weights, targets, square=0.5 * float(np.sum(terms.squares)))


class Solution(NamedTuple):
    """The solution at one ridge: its evidence, x, A + P, and the Cholesky factor of that."""

    evidence: np.float64
    x: Float64s
    whole: Float64s
    factor: Array


def solve_word(
    cells: Cells, word: WordScales, regressors: Regressors, constants: Constants, *, ridges: Sequence[float]
) -> tuple[Float64s, float]:
    """Return x (k,) of equation (10), (Σ w f fᵀ + P) x = Σ w g f, and its standard deviation, equation (12).

    P is ηD + μI. Of several rising ``ridges`` μ, the one with the greatest evidence is taken; see :func:`climb`.
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
        x: Float64s = lapack.cholesky_solve(L, b).astype(np.float64)
        loss = max(square - float(b @ x), 1e-12)
        evidence = (
            float(np.log(np.maximum(prior, 1e-12)).sum())
            - 2 * float(np.log(np.diag(L), dtype=np.float64).sum())
            - m * np.log(loss)
        )
        return Solution(evidence, x, whole, L)

    trials = OneWord(solution, ridges)
    climb(trials, len(ridges))
    _, x, whole, L = trials.best
    for _ in range(CORRECTIONS):
        x += lapack.cholesky_solve(L, b - whole @ x)
    loss = max(square - float(b @ x), 1e-12)
    return x, CALIBRATION * float(np.sqrt(loss / m * lapack.inverse_trace(L) / k))


class Trials(Protocol):
    """One word, or a batch of words, tried at rising ridges; every word that still climbs is tried at once."""

    def start(self) -> None:
        """Solve every word at its smallest ridge, the best so far."""

    def evidences(self, step: int) -> tuple[Any, Any]:
        """Solve the words that still climb at ridge ``step``; return the evidence there, and the best so far."""

    def keep(self, better: Any) -> None:
        """Make the last solutions the best ones where ``better``; the other words have stopped climbing."""


def climb(trials: Trials, ridges: int) -> None:
    """Find the greatest evidence, equation (11), of each word: it has one peak in μ, so climb while it rises."""
    trials.start()
    for step in range(1, ridges):
        found, best = trials.evidences(step)
        better = found > best
        if not better.any():
            break
        trials.keep(better)


class OneWord:
    """The :class:`Trials` of one word."""

    def __init__(self, solve: Callable[[float], Solution], ridges: Sequence[float]) -> None:
        self.solve, self.ridges = solve, ridges

    def start(self) -> None:
        """See :class:`Trials`."""
        self.best = self.solve(self.ridges[0])

    def evidences(self, step: int) -> tuple[np.float64, np.float64]:
        """See :class:`Trials`."""
        self.found = self.solve(self.ridges[step])
        return self.found.evidence, self.best.evidence

    def keep(self, better: np.bool_) -> None:
        """See :class:`Trials`."""
        self.best = self.found


def _factorised(A: Float64s, prior: Float64s) -> tuple[Float64s, Array]:
    """Return A + P and its factor, in float32 where that suffices; P = 0 becomes the smallest ridge that matters.

    A is a float32 product: where contexts are fewer than features, its least eigenvalues may lie below 0 by some 1e-7
    of the greatest.
    """
    whole = A.copy()
    whole[np.diag_indices_from(whole)] += prior if prior.any() else LEAST * float(np.trace(A))
    L = lapack.cholesky(whole.astype(np.float32))
    if L is None:
        L = lapack.cholesky(whole)
    if L is None:
        raise InputError(SINGULAR)
    return whole, L
