"""New words beside fixed vectors: each its own weighted ridge regression, solved in closed form.

Goes in: a :class:`~psdvec.solver.model.Model` and any count store that has words in common with it. Comes out: an
:class:`Extension`, the model with new rows after the old, which stay as they are to the last bit. Equations (9) to
(12) of ``docs/theory.md``; every word is solved on its own from stored scales, so that no word's vector depends
on which others are solved with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError, demand_positive
from psdvec.parallel import map_ordered, resolve_workers
from psdvec.progress import LogProgress, Progress
from psdvec.solver.devices import open_backend
from psdvec.solver.model import Model
from psdvec.solver.pmi import Constants, WordScales, margins, word_scales
from psdvec.solver.recipe import UNIGRAMS, parse_ridge
from psdvec.solver.ridge import Regressors, make_regressors, solve_word, word_cells

Block = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Placed = tuple[Block, float]  # a word's vector, the constant direction last, and its deviation

BATCH = 2048  # words whose columns are looked up together; no result depends on it
_PIECE = 1 << 16  # columns that are looked through at a time
MUST_AGREE = ("window", "weighting", "tokenizer")  # a model and counts made differently do not fit together


@dataclass(frozen=True)
class Extension:
    """``model`` with the words ``learned``; ``refreshed`` old words were solved anew, ``thin`` ones seen too little."""

    model: Model
    learned: tuple[str, ...]
    refreshed: tuple[str, ...]
    thin: tuple[str, ...]


def extend(
    model: Model,
    counts: Any,
    *,
    words: Sequence[str] | None = None,
    refresh: Sequence[str] = (),
    core: int | None = None,
    ridge: str | None = None,
    damping: float | None = None,
    unigrams: str = "corpus",
    min_contexts: int = 5,
    workers: int | None = None,
    device: str = "cpu",
    solve: Callable[..., list[Placed | None]] | None = None,
    progress: Progress = LogProgress(),
) -> Extension:
    """Learn words that ``model`` does not have from ``counts`` (a :class:`~psdvec.counts.count.Cooccurrence`).

    Parameters
    ----------
    words
        The words to learn; all of the counts that the model lacks, if None.
    refresh
        Words of the model to solve anew from these counts.
    core
        Solve against this many of the core words; all of them, if None.
    ridge
        μ of equation (10): ``"auto"``, a number, or bands by rank; the recipe's, if None.
    damping
        η of equation (9); the recipe's, if None.
    unigrams
        Whose frequencies of the old words to use: the ``"corpus"``' at hand, or the ``"model"``'s.
    min_contexts
        A word seen with fewer different core words is listed as thin and not learned.
    device
        ``"cpu"``, where a word gets the same bits alone or among others; ``"cuda"`` or ``"auto"``, where it gets them
        to rounding.
    solve
        What solves the words of a :class:`Setting`, if not ``workers`` or ``device``.
    """
    check_compatible(model, counts)
    wanted = _wanted(model, counts, words)
    stale = _in_both(model, counts, refresh)
    ids = np.array([counts.vocabulary.ids[word] for word in (*wanted, *stale)], dtype=np.int64)
    if not ids.size:
        return Extension(model, (), (), ())
    setting = prepare(
        model,
        counts,
        ids,
        core=core,
        ridge=model.recipe.ridge if ridge is None else ridge,
        damping=model.recipe.damping if damping is None else damping,
        unigrams=unigrams,
        min_contexts=min_contexts,
    )
    with progress.stage("new words", total=ids.size, unit="words") as stage:
        solve = solve or word_solver(device, workers=workers)
        placed = solve(setting, counts, advance=stage.advance)
    found = dict(zip((*wanted, *stale), placed, strict=True))
    thin = tuple(word for word, result in found.items() if result is None)
    return _merge(model, counts, {word: result for word, result in found.items() if result is not None}, thin)


def word_solver(device: str, *, workers: int | None) -> Callable[..., list[Placed | None]]:
    """Return what solves the words of a :class:`Setting` on ``device``."""
    backend: Any = open_backend(device)
    if isinstance(backend, ModuleType):
        return partial(solve_words, workers=workers)
    from psdvec.solver.devices import gpu_ridge

    return partial(gpu_ridge.solve_words, backend)


def check_compatible(model: Model, counts: Any) -> None:
    """Raise :class:`InputError` where ``counts`` were made otherwise than the model's, or share no core word."""
    for name in MUST_AGREE:
        old, new = model.counting.get(name), counts.parameters.get(name)
        if old != new:
            raise InputError(
                f"the model was counted with {name} {old}, these counts with {new}; count again with {name} {old}"
            )
    if not any(word in counts.vocabulary for word in model.words[: model.core]):
        raise InputError(
            "the model and the counts have no word in common; give counts of the same language and spelling"
        )
    lengths = np.linalg.norm(model.vectors[: model.core], axis=1)
    if not lengths.any():
        raise InputError("all vectors of the model are zero; fit it again")


