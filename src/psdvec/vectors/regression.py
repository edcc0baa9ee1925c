"""The regression of vectors on what else is known of words, such as letters: equation (14) of ``docs/spelling.md``.

:func:`regress` takes a sparse row of features z for each word and the unit vectors u of their contexts. It returns the
matrix B of which z B comes nearest to u, and how such predictions agree with words that B was not learned from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from psdvec.arrays import Float32s
from psdvec.kernels import kernel
from psdvec.progress import LogProgress, Progress
from psdvec.resources import map_ordered, resolve_workers

DOUBT = 0.1  # slope up to which letters tell nothing: those of other words, dealt at random, reach 0.08
CHANCE = 8  # standard errors of a cosine up to which it may be chance: coordinates are not independent
LEAST = 0.01  # trust, so that unseen words have a direction at least
_MOST = 0.95  # s², and τ² s²: nothing is known for certain
STEPS = 8  # of conjugate gradients: further ones change no score
_COLUMNS = 20  # solved together at most, about a cache line of each row, and a few megabytes of all
_PROBES = 16  # random signs that measure the leverage
_SEED = 0  # of the probes

# Solves (14) for columns of U: takes Z, C, U and the ridge, returns B and Z B.
Solve: TypeAlias = Callable[[Any, Float32s, Float32s, float], tuple[Float32s, Float32s]]


def regress(
    Z: Any,
    units: Float32s,
    certain: Float32s,
    *,
    ridge: float,
    solve: Solve | None = None,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> tuple[Float32s, Others]:
    """Return B (g, d) of equation (14), and how its predictions agree with words that it was not learned from.

    ``Z`` (n, g) are the features of words, a sparse array, and ``units`` (n, d) their vectors, of length 1; ``certain``
    (n,) is how much each counts. Threads solve it, unless there is something else to ``solve`` it.
    """
    n, d, threads = len(units), units.shape[1], resolve_workers(workers)
    probes = np.random.default_rng(_SEED).choice([-1, 1], size=(n, _PROBES)).astype(np.float32)
    if solve is not None:
        all_B, all_spelled = solve(Z, certain, np.hstack([units, probes]), ridge)
        return all_B[:, :d], what_others_say(units, all_spelled[:, :d], _leverage(probes, all_spelled[:, d:]))
    solver = _Regression(Z, certain, ridge)
    B, spelled, echoes = np.empty((Z.shape[1], d), np.float32), np.empty_like(units), np.empty_like(probes)

    def learn(part: slice) -> None:
        B[:, part], spelled[:, part] = solver.solve(units[:, part])

    def probe(part: slice) -> None:
        _, echoes[:, part] = solver.solve(probes[:, part])

    widest = -(-(d + _PROBES) // (threads * -(-(d + _PROBES) // (threads * _COLUMNS))))
    blocks = [(learn, part) for part in _even_slices(d, widest)]
    blocks += [(probe, part) for part in _even_slices(_PROBES, widest)]
    with (
        ThreadPoolExecutor(threads) as pool,
        progress.stage("spelling", total=len(blocks), unit="blocks") as stage,
    ):
        for _ in map_ordered(pool, lambda block: block[0](block[1]), blocks, ahead=2 * len(blocks)):
            stage.advance(1)
    return B, what_others_say(units, spelled, _leverage(probes, echoes))


def _leverage(probes: Float32s, echoes: Float32s) -> float:
    """Return the mean leverage, by what becomes of random signs (Hutchinson 1990)."""
    return float(np.sum(probes * echoes) / probes.size)


def _even_slices(size: int, widest: int) -> list[slice]:
    """Cut columns into slices of nearly so many, at least 2: a sum over rows is taken in another order for 1 alone.

    >>> _even_slices(7, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    parts = -(-size // max(widest, 3))
    bounds = [size * part // parts for part in range(parts + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


class Others(NamedTuple):
    """How words and what the n-grams of *other* words say of them agree, in the mean; equation (18).

    ``own``, h̄: the share of a word's prediction that is its own doing; ``product``: u·p' with the prediction of others
    p' = (p - h̄ u) / (1 - h̄); ``square``: |p'|²; ``error``: the standard error of their cosine.
    """

    own: float
    product: float
    square: float
    error: float

    @property
    def slope(self) -> float:
        """The slope b of u on p', from 0 to 1: how much of a prediction comes true."""
        return min(max(self.product / max(self.square, 1e-12), 0.0), 1.0)

    def share(self, known: float) -> float:
        """Return a of equation (15), if letters know a part ``known``, τ, of what contexts know; never quite 0.

        The best mixture of two unit vectors of which one has the cosine s with the truth, the other τs, is 1 to
        τ (1 - s²) / (1 - τ² s²); their own cosine is τs². Letters that may agree by chance are not trusted.
        """
        size = math.sqrt(max(self.square, 1e-12))
        cosine = max(self.product / size, 0.0)
        s2 = min(cosine / known, _MOST)
        weight = known * (1 - s2) / max(1 - known**2 * s2, 1 - _MOST)
        above_chance = min(self.slope / DOUBT, cosine / (CHANCE * self.error)) - 1
        trust = min(max(above_chance, LEAST), 1.0)
        of_others = (1 - self.own) * size  # u + a p is (1 + a h̄) u + a (1 - h̄) p'
        return trust * weight / max(of_others - weight * self.own, of_others / 2)


def what_others_say(units: Float32s, spelled: Float32s, own: float) -> Others:
    """Compare ``units`` u with their predictions ``spelled``, p, of which a mean share ``own`` is their own doing."""
    agreement = float(np.einsum("ij,ij->", units, spelled)) / len(units)
    square = float(np.einsum("ij,ij->", spelled, spelled)) / len(units)
    rest, error = max(1 - own, 1e-6), 1 / math.sqrt(len(units) * min(units.shape))
    return Others(own, (agreement - own) / rest, (square - 2 * own * agreement + own**2) / rest**2, error)


class _Regression:
    """(Zᵀ C Z + λI) B = Zᵀ C U, by conjugate gradients, preconditioned by the diagonal."""

    def __init__(self, Z: Any, certain: Float32s, ridge: float) -> None:
        self.Z, self.Zt = (_arrays(matrix) for matrix in (Z, Z.T.tocsr()))
        self.certain, self.ridge = certain, np.float32(ridge)
        squares = Z.T.tocsr()
        squares.data = np.square(squares.data)
        self.inverse = (1 / (squares @ certain + ridge)).astype(np.float32)

    def solve(self, targets: Float32s) -> tuple[Float32s, Float32s]:
        """Return B and Z B for some columns of U, each as if it were alone."""
        weighted = self.certain[:, None] * targets
        R = np.empty((len(self.inverse), targets.shape[1]), np.float32)
        sums_into(*self.Zt, weighted, R)
        B, image, P = np.zeros_like(R), np.empty_like(R), self.inverse[:, None] * R
        size = _dots(R, P)
        for _ in range(STEPS):
            sums_into(*self.Z, P, weighted)
            weighted *= self.certain[:, None]
            sums_into(*self.Zt, weighted, image)
            add_multiples(self.ridge, P, image)
            step = size / np.maximum(_dots(P, image), np.float32(1e-30))
            descend(B, R, P, image, step, self.inverse)  # the image is now that of R
            before, size = size, _dots(R, image)
            P *= size / np.maximum(before, np.float32(1e-30))
            P += image
        sums_into(*self.Z, B, weighted)
        return B, weighted


def _arrays(matrix: Any) -> tuple[Any, Any, Float32s]:
    """Return what :func:`sums_into` takes of a sparse matrix."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def _dots(first: Float32s, second: Float32s) -> Float32s:
    return np.asarray(np.einsum("ij,ij->j", first, second))


# Each column is computed as if it were alone. Sums are taken in the order of the rows' entries, as SciPy takes them.


# indptr int64[n + 1]; columns int32[m]; numbers float32[m]; X float32[g, d]; Y float32[n, d] is overwritten
@kernel
def sums_into(indptr, columns, numbers, X, Y):
    """Set Y to a sparse matrix times X."""
    d = X.shape[1]
    for i in range(Y.shape[0]):
        y, k, end = Y[i], indptr[i], indptr[i + 1]
        for c in range(d):
            y[c] = np.float32(0)
        while k + 4 <= end:
            x0, x1, x2, x3 = X[columns[k]], X[columns[k + 1]], X[columns[k + 2]], X[columns[k + 3]]
            a0, a1, a2, a3 = numbers[k], numbers[k + 1], numbers[k + 2], numbers[k + 3]
            for c in range(d):
                y[c] = (((y[c] + a0 * x0[c]) + a1 * x1[c]) + a2 * x2[c]) + a3 * x3[c]
            k += 4
        while k < end:
            x0, a0 = X[columns[k]], numbers[k]
            for c in range(d):
                y[c] += a0 * x0[c]
            k += 1


# P, image float32[g, d]
@kernel
def add_multiples(factor, P, image):
    """Add ``factor`` P to ``image``."""
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            image[i, c] += factor * P[i, c]


# B, R, P, image float32[g, d]; step float32[d]; inverse float32[g]; B, R and image are changed
@kernel
def descend(B, R, P, image, step, inverse):
    """Take a step along P: add it to B, its ``image`` off R; then set ``image`` to diag(``inverse``) R."""
    for i in range(P.shape[0]):
        for c in range(P.shape[1]):
            B[i, c] += step[c] * P[i, c]
            R[i, c] -= step[c] * image[i, c]
            image[i, c] = inverse[i] * R[i, c]
