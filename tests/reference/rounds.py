"""The rounds of the solver in dense NumPy: slow, short, and the definition of what its kernels compute.

Takes sparse rows as the kernels do, and returns dense matrices; eigenpairs are exact. Equations (1) to (8) of
``docs/theory.md``. Every device must agree with it.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Array, Float64s, Int64s
from psdvec.options import Recipe
from psdvec.solver.pmi import WordScales, pair_terms
from psdvec.vectors.model import Constants


def dense_rows(indptr: Int64s, indices: Array, values: Array, n: int) -> Float64s:
    """Return the first n rows and columns of a sparse matrix, (n, n); absent pairs are 0."""
    matrix = np.zeros((n, indptr.size - 1))
    for i in range(n):
        row = slice(indptr[i], indptr[i + 1])
        matrix[i, indices[row]] = values[row]
    return matrix[:, :n]


def directed_terms(H: Float64s, scales: WordScales, constants: Constants) -> Float64s:
    """Return the terms of :func:`psdvec.solver.pmi.pair_terms` as four (n, n) matrices, 0 for unseen pairs."""
    rows, columns = np.nonzero(H)
    one, two = scales.take(rows), scales.take(columns)
    terms = np.zeros((4, *H.shape))
    terms[:, rows, columns] = pair_terms(
        H[rows, columns], one.row_sums, two.unigrams, one.frequencies * two.frequencies,
        one.majorisers * two.majorisers, one.emphases * two.emphases, one.rho * two.rho,
        constants=constants, itself=rows == columns,
    )  # fmt: skip
    return terms


def weights_and_targets(
    H: Float64s,
    scales: WordScales,
    constants: Constants,
    *,
    negligible: float = 0.0,
    widths: Int64s | None = None,
) -> tuple[Float64s, Float64s, Float64s, Float64s]:
    """Return W, T, G and the squares over all pairs, (n, n) each: the background of equation (8) plus the seen pairs.

    W is sym(R), T is sym(s s R G), G is sym(s s G), and the last is (s s)² R G². A seen pair whose T differs from an
    unseen pair's by less than ``negligible`` counts as unseen, unless it lies in the first ``widths`` columns of its
    row, which are kept whole.
    """
    m, B = (np.outer(x, x) for x in (scales.emphases, scales.rho))
    log_kappa = np.log(constants.smoothing)
    w, t, squares, g = directed_terms(H, scales, constants)
    tail = np.arange(len(H)) >= (np.zeros(len(H)) if widths is None else widths)[:, None]
    kept = ~((np.abs(t + t.T) < negligible) & tail)
    W = B + kept * (w + w.T)
    T = m * B * log_kappa + kept * (t + t.T)
    G = m * log_kappa + kept * (g + g.T)
    return W, T, G, m * m * B * log_kappa**2 + kept * squares


def objective(W: Float64s, T: Float64s, squares: Float64s, X: Float64s) -> float:
    """Return Σ R (s s G - X)² over all directed pairs, equation (6)."""
    return float(squares.sum() - 2 * (T * X).sum() + (W * X * X).sum())


def fit_rounds(
    W: Float64s, T: Float64s, G: Float64s, squares: Float64s, *, rank: int, recipe: Recipe
) -> tuple[Float64s, list[float]]:
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


def first_round(W: Float64s, T: Float64s, G: Float64s, *, rank: int, recipe: Recipe) -> Float64s:
    """Return the first X: the paper's step from G/2, or the best multiple of the target's approximation."""
    if recipe.start == "half":
        X = 0.5 * G
        return truncate(X + recipe.relaxation * (T - W * X), rank=rank, spectrum=recipe.spectrum)
    X = truncate(T, rank=rank, spectrum=recipe.spectrum)
    return X * float((T * X).sum() / (W * X * X).sum())


def truncate(A: Float64s, *, rank: int, spectrum: str) -> Float64s:
    """Return the best approximation of the symmetric A of this rank; PSD where the spectrum is positive."""
    values, vectors = np.linalg.eigh(A)
    size = values if spectrum == "positive" else np.abs(values)
    kept = np.argsort(-size, kind="stable")[:rank]
    values = np.maximum(values, 0.0) if spectrum == "positive" else values
    X: Float64s = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    return X
