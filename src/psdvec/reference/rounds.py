"""What the kernels of the solver compute, in dense NumPy: slow, short, and the definition.

Goes in: sparse rows as the kernels take them. Comes out: dense matrices, and the rounds of the solver with an
exact eigensolver. Equations (1) to (8) of ``docs/theory.md``; a backend is only allowed to agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.solver.pmi import Constants, WordScales, pmi, weight
from psdvec.solver.recipe import Recipe

Floats = npt.NDArray[np.float64]


def dense_rows(indptr: Any, indices: Any, values: Any, n: int) -> Floats:
    """Return the first n rows and columns of a sparse matrix, (n, n); absent pairs are 0."""
    matrix = np.zeros((n, indptr.size - 1))
    for i in range(n):
        row = slice(indptr[i], indptr[i + 1])
        matrix[i, indices[row]] = values[row]
    return matrix[:, :n]


def weights_and_targets(
    H: Floats, scales: WordScales, constants: Constants, *, negligible: float = 0.0, widths: Any = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return W, T, G and the squares: all pairs of equation (5), (n, n) each, the first three symmetrised.

    W is sym(R), T is sym(s s R G), G is sym(s s G), and the last is (s s)² R G². An unseen pair, and one whose T
    differs from an unseen pair's by less than ``negligible``, has R = ρ ρ and G = log κ; of the latter only pairs
    at or beyond ``widths``, the columns of each row that are kept whole.
    """
    r, u = scales.row_sums[:, None], scales.unigrams[:, None]
    f, a, m, B = (
        np.outer(x, x) for x in (scales.frequencies, scales.majorisers, scales.emphases, scales.rho)
    )
    log_kappa = np.log(constants.smoothing)
    seen = H > 0
    G = np.full(H.shape, log_kappa)
    G[seen] = pmi(H, r + 0 * H, u.T + 0 * H, smoothing=constants.smoothing)[seen]
    R = np.where(seen, weight(H, f, a, constants=constants), B)
    if not constants.diagonal:
        R[np.diag(np.diag(seen))] = 0.0
    tail = np.arange(len(H)) >= (np.zeros(len(H)) if widths is None else widths)[:, None]
    small = (np.abs(_sym(m * (R * G - B * log_kappa))) < negligible) & tail
    R, G = np.where(small, B, R), np.where(small, log_kappa, G)
    return _sym(R), _sym(m * R * G), _sym(m * G), m * m * R * G * G


def objective(W: Floats, T: Floats, squares: Floats, X: Floats) -> float:
    """Return Σ R (s s G - X)² over all directed pairs, equation (6)."""
    return float(squares.sum() - 2 * (T * X).sum() + (W * X * X).sum())


def fit_rounds(
    W: Floats, T: Floats, G: Floats, squares: Floats, *, rank: int, recipe: Recipe
) -> tuple[Floats, list[float]]:
    """Return X after the rounds of equation (7) with exact eigenpairs, and the objective of each.

    A step that would raise the objective is taken again without momentum and with the plain majoriser's step, 1.
    """
    X, old = first_round(W, T, G, rank=rank, recipe=recipe), None
    objectives = [objective(W, T, squares, X)]
    for _ in range(recipe.rounds - 1):
        ahead = X if old is None else X + recipe.momentum * (X - old)
        for place, step in ((ahead, recipe.relaxation), (X, 1.0)):
            new = truncate(place + step * (T - W * place), rank=rank, spectrum=recipe.spectrum)
            if objective(W, T, squares, new) <= objectives[-1]:
                break
        X, old = new, X if len(objectives) > 1 else None
        objectives.append(objective(W, T, squares, X))
    return X, objectives


def first_round(W: Floats, T: Floats, G: Floats, *, rank: int, recipe: Recipe) -> Floats:
    """Return the first X: the paper's step from G/2, or the best multiple of the target's approximation."""
    if recipe.start == "half":
        X = 0.5 * G
        return truncate(X + recipe.relaxation * (T - W * X), rank=rank, spectrum=recipe.spectrum)
    X = truncate(T, rank=rank, spectrum=recipe.spectrum)
    return X * float((T * X).sum() / (W * X * X).sum())


def truncate(A: Floats, *, rank: int, spectrum: str) -> Floats:
    """Return the best approximation of the symmetric A of this rank; PSD where the spectrum is positive."""
    values, vectors = np.linalg.eigh(A)
    size = values if spectrum == "positive" else np.abs(values)
    kept = np.argsort(-size, kind="stable")[:rank]
    values = np.maximum(values, 0.0) if spectrum == "positive" else values
    X: Floats = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    return X


def _sym(A: Floats) -> Floats:
    return (A + A.T) / 2
