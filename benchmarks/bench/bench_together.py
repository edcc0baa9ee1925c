"""All words fitted together, and the paper's split beside it: a core together, the other words placed by ridge.

    python -m benchmarks.bench.bench_together TESTSETS CORPUS [CORPUS ...] --work FOLDER [--words 200000] [--core 25000]
    [--dim 300] [--memory 4G] [--record FILE]

The texts, raw, plain or compressed, are counted together by ``--tokenizer paper`` and a window of 20; the counts are
kept below FOLDER. Each fit is one command in a process of its own. The table says what each took, the mean of the nine
sets over the questions that it covers, and Spearman correlations times 100 on Rare Words: over the pairs
whose words both have a vector, over all pairs, where a word without one has cosine 0 with every other, and over all
pairs with unseen words made of their spelling.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bench.bench_rare import correlation
from benchmarks.lib.corpora import count_together
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.nine_sets import named_tasks, nine_tasks, score

import psdvec
from psdvec.evaluation.tasks import Pairs, Task


def main() -> None:
    parser = make_parser(__doc__)
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
    fits = []
    for core in ([], ["--core", str(options.core)]):
        model = options.work / f"model-{'split' if core else 'together'}"
        command = [*PSDVEC, "fit", counts, "-o", model, "--dim", str(options.dim), "--memory", options.memory]
        cost = run([*command, *core, "--overwrite", "--quiet"])
        fits.append({"options": " ".join(core), **asdict(cost), **scores(model, nine, rare)})
    publish({"dim": options.dim, "rare_words": len(rare.items), "fits": fits}, table, record=options.record)


def scores(path: Path, nine: list[Task], rare: Pairs) -> dict[str, float]:
    """Return what a model scores."""
    model = psdvec.load(path)
    unseen = sorted({word.lower() for item in rare.items for word in item} - set(model.words))
    covered, number = correlation(model, rare)
    return {
        "vectors": len(model),
        "nine": score(model, nine)["mean"],
        "covered": covered,
        "covered_pairs": number,
        "all": correlation(model, rare, oov="zero")[0],
        "spelled": correlation(model.with_spelled(unseen), rare, oov="zero")[0],
    }


def table(record: dict[str, Any]) -> str:
    """Write what each fit took and scores."""
    titles = ["mean of nine", "Rare Words, covered", "all", "all, spelled"]
    rows = [
        [
            f"`{fit['options']}`" if fit["options"] else "together", f"{fit['vectors']:,}", *cells(fit),
            f"{fit['nine']:.1f}", f"{fit['covered']:.1f} ({fit['covered_pairs']:,} of {record['rare_words']:,})",
            f"{fit['all']:.1f}", f"{fit['spelled']:.1f}",
        ]
        for fit in record["fits"]
    ]  # fmt: skip
    return markdown(["fit", "vectors", *COST, *titles], rows)


if __name__ == "__main__":
    run_script(main)
