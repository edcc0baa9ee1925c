"""One new word beside fixed vectors: its weighted ridge regression, solved in closed form.

Takes the word's counts with the core words and their :class:`Regressors`, and returns its vector with a standard
deviation. Equations (9) to (12) of ``docs/theory.md``; nothing here knows of other new words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import get_cython_function_address

from psdvec.arrays import Array, Float32s, Float64s, Int64s, Scratch
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import InputError, demand_positive
from psdvec.kernels import kernel
from psdvec.options import HUGE, UNIGRAMS, parse_ridge
from psdvec.resources import for_each, limit_blas, limit_threads, map_ordered, resolve_workers, thread_limit
from psdvec.solver.pmi import (
    WordScales,
    dealt_rows,
    measure_scales,
    pair_terms,
    release_pairs,
)
from psdvec.storage.workspace import Placed
from psdvec.vectors.model import Constants, Model
from psdvec.vectors.subwords import Subwords

# LAPACK's Cholesky routines, called without holding the interpreter's lock, so that threads solve side by side.

PROBES = 32  # right-hand sides from which the trace of a larger inverse is estimated


@cache
def _lapack(name: str, dtype: np.dtype[Any], arguments: int) -> Any:
    """Return a routine in single or double precision; it takes so many pointers."""
    letter = "s" if dtype == np.float32 else "d"
    address = get_cython_function_address("scipy.linalg.cython_lapack", letter + name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def cholesky(matrix: Array) -> Array | None:
    """Return the lower factor of a symmetric matrix, or None where there is none; ignore what is above its diagonal.

    A row-major lower triangle is a column-major upper one.
    """
    factor = np.array(matrix, order="C")
    n, failed = byref(c_int(len(factor))), c_int(0)
    _lapack("potrf", factor.dtype, 5)(b"U", n, factor.ctypes, n, byref(failed))
    return None if failed.value else factor


def cholesky_solve(factor: Array, b: Array) -> Array:
    """Return the solution of L Lᵀ x = b; several right-hand sides are the rows of ``b``."""
    x = np.array(b, dtype=factor.dtype, order="C")
    n, sides = byref(c_int(len(factor))), byref(c_int(x.size // len(factor)))
    _lapack("potrs", factor.dtype, 8)(b"U", n, sides, factor.ctypes, n, x.ctypes, n, byref(c_int(0)))
    return x


def inverse_trace(factor: Array) -> float:
    """Return the trace of (L Lᵀ)⁻¹: exactly up to 32 rows, within a few per cent beyond.

    The mean of z·(L Lᵀ)⁻¹z over random signs z is the trace (Hutchinson 1990); the signs are always the same.
    """
    n = factor.shape[0]
    probes = np.eye(n) if n <= PROBES else _signs(n)
    return float(np.sum(probes * cholesky_solve(factor, probes))) * (1.0 if n <= PROBES else 1 / PROBES)


@cache
def _signs(n: int) -> Float64s:
    return np.random.default_rng(0).choice(np.array([-1.0, 1.0]), size=(PROBES, n))


# The contexts of a new word on the CPU, in numba: finding its pairs, and solving its equations from them.


# indptr int64[n + 1]; indices int32[m]; slot_of int32[n], the slots of the words that are looked for, -1 of others
@kernel
def count_slots(indptr, indices, slot_of, slots, begin, end):
    """Count the pairs that rows ``begin`` to ``end`` have in the column of each slot's word."""
    counts = np.zeros(slots, np.int64)
    for place in range(indptr[begin], indptr[end]):
        slot = slot_of[indices[place]]
        if slot >= 0:
            counts[slot] += 1
    return counts


# as count_slots; values int64[m]; free int64[slots]: where the next pair of a slot goes; rows and found int64
@kernel
def fill_slots(indptr, indices, values, slot_of, begin, end, free, rows, found):
    """Put the rows and the values of the pairs that :func:`count_slots` counted where they belong."""
    for row in range(begin, end):
        for place in range(indptr[row], indptr[row + 1]):
            slot = slot_of[indices[place]]
            if slot >= 0:
                rows[free[slot]], found[free[slot]] = row, values[place]
                free[slot] += 1


