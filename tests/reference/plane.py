"""Forces between dots on a plane in plain NumPy, pair by pair: slow, but what the grid and its kernels approximate."""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Array


def repel(places: Array) -> tuple[Array, float]:
    """Return Σ_j (y_i - y_j) / (1 + |y_i - y_j|²)² of each dot, (n, 2), and Z = Σ_i Σ_{j≠i} 1 / (1 + |y_i - y_j|²)."""
    apart = places[:, None] - places
    near = 1 / (1 + (apart**2).sum(axis=2))
    return (near[:, :, None] ** 2 * apart).sum(axis=1), float(near.sum() - len(places))


def attract(weights: Array, places: Array) -> Array:
    """Return Σ_j w_ij (y_i - y_j) / (1 + |y_i - y_j|²) of each dot, (n, 2), for dense ``weights`` (n, n)."""
    apart = places[:, None] - places
    near = weights / (1 + (apart**2).sum(axis=2))
    return np.asarray((near[:, :, None] * apart).sum(axis=1))
