"""Comparing several methods on one corpus: the paper's tables 1, 2 and 3, from text to a folder with a report.

:func:`compare` returns a :class:`~psdvec.compare.values.Comparison` and writes ``report.md``, ``report.json`` and
``report.html`` below the output folder, beside the vectors of each method in ``models/`` and the counts in ``counts/``.
Each method is trained by psdvec's own commands, in processes of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from psdvec import formats
from psdvec.compare.jobs import COUNTING, Bench, warm_up
from psdvec.compare.report import as_markdown, as_page, as_values, make_header, make_remarks, make_tables
from psdvec.compare.values import Comparison, Setup
from psdvec.errors import InputError, demand_positive, demand_seed, how_to_install, old_names
from psdvec.evaluation.evaluate import add_tagging, evaluate
from psdvec.evaluation.report import make_tables as make_report_tables
from psdvec.evaluation.tagging import evaluate_tagging, load_tagging
from psdvec.evaluation.testsets import find_tasks
from psdvec.methods import METHODS, method_named
from psdvec.methods.run import parse_settings, settings_of
from psdvec.options import DIM, ENCODING, TOKENIZER, Counting, Fitting
from psdvec.progress import LogProgress, Progress
from psdvec.resources import resolve_workers
from psdvec.storage.files import check_name, is_unfinished, replaced_file
from psdvec.storage.workspace import held_folder
from psdvec.text.readers import make_where
from psdvec.text.tokenizers import choose_tokenizer
from psdvec.vectors.neighbours import csr_of

_FOLDERS = ("counts", "models", "second")
_REPORTS = {  # and what each has near its beginning
    "report.md": b"# Word vectors compared\n",
    "report.json": b'{\n "header": {',
    "report.html": b"<title>Methods compared</title>",
}


@old_names(field="column")
def compare(
    corpus: Sequence[str],
    *,
    output: str | Path,
    methods: Sequence[str] = tuple(METHODS),
    dim: int = DIM,
    max_words: int | None = None,
    min_count: int = Counting.min_count,
    tokenizer: str = TOKENIZER,
    case: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    window: int | None = None,
    weighting: str | None = None,
    settings: Iterable[str] = (),
    second: Sequence[str] = (),
    also: Mapping[str, str | Path] | None = None,
    tasks: Sequence[str] | None = None,
    testsets: str | Path | None = None,
    tagging: Sequence[str] = (),
    seed: int = Fitting.seed,
    seeds: int | str = 1,
    workers: int | None = None,
    resume: bool = False,
    progress: Progress = LogProgress(),
) -> Comparison:
    """Train ``methods`` on ``corpus``, judge them side by side, and write a report below ``output``.

    The options are those of ``psdvec compare``. On the ``second`` corpus, methods are trained only to measure their
    time, and once. ``settings`` are ``method.name=value`` texts, ``also`` further vectors by name. With several
    ``seeds``, scores are means over them, times and memory medians; :func:`psdvec.compare.jobs.seeds_for` says how many
    ``"auto"`` are.
    """
    output = Path(output)
    _check_output(output, resume=resume)
    if not methods:
        raise InputError(f"no method is named; choose from {', '.join(METHODS)}")
    if seeds != "auto" and not (isinstance(seeds, int) and seeds >= 1):
        raise InputError(f"seeds={seeds} is not a number of seeds; give a whole number from 1 on, or auto")
    demand_positive(dim, "dim")
    demand_seed(seed)
    tokenizer = choose_tokenizer(tokenizer, case)
    changed = _sort_settings(methods, settings)
    chosen = {name: method_named(name) for name in methods}
    left_out = {
        name: f"the package {method.package} is not installed; {how_to_install(method.package, extra='compare')}"
        for name, method in chosen.items()
        if method.package is not None and not method.is_installed
    }
    present = [name for name in chosen if name not in left_out]
    reasons = "; ".join(dict.fromkeys(left_out.values()))
    if not present:
        raise InputError(f"none of the methods asked for ({', '.join(left_out)}) can be trained: {reasons}")
    forced = {k: v for k, v in (("window", window), ("weighting", weighting)) if v is not None}
    counting = {name: {**COUNTING, **method.counting, **forced} for name, method in chosen.items()}
    trained_with = {
        name: {**counting[name], **settings_of(name), **changed.get(name, {})} for name in present
    }
    given = {"column": column, "where": dict(make_where(where)), "encoding": encoding}
    setup = Setup(
        dim=dim, seed=seed, seeds=seeds, workers=resolve_workers(workers),
        tokenizer=tokenizer, min_count=min_count, max_words=max_words, counting=counting, settings=changed,
        reading={name: value for name, value in given.items() if value not in (None, {}, "utf-8")},
    )  # fmt: skip
    found_tasks = find_tasks(tasks, folder=testsets)
    tagging_data = [load_tagging(spec, seed=seed) for spec in tagging]
    others = {name: formats.load(path, progress=progress) for name, path in (also or {}).items()}
    benches = [Bench(output, corpus, setup, progress)]
    if second:
        benches.append(Bench(output / "second", second, replace(setup, seeds=1), progress))

    with held_folder(output):
        warm_up(present, tokenizer)
        runs, *rest = [bench.train(present) for bench in benches]
        second_runs = rest[0] if rest else ()
        if all(run.error is not None for run in runs):
            failures = "; ".join(f"{run.method} failed: {run.error}" for run in runs)
            raise InputError(
                f"no method could be trained ({failures}); mend that, and continue in '{output}' with resume=True"
            )

        models = {run.method: [formats.load(path) for path in run.vectors] for run in runs if run.vectors}
        models |= {name: [vectors] for name, vectors in others.items()}
        progress.say(f"judging {len(models)} models")
        report = evaluate(models, found_tasks, common=True, seed=seed, progress=progress)
        quality = {name: report.mean(name) for name in report.models}
        dense = {name: each[0] for name, each in models.items() if csr_of(each[0].vectors) is None}
        for data in tagging_data:
            report = add_tagging(report, evaluate_tagging(dense, data, progress=progress))

        sizes = tuple(bench.size for bench in benches)
        header = make_header(setup, benches, also or {})
        if left_out:
            header["left out"] = (
                f"{', '.join(left_out)} ({len(left_out)} of {len(chosen)} methods): {reasons}"
            )
        evaluation = make_report_tables(report)
        comparison = Comparison(
            header=header, settings=trained_with, runs=runs, second=second_runs,
            sizes=sizes, left_out=left_out, quality=quality, report=report, evaluation=evaluation,
            tables=make_tables(evaluation, runs, second_runs, sizes=sizes, settings=trained_with),
            remarks=make_remarks(runs, second_runs, left_out, judged=bool(report.scores)),
        )  # fmt: skip
        texts = {
            "report.md": as_markdown(comparison),
            "report.json": json.dumps(as_values(comparison), indent=1, ensure_ascii=False) + "\n",
            "report.html": as_page(comparison),
        }
        for name, text in texts.items():
            with replaced_file(output / name, overwrite=True) as file:
                file.write(text.encode("utf-8"))
        return comparison


def _check_output(output: Path, *, resume: bool) -> None:
    """Refuse an output that exists, unless it is to be resumed and contains only what a comparison makes."""
    check_name(output)
    if not output.exists():
        return
    found = sorted(output.iterdir()) if output.is_dir() else [output]
    if found and not resume:
        raise InputError(
            f"'{output}' exists already; choose another output, or continue there with resume=True"
        )
    strange = next((path for path in found if not _is_made(path)), None)
    if strange is not None:
        raise InputError(
            f"'{output}' contains '{strange.name}', which no comparison made; move it away, or choose another output"
        )


def _is_made(path: Path) -> bool:
    """Say whether a comparison makes what is at ``path``: one of its folders, or a report that reads like its own."""
    if path.name in _REPORTS:
        return path.is_file() and _REPORTS[path.name] in path.read_bytes()[:1000]
    return path.is_dir() if path.name in _FOLDERS else is_unfinished(path.name)


def _sort_settings(methods: Sequence[str], texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Sort ``method.name=value`` texts by method, each checked against its method's settings."""
    by_method: dict[str, list[str]] = {}
    for text in texts:
        name, dot, setting = text.partition(".")
        if not dot or name not in methods:
            raise InputError(
                f"'{text}' is not a setting of a compared method; write method.name=value, such as glove.epochs=15"
            )
        by_method.setdefault(name, []).append(setting)
    return {name: parse_settings(name, given) for name, given in by_method.items()}
