"""Fit vectors to counts: all words together, or a core together and the others placed beside it by ridge.

:func:`fit` takes a count store, or the folder that holds one, and returns a :class:`~psdvec.vectors.model.Model`,
written as an artefact where an output is named; an interrupted fit is resumed after its last finished round. The
mathematics is in :mod:`psdvec.solver.pmi`, :mod:`psdvec.solver.rounds` and :mod:`psdvec.solver.ridge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.matrix import Cooccurrence, counts_of
from psdvec.errors import InputError, checked, demand_client
from psdvec.options import Fitting, Recipe
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.resources import (
    arithmetic,
    format_size,
    parse_size,
)
from psdvec.solver.devices import Device, Room, Size, open_device
from psdvec.solver.eigen import rank_for
from psdvec.solver.extend import Solve, choose_words, computed_with, place
from psdvec.solver.pmi import WordScales, margins, measure_constants, row_chunks, word_scales
from psdvec.solver.ridge import prepare
from psdvec.solver.rounds import build_problem, solve
from psdvec.solver.spelling import learn_subwords, mix, mixing_factors, stretches
from psdvec.storage.artefact import check_output, release_memory
from psdvec.storage.workspace import check_resumable, open_workspace
from psdvec.vectors.model import KIND, Constants, Model, demand_finite, say_empty, write_model
from psdvec.vectors.neighbours import lengths_of

# How uncertain the words of a fit are: their own rows, solved as if each were a new word.

SAMPLE = 96  # words that are solved; up to so many, all of them
_ROWS = 4096  # words whose spelling is looked up together
_FIRST = 100  # the sample starts at this part of the vocabulary: the most frequent words take longest


def core_deviations(model: Model, counts: Cooccurrence, *, solve: Solve) -> Float32s:
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
    found[ids] = [one.deviation for one in placed]
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


_NGRAMS = 2.5  # for each word of a model that knows spelling; 2.0 to 2.5 were measured in English


@checked
def fit(
    counts: Cooccurrence | str | Path,
    *,
    dim: int = Fitting.dim,
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
        Dimensions of each vector, d.
    recipe, changes
        The name of a recipe, and the settings of it to change; see :class:`psdvec.options.Recipe`.
    core
        Fit this many words together and place the others by ridge; all words together, if None.
    max_words
        Make vectors for this many of the most frequent words; for all, if None.
    min_contexts
        Words that are placed by ridge and were seen with fewer different core words get no vector.
    seed
        Of the eigensolver's random start. The same seed gives the same bytes.
    memory
        The most memory to use, in bytes or as ``"4G"``; what is free, if None. Pairs that have no room are read from
        disk in every round. The result is the same. With a ``client``, the most memory of each worker.
    workers
        Threads; one per core, if None. The result is the same.
    device
        ``"cpu"``, ``"cuda"`` for a graphics card, or ``"auto"``. The result is the same to rounding.
    output
        Folder to write the model to. If the fit is interrupted, finished rounds are kept beside it, and the same call
        resumes after the last of them.
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
    settings = Fitting(dim, recipe, changes, core, max_words, min_contexts, seed, memory, device).settings
    check_resumable(output, kind=KIND, overwrite=overwrite)
    with ExitStack() as stack:
        hardware = stack.enter_context(
            _open(
                device,
                counts,
                client,
                workers=workers,
                memory=memory,
                allow_unlike=allow_unlike,
                progress=progress,
            )
        )
        store = counts_of(counts)
        words, core = _words_of(store, max_words=max_words, core=core)
        stack.enter_context(hardware.limits())
        folder = None
        if output is not None:
            plan = {
                "counts": store.identity(), "dim": dim, "recipe": asdict(settings), "max_words": core, "seed": seed,
                "device": device, "arithmetic": arithmetic(), "allow_unlike": allow_unlike,
            }  # fmt: skip
            folder = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        model = _fit_core(
            hardware, store, core, dim=dim, recipe=settings, seed=seed, memory=memory, workers=workers,
            folder=folder, progress=progress,
        )  # fmt: skip
        with progress.stage("deviations", total=None, unit="words"):
            model = replace(model, deviations=core_deviations(model, store, solve=hardware.solve_words))
        if words > core:
            model = _with_others(
                model, store, words, min_contexts=min_contexts, solve=hardware.solve_words, progress=progress
            )
        model = replace(model, arithmetic=computed_with(hardware.others))
        if output is not None:
            write_model(model, output, overwrite=overwrite)
    return model


def _words_of(counts: Cooccurrence, *, max_words: int | None, core: int | None) -> tuple[int, int]:
    """Return how many words get a vector at most, and how many of them are fitted together."""
    counted = counts.vocabulary.counts.size
    words = min(max_words or counted, counted)
    return words, min(core or words, words)


def _fit_core(
    hardware: Device,
    counts: Cooccurrence,
    words: int,
    *,
    dim: int,
    recipe: Recipe,
    seed: int,
    memory: float | str | None,
    workers: int | None,
    folder: Path | None,
    progress: Progress,
) -> Model:
    """Fit the first ``words`` words together; finished rounds are kept in ``folder``, if there is one."""
    with progress.stage("weights", total=None, unit="pairs"):
        row_sums, column_sums = margins(counts)
        constants = measure_constants(counts, row_sums, column_sums, recipe=recipe)
        scales = word_scales(row_sums[:words], column_sums[:words], constants)
        room = _find_room(hardware, counts, words, dim=dim, recipe=recipe, memory=memory, folder=folder)
        if room.on_disk:
            progress.say(room.describe())
        problem = build_problem(hardware, counts, scales, constants, recipe=recipe, room=room)
    last = solve(
        problem,
        rank=rank_for(dim, words, spectrum=recipe.spectrum),
        recipe=recipe,
        seed=seed,
        file=None if folder is None else folder / "round",
        progress=progress,
    ).low_rank
    vectors, values = hardware.get(last.vectors), last.values
    del problem, last  # nothing takes more memory than the pairs
    return model_of(
        vectors,
        values,
        counts,
        dim=dim,
        scales=scales,
        constants=constants,
        recipe=recipe,
        workers=workers,
        progress=progress,
    )


def model_of(
    vectors: Float32s,
    values: Float64s,
    counts: Cooccurrence,
    *,
    dim: int,
    scales: WordScales,
    constants: Constants,
    recipe: Recipe,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Model:
    """Split X = V J Vᵀ, given by its eigenpairs, into rows, signs and the constant direction; undo the emphasis.

    The vectors are these rows, stretched, and mixed with what n-grams learn from them.
    """
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
    for column, place in enumerate(kept.tolist()):
        filled[:, column] = vectors[:, place] * factors[place] / emphases
    demand_finite(filled, counts.vocabulary.words)
    all_signs = np.ones(dim, np.float32)
    all_signs[: kept.size] = np.sign(values[kept])
    say_empty(progress, kept.size, dim, words=n)
    del vectors  # as large as what follows
    names, seen = counts.vocabulary.words[:n], np.array(counts.vocabulary.counts[:n])
    stretch = stretches(filled, scales.emphases, power=recipe.power)
    subwords = None
    if recipe.spelling:
        units = filled * stretch
        lengths = lengths_of(units)
        units /= lengths[:, None]
        subwords = learn_subwords(
            names,
            units,
            seen,
            length=float(lengths.mean()),
            recipe=recipe,
            workers=workers,
            progress=progress,
        )
        del units
    spelled = None if subwords is None else subwords.predict(names)
    return Model(
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
        sources=(counts.origin,),
    )


@contextmanager
def _open(
    device: str,
    counts: Any,
    client: Any,
    *,
    workers: int | None,
    memory: float | str | None,
    allow_unlike: bool,
    progress: Progress,
) -> Iterator[Device]:
    """Yield the device to fit on: this machine's, or the CPUs of a cluster."""
    if client is None:
        yield open_device(device, workers=workers)
        return
    from psdvec.cluster.fitting import ClusterCpu

    demand_client(client)
    if device != "cpu":
        raise InputError(f"a cluster fits on CPUs, and the device is '{device}'; leave out one of the two")
    if isinstance(counts, Cooccurrence):
        raise InputError(
            "a cluster reads the counts from a folder that all workers see; give the folder, not the counts"
        )
    most = None if memory is None else parse_size(memory)
    options: dict[str, Any] = {"allow_unlike": allow_unlike, "say": progress.say}
    with closing(ClusterCpu(client, Path(counts), workers=workers, memory=most, **options)) as hardware:
        yield hardware


