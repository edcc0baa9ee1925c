"""Several methods on one corpus: the paper's tables 1, 2 and 3, from text to a folder with a report.

Goes in: a corpus, and which methods, test sets and further vectors. Comes out: a :class:`Comparison` and, below the
output folder, ``report.md``, ``report.json`` and ``report.html``, the vectors of each method in ``models/`` and the
counts in ``counts/``. Each method is trained by psdvec's own commands in processes of their own.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psdvec import formats
from psdvec.compare.process import complaint
from psdvec.compare.steps import Bench, Outcome, Plan, versions
from psdvec.errors import InputError, ResourceError
from psdvec.evaluation.conll import load_tagging
from psdvec.evaluation.crf import evaluate_tagging
from psdvec.evaluation.evaluate import Report, add_tagging, evaluate
from psdvec.evaluation.testsets import find_tasks
from psdvec.methods import METHODS, method_named
from psdvec.methods.run import fit_method, parse_settings, settings_of
from psdvec.parallel import resolve_workers
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size
from psdvec.storage.atomic import is_unfinished, whole_file
from psdvec.vectors.sparse import csr_of

_MADE = ("counts", "models", "second", "report.md", "report.json", "report.html")


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    ``header`` says in names and values what was compared, on what machine and when. ``left_out`` are methods whose
    package is missing, and the line that installs it. ``second`` are the outcomes on a second corpus, in the same
    order, if there is one. ``quality`` is each model's mean over similarity and analogies; NaN where it has none.
    """

    header: Mapping[str, str]
    settings: Mapping[str, Mapping[str, Any]]
    outcomes: tuple[Outcome, ...]
    second: tuple[Outcome, ...]
    sizes: tuple[Mapping[str, int], ...]
    left_out: Mapping[str, str]
    quality: Mapping[str, float]
    report: Report


def compare(
    corpus: Sequence[str],
    *,
    output: str | Path,
    methods: Sequence[str] = tuple(METHODS),
    dim: int = 300,
    max_words: int | None = None,
    min_count: int = 5,
    tokenizer: str = "unicode",
    window: int | None = None,
    weighting: str | None = None,
    settings: Iterable[str] = (),
    second: Sequence[str] = (),
    also: Mapping[str, str | Path] | None = None,
    tasks: Sequence[str] | None = None,
    testsets: str | Path | None = None,
    tagging: Sequence[str] = (),
    seed: int = 0,
    workers: int | None = None,
    resume: bool = False,
    progress: Progress = LogProgress(),
) -> Comparison:
    """Train ``methods`` on ``corpus``, judge them side by side and write a report below ``output``.

    Parameters
    ----------
    corpus, second
        Files, folders or globs; on the second corpus methods are trained for their time alone.
    methods
        Names of :data:`psdvec.methods.METHODS`.
    dim, max_words, min_count, tokenizer
        Numbers a word, and the vocabulary, the same for all.
    window, weighting
        Count in this way for all methods that read counts; each as its own paper did, if None.
    settings
        ``method.name=value`` texts that change a method's hyper-parameters.
    also
        Further vectors, by name, judged beside those that are trained.
    tasks, testsets, tagging
        Which test sets, where they are, and tagging tasks; see :mod:`psdvec.evaluation.testsets` and
        :mod:`psdvec.evaluation.conll`.
    resume
        Go on in an ``output`` that is there; methods that are finished are not trained again.
    """
    output = Path(output)
    _check_output(output, resume=resume)
    if not methods:
        raise InputError(f"no method is named; choose from {', '.join(METHODS)}")
    plan = Plan(
        methods=tuple(dict.fromkeys(methods)), dim=dim, seed=seed, workers=resolve_workers(workers),
        tokenizer=tokenizer, min_count=min_count, max_words=max_words,
        counting={k: v for k, v in (("window", window), ("weighting", weighting)) if v is not None},
        settings=_sort_settings(methods, settings),
    )  # fmt: skip
    left_out = _missing(plan.methods)
    found_tasks = find_tasks(tasks, folder=testsets)
    tagging_data = [load_tagging(spec, seed=seed) for spec in tagging]
    others = {name: formats.load(path, progress=progress) for name, path in (also or {}).items()}
    benches = [Bench(output / folder, files, plan, progress) for folder, files in ((".", corpus), ("second", second))
               if files]  # fmt: skip
    present = [name for name in plan.methods if name not in left_out]
    output.mkdir(parents=True, exist_ok=True)
    warm_up(present, tokenizer)
    first, *rest = ([_judge(bench, name) for name in present] for bench in benches)
    models = {one.method: formats.load(one.vectors) for one in first if one.vectors is not None} | others
    progress.say(f"judging {len(models)} models")
    report = evaluate(models, found_tasks, common=True, seed=seed, progress=progress)
    quality = {name: report.mean(name) for name in report.models}
    dense = {name: model for name, model in models.items() if csr_of(model.vectors) is None}
    for data in tagging_data:
        report = add_tagging(report, evaluate_tagging(dense, data, progress=progress))
    comparison = Comparison(
        header=_header(plan, benches, also or {}),
        settings={name: {**plan.counting_of(name), **_settings(plan, name)} for name in present},
        outcomes=tuple(first), second=tuple(rest[0]) if rest else (), sizes=tuple(bench.read() for bench in benches),
        left_out=left_out, quality=quality, report=report,
    )  # fmt: skip
    write_reports(comparison, output)
    return comparison


