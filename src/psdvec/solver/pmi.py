"""Smoothed PMI, weights and scales: the only home of these formulas.

Goes in: a count store, once, as a whole. Comes out: :class:`Constants`, the numbers that hold for every word,
and :class:`WordScales`, the numbers of each word, from which any pair's PMI and weight follow. Equations (1)
to (5) of ``docs/theory.md``; no number here depends on which words are solved together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError
from psdvec.solver.recipe import Recipe

Floats = npt.NDArray[np.float64]

CHUNK = 1 << 22  # pairs whose counts are turned into numbers at a time


class SparseCounts(Protocol):
    """What the formulas need of a count store: directed pairs by rows, as integers in units of 1 / ``UNIT``."""

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...  # noqa: D102
    @property
    def indices(self) -> npt.NDArray[np.int32]: ...  # noqa: D102
    @property
    def values(self) -> npt.NDArray[np.int64]: ...  # noqa: D102


@dataclass(frozen=True)
class Constants:
    """The numbers of the formulas that hold for every word; saved with the model.

    ``cap`` is C of equation (3); ``mass`` is Σ_j c_j^α, ``total`` is Σ_j c_j, and ``mean`` the mean of
    (r + c) / 2, all over the whole count store.
    """

    smoothing: float
    background: float
    exponent: float
    majoriser: float
    emphasis: float
    unigram: float
    diagonal: bool
    cap: float
    mass: float
    total: float
    mean: float


@dataclass(frozen=True)
class WordScales:
    """The numbers of each word, all (n,) float64; see equations (1) to (5).

    ``row_sums`` r and ``column_sums`` c are measured, the others follow: ``unigrams`` u (raised to α),
    ``frequencies`` f = (r + c) / 2, ``majorisers`` a, ``emphases`` s, and ``rho``, whose products are the weights
    of unseen pairs.
    """

    row_sums: Floats
    column_sums: Floats
    unigrams: Floats
    frequencies: Floats
    majorisers: Floats
    emphases: Floats
    rho: Floats

    def __len__(self) -> int:
        return self.row_sums.size

    def take(self, rows: slice | npt.NDArray[Any]) -> WordScales:
        """Return the scales of some of the words."""
        return WordScales(**{name: value[rows] for name, value in vars(self).items()})


def margins(counts: SparseCounts) -> tuple[Floats, Floats]:
    """Return the row sums r and the column sums c of the whole store, in counts, each (n,)."""
    n = counts.indptr.size - 1
    rows, columns = np.zeros(n), np.zeros(n)
    for first, last in row_chunks(counts.indptr, n):
        part = slice(counts.indptr[first], counts.indptr[last])
        values = counts.values[part] / UNIT
        starts = counts.indptr[first:last] - counts.indptr[first]
        filled = np.flatnonzero(np.diff(counts.indptr[first : last + 1]))
        if filled.size:
            rows[first + filled] = np.add.reduceat(values, starts[filled])
            columns += np.bincount(counts.indices[part], weights=values, minlength=n)
    return rows, columns


def row_chunks(indptr: npt.NDArray[np.int64], n: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of the first ``n`` rows with some millions of pairs each, at least one row."""
    first = 0
    while first < n:
        last = int(np.searchsorted(indptr[: n + 1], indptr[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def measure_constants(
    counts: SparseCounts, row_sums: Floats, column_sums: Floats, *, recipe: Recipe
) -> Constants:
    """Measure the constants of ``recipe`` on the whole count store."""
    total = float(column_sums.sum())
    if total <= 0:
        raise InputError("the count store holds no pair; count a longer text or a wider window")
    return Constants(
        smoothing=recipe.smoothing,
        background=recipe.background,
        exponent=recipe.exponent,
        majoriser=recipe.majoriser,
        emphasis=recipe.emphasis,
        unigram=recipe.unigram,
        diagonal=recipe.diagonal,
        cap=_cap(counts, recipe),
        mass=float((column_sums**recipe.unigram)[column_sums > 0].sum()),
        total=total,
        mean=float((row_sums + column_sums).mean() / 2),
    )


def _cap(counts: SparseCounts, recipe: Recipe) -> float:
    """C of equation (3): from the saturating count, or so that a true share ``cut`` of seen pairs reaches 1."""
    if recipe.saturation > 0:
        return float(recipe.saturation**recipe.exponent)
    values = counts.values
    place = min(int((1 - recipe.cut) * values.size), values.size - 1)
    count = float(np.partition(values, place)[place]) / UNIT
    return float(count**recipe.exponent)


def word_scales(
    row_sums: Floats, column_sums: Floats, constants: Constants, *, usual: Floats | None = None
) -> WordScales:
    """Return the scales of words with these sums, each word on its own; equations (1), (4) and (5).

    ρ_i ρ_j is what equation (3) gives for an unseen pair, clamped so that no product passes 1. ``usual`` are the
    frequencies that majoriser and emphasis go by, (r + c) / 2 where not given.
    """
    p, beta, C = constants.exponent, constants.background, constants.cap
    r, c = row_sums, column_sums
    f = (r + c) / 2
    share = np.maximum((f if usual is None else usual) / constants.mean, 1e-12)
    a = share**constants.majoriser
    K = np.sqrt((beta / constants.total) ** p / C) if beta > 0 else 0.0
    return WordScales(
        row_sums=np.asarray(r),
        column_sums=np.asarray(c),
        unigrams=c**constants.unigram / constants.mass,
        frequencies=f,
        majorisers=a,
        emphases=share**constants.emphasis,
        rho=np.minimum(K * f**p / a, 1.0),
    )


def pmi(H: Floats, r: Floats, u: Floats, *, smoothing: float) -> Floats:
    """G = log((1-κ) H / (r u) + κ), equation (1); H, r and u broadcast.

    >>> float(pmi(np.array(0.0), np.array(4.0), np.array(0.5), smoothing=0.5).round(4))
    -0.6931
    """
    kappa = smoothing
    G: Floats = np.log((1 - kappa) * H / (r * u) + kappa)
    return G


def weight(H: Floats, f: Floats, a: Floats, *, constants: Constants) -> Floats:
    """R = min(((1-β) H + β f / Σc)^p / (C a), 1), equations (3) to (5); ``f`` and ``a`` are products over i and j."""
    beta, p, C = constants.background, constants.exponent, constants.cap
    R: Floats = np.minimum(((1 - beta) * H + beta / constants.total * f) ** p / (C * a), 1.0)
    return R
