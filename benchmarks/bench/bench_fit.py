"""Quality, time and peak memory of count + fit, side by side with gensim's programs on the same words in one run.

    python -m benchmarks.bench.bench_fit CORPUS TESTSETS [--words 50000] [--dim 300] [--recipe default]
    [--rivals word2vec skipgram fasttext]

CORPUS is raw text, plain or compressed. Each command runs in a process of its own. The points are those of the paper's
nine sets, then the means of the three parts of ``benchmarks/studies/split.py``. A skip-gram of five epochs takes most
of an hour; ``--epochs 1`` trains one, and all epochs take the same time.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import PSDVEC, Cost, run, run_script
from benchmarks.studies.nine_sets import nine_tasks, score, show
from benchmarks.studies.split import all_parts

import psdvec

RIVALS = ("word2vec", "skipgram", "fasttext")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--weighting", default="harmonic")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=[])
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    tasks = {"nine": nine_tasks(options.testsets), **all_parts(options.testsets)}
    with tempfile.TemporaryDirectory(prefix="bench-fit-") as folder:
        warm_up(Path(folder), options.tokenizer)
        counts = Path(folder, "counts")
        counting = command("count", options.corpus, counts, "--tokenizer", options.tokenizer, "--max-words",
                           options.words, "--window", options.window, "--weighting", options.weighting)  # fmt: skip
        rounds = ["--rounds", options.rounds] if options.rounds else []
        fitting = command("fit", counts, Path(folder, "psdvec"), "--dim", options.dim, "--recipe", options.recipe,
                          *rounds)  # fmt: skip
        ours = counting.wall + fitting.wall
        print(f"psdvec: count {shown(counting)}, fit {shown(fitting)}", flush=True)
        judge("psdvec", Path(folder, "psdvec"), tasks)
        for rival in options.rivals:
            cost = command("fit", counts, Path(folder, rival), "--method", rival, "--corpus", options.corpus,
                           "--dim", options.dim, "--set", f"epochs={options.epochs}")  # fmt: skip
            print(f"{rival}, epochs {options.epochs}: {shown(cost)}, {cost.wall / ours:.1f} times as long")
            judge(rival, Path(folder, rival), tasks)


def warm_up(folder: Path, tokenizer: str) -> None:
    """Compile the kernels, which happens once after installation."""
    (folder / "tiny").write_text("a b c d e\nc a d b e\n" * 9)
    command("count", folder / "tiny", folder / "tiny-counts", "--tokenizer", tokenizer)
    command("fit", folder / "tiny-counts", folder / "tiny-model", "--dim", 2)


def command(verb: str, source: str | Path, output: Path, *arguments: object) -> Cost:
    return run([*PSDVEC, verb, source, "-o", output, "--quiet", *map(str, arguments)])


def shown(cost: Cost) -> str:
    return f"{cost.wall:.1f} s with {cost.memory / 1e9:.1f} GB at most"


def judge(name, path, tasks):
    embeddings = psdvec.load(path)
    print(f"  {name}:", show(score(embeddings, tasks["nine"])))
    parts = [part for part in tasks if part != "nine"]
    means = [f"{part} {score(embeddings, tasks[part])['mean']:.1f}" for part in parts]
    print(f"  {name}, means: {', '.join(means)}", flush=True)


if __name__ == "__main__":
    run_script(main)
