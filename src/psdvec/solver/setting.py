"""What new words are solved with: measured once, then used by threads, a graphics card or a cluster alike.

:func:`prepare` takes a :class:`~psdvec.vectors.model.Model` and a count store that has words in common with it, and
returns a :class:`Setting`. From then on every word is solved on its own, in whatever parts and by whatever device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, demand_positive
from psdvec.options import HUGE, UNIGRAMS, parse_ridge
from psdvec.solver.pmi import Constants, WordScales, constants_for, margins, with_own_cap, word_scales
from psdvec.solver.ridge import Regressors, make_regressors
from psdvec.vectors.model import Model
from psdvec.vectors.subwords import Subwords

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

Placed = tuple[Float32s, float]  # a word's vector, the constant direction last, and its deviation


class Spelling(NamedTuple):
    """What gives a prior its mean: vectors of n-grams, and by how much their coordinates are stretched."""

    subwords: Subwords
    stretch: Float32s


@dataclass(frozen=True)
class Setting:
    """Everything that the words ``ids`` of a count store are solved with.

    ``scales`` are those of the words, ``old`` those of the core words, in the counts at hand; ``core_of`` (n,) is the
    core row of each word of the counts, or -1. ``choose`` gives the ridges to try for a word of a given rank. ``names``
    are the words themselves, whose ``spelling`` is the mean of their priors, where there is one.
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
    core: int | None,
    ridge: str,
    damping: float,
    unigrams: str,
    min_contexts: int,
) -> Setting:
    """Measure, once and on the whole of ``counts``, what the words ``ids`` are solved with."""
    if not 0 <= damping < HUGE:
        raise InputError(f"damping is {damping}; give a weight from 0 to below 1e15")
    demand_positive(min_contexts, "min_contexts")
    measured = measure_scales(model, counts, ids, core=core, unigrams=unigrams)
    return Setting(
        ids=ids,
        **measured._asdict(),
        regressors=make_regressors(model, measured.old, damping=damping),
        choose=parse_ridge(ridge),
        min_contexts=min_contexts,
        names=[counts.vocabulary.words[i] for i in ids.tolist()],
        spelling=None if model.subwords is None else Spelling(model.subwords, model.stretch),
    )


class Measured(NamedTuple):
    """The part of a :class:`Setting` that says how pairs are weighed, and what is asked of them."""

    scales: WordScales
    old: WordScales
    core_of: Int64s
    constants: Constants


def measure_scales(
    model: Model, counts: Cooccurrence, ids: Int64s, *, core: int | None, unigrams: str
) -> Measured:
    """Measure, on the whole of ``counts``, the scales of the words ``ids`` and of the core words."""
    demand_positive(core, "core")
    core = model.core if core is None else min(core, model.core)
    row_sums, column_sums = margins(counts)
    constants = constants_for(model.constants, column_sums)
    places = np.array([counts.vocabulary.ids.get(word, -1) for word in model.words[:core]], dtype=np.int64)
    core_of = np.full(len(counts.vocabulary), -1, np.int64)
    core_of[places[places >= 0]] = np.flatnonzero(places >= 0)
    if model.recipe.own_cap:
        constants = with_own_cap(constants, counts, core_of >= 0, cut=model.recipe.cut)
    return Measured(
        scales=word_scales(row_sums[ids], column_sums[ids], constants),
        old=_old_scales(model, row_sums, column_sums, constants, places, unigrams=unigrams),
        core_of=core_of,
        constants=constants,
    )


def _old_scales(
    model: Model,
    row_sums: Float64s,
    column_sums: Float64s,
    constants: Constants,
    places: Int64s,
    *,
    unigrams: str,
) -> WordScales:
    """Return the scales of the core words: sums of the counts at hand or of the model, majorisers of the model."""
    core = places.size
    own = model.scales.take(slice(0, core))
    if unigrams == "model":
        share = constants.total / model.constants.total
        sums = own.row_sums * share, own.column_sums * share
    elif unigrams == "corpus":
        seen = places >= 0
        sums = np.where(seen, row_sums[places], 0.0), np.where(seen, column_sums[places], 0.0)
    else:
        raise InputError(f"unigrams is '{unigrams}'; choose one of: {', '.join(UNIGRAMS)}")
    return word_scales(*sums, constants, usual=own.frequencies)