# features float32[c, k]; rows int64[m]; weights, targets float32[m]; F float32[m, k]
@kernel(fastmath=True)
def gather_into(F, features, rows, weights, targets):
    """Put the features of the contexts ``rows`` into ``F``; return Σ t f and Σ w |f|²."""
    k = features.shape[1]
    total, trace = np.zeros(k, np.float32), 0.0
    for j in range(rows.size):
        f, t, square = features[rows[j]], targets[j], np.float32(0)
        for i in range(k):
            F[j, i] = f[i]
            total[i] += t * f[i]
            square += f[i] * f[i]
        trace += weights[j] * square
    return total, trace


# F float32[m, k]; weights float32[m]; base, directions float32[k, k]; scales, b float32[k]
@kernel(fastmath=True)
def solve_contexts(F, weights, base, directions, scales, b, tolerance, most):
    """Return x with (base + Σ w f fᵀ) x = b, and the steps that it took, ``most`` if it was not found.

    The steps end when the residual is less than ``tolerance`` of what it was, measured by the preconditioner
    ``directions · scales · directionsᵀ``.
    """
    x, r = np.zeros_like(b), b.copy()
    z = np.dot(directions, scales * np.dot(r, directions))
    p, size = z.copy(), np.dot(r, z)
    goal = size * tolerance * tolerance
    for step in range(most):
        if not size > goal:
            return x, step
        image = np.dot(base, p)
        add_seen(F, weights, p, image)
        length = size / np.dot(p, image)
        x += length * p
        r -= length * image
        z = np.dot(directions, scales * np.dot(r, directions))
        before, size = size, np.dot(r, z)
        p = z + (size / before) * p
    return x, most


@kernel(fastmath=True)
def add_seen(F, weights, p, image):
    """Add Σ w f fᵀ p to ``image``, reading each f once."""
    m, k = F.shape
    for j in range(m):
        f = F[j]
        product = np.float32(0)
        for i in range(k):
            product += f[i] * p[i]
        product *= weights[j]
        for i in range(k):
            image[i] += product * f[i]


# What new words are solved with: measured once, then used by threads, a graphics card or a cluster alike.


class Spelling(NamedTuple):
    """What gives a prior its mean: vectors of n-grams, and by how much their coordinates are stretched."""

    subwords: Subwords
    stretch: Float32s


@dataclass(frozen=True)
class Setting:
    """Everything that the words ``ids`` of a count store are solved with; see :class:`psdvec.solver.pmi.Measured`.

    ``choose`` gives the ridges to try for a word of a given rank. ``names`` are the words themselves, whose
    ``spelling`` is the mean of their priors, where there is one.
    """

    ids: Int64s
    scales: WordScales
    old: WordScales
    core_of: Int64s
    constants: Constants
    regressors: Regressors
    choose: Callable[[int], tuple[float, ...]]
    min_contexts: int
    names: Sequence[str]
    spelling: Spelling | None

    def take(self, part: slice) -> Setting:
        """Return the setting of some of the words."""
        return replace(self, ids=self.ids[part], scales=self.scales.take(part), names=self.names[part])

    def means(self, part: slice) -> Float64s | None:
        """Return the means (m, k) of the priors of some of the words, equation (16); None if all are 0."""
        if self.spelling is None:
            return None
        subwords, stretch = self.spelling
        means = np.zeros((len(self.names[part]), self.regressors.features.shape[1]))
        means[:, : stretch.size] = subwords.vectors_of(self.names[part]) / stretch
        return means


def prepare(
    model: Model,
    counts: Cooccurrence,
    ids: Int64s,
    *,
    core: int | None = None,
    ridge: str | None = None,
    damping: float | None = None,
    unigrams: str = UNIGRAMS[0],
    min_contexts: int,
    sums: tuple[Float64s, Float64s] | None = None,
) -> Setting:
    """Measure, once and on the whole of ``counts``, what the words ``ids`` are solved with; see :func:`psdvec.extend`.

    A ``ridge`` or ``damping`` of None is the model's. ``sums`` are the margins of the counts, where they are known.
    """
    damping = model.recipe.damping if damping is None else damping
    if not 0 <= damping < HUGE:
        raise InputError(f"damping is {damping}; give a weight from 0 to below 1e15")
    demand_positive(min_contexts, "min_contexts")
    measured = measure_scales(model, counts, ids, core=core, unigrams=unigrams, sums=sums)
    return Setting(
        ids=ids,
        **measured._asdict(),
        regressors=make_regressors(model, measured.old, damping=damping),
        choose=parse_ridge(model.recipe.ridge if ridge is None else ridge),
        min_contexts=min_contexts,
        names=[counts.vocabulary.words[i] for i in ids.tolist()],
        spelling=None if model.subwords is None else Spelling(model.subwords, model.stretch),
    )


