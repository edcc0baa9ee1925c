"""From counts on disk to a model on disk: fit and extend; a fit that was interrupted goes on.

Goes in: artefacts (or values) and the options of the stages. Comes out: a :class:`~psdvec.solver.model.Model`,
written as an artefact where an output is named. The mathematics is in :mod:`psdvec.solver.core` and
:mod:`psdvec.solver.noncore`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from psdvec.counts.matrix import Cooccurrence, open_counts
from psdvec.errors import InputError, demand_positive
from psdvec.formats import model as model_format
from psdvec.parallel import limit_threads
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size, parse_size
from psdvec.solver import core as core_module
from psdvec.solver import noncore
from psdvec.solver.devices import open_backend
from psdvec.solver.model import Model, read_model, write_model
from psdvec.solver.noncore import Extension
from psdvec.solver.recipe import make_recipe
from psdvec.storage.artefact import check_output, open_artefact
from psdvec.storage.workspace import open_workspace


def fit(
    counts: Cooccurrence | str | Path,
    *,
    dim: int = 300,
    recipe: str = "default",
    changes: Mapping[str, Any] | None = None,
    core: int | None = None,
    max_words: int | None = None,
    min_contexts: int = 5,
    seed: int = 0,
    memory: int | str | None = None,
    workers: int | None = None,
    device: str = "cpu",
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Model:
    """Make vectors of the words of ``counts``.

    Parameters
    ----------
    counts
        A count store, or the folder that holds one.
    dim
        Numbers a word.
    recipe, changes
        A recipe's name, and the numbers of it to change; see :class:`psdvec.solver.recipe.Recipe`.
    core
        Fit this many words together and place the others by ridge; all words together, if None.
    max_words
        Make vectors of this many words, the most frequent; of all, if None.
    min_contexts
        Words that are placed by ridge and were seen with fewer different core words get no vector.
    memory
        The most memory to take, in bytes or as ``"4G"``; what is free, if None.
    workers
        Threads; one a core, if None. The result is the same to rounding.
    device
        ``"cpu"``, ``"cuda"`` for a graphics card, or ``"auto"``. The result is the same to rounding.
    output
        Folder to write the model to; rounds that are finished when it is interrupted are kept beside it.
    """
    plan = make_recipe(recipe, **(changes or {}))
    store, source = _open_counts(counts)
    words = _at_most(max_words, len(store), "max_words")
    centre = _at_most(core, words, "core")
    demand_positive(min_contexts, "min_contexts")
    limit = None if memory is None else parse_size(memory)
    options: dict[str, Any] = {
        "dim": dim, "recipe": plan, "max_words": centre, "seed": seed, "memory": limit, "device": device,
    }  # fmt: skip
    placing: dict[str, Any] = {
        "min_contexts": min_contexts, "workers": workers, "device": device, "progress": progress,
    }  # fmt: skip
    with limit_threads(workers) if device == "cpu" else nullcontext():
        if output is None:
            model = core_module.fit(store, **options, progress=progress)
            return _with_others(model, store, words, **placing)
        output = Path(output)
        check_output(output, overwrite=overwrite)
        key = {"counts": source, **options, "recipe": asdict(plan), "memory": None}
        with open_workspace(output, plan=key, progress=progress) as folder:
            state = folder / "round.npz"
            model = core_module.fit(
                store, **options, progress=progress, load_round=lambda: core_module.read_round(state),
                save_round=lambda step: core_module.write_round(state, step),
            )  # fmt: skip
            model = _with_others(model, store, words, **placing)
            write_model(model, output, sources=[source], overwrite=overwrite)
    return model


def plan_fit(
    counts: Cooccurrence | str | Path,
    *,
    dim: int = 300,
    recipe: str = "default",
    changes: Mapping[str, Any] | None = None,
    core: int | None = None,
    max_words: int | None = None,
    memory: int | str | None = None,
    device: str = "cpu",
) -> list[str]:
    """Say what :func:`fit` would do and need, and refuse what would not fit."""
    plan = make_recipe(recipe, **(changes or {}))
    store, _ = _open_counts(counts)
    words = _at_most(max_words, len(store), "max_words")
    centre = _at_most(core, words, "core")
    backend = open_backend(device)
    needed = core_module.predicted_memory(backend, store, dim=dim, words=centre, recipe=plan)
    limit = backend.available_memory() if memory is None else parse_size(memory)
    core_module.check_memory(needed, limit, dim=dim, words=centre)
    return [
        f"fit {centre:,} words together from {int(store.indptr[centre]):,} pairs, {plan.rounds} rounds",
        f"place {words - centre:,} further words by ridge {plan.ridge}",
        f"write {words:,} vectors of {dim} numbers, {format_size(4 * words * dim)}",
        f"peak memory about {format_size(needed)} of {format_size(limit)}",
    ]


def extend(
    model: Model | str | Path,
    counts: Cooccurrence | str | Path,
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
    output: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    progress: Progress = LogProgress(),
) -> Extension:
    """Learn words that ``model`` lacks from ``counts``; see :func:`psdvec.solver.noncore.extend` for the options.

    With a :class:`distributed.Client` the workers of its cluster solve, to the same bits. They must see the counts and
    the output under the same names; solved words are kept beside the output if the work is interrupted.
    """
    if output is not None:
        check_output(output, overwrite=overwrite)
    old, parent = _open_model(model)
    store, source = _open_counts(counts)
    options: dict[str, Any] = {
        "words": words, "refresh": refresh, "core": core, "ridge": ridge, "damping": damping,
        "unigrams": unigrams, "min_contexts": min_contexts,
    }  # fmt: skip
    with ExitStack() as stack:
        solve = None
        if client is not None:
            from psdvec.cluster.solving import open_solver

            if isinstance(model, Model) or isinstance(counts, Cooccurrence) or output is None:
                raise InputError(
                    "a cluster works on folders; give the model, the counts and the output as such"
                )
            if workers is not None or device != "cpu":
                raise InputError("a cluster has its own threads; leave --workers and --device out")
            plan = {"model": parent, "counts": source, **options}
            solve = stack.enter_context(
                open_solver(client, Path(counts), Path(output), plan=plan, progress=progress)
            )
        extension = noncore.extend(
            old, store, **options, workers=workers, device=device, solve=solve, progress=progress
        )
        if output is not None and (extension.learned or extension.refreshed):
            write_model(extension.model, output, sources=[parent, source], overwrite=overwrite)
    return extension


def _with_others(
    model: Model, counts: Cooccurrence, words: int, *, progress: Progress, **placing: Any
) -> Model:
    """Place the words after the core by ridge; ``placing`` are options of :func:`psdvec.solver.noncore.extend`."""
    others = counts.vocabulary.words[len(model) : words]
    if not others:
        return model
    extension = noncore.extend(model, counts, words=others, progress=progress, **placing)
    if extension.thin:
        progress.say(
            f"no vector for words seen too little, {len(extension.thin):,} in all, such as '{extension.thin[0]}'"
        )
    return extension.model


def _open_counts(counts: Cooccurrence | str | Path) -> tuple[Cooccurrence, dict[str, Any]]:
    if isinstance(counts, Cooccurrence):
        return counts, {"counts": "in memory"}
    return open_counts(counts)


def _open_model(model: Model | str | Path) -> tuple[Model, dict[str, Any]]:
    if isinstance(model, Model):
        return model, {"model": "in memory"}
    artefact = open_artefact(model, kind=model_format.KIND, version=model_format.VERSION)
    return read_model(artefact), {"model": artefact.path.name, "digest": artefact.digest}


def _at_most(number: int | None, most: int, name: str) -> int:
    demand_positive(number, name)
    return most if number is None else min(number, most)
