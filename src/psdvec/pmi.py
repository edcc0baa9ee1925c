"""Smoothed PMI, weights and scales: the only home of these formulas.

Goes in: a count store, once, as a whole. Comes out: :class:`Constants`, the numbers that hold for every word,
and :class:`WordScales`, the numbers of each word, from which any pair's PMI and weight follow. Equations (1)
to (5) of ``docs/theory.md``; no number here depends on which words are solved together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from psdvec.backends import cpu
from psdvec.errors import InputError
from psdvec.recipe import Recipe
from psdvec.weighting import UNIT

Floats = npt.NDArray[np.float64]


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
    ``expected`` c / Σc, ``majorisers`` a, ``emphases`` s, and the unseen pairs' weights ``rho`` and ``sigma``.
    """

    row_sums: Floats
    column_sums: Floats
    unigrams: Floats
    expected: Floats
    majorisers: Floats
    emphases: Floats
    rho: Floats
    sigma: Floats

    def __len__(self) -> int:
        return self.row_sums.size

    def take(self, rows: slice | npt.NDArray[Any]) -> WordScales:
        """Return the scales of some of the words."""
        return WordScales(**{name: value[rows] for name, value in vars(self).items()})


def margins(counts: SparseCounts) -> tuple[Floats, Floats]:
    """Return the row sums r and the column sums c of the whole store, in counts, each (n,)."""
    rows, columns, _ = cpu.margins(counts.indptr, counts.indices, counts.values)
    return rows / UNIT, columns / UNIT


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
    row_sums: Floats, column_sums: Floats, constants: Constants, *, frequencies: Floats | None = None
) -> WordScales:
    """Return the scales of words with these sums, each word on its own; equations (1), (4) and (5).

    ρ_i σ_j is what equation (3) gives for an unseen pair, split evenly and clamped so that no product
    passes 1. ``frequencies`` are (r + c) / 2 where not given.
    """
    p, beta, C = constants.exponent, constants.background, constants.cap
    r, c = row_sums, column_sums
    f = (r + c) / 2 if frequencies is None else frequencies
    f = np.maximum(f / constants.mean, 1e-12)
    a = f**constants.majoriser
    K = np.sqrt((beta / constants.total) ** p / C) if beta > 0 else 0.0
    return WordScales(
        row_sums=np.asarray(r),
        column_sums=np.asarray(c),
        unigrams=c**constants.unigram / constants.mass,
        expected=c / constants.total,
        majorisers=a,
        emphases=f**constants.emphasis,
        rho=np.minimum(K * r**p / a, 1.0),
        sigma=np.minimum(K * c**p / a, 1.0),
    )


def pmi(H: Floats, r: Floats, u: Floats, *, smoothing: float) -> Floats:
    """G = log((1-κ) H / (r u) + κ), equation (1); H, r and u broadcast.

    >>> float(pmi(np.array(0.0), np.array(4.0), np.array(0.5), smoothing=0.5).round(4))
    -0.6931
    """
    kappa = smoothing
    G: Floats = np.log((1 - kappa) * H / (r * u) + kappa)
    return G


def weight(H: Floats, r: Floats, e: Floats, a: Floats, *, constants: Constants) -> Floats:
    """R = min(((1-β) H + β r e)^p / (C a), 1), equations (3) and (4); ``a`` is the product a_i a_j."""
    beta, p, C = constants.background, constants.exponent, constants.cap
    R: Floats = np.minimum(((1 - beta) * H + beta * r * e) ** p / (C * a), 1.0)
    return R
