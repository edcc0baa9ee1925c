"""Section 5 of the paper on real text: core words, then more words band by band, with time, memory and scores.

    python -m benchmarks.bench.bench_paper TESTSETS CORPUS... --work FOLDER [--words 25000 80000 130000 180000]
    [--dim 500] [--record FILE]

The texts, raw, plain or compressed, are counted together with a flat window of 3. The first ``--words`` are fitted
together, and each further number is one ``psdvec extend`` with the paper's ridge: 2, 4, 8 and so on. All steps are
commands in processes of their own, as a user would give them. The table says what each step took, words a second, and
the scores of what there is after it, over the questions that it covers and over those that the core covers.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import TOKENIZERS
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.nine_sets import nine_tasks, score
from benchmarks.studies.split import take

import psdvec
from psdvec.counts.matrix import load_counts
from psdvec.evaluation.tasks import Task


def main() -> None:
    parser = make_parser(__doc__)
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
    cost = run(
        [*PSDVEC, "count", *options.corpus, "-o", counts, "--tokenizer", options.tokenizer, "--window", "3",
         "--weighting", "flat", "--max-words", str(options.words[-1]), "--overwrite"]
    )  # fmt: skip
    words = load_counts(counts).vocabulary.words
    steps = [{"step": "count", "words": len(words), **asdict(cost)}]
    model = options.work / f"model-{core}"
    cost = run(
        [*PSDVEC, "fit", counts, "-o", model, "--recipe", options.recipe, "--max-words", str(core), "--dim",
         str(options.dim), "--overwrite"]
    )  # fmt: skip
    steps.append({"step": "fit", "words": core, **asdict(cost), **scores(model, tasks, core)})
    for place, (before, last) in enumerate(zip(options.words, more, strict=False), 1):
        listed = options.work / "words.txt"
        listed.write_text("\n".join(words[before:last]))
        larger = options.work / f"model-{last}"
        cost = run(
            [*PSDVEC, "extend", model, counts, "-o", larger, "--words", listed, "--ridge", str(2**place),
             "--min-contexts", "1", "--overwrite"]
        )  # fmt: skip
        step = f"extend --ridge {2**place}"
        steps.append({"step": step, "words": last - before, **asdict(cost), **scores(larger, tasks, core)})
        model = larger
    publish({"recipe": options.recipe, "dim": options.dim, "steps": steps}, table, record=options.record)


def scores(path: Path, tasks: list[Task], core: int) -> dict[str, float]:
    """Return the mean scores of a model, over all that it covers and over what its core words cover."""
    model = psdvec.load(path)
    known = set(model.words[:core])
    parts = {"nine": tasks, "nine_of_core": [covered(task, known) for task in tasks]}
    return {name: score(model, chosen)["mean"] for name, chosen in parts.items()}


def table(record: dict[str, Any]) -> str:
    """Write what each step took, and the scores of what there is after it."""
    rows = [
        [
            f"`{step['step']}`", f"{step['words']:,}", *cells(step), f"{step['words'] / step['processor']:,.0f}",
            *(f"{step[name]:.1f}" if name in step else "" for name in ("nine", "nine_of_core")),
        ]
        for step in record["steps"]
    ]  # fmt: skip
    last = ["words a processor second", "mean of nine", "of what the core covers"]
    return markdown([f"recipe {record['recipe']}, {record['dim']} dimensions", "words", *COST, *last], rows)


def covered(task: Task, known: set[str]) -> Task:
    """Return the questions of a task whose words are all ``known``; analogies are still answered among all words."""
    places = [place for place, item in enumerate(task.items) if {word.lower() for word in item} <= known]
    return take(task, places)


if __name__ == "__main__":
    run_script(main)
