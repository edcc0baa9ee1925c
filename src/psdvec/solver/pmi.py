"""Smoothed PMI, weights and scales: the only home of these formulas.

A whole count store is measured once. :class:`Constants` are the numbers that hold for every word, :class:`WordScales`
those of each word; together they give the PMI and the weight of any pair, and what a seen pair adds to the background
of unseen ones (:func:`pair_terms`). Every device and the ridge compute exactly that. Equations (1) to (5) of
``docs/theory.md``; no number here depends on which words are solved together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Array, Bools, Float64s, Int64s
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import InputError, demand_positive
from psdvec.kernels import kernel
from psdvec.options import UNIGRAMS, Recipe
from psdvec.resources import thread_limit
from psdvec.storage.artefact import release_memory
from psdvec.vectors.model import Constants, Model

CHUNK = 1 << 22  # pairs whose counts are converted at a time, at most
FEWEST = 1 << 18  # and at least, where they are dealt to many threads


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


def margins(counts: Cooccurrence) -> tuple[Float64s, Float64s]:
    """Return the row sums r and the column sums c of the whole store, in counts, each (n,).

    Counts that hold the pairs of some words only say so: the sums of all words are then how often each occurs.
    """
    if counts.parameters.get("sums") == "words":
        seen = np.asarray(counts.vocabulary.counts, np.float64)
        return seen, seen
    n = counts.indptr.size - 1
    add = partial(add_margins, counts.indptr, counts.indices, counts.values)
    rows, columns = sums_over_rows(counts, n, add, (n,), (n,))
    return rows / UNIT, columns / UNIT


# indptr int64[n+1], indices int32[nnz], values int64[nnz]; rows and columns int64[n] are added to
@kernel
def add_margins(indptr, indices, values, begin, end, rows, columns):
    """Add the values of rows ``begin`` to ``end`` to the sums of their rows and columns."""
    for i in range(begin, end):
        total = 0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k]
            columns[indices[k]] += values[k]
        rows[i] += total


def sums_over_rows(
    counts: Cooccurrence, n: int, add: Callable[..., None], *shapes: tuple[int, ...]
) -> list[Int64s]:
    """Return integers of these ``shapes``, to which ``add(first, last, *sums)`` adds what ranges of the n rows hold.

    Threads add to sums of their own; the sum of integers does not depend on who adds what.
    """
    threads, lock = thread_limit(), threading.Lock()
    ranges = iter(dealt_rows(counts.indptr, n))

    def add_some(_: int) -> list[Int64s]:
        sums = [np.zeros(shape, np.int64) for shape in shapes]
        while True:
            with lock:
                rows = next(ranges, None)
            if rows is None:
                return sums
            add(*rows, *sums)
            release_pairs(counts, *rows)

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(add_some, range(threads)))
    return [np.sum(parts, axis=0) for parts in zip(*found, strict=True)]


def release_pairs(counts: Cooccurrence, first: int = 0, last: int | None = None) -> None:
    """Let the system take back the memory of counts that are mapped, or of rows ``first`` to ``last`` of them.

    They are read again where they are needed.
    """
    end = None if last is None else int(counts.indptr[last])
    for array in (counts.indices, counts.values):
        release_memory(array, int(counts.indptr[first]), end)


def row_chunks(indptr: Int64s, n: int, *, most: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Yield ranges of the first ``n`` rows with some millions of pairs each, or so many; at least one row."""
    first = 0
    while first < n:
        last = int(np.searchsorted(indptr[: n + 1], indptr[first] + most, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def dealt_rows(indptr: Int64s, n: int) -> list[tuple[int, int]]:
    """Return ranges of the first ``n`` rows that are small enough to be dealt evenly to all threads."""
    return list(row_chunks(indptr, n, most=max(CHUNK // thread_limit(), FEWEST)))


def measure_constants(
    counts: Cooccurrence, row_sums: Float64s, column_sums: Float64s, *, recipe: Recipe
) -> Constants:
    """Measure the constants of ``recipe`` on the whole count store.

    C of equation (3) is that of the saturating count, or such that a true share ``cut`` of seen pairs reaches 1.
    """
    total = float(column_sums.sum())
    if total <= 0:
        raise InputError("the count store holds no pair; count a longer text or a wider window")
    saturating = recipe.saturation if recipe.saturation > 0 else _quantile(counts.values, recipe.cut)
    return Constants(
        smoothing=recipe.smoothing,
        background=recipe.background,
        exponent=recipe.exponent,
        majoriser=recipe.majoriser,
        emphasis=recipe.emphasis,
        unigram=recipe.unigram,
        diagonal=recipe.diagonal,
        cap=float(saturating**recipe.exponent),
        mass=_mass(column_sums, recipe.unigram),
        total=total,
        mean=float((row_sums + column_sums).mean() / 2),
    )


def with_own_cap(constants: Constants, counts: Cooccurrence, is_core: Bools, *, cut: float) -> Constants:
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


class Measured(NamedTuple):
    """How pairs of new words with core words are weighed, and what is asked of them.

    ``scales`` are those of the new words, ``old`` those of the core words, in the counts at hand; ``core_of`` (n,) is
    the core row of each word of the counts, or -1.
    """

    scales: WordScales
    old: WordScales
    core_of: Int64s
    constants: Constants


def measure_scales(
    model: Model,
    counts: Cooccurrence,
    ids: Int64s,
    *,
    core: int | None,
    unigrams: str,
    sums: tuple[Float64s, Float64s] | None = None,
) -> Measured:
    """Measure, on the whole of ``counts``, the scales of the words ``ids`` and of the core words.

    Sums of the core words are those of the counts at hand or of the model; their majorisers are the model's.
    ``sums`` are the :func:`margins` of the counts, where they are known.
    """
    demand_positive(core, "core")
    core = model.core if core is None else min(core, model.core)
    row_sums, column_sums = margins(counts) if sums is None else sums
    mass = _mass(column_sums, model.constants.unigram)
    constants = replace(model.constants, mass=mass, total=float(column_sums.sum()))
    places = np.array([counts.vocabulary.ids.get(word, -1) for word in model.words[:core]], dtype=np.int64)
    seen = places >= 0
    core_of = np.full(row_sums.size, -1, np.int64)
    core_of[places[seen]] = np.flatnonzero(seen)
    if model.recipe.own_cap:
        constants = with_own_cap(constants, counts, core_of >= 0, cut=model.recipe.cut)
    own = model.row_sums[:core], model.column_sums[:core]
    if unigrams == "model":
        share = constants.total / model.constants.total
        old = own[0] * share, own[1] * share
    elif unigrams == "corpus":
        old = np.where(seen, row_sums[places], 0.0), np.where(seen, column_sums[places], 0.0)
    else:
        raise InputError(f"unigrams is '{unigrams}'; choose one of: {', '.join(UNIGRAMS)}")
    return Measured(
        scales=word_scales(row_sums[ids], column_sums[ids], constants),
        old=word_scales(*old, constants, usual=(own[0] + own[1]) / 2),
        core_of=core_of,
        constants=constants,
    )


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
    H: Any, r: Any, u: Any, f: Any, a: Any, m: Any, B: Any,
    *, constants: Constants, itself: Any = None, xp: Any = np,
) -> PairTerms:  # fmt: skip
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