CALIBRATION = 3.8  # of the posterior's standard deviation; measured, see docs/results/intervals.md
LEAST = 1e-6  # ridge in place of 0, as a share of the trace
SINGULAR = "the equations of a word are singular; give a greater ridge, such as ridge=1"
TOLERANCE = 1e-4  # of conjugate gradients; some six steps, each of which leaves less than a fourth
MOST_STEPS = 200
_BLOCK = 2048  # rows of a float32 product
CORRECTIONS = 2  # solves of what a float32 factor leaves over

_scratch = Scratch()


@dataclass(frozen=True)
class Regressors:
    """The fixed side of every regression: one row per core word, which has two cells, before the new word and after.

    ``features`` (c, k) float32: s_j J v_j, the constant direction last. Summed over the cells of a word that saw
    nothing: ``gram`` (k, k) is Σ ρ_j f fᵀ, ``total`` (k,) is Σ ρ_j s_j f, and ``square`` is Σ ρ_j s_j²; ``cells`` of
    them have a weight. ``damping`` (k, k) is η Σ f fᵀ, and ``damped`` (k,) are its eigenvalues.
    """

    features: Float32s
    gram: Float64s
    total: Float64s
    square: float
    cells: int
    damping: Float64s
    damped: Float64s
    known: dict[float, Preconditioner] = field(default_factory=dict, repr=False)

    def preconditioner(self, ridge: float) -> Preconditioner | None:
        """Return what makes conjugate gradients fast at a ``ridge``; None where the sums are not fit for it."""
        if not np.trace(self.gram) > 0 or not self.damped.any() or not ridge:
            return None
        if ridge not in self.known:
            from scipy.linalg import eigh

            prior = self.damping + ridge * np.eye(len(self.total))
            try:
                values, directions = eigh(self.gram, prior)
            except (np.linalg.LinAlgError, ValueError) as error:  # singular, or not finite
                raise InputError(SINGULAR) from error
            self.known[ridge] = Preconditioner(
                prior,
                np.maximum(values, 0.0),
                np.ascontiguousarray(directions, np.float32),
                np.square(directions).sum(axis=0),
            )
        return self.known[ridge]


class Preconditioner(NamedTuple):
    """The ``prior`` P, and ``directions`` Q in which P is 1 and Σ ρ_j f fᵀ is diagonal, with ``values`` on it.

    If the contexts of a word were as frequent as those of all, A would be a multiple of the latter.
    """

    prior: Float64s
    values: Float64s
    directions: Float32s
    squares: Float64s  # Σ of each direction's squares


@dataclass(frozen=True)
class Cells:
    """What a word's seen cells add to those of a word that saw nothing, the two cells of a core word summed.

    ``rows`` of the core, their ``weights`` and ``targets`` in equation (10), and the ``square`` of equation (11);
    ``seen`` cells there are. ``weights`` are never negative: a seen pair weighs no less than the same pair unseen.
    """

    rows: Int64s
    weights: Float64s
    targets: Float64s
    square: float
    seen: int


def make_regressors(model: Model, scales: WordScales, *, damping: float) -> Regressors:
    """Return the features of the first ``len(scales)`` core words, and their sums over the background."""
    s = scales.emphases
    core = s.size
    dim, constant = model.dim, bool(model.constant.any())
    features = np.empty((core, dim + constant), np.float32)
    totals: dict[int, Float64s] = {}

    def fill(begin: int) -> None:
        part = slice(begin, min(begin + _BLOCK, core))
        features[part, :dim] = model.rows[part] * model.signs * s[part, None]
        if constant:
            features[part, dim] = -model.constant[part] * s[part]
        totals[begin] = (scales.rho[part] * s[part]) @ features[part]

    begins = range(0, core, _BLOCK)
    for_each(fill, begins)
    held = 2 * damping * _moment(features, np.ones(core))
    return Regressors(
        features,
        gram=2 * _moment(features, scales.rho),
        total=2 * np.sum([totals[begin] for begin in begins], axis=0),
        square=2 * float(scales.rho @ s**2),
        cells=2 * int(np.count_nonzero(scales.rho)),
        damping=held,
        damped=np.maximum(np.linalg.eigvalsh(held), 0.0),
    )


