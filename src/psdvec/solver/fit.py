"""Fit vectors to counts: all words together, or a core together and the others placed beside it by ridge.

:func:`fit` takes a count store, or the folder that holds one, and returns a :class:`~psdvec.vectors.model.Model`,
written as an artefact where an output is named; an interrupted fit is resumed after the last round that was kept. The
mathematics is in :mod:`psdvec.solver.pmi`, :mod:`psdvec.solver.rounds` and :mod:`psdvec.solver.ridge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.matrix import Cooccurrence, counts_of, half_of
from psdvec.errors import InputError, checked, demand_client
from psdvec.options import BASKET, Fitting, Recipe
from psdvec.progress import LogProgress, Progress, SilentProgress, count_of
from psdvec.resources import arithmetic, for_each, format_size, parse_size
from psdvec.solver.devices import Device, Room, Size, open_device
from psdvec.solver.extend import Solve, choose_words, computed_with, place
from psdvec.solver.pmi import WordScales, margins, measure_constants, row_chunks, word_scales, words_before
from psdvec.solver.ridge import prepare
from psdvec.solver.rounds import (
    Eigenpairs,
    Problem,
    Writing,
    build_problem,
    first_operator,
    leading_eigenpairs,
    solve,
)
from psdvec.storage.artefact import check_output, release_memory
from psdvec.storage.workspace import check_resumable, open_workspace
from psdvec.vectors.model import KIND, Constants, Model, demand_finite, say_empty, write_model
from psdvec.vectors.regression import Solve as SolveSpelling
from psdvec.vectors.subwords import (
    Subwords,
    learn_subwords,
    mix,
    mixing_factors,
    own_pull,
    say_weights,
    stretches,
    unit_rows,
)

# How uncertain the words of a fit are: their own rows, solved as if each were a new word.

SAMPLE = 96  # words that are solved; up to so many, all of them
_ROWS = 1024  # that a thread makes of eigenvectors at a time
_FIRST = 100  # the sample starts at this part of the vocabulary: the most frequent words take longest


def core_deviations(
    model: Model,
    counts: Cooccurrence,
    spelled: Float32s | None,
    *,
    solve: Solve,
    sums: tuple[Float64s, Float64s],
) -> Float32s:
    """Return the deviation of each word of ``model``, whose words are all core; NaN where nothing can be solved.

    ``spelled`` (n, d) are the p of the words' spelling, and ``sums`` the margins of the counts; ``solve`` is a device's
    :meth:`~psdvec.solver.devices.Device.solve_words`.
    """
    n = model.core
    ids = np.arange(n)
    if n > SAMPLE:
        ids = np.unique(np.geomspace(max(n // _FIRST, 1), n - 1, SAMPLE).astype(np.int64))
    found = np.full(n, np.nan)
    setting = prepare(model, counts, ids, min_contexts=1, sums=sums)
    try:
        placed = solve(setting, counts)
    except InputError:  # without any ridge, equations may have no solution
        return found.astype(np.float32)
    is_placed = np.array([one.vector is not None for one in placed], bool)
    ids, placed = ids[is_placed], [one for one in placed if one.vector is not None]
    found[ids] = [one.deviation for one in placed]
    if model.subwords is not None and spelled is not None and placed:
        rows = np.array([cast(Float32s, one.vector)[: model.dim] for one in placed], np.float32)
        found[ids] *= _mixing_factors(model, model.subwords, ids, rows, spelled[ids])
    if n > SAMPLE:
        found = _carried_over(found, _features(model, counts, spelled))
    return found.astype(np.float32)


def _mixing_factors(
    model: Model, subwords: Subwords, ids: Int64s, rows: Float32s, spelled: Float32s
) -> Float32s:
    """Return what mixing with spelling multiplies the deviations of some words by, at the ``rows`` of a ridge."""
    own = own_pull(subwords, model.counts[ids], noise=model.recipe.spelling_noise)
    return mixing_factors(rows, model.stretch, spelled, own, share=subwords.share)


def _features(model: Model, counts: Cooccurrence, spelled: Float32s | None) -> Float64s:
    """Return what a deviation depends on, (n, 7).

    Powers of the logarithms of occurrences and of different contexts, and that of what mixing multiplies it by.
    """
    n = len(model)
    mixing = np.ones(n)
    if model.subwords is not None and spelled is not None:
        mixing[:] = _mixing_factors(model, model.subwords, np.arange(n), model.rows, spelled)
    before = words_before(counts)
    contexts = np.log1p(np.diff(counts.indptr[: n + 1]) + before[:n])
    seen = np.log1p(model.counts)
    columns: list[Any] = [
        np.ones(n), seen, contexts, seen**2, contexts**2, seen * contexts, np.log(mixing)
    ]  # fmt: skip
    return np.column_stack(columns)


def _carried_over(deviations: Float64s, features: Float64s) -> Float64s:
    """Return deviations for all words, by least squares over the logarithms of those that are known."""
    known = deviations > 0
    if not known.any():
        return deviations
    targets = np.log(deviations[known])
    coefficients = np.linalg.lstsq(features[known], targets, rcond=None)[0]
    return np.asarray(np.exp(np.clip(features @ coefficients, targets.min(), targets.max())))


# How many dimensions the data can fill: as many as two halves of the counts agree on.

COMPARED = 6_000  # words at most that halves are compared by, the most frequent ones
CELLS = 1 << 22  # and cells of the counts among them; halves of more than these agree on all anyway
HALVED = 28  # bytes of a cell of a half: its count, and what the pairs of a problem take
AGREED = 0.25  # share of an eigenvalue of one half that the other must confirm; see choose_dimensions


def choose_dimensions(counts: Cooccurrence, words: int, what: Fitting, *, workers: int | None) -> int:
    """Return how many dimensions two random halves of the counts agree on, from 1 to ``what.most_dim``.

    With λ and q the leading eigenpairs of the first half's matrix to factorise, and B that of the other half, the
    first k pairs are chosen whose Σ λ (qᵀ B q - c λ) is largest. c = 1/2 would be cross-validation, least ‖B - X‖². But
    the vectors are of both halves, whose noise is half as large, and too few dimensions cost more than too many.

    It is done on the CPU, whatever the device, so that the number does not depend on it.
    """
    recipe, hardware = what.settings, open_device("cpu", workers=workers)
    n = _words_compared(counts, words)
    rank = min(what.most_dim + (recipe.spectrum == "signed"), n)

    def half(*, other: bool) -> Problem:
        part = half_of(counts, n, seed=what.seed, other=other)
        sums = margins(part)
        constants = measure_constants(part, *sums, recipe=recipe)
        return build_problem(hardware, part, word_scales(*sums, constants), constants, recipe=recipe)

    with hardware.limits():
        try:
            operator = first_operator(half(other=False), recipe)
            pairs = leading_eigenpairs(
                hardware, operator, n, count=rank, spectrum=recipe.spectrum, seed=what.seed
            )
            del operator  # and with it the pairs of this half
            image = first_operator(half(other=True), recipe)(pairs.vectors)
        except InputError:  # a half of so little may hold nothing to fit
            return 1
        confirmed = np.diag(hardware.gram(pairs.vectors, image))
    values = pairs.values if recipe.spectrum == "signed" else np.maximum(pairs.values, 0)
    gains = np.cumsum(values * (confirmed - AGREED * values))
    agreed = values[: int(np.argmax(gains)) + 1]
    constant = recipe.spectrum == "signed" and bool((agreed < 0).any())
    return min(max(agreed.size - constant, 1), what.most_dim)


def _words_compared(counts: Cooccurrence, words: int) -> int:
    """Return how many of the first ``words`` words are compared: their pairs with each other are CELLS at most."""
    n = min(words, COMPARED)
    added: Int64s = np.zeros(n, np.int64)  # cells that each word adds to those of the words before it
    for first, last in row_chunks(counts.indptr, n):
        columns = counts.indices[counts.indptr[first] : counts.indptr[last]]
        rows = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(counts.indptr[first : last + 1]))
        later = np.maximum(rows, columns)
        added += np.bincount(later[later < n], minlength=n)
        release_memory(counts.indices)
    return max(int(np.searchsorted(np.cumsum(added), CELLS, side="right")), min(n, 2))


_NGRAMS = 2.5  # for each word of a model that knows spelling; 2.0 to 2.5 were measured in English


@checked
def fit(
    counts: Cooccurrence | str | Path,
    *,
    dim: int | Literal["auto"] = Fitting.dim,
    recipe: str = Fitting.recipe,
    changes: Mapping[str, Any] | None = Fitting.changes,
    core: int | None = Fitting.core,
    max_words: int | None = Fitting.max_words,
    min_contexts: int = Fitting.min_contexts,
    seed: int = Fitting.seed,
    memory: float | str | None = Fitting.memory,
    workers: int | None = None,
    device: str = Fitting.device,
    output: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    allow_unlike: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Model:
    """Fit vectors to the words of ``counts``.

    Parameters
    ----------
    counts
        A count store, or the folder that holds one.
    dim
        Dimensions of each vector, d; or ``"auto"``: as many as two random halves of the counts agree on, at most 300.
        Where there is little data, fewer are often better.
    recipe, changes
        The name of a recipe, and the settings of it to change; see :class:`psdvec.options.Recipe`.
    core
        Fit this many words together and place the others by ridge; all words together, if None.
    max_words
        Make vectors for this many of the most frequent words; for all, if None.
    min_contexts
        Words that are placed by ridge and were seen with fewer different core words get no vector.
    seed
        Of the eigensolver's random start, and of the halves. The same seed gives the same bytes.
    memory
        The most memory to use, in bytes or as ``"4G"``; what is free, if None. Pairs that have no room are read from
        disk in every round. The result is the same. With a ``client``, the most memory of each worker; on a graphics
        card, the most that pairs take of its own: the others stay in the machine's.
    workers
        Threads; one per core, if None. The result is the same.
    device
        ``"cpu"``, ``"cuda"`` for a graphics card, or ``"auto"``. The result is the same to rounding.
    output
        Folder to write the model to. If the fit is interrupted, finished rounds are kept beside it, one every few
        seconds, and the same call resumes after the last of them.
    client
        A Dask client (:class:`distributed.Client`): its workers hold the pairs, and ``counts`` must be a folder that
        they see. The result is the same, to the byte.
    allow_unlike
        Use workers whose processor, BLAS or versions are not those of this process, too; they are refused otherwise,
        because the result would differ in its last digits.
    quiet
        Show no progress.
    """
    progress = SilentProgress() if quiet else progress
    what = Fitting(dim, recipe, changes, core, max_words, min_contexts, seed, memory, device)
    limit = None if memory is None else parse_size(memory)
    check_resumable(output, kind=KIND, overwrite=overwrite)
    with ExitStack() as stack:
        if client is None:
            with ThreadPoolExecutor(1) as beside:  # the counts are verified while torch is loaded
                loading = beside.submit(counts_of, counts)
                hardware = open_device(device, workers=workers)
                store = loading.result()
        else:
            options: dict[str, Any] = {"workers": workers, "memory": limit, "allow_unlike": allow_unlike}
            cluster = _on_cluster(client, counts, device, **options, say=progress.say)
            hardware = stack.enter_context(closing(cluster))
            store = counts_of(counts)
        what = _suited(what, store)
        words, core = _words_of(store, what)
        stack.enter_context(hardware.limits())
        folder = None
        if output is not None:
            plan = {
                "counts": store.identity(), "dim": dim, "recipe": asdict(what.settings), "max_words": core,
                "seed": seed, "device": device, "arithmetic": arithmetic(), "allow_unlike": allow_unlike,
            }  # fmt: skip
            folder = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        room = hardware.find_room(_size_of(store, core, what), limit=limit, folder=folder)
        if dim == "auto":
            with progress.stage("dimensions", total=None, unit="pairs"):
                chosen_dim = choose_dimensions(store, core, what, workers=workers)
            agree = "all of them" if chosen_dim == what.most_dim else "no more"
            what = replace(what, dim=chosen_dim)
            progress.say(f"{count_of(chosen_dim, 'dimension')}: two halves of the counts agree on {agree}")
        model = _fit_core(
            hardware, store, core, what, room=room, workers=workers, folder=folder, progress=progress
        )
        if words > core:
            chosen = choose_words(model, store, store.vocabulary.words[core:words])
            found = place(
                model, store, chosen, solve=hardware.solve_words, min_contexts=min_contexts, progress=progress
            )
            model = Model(**{**found.own_fields(), "sources": model.sources})
            if found.unplaced:
                some = next(iter(found.unplaced))
                progress.say(
                    f"no vector for {len(found.unplaced):,} {store.noun}s that were seen too little, such as '{some}'"
                )
        model = replace(model, arithmetic=computed_with(hardware.others))
        if output is not None:
            write_model(model, output, overwrite=overwrite)
    return model


def _suited(what: Fitting, counts: Cooccurrence) -> Fitting:
    """Return the options for these ``counts``: the letters of names that are no words say nothing, if not asked to.

    In baskets, where an item is only once, what it would be beside itself is not known, and has weight 0.
    """
    if "sums" in counts.parameters:
        raise InputError(
            "these counts hold the pairs of some nodes only, for extend; count the walks of all nodes to fit them"
        )
    if "noun" not in counts.parameters:
        return what
    alone = {"diagonal": False} if counts.parameters.get("weighting") == BASKET else {}
    what = replace(what, changes={"spelling": 0.0, **alone, **(what.changes or {})})
    if what.settings.spelling and counts.parameters.get("keys", "str") != "str":
        raise InputError(f"{counts.noun}s that are no strings have no spelling; leave it off")
    return what


def _words_of(counts: Cooccurrence, what: Fitting) -> tuple[int, int]:
    """Return how many words get a vector at most, and how many of them are fitted together."""
    counted = counts.vocabulary.counts.size
    words = min(what.max_words or counted, counted)
    return words, min(what.core or words, words)


def _size_of(counts: Cooccurrence, words: int, what: Fitting) -> Size:
    """Return how large a fit of so many words is; a signed spectrum has one more pair, for the constant direction."""
    recipe, pairs = what.settings, int(counts.indptr[words])
    rank = min(what.most_dim + (recipe.spectrum == "signed"), words)
    head, halves = 0 if recipe.exact else recipe.head, HALVED * min(pairs, CELLS) if what.dim == "auto" else 0
    return Size(words, pairs, rank=rank, dim=what.most_dim, head=head, halves=halves, exact=recipe.exact)


def _fit_core(
    hardware: Device,
    counts: Cooccurrence,
    words: int,
    what: Fitting,
    *,
    room: Room,
    workers: int | None,
    folder: Path | None,
    progress: Progress,
) -> Model:
    """Fit the first ``words`` words together; finished rounds are kept in ``folder``, if there is one.

    ``room`` is what their pairs may take.
    """
    recipe, size = what.settings, _size_of(counts, words, what)
    with progress.stage("weights", total=None, unit="pairs"):
        row_sums, column_sums = margins(counts)
        constants = measure_constants(counts, row_sums, column_sums, recipe=recipe)
        scales = word_scales(row_sums[:words], column_sums[:words], constants)
        if room.on_disk:
            progress.say(room.describe())
        problem = build_problem(hardware, counts, scales, constants, recipe=recipe, room=room)
    file = None if folder is None else folder / "round"
    how: dict[str, Any] = {"solve_spelling": hardware.regression(), "workers": workers, "progress": progress}
    with Writing() as writing:
        last = solve(
            problem,
            rank=size.rank,
            recipe=recipe,
            seed=what.seed,
            file=file,
            writing=writing,
            progress=progress,
        ).low_rank
        last = Eigenpairs(hardware.get(last.vectors), last.values)
        del problem  # nothing takes more memory than the pairs
        model, spelled = _model_of(last, counts, what, scales, constants, **how)
    del last
    with progress.stage("deviations", total=None, unit="words"):
        solve_words, sums = hardware.solve_words, (row_sums, column_sums)
        deviations = core_deviations(model, counts, spelled, solve=solve_words, sums=sums)
    return replace(model, deviations=deviations)


def _model_of(
    low_rank: Eigenpairs,
    counts: Cooccurrence,
    what: Fitting,
    scales: WordScales,
    constants: Constants,
    *,
    solve_spelling: SolveSpelling | None,
    workers: int | None,
    progress: Progress,
) -> tuple[Model, Float32s | None]:
    """Split X = V J Vᵀ, given by its eigenpairs, into rows, signs and the constant direction; undo the emphasis.

    The vectors are these rows, stretched, and mixed with what n-grams learn from them; what these say of each word is
    returned beside the model.
    """
    vectors, values, dim, recipe = low_rank.vectors, low_rank.values, what.most_dim, what.settings
    n = len(scales)
    kept = np.flatnonzero(values)
    constant = np.zeros(n, np.float32)
    factors = np.sqrt(np.abs(values)).astype(np.float32)
    emphases = scales.emphases.astype(np.float32)
    if recipe.spectrum == "signed" and (values < 0).any():
        place = int(np.argmin(values))
        constant = vectors[:, place] * factors[place] / emphases
        kept = kept[kept != place]
    kept = kept[:dim]
    filled = np.zeros((n, dim), np.float32)

    def fill(begin: int) -> None:
        part = slice(begin, begin + _ROWS)
        filled[part, : kept.size] = vectors[part, kept] * factors[kept] / emphases[part, None]

    for_each(fill, range(0, n, _ROWS))
    demand_finite(filled, counts.vocabulary.words)
    all_signs = np.ones(dim, np.float32)
    all_signs[: kept.size] = np.sign(values[kept])
    say_empty(progress, kept.size, dim, words=n, noun=counts.noun)
    names, seen = counts.vocabulary.words[:n], np.array(counts.vocabulary.counts[:n])
    stretch = stretches(filled, scales.emphases, power=recipe.power)
    subwords = None
    if recipe.spelling:
        units, lengths = unit_rows(filled, stretch)
        subwords = learn_subwords(
            names,
            units,
            seen,
            length=float(lengths.mean()),
            recipe=recipe,
            solve=solve_spelling,
            workers=workers,
            progress=progress,
        )
        del units
    if subwords is not None:
        told = subwords.share, subwords.leverage, subwords.size
        progress.say(f"spelling {say_weights(*told, noise=recipe.spelling_noise)}")
    spelled = None if subwords is None else subwords.predict(names)
    model = Model(
        words=names,
        counts=seen,
        vectors=mix(filled, stretch, spelled, share=0.0 if subwords is None else subwords.share),
        rows=filled,
        stretch=stretch,
        subwords=subwords,
        deviations=np.full(n, np.nan, np.float32),
        signs=all_signs,
        constant=constant,
        row_sums=scales.row_sums,
        column_sums=scales.column_sums,
        constants=constants,
        recipe=recipe,
        core=n,
        counting=dict(counts.parameters),
        sources=(counts.provenance,),
        phrases=counts.phrases,
    )
    return model, spelled


def _on_cluster(client: Any, counts: Any, device: str, **options: Any) -> Any:
    """Return the CPUs of a cluster as a device."""
    from psdvec.cluster.fitting import ClusterCpu

    demand_client(client)
    if device != "cpu":
        raise InputError(f"a cluster fits on CPUs, and the device is '{device}'; leave out one of the two")
    if isinstance(counts, Cooccurrence):
        raise InputError(
            "a cluster reads the counts from a folder that all workers see; give the folder, not the counts"
        )
    return ClusterCpu(client, Path(counts), **options)


def plan_fit(
    counts: Cooccurrence | str | Path,
    *,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    cluster: str | None = None,
    **fitting: Any,
) -> list[str]:
    """Say what :func:`fit` would do and need; refuse what would not fit into memory, or an output that is there.

    ``cluster`` is what to call the cluster that would do it, if any; ``fitting``: see :class:`psdvec.options.Fitting`.
    """
    what = Fitting(**fitting)
    if output is not None:
        check_output(output, overwrite=overwrite, kind=KIND)
    hardware = open_device(what.device, workers=workers)
    store = counts_of(counts)
    what = _suited(what, store)
    settings = what.settings
    words, core = _words_of(store, what)
    most, bound = what.most_dim, "at most " if what.dim == "auto" else ""
    lines = [
        f"fit {core:,} {store.noun}s together from {int(store.indptr[core]):,} pairs, {settings.rounds} rounds",
        f"place {words - core:,} further {store.noun}s by ridge {settings.ridge}",
        f"write {words:,} vectors in {bound}{most} dimensions, {bound or 'about '}"
        f"{format_size(_size_of_model(words, most, settings))}",
    ]
    if cluster is not None:
        return [*lines, f"keep the pairs on {cluster}"]
    limit = None if what.memory is None else parse_size(what.memory)
    room = hardware.find_room(_size_of(store, core, what), limit=limit, folder=None)
    return [*lines, room.describe()] if room.besides else lines


def _size_of_model(words: int, dim: int, recipe: Recipe) -> int:
    """Return about how many bytes a model takes on disk: vectors and rows, where they differ, and n-grams in 8 bits."""
    has_rows = recipe.power != 0.5 or recipe.spelling
    return round(words * ((8 if has_rows else 4) * dim + (_NGRAMS * (dim + 12) if recipe.spelling else 0)))