def _wanted(model: Model, counts: Any, words: Sequence[str] | None) -> tuple[str, ...]:
    if words is None:
        return tuple(word for word in counts.vocabulary.words if word not in model.ids)
    missing = [word for word in words if word not in counts.vocabulary]
    if missing:
        raise InputError(
            f"{len(missing)} of the words are not in the counts, such as '{missing[0]}'; "
            "count with a vocabulary that has them"
        )
    return tuple(dict.fromkeys(word for word in words if word not in model.ids))


def _in_both(model: Model, counts: Any, words: Sequence[str]) -> tuple[str, ...]:
    for word in words:
        if word not in model.ids or word not in counts.vocabulary:
            where = "model" if word not in model.ids else "counts"
            raise InputError(f"'{word}' cannot be refreshed, it is not in the {where}; leave it out")
    return tuple(dict.fromkeys(words))


@dataclass(frozen=True)
class Setting:
    """Everything the words ``ids`` of a count store are solved with, whoever solves them and in whatever parts.

    ``scales`` are those of the words, ``old`` those of the core words, in the counts at hand; ``core_of`` (n,) is the
    core row of each word of the counts, or -1. ``choose`` gives the ridges to try for a word of a rank.
    """

    ids: Ints
    scales: WordScales
    old: WordScales
    core_of: Ints
    constants: Constants
    regressors: Regressors
    choose: Callable[[int], tuple[float, ...]]
    min_contexts: int

    def take(self, part: slice) -> Setting:
        """Return the setting of some of the words."""
        return replace(self, ids=self.ids[part], scales=self.scales.take(part))


def prepare(
    model: Model,
    counts: Any,
    ids: Ints,
    *,
    core: int | None,
    ridge: str,
    damping: float,
    unigrams: str,
    min_contexts: int,
) -> Setting:
    """Measure, once and on the whole of ``counts``, what the words ``ids`` are solved with."""
    if not 0 <= damping < math.inf:
        raise InputError(f"damping is {damping}; give 0 or a positive weight")
    demand_positive(core, "core")
    demand_positive(min_contexts, "min_contexts")
    core = model.core if core is None else min(core, model.core)
    row_sums, column_sums = margins(counts)
    constants = _constants_for(model.constants, column_sums)
    places = np.array([counts.vocabulary.ids.get(word, -1) for word in model.words[:core]], dtype=np.int64)
    old = _old_scales(model, row_sums, column_sums, constants, places, unigrams=unigrams)
    core_of = np.full(len(counts.vocabulary), -1, np.int64)
    core_of[places[places >= 0]] = np.flatnonzero(places >= 0)
    return Setting(
        ids=ids,
        scales=word_scales(row_sums[ids], column_sums[ids], constants),
        old=old,
        core_of=core_of,
        constants=constants,
        regressors=make_regressors(model, old, damping=damping),
        choose=parse_ridge(ridge),
        min_contexts=min_contexts,
    )


def solve_words(
    setting: Setting, counts: Any, *, workers: int | None, advance: Callable[[int], None] = lambda _: None
) -> list[Placed | None]:
    """Solve each word of ``setting`` on its own, by threads; None for those with too few contexts."""
    from threadpoolctl import threadpool_limits

    threads = resolve_workers(workers)
    results: list[Placed | None] = []
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        items = enumerate(pairs_of(counts, setting.ids))
        for result in map_ordered(pool, lambda item: _solve_one(setting, *item), items, ahead=4 * threads):
            results.append(result)
            advance(1)
    return results


