"""What spelling adds to a fit: n-grams learn to predict the vectors, and their predictions are mixed into them.

:func:`learn_subwords` takes words with the unit vectors u of their contexts and returns the
:class:`~psdvec.vectors.subwords.Subwords` that predict them best; :func:`mix` makes of a word's contexts and spelling
the vector that is shown. Equations (13) to (18) of ``docs/spelling.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.options import Recipe
from psdvec.parallel import map_ordered
from psdvec.progress import LogProgress, Progress
from psdvec.resources import resolve_workers
from psdvec.vectors.subwords import Subwords, in_eight_bits, letter_ngrams, ngram_weights, starts_of

FEWEST = 2  # words that must share an n-gram
SURE = 4.0  # parts of signal to one of noise from which n-grams are trusted fully
LEAST = 0.01  # trust, so that unseen words have a direction at least
STEPS = 8  # of conjugate gradients: further ones change no score
_COLUMNS = 16  # solved together, one cache line of each row; no result depends on the threads that share them
_SEED = 0  # of the probes that measure the leverage


def stretches(rows: Float32s, emphases: Float64s, *, power: float) -> Float32s:
    """Return t (d,) of equation (13): what the coordinates of factor ``rows`` are multiplied by, 1 in the mean square.

    The eigenvalue of a coordinate is Σ (s v)²; its vectors already have its root.
    """
    values = (emphases**2) @ np.square(rows, dtype=np.float64)
    if power == 0.5 or not values.any():
        return np.ones(rows.shape[1], np.float32)
    values = np.where(values > 0, values, values.max())  # of dimensions that a small vocabulary left empty
    t = values ** (power - 0.5)
    return np.asarray(t / np.sqrt(np.mean(t**2)), np.float32)


def learn_subwords(
    words: Sequence[str],
    units: Float32s,
    counts: Int64s,
    *,
    length: float,
    recipe: Recipe,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Subwords | None:
    """Return the n-gram vectors B of equation (14); None where no two words have an n-gram in common.

    ``units`` (n, d) are vectors of length 1, of words that were seen ``counts`` times; ``length`` is the mean length
    that they had. The same for any number of ``workers``.
    """
    from scipy import sparse

    starts, hashes = letter_ngrams(words)
    known, places, shared = np.unique(hashes, return_inverse=True, return_counts=True)
    kept = shared >= FEWEST
    if not kept.any():
        return None
    rank = np.cumsum(kept) - 1
    inside = kept[places]
    first = starts_of(np.repeat(np.arange(len(words)), np.diff(starts))[inside], len(words))
    shape = (len(words), int(kept.sum()))
    Z = sparse.csr_array((ngram_weights(first), rank[places[inside]].astype(np.int32), first), shape=shape)
    certain = certainty(counts, noise=recipe.spelling_noise)
    probes = np.random.default_rng(_SEED).choice([-1, 1], size=(len(words), _COLUMNS)).astype(np.float32)
    solver, d = _Regression(Z, certain, recipe.spelling_ridge), units.shape[1]
    B = np.empty((shape[1], d), np.float32)
    spelled = np.empty_like(units)
    blocks = [slice(begin, begin + _COLUMNS) for begin in range(0, d, _COLUMNS)]

    def solve(part: slice) -> None:
        B[:, part] = found = solver.solve(units[:, part])
        spelled[:, part] = Z @ found

    with (
        ThreadPoolExecutor(resolve_workers(workers)) as pool,
        progress.stage("spelling", total=len(blocks), unit="blocks") as stage,
    ):
        for _ in map_ordered(pool, solve, blocks, ahead=2 * len(blocks)):
            stage.advance(1)
    own = float(np.sum(probes * (Z @ solver.solve(probes))) / probes.size)  # mean leverage (Hutchinson 1990)
    codes, steps = in_eight_bits(B)
    return Subwords(
        known[kept], codes, steps, share=recipe.spelling * trust(units, spelled, own), length=length,
        leverage=own / max(float(np.mean(certain)) * (1 - own), 1e-6),
    )  # fmt: skip


def trust(units: Float32s, spelled: Float32s, own: float) -> float:
    """Return how far to trust what n-grams predict, from 1/100 to 1, equation (18).

    ``units`` u and their predictions ``spelled``, p, from all words, of which a mean share ``own`` is each word's own
    doing. Without it, p is part signal and part noise, which u tells apart; less than four parts to one are trusted
    less.
    """
    agreement = float(np.einsum("ij,ij->", units, spelled)) / len(units)
    size = float(np.einsum("ij,ij->", spelled, spelled)) / len(units)
    signal = (agreement - own) * (1 - own)
    noise = size - 2 * own * agreement + own**2 - signal
    return min(max(signal / max(SURE * noise, 1e-12), LEAST), 1.0)


def certainty(counts: Int64s, *, noise: float) -> Float32s:
    """Return how much the vector of a word that was seen so often counts, c / (c + c₀), equation (14).

    >>> certainty(np.array([0, 100, 300]), noise=100).tolist()
    [0.0, 0.5, 0.75]
    """
    return np.asarray(counts / np.maximum(counts + float(noise), 1e-12), np.float32)


class _Regression:
    """(Zᵀ C Z + λI) B = Zᵀ C U, by conjugate gradients, preconditioned by the diagonal."""

    def __init__(self, Z: Any, certain: Float32s, ridge: float) -> None:
        self.Z, self.Zt, self.certain, self.ridge = Z, Z.T.tocsr(), certain[:, None], np.float32(ridge)
        squares = self.Zt.copy()
        squares.data = np.square(squares.data)
        self.inverse = (1 / (squares @ certain + ridge))[:, None].astype(np.float32)

    def solve(self, targets: Float32s) -> Float32s:
        """Return B for some columns of U, each as if it were alone."""
        R: Float32s = self.Zt @ (self.certain * targets)
        B = np.zeros_like(R)
        Y = self.inverse * R
        P, size = Y, _dots(R, Y)
        for _ in range(STEPS):
            image = self.Zt @ (self.certain * (self.Z @ P)) + self.ridge * P
            step = size / np.maximum(_dots(P, image), np.float32(1e-30))
            B += step * P
            R -= step * image
            Y = self.inverse * R
            before, size = size, _dots(R, Y)
            P = Y + (size / np.maximum(before, np.float32(1e-30))) * P
        return B


def _dots(first: Float32s, second: Float32s) -> Float32s:
    return np.asarray(np.einsum("ij,ij->j", first, second))


def mix(rows: Float32s, stretch: Float32s, spelled: Float32s | None, *, share: float) -> Float32s:
    """Return the vectors shown, equation (15): of factor ``rows`` (m, d) and p of the words' spelling, ``spelled``.

    Their lengths are those of the stretched rows.
    """
    stretched = rows if (stretch == 1).all() else rows * stretch
    if spelled is None:
        return stretched
    lengths = np.linalg.norm(stretched, axis=1, keepdims=True)
    mixed = stretched / _safe(lengths) + np.float32(share) * spelled
    return np.asarray(mixed * (lengths / _safe(np.linalg.norm(mixed, axis=1, keepdims=True))), np.float32)


def place_spelled(
    subwords: Subwords,
    words: Sequence[str],
    rows: Float32s,
    stretch: Float32s,
    counts: Int64s,
    *,
    noise: float,
) -> tuple[Float32s, Float32s]:
    """Return the vectors shown of words that were placed at factor ``rows``, and what their deviations are times.

    Each word draws its own p towards its place, equation (17), as the words did that the n-grams were learned from.
    """
    spelled, units = subwords.predict(words), _units(rows, stretch)
    own = own_pull(subwords, counts, noise=noise)[:, None]
    spelled += own * (units - spelled)
    factors = mixing_factors(rows, stretch, spelled, share=subwords.share)
    factors *= 1 + np.float32(subwords.share) * own[:, 0]
    return mix(rows, stretch, spelled, share=subwords.share), factors


def mixing_factors(rows: Float32s, stretch: Float32s, spelled: Float32s | None, *, share: float) -> Float32s:
    """Return what mixing multiplies the deviations of rows by: 1 / |u + a p|, since p does not vary with u."""
    if spelled is None:
        return np.ones(len(rows), np.float32)
    mixed = _units(rows, stretch) + np.float32(share) * spelled
    return np.asarray(1 / _safe(np.linalg.norm(mixed, axis=1)), np.float32)


def own_pull(subwords: Subwords, counts: Int64s, *, noise: float) -> Float32s:
    """Return o (m,) of equation (17): how far each word draws the p of its spelling towards its place, from 0 to 1."""
    pull = certainty(counts, noise=noise) * np.float32(subwords.leverage)
    return np.asarray(pull / (1 + pull))


def _units(rows: Float32s, stretch: Float32s) -> Float32s:
    """Return u of equation (13)."""
    stretched = rows * stretch
    return np.asarray(stretched / _safe(np.linalg.norm(stretched, axis=1, keepdims=True)), np.float32)


def _safe(lengths: Float32s) -> Float32s:
    return np.maximum(lengths, np.float32(1e-12))
