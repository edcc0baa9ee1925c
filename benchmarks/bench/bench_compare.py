"""Methods side by side on one text, by ``psdvec compare``, as a record.

    python -m benchmarks.bench.bench_compare CORPUS --work W --testsets TESTSETS --record FILE [--methods psdvec,svd]
    [--words 30000] [--dim 200] [--seeds 1] [--tokenizer unicode] [--best SEARCH]

``--best`` trains every rival with what ``benchmarks/studies/search.py`` found best, by its record; ours has its
defaults, and so has every method without it. The record also holds the points at the three parts of
``benchmarks/studies/split.py``. The comparison is kept below W and goes on where it was; a step is run again only if
what it uses has changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.lib.measure import run_script
from benchmarks.lib.records import write_record
from benchmarks.studies.nine_sets import score
from benchmarks.studies.search import best_settings
from benchmarks.studies.split import all_parts

import psdvec
from psdvec.compare.run import compare
from psdvec.methods import METHODS


def table(record: dict[str, Any]) -> str:
    """Write mean, inflexions, processor minutes and memory of every method, the best first."""
    rows = []
    for cost in record["report"]["costs"]:
        name = cost["method"]
        mean = 100 * record["report"]["evaluation"]["means"][name]["score"]
        msr = next(
            100 * one["score"]
            for one in record["report"]["evaluation"]["scores"]
            if (one["model"], one["task"], one["metric"]) == (name, "msr", "3cosmul")
        )
        seconds = cost["training"]["processor"] + (cost["counting"] or {"processor": 0.0})["processor"]
        rows.append(
            (mean, msr, seconds / 60, cost["training"]["memory"] / 1e9, f"`{name}`: {METHODS[name].title}")
        )
    lines = ["| | mean of nine test sets | inflexions (MSR) | processor minutes | GB of memory |"]
    lines.append("|---|---:|---:|---:|---:|")
    for mean, msr, minutes, memory, title in sorted(rows, reverse=True):
        lines.append(f"| {title} | {mean:.1f} | {msr:.1f} | {minutes:.1f} | {memory:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="raw text, plain or compressed")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--testsets", type=Path, required=True)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--tokenizer", default="unicode")
    parser.add_argument("--best", type=Path, help="record of a search, whose best settings are taken")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--record", type=Path, help="file for all raw results, as JSON")
    options = parser.parse_args()
    methods = options.methods.split(",")
    found = best_settings(json.loads(options.best.read_text(encoding="utf-8"))) if options.best else []
    settings = [text for text in found if text.partition(".")[0] in {*methods} - {"psdvec"}]
    comparison = compare(
        [str(options.corpus)], output=options.work, methods=methods, dim=options.dim, settings=settings,
        max_words=options.words, testsets=options.testsets, resume=options.work.exists(), workers=options.workers,
        tokenizer=options.tokenizer, seeds=int(options.seeds) if options.seeds.isdigit() else options.seeds,
    )  # fmt: skip
    tasks = all_parts(options.testsets)
    parts = {
        run.method: {part: score(psdvec.load(run.vectors[0]), tasks[part]) for part in tasks}
        for run in comparison.runs
        if run.vectors
    }
    figures = {
        "settings": settings, "parts": parts,
        "report": json.loads((options.work / "report.json").read_text(encoding="utf-8")),
    }  # fmt: skip
    if options.record:
        write_record(options.record, figures)
    print(table(figures))


if __name__ == "__main__":
    run_script(main)
