"""GloVe's pass over all pairs on the CPU, in numba.

The parameters are changed in place, pair by pair in the given order. With one thread the result is what
:mod:`psdvec.reference.glove` defines, to float32 accuracy; several threads share the parameters without locks
(Hogwild), and then the result depends on their timing.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel


# rows, columns int32[m]; logs, weights float32[m]; vectors, squares float32[2, n, d+1], the last column the bias
@kernel(fastmath=True, error_model="numpy")
def pass_over_pairs(rows, columns, logs, weights, vectors, squares, eta, begin, end):
    """Take one AdaGrad step per pair from ``begin`` to ``end``; return Σ f(X) (w·c + b - log X)² / 2."""
    d, loss = vectors.shape[2] - 1, 0.0
    for k in range(begin, end):
        w, c = vectors[0, rows[k]], vectors[1, columns[k]]
        w_squares, c_squares = squares[0, rows[k]], squares[1, columns[k]]
        difference = w[d] + c[d] - logs[k]
        for i in range(d):
            difference += w[i] * c[i]
        weighted = weights[k] * difference
        loss += 0.5 * weighted * difference
        step = np.float32(eta * weighted)
        for i in range(d):
            w_gradient, c_gradient = step * c[i], step * w[i]
            w[i] -= w_gradient / np.sqrt(w_squares[i])
            c[i] -= c_gradient / np.sqrt(c_squares[i])
            w_squares[i] += w_gradient * w_gradient
            c_squares[i] += c_gradient * c_gradient
        w[d] -= step / np.sqrt(w_squares[d])
        c[d] -= step / np.sqrt(c_squares[d])
        w_squares[d] += step * step
        c_squares[d] += step * step
    return loss
