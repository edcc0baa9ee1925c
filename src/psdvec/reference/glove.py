"""What GloVe's pass over all pairs means, in plain NumPy: slow, and the definition of the kernel.

Pennington, Socher and Manning (2014): the loss is ``Σ f(X_ij) (w_i·c_j + b_i + b_j - log X_ij)² / 2``, lowered pair by
pair with AdaGrad, whose sums of squares begin at 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]


def loss(
    rows: Floats, columns: Floats, logs: Floats, weights: Floats, vectors: Floats, biases: Floats
) -> float:
    """Return the loss of word and context ``vectors`` (2, n, d) with ``biases`` (2, n) over all pairs."""
    products = np.einsum("kd,kd->k", vectors[0, rows], vectors[1, columns])
    differences = products + biases[0, rows] + biases[1, columns] - logs
    return float(np.sum(weights * differences**2) / 2)


def pass_over_pairs(
    rows: Floats,
    columns: Floats,
    logs: Floats,
    weights: Floats,
    vectors: Floats,
    squares: Floats,
    *,
    eta: float,
) -> float:
    """Take one AdaGrad step at each pair in order and return the loss met on the way.

    ``vectors`` and ``squares`` are (2, n, d + 1), the last column the bias, and are changed in place.
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
