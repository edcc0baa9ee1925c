"""From a corpus to a model in one call: count, then fit and place; each stage is kept until the model is written.

Takes a corpus and the options of the stages, and returns a :class:`~psdvec.solver.model.Model`, written as an artefact
with the counts beside it where they are wanted. If it is interrupted, the same call resumes at the first unfinished
stage.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import load_counts
from psdvec.counts.plan import Counting, describe, identity_of
from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress
from psdvec.solver.fit import fit
from psdvec.solver.model import Model
from psdvec.storage.artefact import META, check_output
from psdvec.storage.workspace import open_workspace
from psdvec.text.corpus import Corpus

_COUNTING = {
    name: parameter.default
    for name, parameter in inspect.signature(count_pairs).parameters.items()
    if name in ("min_count", "max_words", "window", "weighting", "gaps")
}


def train(
    corpus: Corpus,
    *,
    output: str | Path,
    keep: str | Path | None = None,
    counting: Mapping[str, Any] | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
    **fitting: Any,
) -> Model:
    """Count, fit and place; ``counting`` are options of ``count_pairs``, ``fitting`` those of :func:`fit`.

    The counts are kept in ``keep``, or beside the output until the model is written. Stages that were finished before
    an interruption are not repeated.
    """
    output, options = Path(output), {**_COUNTING, **(counting or {})}
    check_output(output, overwrite=overwrite)
    plan = {"counting": options, "input": identity_of(corpus)}
    with open_workspace(output.with_name(f"{output.name}.train"), plan=plan, progress=progress) as work:
        folder = work / "counts" if keep is None else Path(keep)
        if (folder / META).is_file():
            _check_same(folder, corpus, options)
            progress.say(f"using the counts in '{folder}'")
        else:
            count_pairs(corpus, **options, workers=workers, memory=memory, output=folder, progress=progress)
        return fit(
            folder,
            **fitting,
            workers=workers,
            memory=memory,
            output=output,
            overwrite=overwrite,
            progress=progress,
        )


def _check_same(folder: Path, corpus: Corpus, options: Mapping[str, Any]) -> None:
    """Raise :class:`InputError` if the counts in ``folder`` are not those that would be made now."""
    found = load_counts(folder)
    parameters, sources, _ = describe(corpus, Counting(given=None, **options))
    if dict(found.parameters) != parameters or sorted(map(str, found.sources)) != sorted(map(str, sources)):
        raise InputError(
            f"'{folder}' holds counts of other text, or made with other options; choose another folder for the counts"
        )
