"""From text to a model in one call: count, then fit and place; each stage is kept until the model is written.

Takes text in any form (:mod:`psdvec.text.corpus`) and the options of the stages, and returns a
:class:`~psdvec.vectors.model.Model`, written as an artefact, with the counts beside it, where that is wanted. If it is
interrupted, the same call resumes at the first unfinished stage.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from psdvec.counts.count import count_pairs, report_tally
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.counts.segments import Counting, describe, identity_of
from psdvec.errors import InputError, checked, checked_options
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.solver.devices import open_device
from psdvec.solver.fit import check_options, fit
from psdvec.storage.artefact import META
from psdvec.storage.workspace import check_resumable, open_workspace, sweep_finished
from psdvec.text.corpus import Corpus, Input, Sentences, Texts, read_corpus, read_input
from psdvec.vectors.model import Model

_ENDING = ".train.work"
Function = TypeVar("Function", bound=Callable[..., Any])


def _options(function: Callable[..., Any], *names: str) -> dict[str, inspect.Parameter]:
    return {name: inspect.signature(function).parameters[name] for name in names}


# The options of each stage, with the defaults they have there.
_READING = _options(read_corpus, "tokenizer", "field", "column", "errors", "encoding")
_COUNTING = _options(count_pairs, "min_count", "max_words", "window", "weighting", "gaps")
_FITTING = _options(fit, "dim", "recipe", "changes", "core", "min_contexts", "seed", "device")


def _with_options(function: Function) -> Function:
    """Let ``help`` and editors show the options of all stages instead of ``**options``."""
    own = inspect.signature(function)
    corpus, *rest = (each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD)
    stages = (*_READING.values(), *_COUNTING.values(), *_FITTING.values())
    function.__signature__ = own.replace(parameters=[corpus, *stages, *rest])  # type: ignore[attr-defined]
    return function


@_with_options
@checked
def train(
    corpus: Input,
    *,
    memory: float | str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    keep: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    allow_unlike: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
    **options: Any,
) -> Model:
    """Count the words and pairs of a text, and fit vectors to them.

    Parameters
    ----------
    corpus
        The name of a file or folder, a glob, or what :func:`psdvec.read_corpus` returns; texts, such as a list of
        strings or a column of a DataFrame, each cut into words like a line of a file; sentences as lists of words; a
        DataFrame or a dataset of Hugging Face. ``Path`` objects in a list are files, strings in a list are texts. What
        can be read only once, such as a generator, is read once.
    tokenizer, field, column, errors, encoding
        How text is read; see :func:`psdvec.read_corpus`. ``column`` also names the column of a table.
    min_count, max_words, window, weighting, gaps
        What is counted; see :func:`psdvec.count_pairs`.
    dim, recipe, changes, core, min_contexts, seed, device
        How vectors are fitted; see :func:`psdvec.fit`.
    memory, workers
        The most memory to use, such as ``"4G"``, and the number of threads.
    output
        Folder to write the model to; if None, it stays in memory. What was finished before an interruption is not
        repeated.
    keep
        Folder to keep the counts in. If they are there already, they are used.
    client
        A Dask client (:class:`distributed.Client`) whose workers do the work. They must see the text, and the folder of
        ``output`` or ``keep``.
    allow_unlike
        Use workers that compute otherwise than this process, too; see :func:`psdvec.fit`.
    quiet
        Show no progress; otherwise, work that takes longer than a few seconds writes how far it is to the log
        ``psdvec``, or to standard error if nothing takes that log.

    Examples
    --------
    >>> model = train(["to be or not to be", "not to be is to be not"], min_count=1, dim=2)
    >>> len(model), model.dim
    (5, 2)
    """
    unknown = set(options) - set(_READING) - set(_COUNTING) - set(_FITTING)
    if unknown:
        raise TypeError(f"train() got an unexpected keyword argument '{min(unknown)}'")
    progress = SilentProgress() if quiet else progress
    options = {
        **checked_options(
            read_corpus, {name: options[name] for name in _READING if options.get(name) is not None}
        ),
        **checked_options(count_pairs, {name: options[name] for name in _COUNTING if name in options}),
        **checked_options(fit, {name: options[name] for name in _FITTING if name in options}),
    }
    text = read_input(corpus, **{name: options[name] for name in _READING if name in options})
    counting = {name: options.get(name, option.default) for name, option in _COUNTING.items()}
    fitting = {name: options.get(name, option.default) for name, option in _FITTING.items()}
    _check_options(counting, fitting, memory=memory, workers=workers, on_cluster=client is not None)
    common: dict[str, Any] = {"workers": workers, "memory": memory, "client": client, "progress": progress}
    check_resumable(output, overwrite=overwrite, endings=(".work", _ENDING))
    with ExitStack() as stack:
        place = None if keep is None else Path(keep)
        if output is not None:
            plan = {"counting": counting, "input": identity_of(text)}
            work = stack.enter_context(
                open_workspace(
                    Path(output), plan=plan, progress=progress, ending=_ENDING, overwrite=overwrite
                )
            )
            place = place or work / "counts"
        if client is not None and place is None:
            raise InputError("the workers of a cluster read the counts from a folder; give output or keep")
        counts = _counts_of(text, place, counting, common)
        found = place if client is not None and place is not None else counts
        return fit(found, **fitting, **common, output=output, overwrite=overwrite, allow_unlike=allow_unlike)


def _check_options(
    counting: Mapping[str, Any],
    fitting: Mapping[str, Any],
    *,
    memory: float | str | None,
    workers: int | None,
    on_cluster: bool,
) -> None:
    """Raise :class:`InputError` if an option of any stage makes no sense, before the first begins."""
    Counting(given=None, **counting)
    check_options(**{name: value for name, value in fitting.items() if name != "device"}, memory=memory)
    if not on_cluster:
        open_device(fitting["device"], workers=workers)


def _counts_of(
    text: Corpus | Texts | Sentences,
    folder: Path | None,
    counting: Mapping[str, Any],
    common: Mapping[str, Any],
) -> Cooccurrence:
    """Return the counts in ``folder`` if they are of this text, or make them, in memory if there is no folder."""
    if folder is None or not (folder / META).is_file():
        return count_pairs(text, **counting, **common, output=folder)
    sweep_finished(folder)
    found = load_counts(folder)
    _check_same(found, folder, text, counting)
    common["progress"].say(f"using the counts in '{folder}'")
    report_tally(found.tally, text, common["progress"])
    return found


def _check_same(
    found: Cooccurrence, folder: Path, text: Corpus | Texts | Sentences, counting: Mapping[str, Any]
) -> None:
    """Raise :class:`InputError` if the counts in ``folder`` are not those that would be made now."""
    parameters, sources, identity = describe(text, Counting(given=None, **counting))
    if "once" in identity:
        raise InputError(
            f"'{folder}' holds counts already, and whether they are of this text cannot be told, as it does not come "
            "from files; fit these counts, or choose another folder for new ones"
        )
    if dict(found.parameters) != parameters or sorted(map(str, found.sources)) != sorted(map(str, sources)):
        raise InputError(
            f"'{folder}' holds counts of other text, or made with other options; choose another folder for the counts"
        )
