"""Named entities by vectors of 50 dimensions: ours, variants of ours, and rivals, as features of the same tagger.

    python -m benchmarks.bench.bench_tagging CORPUS --work W --tasks conll2003=FOLDER wnut17=FOLDER [--record FILE]
    [--words 50000] [--dim 50] [--models default flat skipgram ...]

A folder holds ``eng.train``, ``eng.testa`` and ``eng.testb`` in the columns of CoNLL-2003: word, part of speech, tag
(``-`` where there are no parts of speech). Variants of ours are chosen by F1 on the development part of the first task,
and the last task chooses nothing. A step (a task and a model) is kept as a line of ``W/steps.jsonl``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import Records, make_parser, publish

import psdvec
from psdvec.evaluation.tagging import BASELINE, PENALTIES, SCALES, TaggingData, choose_and_tag, load_tagging
from psdvec.methods import METHODS
from psdvec.methods.run import fit_method
from psdvec.progress import SilentProgress

OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "without spelling": {"spelling": 0.0},
    "flat spectrum": {"power": 0.0},
    "flat spectrum, without spelling": {"power": 0.0, "spelling": 0.0},
}
RIVALS = ("svd", "cca", "word2vec", "skipgram", "fasttext")


def table(record: dict[str, Any]) -> str:
    """Write F1 of every model on the development and the test part of each task."""
    tasks = list(record["tasks"])
    heads = [f"{task}, {part}" for task in tasks for part in ("development", "test")]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name, title in record["models"].items():
        cells = [record["tasks"][task][name] for task in tasks]
        shown = [f"{100 * cell[part]:.2f}" for cell in cells for part in ("dev_f1", "f1")]
        lines.append(f"| {title} | {' | '.join(shown)} |")
    return "\n".join(lines)


def train(name: str, options: argparse.Namespace) -> Path:
    """Return the vectors of a model, trained where they are not there."""
    path: Path = options.work / "models" / name.replace(" ", "-").replace(",", "")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        counting = METHODS[name].counting if name in METHODS else {}
        counts = count_once(
            options.corpus, options.work, tokenizer=options.tokenizer, words=options.words, **counting
        )
        if name in OURS:
            psdvec.fit(counts, dim=options.dim, changes=OURS[name], output=path, quiet=True)
        else:
            corpus = [options.corpus] if METHODS[name].reads == "corpus" else None
            fit_method(name, counts, output=path, dim=options.dim, corpus=corpus, progress=SilentProgress())
    return path


def tag(name: str, data: TaggingData, penalty: float | None, options: argparse.Namespace) -> dict[str, Any]:
    """Return what a tagger with the vectors of a model comes to; without ``penalty`` it has none, and chooses it."""
    vectors = None if penalty is None else psdvec.load(train(name, options))
    tried = [(one, None) for one in PENALTIES] if penalty is None else [(penalty, scale) for scale in SCALES]
    done = choose_and_tag(data, name, vectors, tried, progress=SilentProgress())
    return {
        "dev_f1": done.dev_f1, "f1": done.total.f1, "penalty": done.penalty, "scale": done.scale,
        "seconds": done.seconds,
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--models", nargs="+", choices=[*OURS, *RIVALS], default=[*OURS, *RIVALS])
    options = parser.parse_args()
    records = Records(options.work / "steps.jsonl")
    tasks: dict[str, dict[str, Any]] = {}
    for task, _, folder in (text.partition("=") for text in options.tasks):
        data = replace(load_tagging(f"conll2003:{folder}"), name=task)
        tasks[task] = {}
        penalty = None  # the tagger without vectors chooses it
        for name in (BASELINE, *options.models):
            key = {"task": task, "model": name, "dim": options.dim, "words": options.words}
            found = records.find(key)
            if found is None:
                found = tag(name, data, penalty, options)
                records.add(key, found)
            penalty = found["penalty"]
            tasks[task][name] = found
            print(f"{task}, {name}: {100 * found['dev_f1']:.2f}, {100 * found['f1']:.2f}", flush=True)
    titles = {name: f"ours, {name}" if name in OURS else name for name in (BASELINE, *options.models)}
    figures = {"tasks": tasks, "models": titles, "dim": options.dim, "words": options.words}
    publish(figures, table, record=options.record)


if __name__ == "__main__":
    run_script(main)
