"""Places of words on a plane: by their nearest neighbours, which takes a while, or by PCA, which does not.

:func:`by_neighbours` is t-SNE (van der Maaten and Hinton 2008) of a graph in which each word pulls its ten nearest
neighbours by cosine, all with the same force. The repulsion of all other words is summed on a grid by Fourier
transforms (Linderman et al. 2019). It starts from the two principal components, uses no random numbers, and gives the
same places for any number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.kernels import kernel
from psdvec.progress import LogProgress, Progress
from psdvec.resources import in_stretches, limit_blas, map_ordered, resolve_workers, thread_limit
from psdvec.vectors.neighbours import QUERY_BLOCK, nearest_rows

# Forces between dots on a plane, for the map: all pairs, dots to a grid, a grid to dots, and springs; in numba.


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


NEIGHBOURS = 10  # that pull each word
EARLY, ROUNDS = 125, 750  # rounds in which pulls are exaggerated, and in all
EXAGGERATION = 12.0
SPACING = 0.5  # of the grid at most, where 1 is the distance at which repulsion has fallen to a quarter
FEW = 500  # words up to which all pairs are added one by one
KNOTS = (64, 2048)  # of the grid along each side, at least and at most
_STEP = 32  # sides of the grid are multiples of it, so that few kernels are transformed
_START = 1e-4  # standard deviation of the first coordinate at the start
_FASTEST = 5.0  # the longest way that a word goes in one round
_FFT_THREADS = 4  # the transforms are divided like this on any machine


def nearest_to_each(units: Float32s, *, progress: Progress = LogProgress()) -> Int64s:
    """Return the :data:`NEIGHBOURS` nearest rows to each row but itself, (m, k) int64; fewer if there are fewer."""
    with progress.stage("neighbours", total=len(units), unit="words") as stage:
        parts = [range(s, min(s + QUERY_BLOCK, len(units))) for s in range(0, len(units), QUERY_BLOCK)]
        threads, found = resolve_workers(None), []
        with limit_blas(1), ThreadPoolExecutor(threads) as pool:
            for part in map_ordered(pool, lambda rows: nearest_to(units, rows), parts, ahead=2 * threads):
                found.append(part)
                stage.advance(len(part))
    return np.concatenate(found) if found else np.zeros((0, 0), np.int64)


def nearest_to(units: Float32s, rows: range | Int64s) -> Int64s:
    """Return the nearest rows to some ``rows`` but themselves, the nearest first."""
    own = np.asarray(rows, np.int64)
    k = min(NEIGHBOURS, len(units) - 1)
    found = nearest_rows(units, np.ones(len(units), np.float32), units[own], topn=k + 1).ids
    return without_self(found, own)


def without_self(found: Int64s, own: Int64s) -> Int64s:
    """Return ``found`` (m, k + 1) without the row's ``own`` id, or where that is not among them, without the last.

    >>> without_self(np.array([[3, 1, 2], [0, 4, 5]]), np.array([1, 9])).tolist()
    [[3, 2], [0, 4]]
    """
    extra = found == own[:, None]
    extra[~extra.any(axis=1), -1] = True
    return np.asarray(found[~extra].reshape(len(found), found.shape[1] - 1))


def principal_axes(units: Float32s) -> tuple[Float32s, Float32s]:
    """Return the mean (d,) of the rows, and the two directions in which they vary most, (d, 2)."""
    mean = units.mean(axis=0, dtype=np.float64) if len(units) else np.zeros(units.shape[1])
    apart = units - mean.astype(np.float32)
    with limit_blas(1):
        _, directions = np.linalg.eigh(np.asarray(apart.T @ apart, np.float64))
    axes = np.zeros((units.shape[1], 2))
    axes[:, : min(2, units.shape[1])] = directions[:, ::-1][:, :2]
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    axes *= np.where(largest < 0, -1.0, 1.0)  # of two opposite axes, always the same
    return mean.astype(np.float32), axes.astype(np.float32)


def by_pca(units: Float32s) -> Float32s:
    """Return the places (m, 2) of the rows along the two directions in which they vary most."""
    mean, axes = principal_axes(units)
    return np.asarray((units - mean) @ axes)


def by_neighbours(units: Float32s, nearest: Int64s, *, progress: Progress = LogProgress()) -> Float32s:
    """Return places (m, 2) on which the ``nearest`` rows of each row, (m, k), are near it.

    Each round moves the dots down the gradient ``4 (Σ_j p_ij (y_i - y_j) / (1 + |y_i - y_j|²) - r_i / Z)``, where the
    first sum is over the graph, and r and Z are the repulsion of :class:`Repulsion`.
    """
    m = len(units)
    if m <= NEIGHBOURS + 1:  # each is a neighbour of all others, which says nothing
        return by_pca(units)
    indptr, indices, pulls = _graph(nearest)
    places, pull = _start(by_pca(units)), np.empty((m, 2))
    threads = 1 if m <= FEW else thread_limit()  # a round of few is done before another thread has begun
    moves, gains = np.zeros((m, 2)), np.ones((m, 2))
    with progress.stage("map", total=ROUNDS, unit="rounds") as stage, ThreadPoolExecutor(threads) as pool:
        each = functools.partial(in_stretches, pool, threads=threads)
        repel = Repulsion(each)
        for number in range(ROUNDS):
            exaggeration, momentum = (EXAGGERATION, 0.5) if number < EARLY else (1.0, 0.8)
            push, total = repel(places)
            each(functools.partial(attract_into, pull, indptr, indices, pulls, places), m)
            slope = 4 * (exaggeration * pull - push / max(total, 1e-9))
            gains = np.maximum(np.where(slope * moves > 0, 0.8 * gains, gains + 0.2), 0.01)
            moves = momentum * moves - m / exaggeration * gains * slope
            moves *= np.minimum(1, _FASTEST / np.maximum(np.hypot(*moves.T), 1e-12))[:, None]
            places = places + moves
            places -= places.mean(axis=0)
            stage.advance(1)
    return np.asarray(places, np.float32)


def _graph(nearest: Int64s) -> tuple[Array, Array, Float64s]:
    """Return the CSR matrix (indptr, indices, values) of the pulls: both directions of each pair, 1 in all."""
    from scipy import sparse

    m, k = nearest.shape
    ends = np.arange(0, m * k + 1, k)
    one_way = sparse.csr_array((np.full(m * k, 0.5 / (m * k)), nearest.ravel(), ends), shape=(m, m))
    both = sparse.csr_array(one_way + one_way.T)
    both.sort_indices()
    return both.indptr.astype(np.int32), both.indices.astype(np.int32), both.data


def _start(places: Float32s) -> Float64s:
    """Return ``places`` made small, and each moved by a different trifle, as no force parts dots at one place."""
    spread = float(places[:, 0].std())
    turns = np.arange(len(places)) * np.pi * (3 - 5**0.5)  # the angles of a sunflower
    trifles = (np.sqrt(np.arange(len(places)) / len(places)) * [np.cos(turns), np.sin(turns)]).T
    return np.asarray(_START * (places / (spread or 1.0) + 0.01 * trifles), np.float64)


class Repulsion:
    """Sums over all pairs of dots: on a grid, or one by one where they are few and errors would not even out.

    A call takes places (m, 2) and returns ``r_i = Σ_j (y_i - y_j) / (1 + |y_i - y_j|²)²`` of each dot, (m, 2), and
    ``Z = Σ_i Σ_{j≠i} 1 / (1 + |y_i - y_j|²)``. Charges are spread over the grid, convolved with the two kernels, and
    the results interpolated at the dots. The transformed kernels are kept while the grid stays as it is. ``each`` calls
    a function of ``begin`` and ``end`` so that it sees all dots.
    """

    def __init__(
        self,
        each: Callable[[Callable[[int, int], None], int], object] = lambda function, size: function(0, size),
    ) -> None:
        self._each = each
        self._grid: tuple[int, float] = (0, 0.0)
        self._kernels: Any = None

    def __call__(self, places: Float64s) -> tuple[Float64s, float]:
        """Return the repulsion of each dot, and Z."""
        from scipy import fft

        if len(places) <= FEW:
            found = np.empty((len(places), 3))
            self._each(functools.partial(repel_into, found, places), len(places))
            return found[:, 1:], float(found[:, 0].sum())
        low = places.min(axis=0)
        size, spacing = self._choose_grid(float((places.max(axis=0) - low).max()))
        corner = low - 1.5 * spacing
        padded = fft.next_fast_len(2 * size, real=True)
        if self._grid != (size, spacing):
            self._grid = (size, spacing)
            self._kernels = fft.rfft2(_kernels(padded, spacing), workers=_FFT_THREADS)
        charges = spread(places, corner, spacing, size)
        waves = fft.rfft2(charges, s=(padded, padded), workers=_FFT_THREADS)
        fields = fft.irfft2(self._kernels * waves, s=(padded, padded), workers=_FFT_THREADS)
        found = np.empty((len(places), len(fields)))
        self._each(functools.partial(gather_into, found, places, corner, spacing, fields), len(places))
        return found[:, 1:], float(found[:, 0].sum() - len(places))

    @staticmethod
    def _choose_grid(width: float) -> tuple[int, float]:
        """Return the number of knots along each side, and the distance between them."""
        least, most = KNOTS
        if width <= SPACING * (least - 5):
            return least, max(width, 1e-12) / (least - 5)
        size = -(-(int(width / SPACING) + 6) // _STEP) * _STEP
        return (size, SPACING) if size <= most else (most, width / (most - 5))


def _kernels(size: int, spacing: float) -> Float32s:
    """Return 1 / (1 + d²), and the two coordinates of d / (1 + d²)², at all distances d on a ring of ``size`` knots."""
    steps = np.fft.fftfreq(size, 1 / size)
    x = np.asarray(steps * spacing, np.float32)
    near = 1 / (1 + x[:, None] ** 2 + x**2)
    return np.stack([near, near**2 * x[:, None], near**2 * x])
