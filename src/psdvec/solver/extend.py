"""Learn new words beside fixed vectors, which stay as they are to the last bit.

:func:`extend` takes vectors and any count store that has words in common with them, or where they are on disk, and
returns an :class:`Extension`: a model with new rows after the old. Vectors that psdvec did not fit are adopted first
(:mod:`psdvec.solver.adopt`). Each word is its own weighted ridge regression, equations (9) to (12) of
``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.arrays import Array, Int64s
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.solver.adopt import adopt
from psdvec.solver.devices.open import open_device
from psdvec.solver.model import Model, check_vectors, write_model
from psdvec.solver.setting import Placed, prepare
from psdvec.solver.spelling import mix, place_spelled
from psdvec.storage.artefact import check_output
from psdvec.vectors.embeddings import Embeddings

MUST_AGREE = ("window", "weighting", "tokenizer")  # a model and counts made differently do not fit together
UNKNOWN = "unknown"  # the tokenizer of counts that another program made


@dataclass(frozen=True, eq=False, repr=False)
class Extension(Model):
    """A model with further words: those ``learned``, the old ones ``refreshed``, and the ``thin`` ones seen too little.

    It is a :class:`~psdvec.solver.model.Model` like any other, and equal to one with the same words and numbers.
    """

    learned: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    thin: tuple[str, ...] = ()

    def _facts(self) -> dict[str, str]:
        found = {"learned": len(self.learned), "refreshed": len(self.refreshed), "thin": len(self.thin)}
        return super()._facts() | {name: f"{number:,} words" for name, number in found.items() if number}


def extend(
    model: Embeddings | str | Path,
    counts: Cooccurrence | str | Path,
    *,
    recipe: str | None = None,
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
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Extension:
    """Learn words that ``model`` lacks from ``counts``.

    Parameters
    ----------
    model
        A model, or any other vectors; or where they are, in any format that :func:`psdvec.load` reads. Vectors that
        psdvec did not fit get their scales from the counts: new words are solved against those of their words that the
        counts have.
    counts
        A count store, or the folder that holds it.
    recipe
        The name of the recipe for vectors that psdvec did not fit; ``"paper"``, if None. A model has its own.
    words
        The words to learn; all words of the counts that the model lacks, if None.
    refresh
        Words of the model to solve again from these counts.
    core
        Solve against this many of the core words; all of them, if None.
    ridge
        μ of equation (10): ``"auto"``, a number, or bands by rank; the recipe's, if None.
    damping
        η of equation (9); the recipe's, if None.
    unigrams
        Whose frequencies of the old words to use: those of the ``"corpus"`` at hand, or the ``"model"``'s.
    min_contexts
        A word seen with fewer different core words is listed as thin and not learned.
    workers
        Threads; one per core, if None. The result is the same to the bit.
    device
        ``"cpu"``, where a word gets the same bits alone or among others; ``"cuda"`` or ``"auto"``, where it gets them
        to rounding.
    output
        Folder to write the larger model to; nothing is written if no word was learned or refreshed.
    client
        A :class:`distributed.Client`, whose workers then solve, to the same bits. They must see the counts and the
        output under the same names; solved words are kept beside the output if the work is interrupted.
    quiet
        Show no progress.
    """
    progress = SilentProgress() if quiet else progress
    if output is not None:
        check_output(output, overwrite=overwrite)
    store = counts if isinstance(counts, Cooccurrence) else load_counts(counts)
    old = _model_of(model, store, recipe=recipe, progress=progress)
    check_vectors(old)
    id_of = store.vocabulary.ids
    check_compatible(old, store)
    wanted, stale = _chosen(old, store, words, refresh)
    ids = np.array([id_of[word] for word in (*wanted, *stale)], dtype=np.int64)
    options: dict[str, Any] = {"core": core, "unigrams": unigrams, "min_contexts": min_contexts}
    plan = {
        "model": dict(old.origin), "counts": dict(store.origin), **options, "words": words, "refresh": refresh,
        "ridge": ridge, "damping": damping,
    }  # fmt: skip
    with ExitStack() as stack:
        if client is not None:
            solve = stack.enter_context(
                _on_cluster(client, counts, output, plan, workers=workers, device=device, progress=progress)
            )
        if not ids.size:
            return _extension(old)
        if client is None:
            solve = partial(open_device(device).solve_words, workers=workers)
        setting = prepare(
            old, store, ids, ridge=old.recipe.ridge if ridge is None else ridge,
            damping=old.recipe.damping if damping is None else damping, **options,
        )  # fmt: skip
        with progress.stage("new words", total=ids.size, unit="words") as stage:
            placed = solve(setting, store, advance=stage.advance)
        extension = _merge(old, store, dict(zip((*wanted, *stale), placed, strict=True)))
        if output is not None and (extension.learned or extension.refreshed):
            write_model(extension, output, overwrite=overwrite)
    return extension


def check_compatible(model: Model, counts: Cooccurrence) -> None:
    """Raise :class:`InputError` where ``counts`` were made differently from the model's, or share no core word."""
    for name in MUST_AGREE:
        old, new = model.counting.get(name), counts.parameters.get(name)
        if old != new and UNKNOWN not in (old, new):
            raise InputError(
                f"the model was counted with {name} {old}, these counts with {new}; count again with {name} {old}"
            )
    known = counts.vocabulary.ids
    if not any(word in known for word in model.words[: model.core]):
        raise InputError(
            "the model and the counts have no word in common; give counts of the same language and spelling"
        )
    lengths = np.linalg.norm(model.rows[: model.core], axis=1)
    if not lengths.any():
        raise InputError("all vectors of the model are zero; fit it again")


