"""GloVe's pass over all pairs in plain NumPy: slow, but the definition that the kernel must agree with.

The loss of Pennington, Socher and Manning (2014) is ``Σ f(X_ij) (w_i·c_j + b_i + b_j - log X_ij)² / 2``. It is lowered
pair by pair with AdaGrad, whose sums of squares start at 1.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Array


def loss(rows: Array, columns: Array, logs: Array, weights: Array, vectors: Array, biases: Array) -> float:
    """Return the loss of word and context ``vectors`` (2, n, d) with ``biases`` (2, n) over all pairs."""
    products = np.einsum("kd,kd->k", vectors[0, rows], vectors[1, columns])
    differences = products + biases[0, rows] + biases[1, columns] - logs
    return float(np.sum(weights * differences**2) / 2)


def pass_over_pairs(
    rows: Array,
    columns: Array,
    logs: Array,
    weights: Array,
    vectors: Array,
    squares: Array,
    *,
    eta: float,
) -> float:
    """Take one AdaGrad step per pair, in order, and return the loss met on the way.

    ``vectors`` and ``squares`` are (2, n, d + 1), with the biases in the last column; both are changed in place.
    """
    total = 0.0
    for i, j, log, weight in zip(rows, columns, logs, weights, strict=True):
        w, c = vectors[0, i].copy(), vectors[1, j].copy()
        difference = w[:-1] @ c[:-1] + w[-1] + c[-1] - log
        total += weight * difference**2 / 2
        step = eta * weight * difference
        for side, row, other in ((0, i, c), (1, j, w)):
            gradient = step * np.append(other[:-1], 1.0)
            vectors[side, row] -= gradient / np.sqrt(squares[side, row])
            squares[side, row] += gradient**2
    return total