def _with_others(
    model: Model,
    counts: Cooccurrence,
    words: int,
    *,
    min_contexts: int,
    solve: Solve,
    progress: Progress,
) -> Model:
    """Place the words after the core by ridge."""
    chosen = choose_words(model, counts, counts.vocabulary.words[len(model) : words])
    extension = place(model, counts, chosen, solve=solve, min_contexts=min_contexts, progress=progress)
    if extension.unplaced:
        some = next(iter(extension.unplaced))
        progress.say(
            f"no vector for {len(extension.unplaced):,} words that were seen too little, such as '{some}'"
        )
    return Model(**{**extension.own_fields(), "sources": model.sources})


def _find_room(
    hardware: Device,
    counts: Cooccurrence,
    words: int,
    *,
    dim: int,
    recipe: Recipe,
    memory: float | str | None,
    folder: Path | None = None,
) -> Room:
    """Return what the pairs may take on the device, and in ``folder``."""
    rank = rank_for(dim, words, spectrum=recipe.spectrum)
    size = Size(words, int(counts.indptr[words]), rank=rank, dim=dim, head=recipe.head)
    return hardware.find_room(size, limit=None if memory is None else parse_size(memory), folder=folder)


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
    settings = what.settings
    if output is not None:
        check_output(output, overwrite=overwrite, kind=KIND)
    hardware = open_device(what.device, workers=workers)
    store = counts_of(counts)
    words, core = _words_of(store, max_words=what.max_words, core=what.core)
    lines = [
        f"fit {core:,} words together from {int(store.indptr[core]):,} pairs, {settings.rounds} rounds",
        f"place {words - core:,} further words by ridge {settings.ridge}",
        f"write {words:,} vectors in {what.dim} dimensions, about "
        f"{format_size(_size_of_model(words, what.dim, settings))}",
    ]
    if cluster is not None:
        return [*lines, f"keep the pairs on {cluster}"]
    room = _find_room(hardware, store, core, dim=what.dim, recipe=settings, memory=what.memory)
    return [*lines, room.describe()] if room.besides else lines


def _size_of_model(words: int, dim: int, recipe: Recipe) -> int:
    """Return about how many bytes a model takes on disk: vectors and rows, where they differ, and n-grams in 8 bits."""
    has_rows = recipe.power != 0.5 or recipe.spelling
    return round(words * ((8 if has_rows else 4) * dim + (_NGRAMS * (dim + 12) if recipe.spelling else 0)))
