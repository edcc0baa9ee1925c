"""From text to a model in one call: count, then fit and place; each stage is kept until the model is written.

Takes text in any form (:mod:`psdvec.text.corpus`) and the options of the stages, and returns a
:class:`~psdvec.vectors.model.Model`, written as an artefact, with the counts beside it, where that is wanted. If it is
interrupted, the same call resumes at the first unfinished stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from psdvec.counts.count import Description, count_pairs, counting_of, describe_counts, read_what_counts
from psdvec.counts.items import Baskets
from psdvec.counts.matrix import Cooccurrence, load_counts
from psdvec.counts.phrases import resolve_phrases
from psdvec.counts.segments import report_tally
from psdvec.errors import InputError, checked, old_names
from psdvec.options import Counting, Fitting
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.resources import resolve_workers
from psdvec.solver.devices import open_device
from psdvec.solver.fit import fit
from psdvec.storage.artefact import META
from psdvec.storage.workspace import check_resumable, open_workspace, sweep_finished
from psdvec.text.corpus import Corpus, Input, Sentences, Texts
from psdvec.text.phrases import Phrases
from psdvec.vectors.model import KIND, Model

CARD_BEATS = 4  # threads, in counting pairs: an H200 takes as long as six, most of it to send them back
_ENDING = ".train.work"


@old_names(field="column")
@checked
def train(
    corpus: Input,
    *,
    items: bool = False,
    basket: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    tokenizer: str | Callable[[str], Any] | None = None,
    case: str | None = None,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    numbers: str | None = None,
    punctuation: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    errors: str | None = None,
    encoding: str | None = None,
    phrases: str | Path | Phrases | Iterable[str] | None = None,
    min_count: int = Counting.min_count,
    max_words: int | None = Counting.max_words,
    window: int | None = None,
    weighting: str | None = None,
    gaps: str = Counting.gaps,
    dim: int | Literal["auto"] = Fitting.dim,
    recipe: str = Fitting.recipe,
    changes: Mapping[str, Any] | None = Fitting.changes,
    core: int | None = Fitting.core,
    min_contexts: int = Fitting.min_contexts,
    seed: int = Fitting.seed,
    device: str = Fitting.device,
    memory: float | str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    keep: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    allow_unlike: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Model:
    """Count the words and pairs of a text, or the items of baskets, and fit vectors to them.

    Parameters
    ----------
    corpus
        The name of a file or folder, a glob, or what :func:`psdvec.read_corpus` returns; texts, such as a list of
        strings or a column of a DataFrame, each cut into words like a line of a file; sentences as lists of words; a
        table of pandas, Polars, Arrow or Hugging Face. ``Path`` objects in a list are files, strings in a list are
        texts. What can be read only once, such as a generator, is read once.
    items, basket, item, separator
        Whether baskets of items are given instead of text, and where they are in tables and files; see
        :func:`psdvec.count_pairs`.
    tokenizer, case, stop_words, lemmas, numbers, punctuation, column, where, errors, encoding
        How text is read; see :func:`psdvec.read_corpus`. ``column`` and ``where`` also hold for a table.
    phrases, min_count, max_words, window, weighting, gaps
        What is counted; see :func:`psdvec.count_pairs`.
    dim, recipe, changes, core, min_contexts, seed, device
        How vectors are fitted; see :func:`psdvec.fit`. A graphics card also counts the pairs of text where that is
        faster than so few threads.
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
    >>> orders = [[1, 2, 3], [2, 3], [1, 2, 3, 4], [3, 4]]
    >>> train(orders, items=True, min_count=1, dim=2, min_contexts=1, quiet=True).most_similar(1, topn=1)[0][0]
    4
    """
    progress = SilentProgress() if quiet else progress
    text = read_what_counts(
        corpus, items=items, basket=basket, item=item, separator=separator, ordered=window is not None,
        tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column, where=where, errors=errors, encoding=encoding,
    )  # fmt: skip
    counting: dict[str, Any] = {
        "min_count": min_count, "max_words": max_words, "window": window, "weighting": weighting, "gaps": gaps,
    }  # fmt: skip
    fitting: dict[str, Any] = {
        "dim": dim, "recipe": recipe, "changes": changes, "core": core, "min_contexts": min_contexts, "seed": seed,
        "device": device, "memory": memory,
    }  # fmt: skip
    what = counting_of(text, **counting)
    Fitting(**fitting)  # whatever makes no sense is refused before the first stage begins
    if client is None:
        open_device(device, workers=workers)
    common: dict[str, Any] = {"workers": workers, "client": client, "progress": progress}
    check_resumable(output, kind=KIND, overwrite=overwrite, endings=(".work", _ENDING))
    joined = resolve_phrases(
        phrases, corpus, text, column=column, where=where, memory=memory, workers=workers, progress=progress
    )
    described = describe_counts(text, what, joined)
    with ExitStack() as stack:
        place = None if keep is None else Path(keep)
        if output is not None:
            plan: dict[str, Any] = {"counting": counting, "input": described.input}
            if joined is not None:
                plan["phrases"] = joined.digest
            work = stack.enter_context(
                open_workspace(
                    Path(output), plan=plan, progress=progress, ending=_ENDING, overwrite=overwrite
                )
            )
            place = place or work / "counts"
        if client is not None and place is None:
            raise InputError("the workers of a cluster read the counts from a folder; give output or keep")
        if place is not None and (place / META).is_file():
            counts = _open_counts(place, text, described, progress)
        else:
            threads = resolve_workers(workers)
            counts = count_pairs(
                text, **counting, **common, memory=memory, output=place, phrases=joined,
                device=device if threads <= CARD_BEATS and client is None else Fitting.device,
            )  # fmt: skip
        found = place if client is not None and place is not None else counts
        return fit(found, **fitting, **common, output=output, overwrite=overwrite, allow_unlike=allow_unlike)


def _open_counts(
    folder: Path, text: Corpus | Texts | Sentences | Baskets, described: Description, progress: Progress
) -> Cooccurrence:
    """Return the counts in ``folder``, or raise :class:`InputError` if they are not those that would be made now."""
    sweep_finished(folder)
    found = load_counts(folder)
    parameters, sources, identity = described
    if "once" in identity:
        raise InputError(
            f"'{folder}' holds counts already, and whether they are of this text cannot be told, as it does not come "
            "from files; fit these counts, or choose another folder for new ones"
        )
    told = [_without_digest(source) for source in found.sources]
    if dict(found.parameters) != parameters or sorted(map(str, told)) != sorted(map(str, sources)):
        raise InputError(
            f"'{folder}' holds counts of other text, or made with other options; choose another folder for the counts"
        )
    progress.say(f"using the counts in '{folder}'")
    report_tally(found.tally, text, progress)
    return replace(found, parameters=parameters)  # which may hold a function where the folder has a name


def _without_digest(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts tell of a file, as it can be told before it is read; older counts call the column a field."""
    named = {"column" if name == "field" else name: value for name, value in source.items()}
    return {name: value for name, value in named.items() if name != "sha256"}