def _moment(features: Float32s, weights: Float64s) -> Float64s:
    """Return Σ w f fᵀ: float32 products of blocks of rows, added up in float64."""
    total = np.zeros((features.shape[1], features.shape[1]))
    roots = np.sqrt(weights, dtype=np.float64).astype(np.float32)

    def part(start: int) -> Float32s:
        block = roots[start : start + _BLOCK, None] * features[start : start + _BLOCK]
        return np.asarray(block.T @ block)  # of one array, half the work to NumPy

    threads = thread_limit()
    with limit_blas(1), ThreadPoolExecutor(threads) as pool:
        for product in map_ordered(pool, part, range(0, len(features), _BLOCK), ahead=2 * threads):
            total += product
    return total


def word_cells(
    word: WordScales, old: WordScales, constants: Constants,
    after: Int64s, H_after: Float64s, before: Int64s, H_before: Float64s,
) -> Cells:  # fmt: skip
    """Return what the seen cells of one word add to the background, equation (10).

    ``after``: core rows that follow the word, with counts ``H_after``; ``before``: those that it follows.
    """
    rows = np.concatenate([after, before])
    terms = pair_terms(
        np.concatenate([H_after, H_before]),
        np.concatenate([np.broadcast_to(word.row_sums, after.shape), old.row_sums[before]]),
        np.concatenate([old.unigrams[after], np.broadcast_to(word.unigrams, before.shape)]),
        word.frequencies * old.frequencies[rows],
        word.majorisers * old.majorisers[rows],
        old.emphases[rows],
        word.rho * old.rho[rows],
        constants=constants,
    )
    unique, place = np.unique(rows, return_inverse=True)
    weights, targets = (
        2 * np.bincount(place, weights=term, minlength=unique.size).astype(float)
        for term in (terms.weights, terms.targets)  # halves, since a fit averages the two directions
    )
    return Cells(unique, weights, targets, float(np.sum(terms.squares)), seen=rows.size)


def solve_word(
    cells: Cells,
    word: WordScales,
    regressors: Regressors,
    constants: Constants,
    *,
    ridges: Sequence[float],
    mean: Float64s | None = None,
) -> tuple[Float64s, float]:
    """Return x (k,) of equation (10), (Σ w f fᵀ + P) x = Σ w g f, and its standard deviation, equation (12).

    P is η Σ f fᵀ + μI. Of several rising ``ridges`` μ, the one with the greatest evidence is taken, equation (11).
    With a ``mean`` q of the prior, equation (16), x - q is what is solved for, and q·f taken off the targets.
    """
    if len(ridges) == 1 and (known := regressors.preconditioner(ridges[0])) is not None:
        return _solve_by_gradients(cells, word, regressors, constants, known, mean)
    found = solve_exactly(cells, word, regressors, constants, ridges=ridges, mean=mean)
    trace = inverse_trace(found.factor)
    return found.x, CALIBRATION * float(np.sqrt(found.loss / found.cells * trace / found.x.size))


class Solved(NamedTuple):
    """x of equation (10) with the matrix ``whole`` (k, k) on its left side, its ``factor``, and the ``ridge`` μ in it.

    ``loss`` and the number of ``cells`` are those of equation (12).
    """

    x: Float64s
    whole: Float64s
    factor: Array
    ridge: float
    loss: float
    cells: int

    def solve(self, b: Float64s) -> Float64s:
        """Return the solution for another right side."""
        return _solve_corrected(self.whole, self.factor, b)


def solve_exactly(
    cells: Cells,
    word: WordScales,
    regressors: Regressors,
    constants: Constants,
    *,
    ridges: Sequence[float],
    mean: Float64s | None = None,
) -> Solved:
    """Return what :func:`solve_word` solves, with the matrix itself."""
    F = regressors.features[cells.rows]
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    b = rho * log_kappa * regressors.total + cells.targets.astype(np.float32) @ F
    weighty = np.flatnonzero(
        cells.weights
    )  # where all pairs weigh the same, seen ones add nothing to the background
    F = F if weighty.size == len(F) else F[weighty]
    F *= np.sqrt(cells.weights[weighty, None], dtype=np.float32)
    A = rho * regressors.gram + F.T @ F  # of one array, half the work to NumPy
    square = cells.square + rho * log_kappa**2 * regressors.square
    if mean is not None:
        image = A @ mean
        square += float(mean @ image - 2 * b @ mean)
        b = b - image
    m = max(cells.seen, regressors.cells)
    damped = A + regressors.damping
    least = 0.0 if regressors.damped.any() else LEAST * float(np.trace(A))
    best: tuple[float, float, Float64s, Array] | None = None  # evidence, μ, A + P and its factor
    for mu in ridges:
        whole, L = _factorised(damped, mu or least)
        x = cholesky_solve(L, b).astype(np.float64)
        log_prior = np.log(np.maximum(regressors.damped + mu, 1e-12)).sum()
        log_whole = 2 * np.log(np.diag(L), dtype=np.float64).sum()
        found, ceiling = evidence(log_prior, log_whole, m, np.maximum(square - b @ x, 1e-12))
        if best is None or found > best[0]:
            best = found, mu or least, whole, L
        if best[0] >= ceiling:
            break
    assert best is not None  # there is at least one ridge
    _, mu, whole, L = best
    x = _solve_corrected(whole, L, b)
    loss = max(square - float(b @ x), 1e-12)
    return Solved(x if mean is None else x + mean, whole, L, mu, loss, m)


