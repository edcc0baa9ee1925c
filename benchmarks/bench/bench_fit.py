"""Quality, time and peak memory of count + fit, side by side with gensim's programs on the same words in one run.

    python -m benchmarks.bench.bench_fit CORPUS TESTSETS [--words 50000] [--dim 300] [--recipe default]
    [--rivals word2vec skipgram fasttext] [--record FILE]

CORPUS is raw text, plain or compressed. Each command runs in a process of its own; those of psdvec ``--repeats`` times,
of which the quickest is shown. The points are the means of the paper's nine sets, and of those of their questions that
no setting was chosen on (``benchmarks/studies/split.py``). A skip-gram of five epochs takes most of an hour;
``--epochs 1`` trains one, and all epochs take the same time.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import COST, PSDVEC, Cost, best, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.nine_sets import nine_tasks, score
from benchmarks.studies.split import reported_tasks

import psdvec
from psdvec.counts.matrix import map_counts
from psdvec.evaluation.tasks import Task

RIVALS = ("word2vec", "skipgram", "fasttext")
NAMES = {
    "word2vec": "gensim's CBOW",
    "skipgram": "gensim's skip-gram",
    "fasttext": "gensim's fastText",
}


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--weighting", default="harmonic")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=[])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    tasks = {
        "nine sets": nine_tasks(options.testsets),
        "reported questions": reported_tasks(options.testsets),
    }
    dim = ["--dim", options.dim]
    with tempfile.TemporaryDirectory(prefix="bench-fit-") as folder:
        warm_up(Path(folder), options.tokenizer)
        counts, ours = Path(folder, "counts"), Path(folder, "psdvec")
        counting = ["--tokenizer", options.tokenizer, "--max-words", options.words,
                    "--window", options.window, "--weighting", options.weighting]  # fmt: skip
        count = best([command("count", options.corpus, counts, *counting) for _ in range(options.repeats)])
        fit = best(
            [command("fit", counts, ours, *dim, "--recipe", options.recipe) for _ in range(options.repeats)]
        )
        made = [
            {"name": "`psdvec count`", **asdict(count)},
            {"name": "`psdvec fit`", **asdict(fit)},
            {"name": "both", **asdict(count + fit), "scores": judge(ours, tasks)},
        ]
        for rival in options.rivals:
            path, epochs = Path(folder, rival), f"epochs={options.epochs}"
            cost = command(
                "fit", counts, path, "--method", rival, "--corpus", options.corpus, *dim, "--set", epochs
            )
            name = f"{NAMES[rival]}, {options.epochs} epochs"
            made.append({"name": name, **asdict(cost), "scores": judge(path, tasks)})
        figures: dict[str, Any] = {
            "words": options.words, "dim": options.dim, "epochs": options.epochs,
            "tokens": map_counts(counts).tally.tokens, "programs": made,
        }  # fmt: skip
    publish(figures, table, record=options.record)


def warm_up(folder: Path, tokenizer: str) -> None:
    """Compile the kernels, which happens once after installation."""
    (folder / "tiny").write_text("a b c d e\nc a d b e\n" * 9)
    command("count", folder / "tiny", folder / "tiny-counts", "--tokenizer", tokenizer)
    command("fit", folder / "tiny-counts", folder / "tiny-model", "--dim", 2)


def command(verb: str, source: str | Path, output: Path, *arguments: object) -> Cost:
    return run([*PSDVEC, verb, source, "-o", output, "--overwrite", "--quiet", *map(str, arguments)])


def judge(path: Path, tasks: dict[str, list[Task]]) -> dict[str, dict[str, float]]:
    """Return the points at each task of each part, with their mean."""
    embeddings = psdvec.load(path)
    return {part: score(embeddings, tasks[part]) for part in tasks}


def table(record: dict[str, Any]) -> str:
    """Write what each program took, its processor seconds over ours from text to vectors, and its mean scores."""
    programs = record["programs"]
    ours = next(program for program in programs if program["name"] == "both")
    rows = []
    for program in programs:
        scores = {part: f"{points['mean']:.1f}" for part, points in program.get("scores", {}).items()}
        ratio = f"{program['processor'] / ours['processor']:.1f}" if scores and program is not ours else ""
        rows.append(
            [program["name"], *cells(program), ratio, *(scores.get(part, "") for part in ours["scores"])]
        )
    title = f"{record['tokens'] / 1e6:.1f} million words, {record['words']:,} × {record['dim']}"
    means = [f"mean of {part}" for part in ours["scores"]]
    return markdown([title, *COST, "processor, ratio", *means], rows)


if __name__ == "__main__":
    run_script(main)