def _check_output(output: Path, *, resume: bool) -> None:
    """Refuse an output that is there, unless it is to be gone on with and holds what a comparison makes alone."""
    if not output.exists():
        return
    found = sorted(path.name for path in output.iterdir()) if output.is_dir() else [output.name]
    if found and not resume:
        raise InputError(f"'{output}' exists already; choose another output, or say --resume to go on there")
    strange = [name for name in found if name not in _MADE and not is_unfinished(name)]
    if strange:
        raise InputError(
            f"'{output}' holds '{strange[0]}', which no comparison made; move it away, or choose another output"
        )


def _judge(bench: Bench, name: str) -> Outcome:
    outcome = bench.judge(name)
    if outcome.error is not None:
        bench.progress.say(f"{name} failed: {outcome.error}")
    return outcome


def _settings(plan: Plan, name: str) -> dict[str, Any]:
    return {**settings_of(name), **plan.settings.get(name, {})}


def _sort_settings(methods: Sequence[str], texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Read ``method.name=value`` texts, each checked against its method."""
    for name in methods:
        method_named(name)
    by_method: dict[str, list[str]] = {}
    for text in texts:
        name, dot, setting = text.partition(".")
        if not dot or name not in methods:
            raise InputError(
                f"'{text}' is no setting of a compared method; write method.name=value, such as glove.epochs=15"
            )
        by_method.setdefault(name, []).append(setting)
    return {name: parse_settings(name, given) for name, given in by_method.items()}


def _missing(methods: Sequence[str]) -> dict[str, str]:
    return {
        name: f"the package {METHODS[name].package} is not installed; run: pip install 'psdvec[compare]'"
        for name in methods
        if not METHODS[name].is_installed
    }


def warm_up(methods: Iterable[str], tokenizer: str) -> None:
    """Compile the kernels of counting and of ``methods`` in a process of its own, so that no time includes it."""
    names = [name for name in methods if METHODS[name].reads == "counts"]
    code = f"from psdvec.compare.run import compile_kernels; compile_kernels({names!r}, {tokenizer!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, errors="replace", check=False
    )
    if done.returncode:
        why = complaint(done.returncode, done.stderr.splitlines())
        raise ResourceError(
            f"compiling the kernels failed: {why}; see whether there is memory and disk space"
        )


def compile_kernels(methods: Iterable[str], tokenizer: str) -> None:
    """Run counting and ``methods`` on a few made-up sentences."""
    import numpy as np

    from psdvec.counts.count import count_pairs
    from psdvec.text.corpus import read_corpus

    drawn = np.random.default_rng(0).integers(60, size=(200, 12))
    with tempfile.TemporaryDirectory(prefix="psdvec-") as folder:
        text, counts = Path(folder) / "text", Path(folder) / "counts"
        text.write_text("\n".join(" ".join(f"w{i}" for i in line) for line in drawn))
        count_pairs(read_corpus(text, tokenizer=tokenizer), min_count=1, output=counts)
        for name in methods:
            settings = {"epochs": 1} if name == "glove" else {}
            fit_method(name, counts, output=Path(folder) / name, dim=4, settings=settings)


def _header(plan: Plan, benches: Sequence[Bench], also: Mapping[str, str | Path]) -> dict[str, str]:
    """Return what was compared, on what machine, and when."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    header = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {format_size(memory)} of memory, {platform.system()}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items())
        + f", Python {platform.python_version()}",
        "threads": str(plan.workers),
    }
    for title, bench in zip(("corpus", "second corpus"), benches, strict=False):
        files = ", ".join(Path(file).name for file in bench.files[:3]) + (
            ", …" if len(bench.files) > 3 else ""
        )
        size = bench.read()
        header[title] = f"{files}, {format_size(bench.corpus.raw_size or 0)}"
        if size:
            header[title] += f", {size['tokens']:,} words, vocabulary of {size['vocabulary']:,}"
    header["dimensions"] = str(plan.dim)
    header["seed"] = str(plan.seed)
    if also:
        header["also judged"] = ", ".join(f"{name} ({Path(path).name})" for name, path in also.items())
    return header


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def write_reports(comparison: Comparison, output: Path) -> None:
    """Write the report in its three forms."""
    from psdvec.compare.page import as_page
    from psdvec.compare.tables import as_markdown, as_values

    texts = {
        "report.md": as_markdown(comparison),
        "report.json": json.dumps(as_values(comparison), indent=1, ensure_ascii=False) + "\n",
        "report.html": as_page(comparison),
    }
    for name, text in texts.items():
        with whole_file(output / name) as file:
            file.write(text.encode("utf-8"))