def _solve_corrected(whole: Float64s, factor: Array, b: Float64s) -> Float64s:
    """Return the solution of ``whole`` x = b, corrected for what a float32 factor leaves over."""
    x: Float64s = cholesky_solve(factor, b).astype(np.float64)
    for _ in range(CORRECTIONS):
        x += cholesky_solve(factor, b - whole @ x)
    return x


def _solve_by_gradients(
    cells: Cells,
    word: WordScales,
    regressors: Regressors,
    constants: Constants,
    known: Preconditioner,
    mean: Float64s | None,
) -> tuple[Float64s, float]:
    """Return what :func:`solve_word` returns at one ridge, by conjugate gradients, to float32 accuracy.

    The trace of (A + P)⁻¹ is that of the preconditioner, which is smaller by some 4 in 100.
    """
    rho, log_kappa = word.rho[0], np.log(constants.smoothing)
    weights = cells.weights.astype(np.float32)
    F = _scratch.array(np.float32, cells.rows.size, regressors.features.shape[1])
    total, trace = gather_into(F, regressors.features, cells.rows, weights, cells.targets.astype(np.float32))
    b = total + rho * log_kappa * regressors.total
    square = cells.square + rho * log_kappa**2 * regressors.square
    if mean is not None:
        seen = np.zeros(b.size, np.float32)
        add_seen(F, weights, mean.astype(np.float32), seen)
        image = rho * (regressors.gram @ mean) + seen
        square += float(mean @ image - 2 * b @ mean)
        b = b - image
    usual = rho + trace / float(np.trace(regressors.gram))
    scales = 1 / (usual * known.values + 1)
    base = (rho * regressors.gram + known.prior).astype(np.float32)
    x32, steps = solve_contexts(
        F, weights, base, known.directions, scales.astype(np.float32), b.astype(np.float32), TOLERANCE, MOST_STEPS,
    )  # fmt: skip
    if steps == MOST_STEPS or not np.isfinite(x32).all():
        raise InputError(SINGULAR)
    x = x32.astype(np.float64)
    m, k = max(cells.seen, regressors.cells), b.size
    loss = max(square - float(b @ x), 1e-12)
    inverse = float(known.squares @ scales)
    return x if mean is None else x + mean, CALIBRATION * float(np.sqrt(loss / m * inverse / k))


def evidence(log_prior: Any, log_whole: Any, m: Any, loss: Any, *, xp: Any = np) -> tuple[Any, Any]:
    """Return twice equation (11) at one ridge, and what it reaches at no greater one.

    ``log_prior`` is log det P, ``log_whole`` log det(A + P), ``loss`` is Σ R s² g² - bᵀx. With a greater ridge the loss
    is no smaller, and log det P never exceeds log det(A + P): so -m log(loss) is a ceiling for all that follow.
    """
    ceiling = -m * xp.log(loss)
    return log_prior - log_whole + ceiling, ceiling


def _factorised(damped: Float64s, mu: float) -> tuple[Float64s, Array]:
    """Return A + P and its factor, in float32 where that suffices.

    A is a float32 product: where contexts are fewer than features, its least eigenvalues may lie below 0 by some 1e-7
    of the greatest.
    """
    whole = damped.copy()
    whole[np.diag_indices_from(whole)] += mu
    L = cholesky(whole.astype(np.float32))
    if L is None:
        L = cholesky(whole)
    if L is None:
        raise InputError(SINGULAR)
    return whole, L


# New words on the CPU: each is looked up in the counts and solved by its own ridge regression, by threads.

# The columns of a word's row, and their counts; the rows of its column, and their counts.
WordPairs = tuple[Array, Float64s, Array, Float64s]

