"""All words fitted together, and the paper's split beside it: a core together, the other words placed by ridge.

    python -m benchmarks.bench.bench_together TESTSETS CORPUS [CORPUS ...] --work FOLDER [--words 200000] [--core 25000]
    [--dim 300] [--memory 4G]

The texts, raw, plain or compressed, are counted together by ``--tokenizer paper`` and a window of 20; the counts are
kept below FOLDER. Each fit is one command in a process of its own. Prints a table in Markdown: what each took, the mean
of the nine sets over the questions that it covers, and Spearman correlations times 100 on Rare Words: over the pairs
whose words both have a vector, over all pairs, where a word without one has cosine 0 with every other, and over all
pairs with unseen words made of their spelling.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.bench.bench_rare import correlation
from benchmarks.lib.corpora import count_together
from benchmarks.lib.measure import PSDVEC, Cost, run, run_script
from benchmarks.studies.nine_sets import named_tasks, nine_tasks, score

import psdvec
from psdvec.evaluation.tasks import Pairs, Task
from psdvec.resources import format_size

TITLES = (
    "fit", "vectors", "s", "processor s", "peak memory", "mean of nine", "Rare Words, covered", "all", "all, spelled",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("testsets")
    parser.add_argument("corpus", nargs="+", help="raw text, plain or compressed")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts and models")
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--core", type=int, default=25_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--memory", default="4G", help="of each fit")
    options = parser.parse_args()
    nine, (rare,) = nine_tasks(options.testsets), named_tasks(["rare-words"], options.testsets)
    counts = count_together(options.corpus, options.work, words=options.words)
    print(f"| {' | '.join(TITLES)} |\n{'|---' * len(TITLES)}|", flush=True)
    for name, core in (("together", []), (f"--core {options.core}", ["--core", str(options.core)])):
        model = options.work / f"model-{'split' if core else 'together'}"
        command = [*PSDVEC, "fit", counts, "-o", model, "--dim", str(options.dim), "--memory", options.memory]
        cost = run([*command, *core, "--overwrite", "--quiet"])
        print(f"| {' | '.join([name, *cells(cost, model, nine, rare)])} |", flush=True)


def cells(cost: Cost, path: Path, nine: list[Task], rare: Pairs) -> list[str]:
    """Return what a fit took and what its model scores."""
    model = psdvec.load(path)
    unseen = sorted({word.lower() for item in rare.items for word in item} - set(model.words))
    covered, number = correlation(model, rare)
    everything, _ = correlation(model, rare, oov="zero")
    spelled, _ = correlation(model.with_spelled(unseen), rare, oov="zero")
    return [
        f"{len(model):,}",
        f"{cost.wall:.1f}",
        f"{cost.processor:.1f}",
        format_size(cost.memory),
        f"{score(model, nine)['mean']:.1f}",
        f"{covered:.1f} ({number:,} of {len(rare.items):,})",
        f"{everything:.1f}",
        f"{spelled:.1f}",
    ]


if __name__ == "__main__":
    run_script(main)
