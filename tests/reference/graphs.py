"""What the kernels of :mod:`psdvec.counts.graphs` compute, slowly: walks through a graph in dense NumPy and Python."""

from __future__ import annotations

from collections import Counter

import numpy as np

_BITS = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def walk_counts(A, weights, walks):
    """Return walks · n · d_i / Σd · Σ_r w(r) (P^r)_ij of a dense matrix ``A`` of weights."""
    degrees = A.sum(axis=1, keepdims=True)
    P = A / np.where(degrees > 0, degrees, 1)
    powers = [np.linalg.matrix_power(P, r) for r in range(1, len(weights) + 1)]
    visits = sum(weight * power for weight, power in zip(weights, powers, strict=True))
    return walks * len(A) * degrees / degrees.sum() * visits


def drawn_visits(P, node, walks, weights, seed):
    """Return what walks from ``node`` add to each node they visit; ``P`` is dense, and its zeros are no edges."""
    found: Counter[int] = Counter()
    state = mixed(mixed(seed + _GOLDEN) + node * _GOLDEN)
    before = np.concatenate([[0.0], np.cumsum(P[P != 0])])  # row by row, as the kernel has them
    starts = np.concatenate([[0], np.cumsum((P != 0).sum(axis=1))])
    for _ in range(walks):
        now = node
        for weight in weights:
            neighbours = np.flatnonzero(P[now])
            if not neighbours.size:
                break
            state = (state + _GOLDEN) & _BITS
            share = (mixed(state) >> 11) / 2**53
            begin, end = starts[now], starts[now + 1]
            aim = before[begin] + share * (before[end] - before[begin])
            now = int(
                neighbours[min(np.searchsorted(before[begin + 1 : end + 1], aim, "right"), end - begin - 1)]
            )
            found[now] += weight
    return found


def mixed(state):
    """SplitMix64 of Steele, Lea and Flood (2014): 64 random bits of a state."""
    z = state & _BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _BITS
    return z ^ (z >> 31)