def _solve_one(setting: Setting, place: int, pairs: tuple[Any, Any, Any, Any]) -> Placed | None:
    columns, after, rows, before = pairs
    one = setting.scales.take(slice(place, place + 1))
    itself, core_of = setting.ids[place], setting.core_of
    keep_after = np.where(columns == itself, -1, core_of[columns])
    keep_before = np.where(rows == itself, -1, core_of[rows])
    cells = word_cells(
        one, setting.old, setting.constants,
        keep_after[keep_after >= 0], after[keep_after >= 0],
        keep_before[keep_before >= 0], before[keep_before >= 0],
    )  # fmt: skip
    if cells.rows.size < setting.min_contexts:
        return None
    ridges = setting.choose(int(itself) + 1)
    x, deviation = solve_word(cells, one, setting.regressors, setting.constants, ridges=ridges)
    return x.astype(np.float32), deviation


def _constants_for(constants: Constants, column_sums: Floats) -> Constants:
    """The model's constants with the totals of the counts at hand, which make expected counts out of sums."""
    mass = float((column_sums**constants.unigram)[column_sums > 0].sum())
    return replace(constants, mass=mass, total=float(column_sums.sum()))


def _old_scales(
    model: Model, row_sums: Floats, column_sums: Floats, constants: Constants, places: Ints, *, unigrams: str
) -> WordScales:
    """Scales of the core words: sums from the corpus at hand or the model's, majorisers always the model's."""
    core = places.size
    own = model.scales.take(slice(0, core))
    if unigrams == "model":
        share = constants.total / model.constants.total
        sums = own.row_sums * share, own.column_sums * share
    elif unigrams == "corpus":
        seen = places >= 0
        sums = np.where(seen, row_sums[places], 0.0), np.where(seen, column_sums[places], 0.0)
    else:
        raise InputError(f"unigrams are '{unigrams}'; choose one of: {', '.join(UNIGRAMS)}")
    return word_scales(*sums, constants, usual=own.frequencies)


def pairs_of(counts: Any, ids: Ints) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield for each word: the columns of its row, their counts, the rows of its column, their counts."""
    for start in range(0, ids.size, BATCH):
        batch = ids[start : start + BATCH]
        places = _places_of(counts.indices, batch, n=len(counts.vocabulary))
        columns = counts.indices[places]
        order = np.argsort(columns, kind="stable")
        places, columns = places[order], columns[order]
        rows = np.searchsorted(counts.indptr, places, side="right") - 1
        before = counts.values[places] / UNIT
        bounds = np.searchsorted(columns, batch), np.searchsorted(columns, batch, side="right")
        for word, lo, hi in zip(batch, *bounds, strict=True):
            row = slice(counts.indptr[word], counts.indptr[word + 1])
            yield counts.indices[row], counts.values[row] / UNIT, rows[lo:hi], before[lo:hi]


def _places_of(columns: Any, words: Ints, *, n: int) -> Ints:
    """Return the places in ``columns`` (int32) of any of ``words``, rising.

    Words that are solved together are mostly neighbours: what lies outside their range is left out first, which needs
    no table, a piece at a time that stays in the cache.
    """
    chosen = np.zeros(n, bool)
    chosen[words] = True
    low, width = np.int32(words.min()), np.uint32(words.max() - words.min())
    found = [np.empty(0, np.int64)]
    for begin in range(0, len(columns), _PIECE):
        piece = columns[begin : begin + _PIECE]
        near = np.flatnonzero((piece - low).view(np.uint32) <= width)
        found.append(near[chosen[piece[near]]] + begin)
    return np.concatenate(found)


def _merge(model: Model, counts: Any, found: Mapping[str, Placed], thin: tuple[str, ...]) -> Extension:
    """Put new rows after the old, and refreshed ones in their place."""
    learned = tuple(word for word in found if word not in model.ids)
    refreshed = tuple(word for word in found if word in model.ids)
    d = model.dim
    vectors, deviations, constant = (
        np.array(model.vectors),
        np.array(model.deviations),
        np.array(model.constant),
    )
    for word in refreshed:
        row, (x, deviation) = model.ids[word], found[word]
        vectors[row], deviations[row] = x[:d], deviation
        if row < model.core and x.size > d:
            constant[row] = x[d]
    if learned:
        vectors = np.concatenate([vectors, np.stack([found[word][0][:d] for word in learned])])
        deviations = np.concatenate([deviations, np.array([found[word][1] for word in learned], np.float32)])
    frequencies = [counts.vocabulary.counts[counts.vocabulary.ids[word]] for word in learned]
    extended = replace(
        model,
        words=(*model.words, *learned),
        counts=np.concatenate([model.counts, np.array(frequencies, dtype=np.int64)]),
        vectors=vectors,
        deviations=deviations,
        constant=constant,
    )
    return Extension(extended, learned, refreshed, thin)
