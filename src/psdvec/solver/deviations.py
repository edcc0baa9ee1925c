"""How uncertain the words of a fit are: their own rows, solved as if each were a new word.

:func:`core_deviations` takes a fitted :class:`~psdvec.vectors.model.Model` and its counts, and returns a standard
deviation for each of its words, equation (12) of ``docs/theory.md``. A sample of the words is solved; what they show
carries over to the others by how often they were seen, and with how many different words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.solver.pmi import row_chunks
from psdvec.solver.setting import Placed, prepare
from psdvec.solver.spelling import mixing_factors
from psdvec.storage.artefact import release_memory
from psdvec.vectors.model import Model

SAMPLE = 96  # words that are solved; up to so many, all of them
_ROWS = 4096  # words whose spelling is looked up together
_FIRST = 100  # the sample starts at this part of the vocabulary: the most frequent words take longest


def core_deviations(
    model: Model, counts: Cooccurrence, *, solve: Callable[..., Sequence[Placed | None]]
) -> Float32s:
    """Return the deviation of each word of ``model``, whose words are all core; NaN where nothing can be solved.

    ``solve`` is a device's :meth:`~psdvec.solver.devices.Device.solve_words`.
    """
    n = len(model)
    ids = np.arange(n)
    if n > SAMPLE:
        ids = np.unique(np.geomspace(max(n // _FIRST, 1), n - 1, SAMPLE).astype(np.int64))
    recipe = model.recipe
    setting = prepare(
        model, counts, ids, core=None, ridge=recipe.ridge, damping=recipe.damping, unigrams="corpus", min_contexts=1
    )  # fmt: skip
    found = np.full(n, np.nan)
    try:
        placed = solve(setting, counts)
    except InputError:  # without any ridge, equations may have no solution
        return found.astype(np.float32)
    found[ids] = [np.nan if one is None else one[1] for one in placed]
    if n > SAMPLE:
        found = _carried_over(found, _features(model, counts))
    for first in range(0, n, _ROWS):
        rows = slice(first, first + _ROWS)
        found[rows] *= _mixing_factors(model, rows)
    return found.astype(np.float32)


def _mixing_factors(model: Model, rows: slice) -> Float32s:
    """Return what mixing with their spelling multiplies the deviations of some words by."""
    if model.subwords is None:
        return mixing_factors(model.rows[rows], model.stretch, None, share=0.0)
    spelled = model.subwords.predict(model.words[rows])
    return mixing_factors(model.rows[rows], model.stretch, spelled, share=model.subwords.share)


def _features(model: Model, counts: Cooccurrence) -> Float64s:
    """Return what a deviation depends on, (n, 6): powers of the logarithms of occurrences and of different contexts."""
    n = len(model)
    before: Int64s = np.zeros(len(counts), np.int64)
    for first, last in row_chunks(counts.indptr, len(counts)):
        part = counts.indices[counts.indptr[first] : counts.indptr[last]]
        before += np.bincount(part, minlength=before.size)
        release_memory(counts.indices)
    contexts = np.log1p(np.diff(counts.indptr[: n + 1]) + before[:n])
    seen = np.log1p(model.counts)
    columns: list[Any] = [np.ones(n), seen, contexts, seen**2, contexts**2, seen * contexts]
    return np.column_stack(columns)


def _carried_over(deviations: Float64s, features: Float64s) -> Float64s:
    """Return deviations for all words, by least squares over the logarithms of those that are known."""
    known = deviations > 0
    if not known.any():
        return deviations
    targets = np.log(deviations[known])
    coefficients = np.linalg.lstsq(features[known], targets, rcond=None)[0]
    return np.asarray(np.exp(np.clip(features @ coefficients, targets.min(), targets.max())))
