"""Smoothed PMI, weights and scales: the only home of these formulas.

A whole count store is measured once. :class:`Constants` are the numbers that hold for every word, :class:`WordScales`
those of each word; together they give the PMI and the weight of any pair, and what a seen pair adds to the background
of unseen ones (:func:`pair_terms`). Every device and the ridge compute exactly that. Equations (1) to (5) of
``docs/theory.md``; no number here depends on which words are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from psdvec.arrays import Array, Bools, Float64s, Int32s, Int64s
from psdvec.counts.matrix import UNIT
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.resources import thread_limit
from psdvec.storage.artefact import release_memory
from psdvec.vectors.model import Constants, Model

CHUNK = 1 << 22  # pairs whose counts are converted at a time


class SparseCounts(Protocol):
    """What the formulas need of a count store: directed pairs by rows, as integers in units of 1 / ``UNIT``."""

    @property
    def indptr(self) -> Int64s: ...  # noqa: D102
    @property
    def indices(self) -> Int32s: ...  # noqa: D102
    @property
    def values(self) -> Int64s: ...  # noqa: D102


@dataclass(frozen=True)
class WordScales:
    """The numbers of each word, all (n,) float64; see equations (1) to (5).

    ``row_sums`` r and ``column_sums`` c are measured, the others follow: ``unigrams`` u (raised to α),
    ``frequencies`` f = (r + c) / 2, ``majorisers`` a, ``emphases`` s, and ``rho``, whose products are the weights
    of unseen pairs.
    """

    row_sums: Float64s
    column_sums: Float64s
    unigrams: Float64s
    frequencies: Float64s
    majorisers: Float64s
    emphases: Float64s
    rho: Float64s

    def __len__(self) -> int:
        return self.row_sums.size

    def take(self, rows: slice | Array) -> WordScales:
        """Return the scales of some of the words."""
        return WordScales(**{name: value[rows] for name, value in vars(self).items()})


def margins(counts: SparseCounts) -> tuple[Float64s, Float64s]:
    """Return the row sums r and the column sums c of the whole store, in counts, each (n,)."""
    from psdvec.solver.devices.cpu_kernels import add_margins

    def add(first: int, last: int, rows: Int64s, columns: Int64s) -> None:
        add_margins(counts.indptr, counts.indices, counts.values, first, last, rows, columns)

    n = counts.indptr.size - 1
    rows, columns = sums_over_rows(counts, n, add, (n,), (n,))
    return rows / UNIT, columns / UNIT


def sums_over_rows(
    counts: SparseCounts, n: int, add: Callable[..., None], *shapes: tuple[int, ...]
) -> list[Int64s]:
    """Return integers of these ``shapes``, to which ``add(first, last, *sums)`` adds what ranges of the n rows hold.

    Threads add to sums of their own; the sum of integers does not depend on who adds what.
    """
    ranges, threads = list(row_chunks(counts.indptr, n)), thread_limit()

    def add_some(thread: int) -> list[Int64s]:
        sums = [np.zeros(shape, np.int64) for shape in shapes]
        for first, last in ranges[thread::threads]:
            add(first, last, *sums)
            release_pairs(counts)
        return sums

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(add_some, range(min(threads, max(len(ranges), 1)))))
    return [np.sum(parts, axis=0) for parts in zip(*found, strict=True)]


def release_pairs(counts: SparseCounts) -> None:
    """Let the system take back the memory of counts that are mapped; they are read again where they are needed."""
    for array in (counts.indices, counts.values):
        release_memory(array)


def row_chunks(indptr: Int64s, n: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of the first ``n`` rows with some millions of pairs each, at least one row."""
    first = 0
    while first < n:
        last = int(np.searchsorted(indptr[: n + 1], indptr[first] + CHUNK, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def measure_constants(
    counts: SparseCounts, row_sums: Float64s, column_sums: Float64s, *, recipe: Recipe
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
        mass=_mass(column_sums, recipe.unigram),
        total=total,
        mean=float((row_sums + column_sums).mean() / 2),
    )


def constants_for(constants: Constants, column_sums: Float64s) -> Constants:
    """Return a model's constants with the totals of other counts, from which expected counts follow."""
    mass = _mass(column_sums, constants.unigram)
    return replace(constants, mass=mass, total=float(column_sums.sum()))


def with_own_cap(constants: Constants, counts: SparseCounts, is_core: Bools, *, cut: float) -> Constants:
    """Return the constants with a cap of the pairs that words placed later have with the core, as the original did.

    A share ``cut`` of the seen pairs whose first word is a core word (n,) and whose second is not reaches weight 1.
    """
    n = counts.indptr.size - 1
    parts = []
    for first, last in row_chunks(counts.indptr, n):
        part = slice(counts.indptr[first], counts.indptr[last])
        rows = np.repeat(is_core[first:last], np.diff(counts.indptr[first : last + 1]))
        parts.append(counts.values[part][rows & ~is_core[counts.indices[part]]])
    values = np.concatenate(parts)
    return replace(constants, cap=_quantile(values, cut) ** constants.exponent) if values.size else constants


def _mass(column_sums: Float64s, unigram: float) -> float:
    return float((column_sums**unigram)[column_sums > 0].sum())


def _cap(counts: SparseCounts, recipe: Recipe) -> float:
    """C of equation (3): from the saturating count, or so that a true share ``cut`` of seen pairs reaches 1."""
    if recipe.saturation > 0:
        return float(recipe.saturation**recipe.exponent)
    return float(_quantile(counts.values, recipe.cut) ** recipe.exponent)


def _quantile(values: Int64s, cut: float) -> float:
    """Return the count that a share ``cut`` of the stored ``values`` reach."""
    place = min(int((1 - cut) * values.size), values.size - 1)
    return float(np.partition(values, place)[place]) / UNIT


def word_scales(
    row_sums: Float64s, column_sums: Float64s, constants: Constants, *, usual: Float64s | None = None
) -> WordScales:
    """Return the scales of words with these sums, each word on its own; equations (1), (4) and (5).

    ρ_i ρ_j is what equation (3) gives for an unseen pair, clamped so that no product exceeds 1. ``usual`` are the
    frequencies from which majorisers and emphases are computed; (r + c) / 2 if None.
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


def scales_of(model: Model) -> WordScales:
    """Return the scales of the core words of a model."""
    return word_scales(model.row_sums, model.column_sums, model.constants)


def target_unit(scales: WordScales, constants: Constants) -> float:
    """Return the power of 2, 1 or more, in units of which every weighted target fits into half precision."""
    rarest = scales.unigrams[scales.unigrams > 0].min(initial=1.0)
    most = float(scales.emphases.max()) ** 2 * (1 - np.log(rarest) - np.log(constants.smoothing))
    return float(2.0 ** max(np.ceil(np.log2(4 * most / np.finfo(np.float16).max)), 0))


def pmi(H: Any, r: Any, u: Any, *, smoothing: float, xp: Any = np) -> Any:
    """G = log((1-κ) H / (r u) + κ), equation (1); H, r and u broadcast, and are arrays of ``xp`` (NumPy or torch).

    >>> float(pmi(np.array(0.0), np.array(4.0), np.array(0.5), smoothing=0.5).round(4))
    -0.6931
    """
    kappa = smoothing
    return xp.log((1 - kappa) * H / (r * u) + kappa)


def weight(H: Any, f: Any, a: Any, *, constants: Constants, xp: Any = np) -> Any:
    """R = min(((1-β) H + β f / Σc)^p / (C a), 1), equations (3) to (5); ``f`` and ``a`` are products over i and j."""
    beta, p, C = constants.background, constants.exponent, constants.cap
    return xp.clip(((1 - beta) * H + beta / constants.total * f) ** p / (C * a), None, 1.0)


class PairTerms(NamedTuple):
    """What directed seen pairs add to the background; a pair's two directions are summed, hence the halves.

    With m the emphasis of the pair and B its background weight: ``weights`` (R - B) / 2, ``targets``
    m (R G - B log κ) / 2, ``squares`` m² (R G² - B log² κ), ``shifts`` m (G - log κ) / 2.
    """

    weights: Any
    targets: Any
    squares: Any
    shifts: Any


def pair_terms(
    H: Any,
    r: Any,
    u: Any,
    f: Any,
    a: Any,
    m: Any,
    B: Any,
    *,
    constants: Constants,
    itself: Any = None,
    xp: Any = np,
) -> PairTerms:
    """Return the terms of directed pairs with counts H, as equations (8) and (10) sum them up.

    ``r`` are the row sums of the first words, ``u`` the unigrams of the second; ``f``, ``a``, ``m`` and ``B`` the
    products over both words of frequencies, majorisers, emphases and ρ. ``itself`` is true where a word meets itself.
    All are arrays of ``xp``, NumPy or torch.

    >>> one = np.ones(1)
    >>> k = Constants(0.5, 0, 0.5, 0, 0, 1, True, 1, 1, 1, 1)
    >>> [float(term[0].round(4)) for term in pair_terms(one, one, one, one, one, one, 0 * one, constants=k)]
    [0.5, 0.0, 0.0, 0.3466]
    """
    log_kappa = float(np.log(constants.smoothing))
    G = pmi(H, r, u, smoothing=constants.smoothing, xp=xp)
    R = weight(H, f, a, constants=constants, xp=xp)
    if itself is not None and not constants.diagonal:
        R = R * ~itself
    return PairTerms(
        weights=0.5 * (R - B),
        targets=0.5 * m * (R * G - B * log_kappa),
        squares=m**2 * (R * G**2 - B * log_kappa**2),
        shifts=0.5 * m * (G - log_kappa),
    )