def _model_of(
    vectors: Embeddings | str | Path, counts: Cooccurrence, *, recipe: str | None, progress: Progress
) -> Model:
    """Return ``vectors``, or those at a path, as a model: as they are, or with scales from ``counts``."""
    origin = {"vectors": "in memory"}
    if not isinstance(vectors, Embeddings):
        from psdvec.formats import load

        origin = {"vectors": Path(vectors).name}
        vectors = load(vectors, progress=progress)
    if not isinstance(vectors, Model):
        return adopt(vectors, counts, recipe=recipe or "paper", origin=origin)
    if recipe is not None:
        raise InputError(f"the model has its own recipe, {vectors.recipe.name}; leave recipe out")
    return vectors


def _chosen(
    model: Model, counts: Cooccurrence, words: Sequence[str] | None, refresh: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words to learn and those to refresh, each once."""
    known, counted = model.key_to_index, counts.vocabulary.ids
    missing = [word for word in words or () if word not in counted]
    if missing:
        raise InputError(
            f"{len(missing)} of the words are not in the counts, such as '{missing[0]}'; "
            "count with a vocabulary that has them"
        )
    for word in refresh:
        if word not in known or word not in counted:
            where = "model" if word not in known else "counts"
            raise InputError(f"'{word}' cannot be refreshed, it is not in the {where}; leave it out")
    wanted = counts.vocabulary.words if words is None else words
    return tuple(dict.fromkeys(word for word in wanted if word not in known)), tuple(dict.fromkeys(refresh))


def _on_cluster(
    client: Any,
    counts: Cooccurrence | str | Path,
    output: str | Path | None,
    plan: Mapping[str, Any],
    *,
    workers: int | None,
    device: str,
    progress: Progress,
) -> AbstractContextManager[Callable[..., list[Placed | None]]]:
    """Return what holds the workspace of ``output`` and solves words on the workers of ``client``."""
    from psdvec.cluster.solving import open_solver

    if "digest" not in plan["model"] or isinstance(counts, Cooccurrence) or output is None:
        raise InputError(
            "a cluster works on folders; give a model that psdvec made, the counts and the output as folders"
        )
    if workers is not None or device != "cpu":
        raise InputError("a cluster has its own threads; leave out workers and device")
    return open_solver(client, Path(counts), Path(output), plan=plan, progress=progress)


def _merge(model: Model, counts: Cooccurrence, placed: Mapping[str, Placed | None]) -> Extension:
    """Put new rows after the old ones, and refreshed ones in their place."""
    found = {word: result for word, result in placed.items() if result is not None}
    thin = tuple(word for word, result in placed.items() if result is None)
    learned = tuple(word for word in found if word not in model.key_to_index)
    refreshed = tuple(word for word in found if word in model.key_to_index)
    new = [*refreshed, *learned]
    seen = counts.vocabulary.counts[[counts.vocabulary.ids[word] for word in new]]
    old = np.array([model.key_to_index[word] for word in refreshed], dtype=np.int64)
    constant = np.array(model.constant)
    for word, row in zip(refreshed, old.tolist(), strict=True):
        if row < model.core and found[word][0].size > model.dim:
            constant[row] = found[word][0][model.dim]
    rows = np.array([found[word][0][: model.dim] for word in new], np.float32).reshape(-1, model.dim)
    deviations = np.array([found[word][1] for word in new], np.float32)
    vectors = mix(rows, model.stretch, None, share=0.0)
    if model.subwords is not None:
        noise = model.recipe.spelling_noise
        vectors, factors = place_spelled(model.subwords, new, rows, model.stretch, seen, noise=noise)
        deviations = deviations * factors
    is_shown = model.rows is not model.vectors
    all_vectors = _with_rows(model.vectors, old, vectors)
    return _extension(
        model,
        words=(*model.words, *learned),
        counts=np.concatenate([model.counts, seen[len(refreshed) :]]),
        vectors=all_vectors,
        rows=_with_rows(model.rows, old, rows) if is_shown else all_vectors,
        deviations=_with_rows(model.deviations, old, deviations),
        constant=constant,
        sources=(model.origin, counts.origin),
        origin={"model": "in memory"},
        learned=learned,
        refreshed=refreshed,
        thin=thin,
    )


def _with_rows(old: Array, places: Int64s, new: Array) -> Array:
    """Return ``old`` with the first rows of ``new`` at ``places``, and the others at the end."""
    changed = np.concatenate([old, new[places.size :]])
    changed[places] = new[: places.size]
    return changed


def _extension(model: Model, **changes: Any) -> Extension:
    return Extension(**{**model.own_fields(), **changes})
