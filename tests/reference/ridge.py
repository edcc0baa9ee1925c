"""The regression of one new word in dense NumPy: the definition of what :mod:`psdvec.solver.ridge` computes.

Takes every cell of the word with the core one by one, seen or not, two for each core word. Equations (9) to (12) of
``docs/theory.md`` and (16) of ``docs/spelling.md``; nothing is summed in advance, and the evidence is that of the
normal distribution of the targets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psdvec.arrays import Float64s
from psdvec.solver.pmi import WordScales, pmi, weight
from psdvec.vectors.model import Constants


class WordCells(NamedTuple):
    """The cells of a word: ``weights`` R and ``targets`` s g, (2c,), and the ``features`` f of their core words."""

    weights: Float64s
    targets: Float64s
    features: Float64s


def word_cells(
    after: Float64s,
    before: Float64s,
    word: WordScales,
    core: WordScales,
    features: Float64s,
    *,
    constants: Constants,
) -> WordCells:
    """Return the cells of a word that the core words follow ``after`` (c,) times and precede ``before`` (c,) times."""
    f, a = word.frequencies * core.frequencies, word.majorisers * core.majorisers
    weights, targets = [], []
    for H, r, u in ((after, word.row_sums, core.unigrams), (before, core.row_sums, word.unigrams)):
        seen = H > 0
        G = np.full(H.shape, np.log(constants.smoothing))
        G[seen] = pmi(H, r, u, smoothing=constants.smoothing)[seen]
        weights.append(np.where(seen, weight(H, f, a, constants=constants), word.rho * core.rho))
        targets.append(core.emphases * G)
    return WordCells(np.concatenate(weights), np.concatenate(targets), np.tile(features, (2, 1)))


def around(cells: WordCells, mean: Float64s) -> WordCells:
    """Return the cells of what is left of a word if the ``mean`` of its prior is taken off, equation (16)."""
    return cells._replace(targets=cells.targets - cells.features @ mean)


def solve(cells: WordCells, *, ridge: float, damping: float) -> Float64s:
    """Return x, equation (10)."""
    R, y, F = cells
    A = F.T @ (R[:, None] * F)
    return np.asarray(np.linalg.solve(A + _prior(F, ridge, damping), F.T @ (R * y)))


def log_evidence(cells: WordCells, *, ridge: float, damping: float) -> float:
    """Return equation (11) without its constant: the likeliest density of the targets, whatever x is.

    They are normal with mean 0 and covariance τ² (diag(1/R) + F P⁻¹ Fᵀ); τ² is the likeliest one.
    """
    R, y, covariance = _targets(cells, ridge, damping)
    square = y @ np.linalg.solve(covariance, y)
    return float(-0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * R.size * np.log(square))


def deviation(cells: WordCells, *, ridge: float, damping: float) -> float:
    """Return equation (12) without its calibration: the root mean variance of the coordinates of x."""
    R, y, covariance = _targets(cells, ridge, damping)
    variance = y @ np.linalg.solve(covariance, y) / R.size
    F = cells.features
    whole = F.T @ (cells.weights[:, None] * F) + _prior(F, ridge, damping)
    return float(np.sqrt(variance * np.trace(np.linalg.inv(whole)) / F.shape[1]))


def _targets(cells: WordCells, ridge: float, damping: float) -> tuple[Float64s, Float64s, Float64s]:
    """Return the weights and targets of the cells that have a weight, and the covariance of these targets over τ²."""
    R, y, F = (part[cells.weights > 0] for part in cells)
    return R, y, np.diag(1 / R) + F @ np.linalg.solve(_prior(cells.features, ridge, damping), F.T)


def _prior(F: Float64s, ridge: float, damping: float) -> Float64s:
    return damping * F.T @ F + ridge * np.eye(F.shape[1])
