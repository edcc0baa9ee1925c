"""Methods side by side on one text, by ``psdvec compare``, as a record.

    python -m benchmarks.bench.bench_compare CORPUS --work W --testsets TESTSETS --record FILE [--methods psdvec,svd]
    [--words 30000] [--dim 200] [--seeds 1]

The comparison is kept below W and goes on where it was; a step is run again only if what it uses has changed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.lib.measure import run_script
from benchmarks.lib.records import write_record

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
    parser.add_argument("--record", type=Path, help="file for all raw results, as JSON")
    options = parser.parse_args()
    compare(
        [str(options.corpus)], output=options.work, methods=options.methods.split(","), dim=options.dim,
        max_words=options.words, testsets=options.testsets, resume=options.work.exists(),
        seeds=int(options.seeds) if options.seeds.isdigit() else options.seeds,
    )  # fmt: skip
    figures = {"report": json.loads((options.work / "report.json").read_text(encoding="utf-8"))}
    if options.record:
        write_record(options.record, figures)
    print(table(figures))


if __name__ == "__main__":
    run_script(main)