_RELEASED = 16  # words after which the memory of mapped counts is given back: a row brings megabytes with it
BATCH = 2048  # words whose columns are looked up together; no result depends on it


def solve_words(
    setting: Setting,
    counts: Cooccurrence,
    *,
    workers: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Placed]:
    """Solve each word of ``setting`` on its own, by threads; those with too few contexts get no vector."""
    threads = resolve_workers(workers)
    results: list[Placed] = []
    with limit_threads(workers), limit_blas(1), ThreadPoolExecutor(threads) as pool:
        items = zip(range(setting.ids.size), pairs_of(counts, setting.ids), _means_of(setting), strict=True)
        for result in map_ordered(pool, lambda item: solve_one(setting, *item), items, ahead=4 * threads):
            results.append(result)
            advance(1)
    return results


def _means_of(setting: Setting) -> Iterator[Float64s | None]:
    """Yield the mean of each word's prior."""
    for start in range(0, setting.ids.size, BATCH):
        part = slice(start, min(start + BATCH, setting.ids.size))
        means = setting.means(part)
        yield from [None] * (part.stop - start) if means is None else means


def cells_of(setting: Setting, place: int, pairs: WordPairs) -> Cells:
    """Return what the seen cells of one of the words of ``setting`` add, all but that with itself."""
    columns, after, rows, before = pairs
    itself, core_of = setting.ids[place], setting.core_of
    keep_after = np.where(columns == itself, -1, core_of[columns])
    keep_before = np.where(rows == itself, -1, core_of[rows])
    return word_cells(
        setting.scales.take(slice(place, place + 1)), setting.old, setting.constants,
        keep_after[keep_after >= 0], after[keep_after >= 0],
        keep_before[keep_before >= 0], before[keep_before >= 0],
    )  # fmt: skip


def solve_one(setting: Setting, place: int, pairs: WordPairs, mean: Float64s | None) -> Placed:
    """Solve one of the words of ``setting``, with these pairs."""
    one, cells = setting.scales.take(slice(place, place + 1)), cells_of(setting, place, pairs)
    if cells.rows.size < setting.min_contexts:
        return Placed(None, np.nan, cells.rows.size)
    ridges = setting.choose(int(setting.ids[place]) + 1)
    x, deviation = solve_word(cells, one, setting.regressors, setting.constants, ridges=ridges, mean=mean)
    return Placed(x.astype(np.float32), deviation, cells.rows.size)


def pairs_of(counts: Cooccurrence, ids: Int64s) -> Iterator[WordPairs]:
    """Yield for each word: the columns of its row, their counts, the rows of its column, their counts."""
    for start in range(0, ids.size, BATCH):
        batch = ids[start : start + BATCH]
        slots, starts, rows, values = _columns_of(counts, batch)
        before = values / UNIT
        for word, slot in zip(batch.tolist(), slots.tolist(), strict=True):
            row = slice(counts.indptr[word], counts.indptr[word + 1])
            column = slice(starts[slot], starts[slot + 1])
            yield np.array(counts.indices[row]), counts.values[row] / UNIT, rows[column], before[column]
            if slot % _RELEASED == 0:
                release_pairs(counts)


def _columns_of(counts: Cooccurrence, batch: Int64s) -> tuple[Array, Int64s, Int64s, Int64s]:
    """Return the slot of each word of ``batch``, where the column of each slot starts, its rows, and their values.

    Ranges of rows are looked through by threads, first to count and then to fill; mapped memory is given back.
    """
    n = counts.indptr.size - 1
    slot_of = np.full(n, -1, np.int32)
    slot_of[batch] = np.arange(batch.size)
    ranges = dealt_rows(counts.indptr, n)

    def count(part: tuple[int, int]) -> Int64s:
        found: Int64s = count_slots(counts.indptr, counts.indices, slot_of, batch.size, *part)
        release_pairs(counts, *part)
        return found

    with ThreadPoolExecutor(thread_limit()) as pool:
        sizes = np.array(list(pool.map(count, ranges)), np.int64).reshape(-1, batch.size)
        starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
        rows, values = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)

        def fill(part: tuple[int, int], free: Int64s) -> None:
            fill_slots(counts.indptr, counts.indices, counts.values, slot_of, *part, free, rows, values)
            release_pairs(counts, *part)

        for _ in pool.map(fill, ranges, starts[:-1] + np.cumsum(sizes, axis=0) - sizes):
            pass
    return slot_of[batch], starts, rows, values
