"""Forces between dots on a plane, for the map: all pairs, dots to a grid, a grid to dots, and springs; in numba.

A dot touches the sixteen knots around it, with the weights of cubic interpolation. Dots are spread over the grid in
their order, and every other loop is over dots ``begin`` to ``end``, so that each belongs to one thread and no result
depends on how many there are.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel


@kernel
def _cubic(u):
    """Return the weights of the knots at -1, 0, 1 and 2 for a dot at ``u`` in [0, 1)."""
    below, above, beyond = u + 1, u - 1, u - 2
    return (
        -u * above * beyond / 6,
        below * above * beyond / 2,
        -below * u * beyond / 2,
        below * u * above / 6,
    )


# places float64[n, 2]; the knots (i, j) of the grid lie at corner + spacing (i, j), and all dots well inside
@kernel
def spread(places, corner, spacing, size):
    """Return the grid float32[size, size] over which each dot spreads a charge of 1."""
    grid = np.zeros((size, size), np.float32)
    for n in range(len(places)):
        x, y = (places[n, 0] - corner[0]) / spacing, (places[n, 1] - corner[1]) / spacing
        i, j = int(x), int(y)
        across, down = _cubic(x - i), _cubic(y - j)
        for a in range(4):
            for b in range(4):
                grid[i - 1 + a, j - 1 + b] += across[a] * down[b]
    return grid


# fields float32[f, at least size, at least size]
@kernel(error_model="numpy")
def gather_into(found, places, corner, spacing, fields, begin, end):
    """Put the values of the fields, given at the knots, at each dot into ``found`` float64[n, f]."""
    for n in range(begin, end):
        x, y = (places[n, 0] - corner[0]) / spacing, (places[n, 1] - corner[1]) / spacing
        i, j = int(x), int(y)
        across, down = _cubic(x - i), _cubic(y - j)
        for f in range(len(fields)):
            total = 0.0
            for a in range(4):
                for b in range(4):
                    total += across[a] * down[b] * fields[f, i - 1 + a, j - 1 + b]
            found[n, f] = total


# places float64[n, 2]
@kernel(error_model="numpy")
def repel_into(found, places, begin, end):
    """Put Σ_j 1 / (1 + |y_i - y_j|²), itself left out, and Σ_j (y_i - y_j) / (1 + |y_i - y_j|²)² into float64[n, 3]."""
    for i in range(begin, end):
        x, y, total, right, up = places[i, 0], places[i, 1], 0.0, 0.0, 0.0
        for j in range(len(places)):
            dx, dy = x - places[j, 0], y - places[j, 1]
            near = 1 / (1 + dx * dx + dy * dy)
            total += near
            right += near * near * dx
            up += near * near * dy
        found[i, 0], found[i, 1], found[i, 2] = total - 1, right, up


# indptr int32[n+1], indices int32[nnz], weights float64[nnz]: a CSR matrix; places float64[n, 2]
@kernel(error_model="numpy")
def attract_into(found, indptr, indices, weights, places, begin, end):
    """Put Σ_j w_ij (y_i - y_j) / (1 + |y_i - y_j|²) of each dot into ``found`` float64[n, 2]."""
    for i in range(begin, end):
        x, y, right, up = places[i, 0], places[i, 1], 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            dx, dy = x - places[indices[k], 0], y - places[indices[k], 1]
            pull = weights[k] / (1 + dx * dx + dy * dy)
            right += pull * dx
            up += pull * dy
        found[i, 0], found[i, 1] = right, up
