"""Section 5 of the paper on real text: core words, then more words band by band, with time, memory and scores.

    python -m benchmarks.bench.bench_paper TESTSETS CORPUS... --work FOLDER [--words 25000 80000 130000 180000]
    [--dim 500]

The texts, raw, plain or compressed, are counted together with a flat window of 3. The first ``--words`` are fitted
together, and each further number is one ``psdvec extend`` with the paper's ridge: 2, 4, 8 and so on. All steps are
commands in processes of their own, as a user would give them. Prints a table in Markdown: what each step took, words a
second, and the scores of what there is after it, over the questions that it covers and over those that the core covers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.lib.corpora import TOKENIZERS
from benchmarks.lib.measure import PSDVEC, run, run_script
from benchmarks.studies.nine_sets import nine_tasks, score
from benchmarks.studies.split import take

import psdvec
from psdvec.counts.matrix import load_counts
from psdvec.resources import format_size


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("testsets")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--tokenizer", choices=TOKENIZERS, default="paper")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts and models")
    parser.add_argument("--words", type=int, nargs="+", default=[25_000, 80_000, 130_000, 180_000])
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--recipe", choices=("paper", "original"), default="paper")
    options = parser.parse_args()
    tasks = nine_tasks(options.testsets)
    options.work.mkdir(parents=True, exist_ok=True)
    counts = options.work / "counts"
    core, *more = options.words
    print("| step | words | s | words/s | peak memory | mean of nine, covered | of what the core covers |")
    print("|---|---|---|---|---|---|---|", flush=True)
    cost = run(
        [*PSDVEC, "count", *options.corpus, "-o", counts, "--tokenizer", options.tokenizer, "--window", "3",
         "--weighting", "flat", "--max-words", str(options.words[-1]), "--overwrite"]
    )  # fmt: skip
    words = load_counts(counts).vocabulary.words
    print(f"| count | {len(words):,} | {cost.wall:.1f} | | {format_size(cost.memory)} | | |", flush=True)
    model = options.work / f"model-{core}"
    cost = run(
        [*PSDVEC, "fit", counts, "-o", model, "--recipe", options.recipe, "--max-words", str(core), "--dim",
         str(options.dim), "--overwrite"]
    )  # fmt: skip
    show(f"fit --recipe {options.recipe}", core, cost, model, tasks, core)
    for place, (before, last) in enumerate(zip(options.words, more, strict=False), 1):
        listed = options.work / "words.txt"
        listed.write_text("\n".join(words[before:last]))
        larger = options.work / f"model-{last}"
        cost = run(
            [*PSDVEC, "extend", model, counts, "-o", larger, "--words", listed, "--ridge", str(2**place),
             "--min-contexts", "1", "--overwrite"]
        )  # fmt: skip
        show(f"extend --ridge {2**place}", last - before, cost, larger, tasks, core)
        model = larger


def show(step, words, cost, path, tasks, core):
    """Print one line: what a step took, and the scores of its model, at all it covers and at what the core covers."""
    model = psdvec.load(path)
    known = set(model.words[:core])
    means = [score(model, chosen)["mean"] for chosen in (tasks, [covered(task, known) for task in tasks])]
    print(
        f"| {step} | {words:,} | {cost.wall:.1f} | {words / cost.wall:,.0f} | {format_size(cost.memory)} | "
        f"{means[0]:.1f} | {means[1]:.1f} |",
        flush=True,
    )


def covered(task, known):
    """Return the questions of a task whose words are all ``known``; analogies are still answered among all words."""
    places = [place for place, item in enumerate(task.items) if {word.lower() for word in item} <= known]
    return take(task, places)


if __name__ == "__main__":
    run_script(main)
