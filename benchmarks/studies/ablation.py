"""What each departure from the paper is worth: the rows of docs/results/departures.md, one at a time.

    python -m benchmarks.studies.ablation CORPUS TESTSETS --work FOLDER [--words 30000] [--dim 200] [--seeds 3]
    [--device cuda] [--recipes default paper]

CORPUS is raw text, plain or compressed. First the default recipe, with one departure at a time taken back to what the
paper does; then the paper's recipe, with one at a time put to what we do. Prints two tables in Markdown, a mean over
seeds and its standard deviation in each cell: development questions, reported ones, untouched sets
(``benchmarks/studies/split.py``), and the seconds of one fit.

Counts, one for each window, and results are kept below FOLDER: a run that was killed goes on where it was. Where the
counts are there already, numba is not needed on a machine that fits on its GPU, and CORPUS is only a name.

Not among the rows: scales by block, which we no longer compute, and words of a-z, which ``--tokenizer`` chooses.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import Records
from benchmarks.studies.nine_sets import score
from benchmarks.studies.split import all_parts

from psdvec.counts.matrix import load_counts
from psdvec.methods.psd import paper_core
from psdvec.options import RECIPES, make_recipe
from psdvec.solver.fit import fit

COUNTING = {
    "default": {"window": 20, "weighting": "harmonic"},
    "paper": {"window": 3, "weighting": "flat"},
}
OTHER = {"default": "paper", "paper": "default"}
PARTS = ("development", "reported", "untouched")


@dataclass(frozen=True)
class Departure:
    """A row: the ``settings`` that differ, or the ``counting``, or which words are the ``core``.

    ``only`` names the recipe that the row makes sense for, if it is only one: how words outside the core are placed
    changes nothing where there are none.
    """

    settings: tuple[str, ...] = ()
    counting: bool = False
    core: bool = False
    only: str | None = None


DEPARTURES = (
    Departure(core=True),
    Departure(("ridge", "damping"), core=True, only="default"),
    Departure(("ridge", "damping"), only="paper"),
    Departure(("background",)),
    Departure(("majoriser", "emphasis")),
    Departure(("majoriser",)),
    Departure(("emphasis",)),
    Departure(("spectrum",)),
    Departure(("start", "relaxation", "momentum")),
    Departure(counting=True),
    Departure(("unigram",)),
    Departure(("smoothing",)),
    Departure(("saturation", "cut")),
    Departure(("diagonal",)),
    Departure(("negligible",)),
    Departure(("rounds", "head", "exact")),
    Departure(("power",)),
    Departure(("spelling",)),
)


@dataclass(frozen=True)
class Variant:
    """One row of a table: how to count, and how to fit what was counted."""

    name: str
    recipe: str
    changes: dict[str, Any]
    counting: dict[str, Any]
    third: bool  # whether only a third of the words, and at most 25,000, are fitted together


def variants(recipe: str) -> Iterator[Variant]:
    """Yield a recipe as it is, then with one departure at a time put to what the other recipe does."""
    other = OTHER[recipe]
    name = {"default": "default recipe", "paper": "the paper's recipe"}[recipe]
    yield Variant(name, recipe, {}, COUNTING[recipe], recipe == "paper")
    for row in DEPARTURES:
        if row.only in (None, recipe):
            changes = {name: getattr(RECIPES[other], name) for name in row.settings}
            counting = COUNTING[other if row.counting else recipe]
            third = (other if row.core else recipe) == "paper"
            words = [
                *(["a third as core" if third else "all words together"] if row.core else []),
                *([f"window {counting['window']} {counting['weighting']}"] if row.counting else []),
                *(f"{name} {value}" for name, value in changes.items()),
            ]
            yield Variant(", ".join(words), recipe, changes, counting, third)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts and results")
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recipes", nargs="+", choices=OTHER, default=list(OTHER))
    options = parser.parse_args()
    parts = all_parts(options.testsets)
    records = Records(options.work / "ablation.jsonl")
    for recipe in options.recipes:
        print("| | development | reported | untouched | seconds |\n|---|---|---|---|---|")
        for variant in variants(recipe):
            runs = [measure(variant, seed, parts, records, options) for seed in range(options.seeds)]
            cells = [spread([run["points"][part]["mean"] for run in runs]) for part in PARTS]
            seconds = f"{np.median([run['seconds'] for run in runs]):.1f}"
            print(f"| {' | '.join([variant.name, *cells, seconds])} |", flush=True)
        print()


def measure(variant: Variant, seed: int, parts, records: Records, options) -> dict[str, Any]:
    """Fit and score one variant from one random start, or find what came of it before."""
    recipe = make_recipe(variant.recipe, **variant.changes)
    key = {
        "corpus": Path(options.corpus).name, "tokenizer": options.tokenizer, "words": options.words,
        "dim": options.dim, "counting": variant.counting, "recipe": asdict(recipe), "third": variant.third,
        "seed": seed, "device": options.device,
        "questions": {part: sum(len(task.items) for task in parts[part]) for part in PARTS},
    }  # fmt: skip
    found = records.find(key)
    if found is None:
        folder = count_once(
            options.corpus, options.work, tokenizer=options.tokenizer, words=options.words, **variant.counting
        )
        counts = load_counts(folder)
        core = paper_core(len(counts)) if variant.third else None
        start = time.perf_counter()
        model = fit(
            counts, dim=options.dim, recipe=variant.recipe, changes=variant.changes, core=core, seed=seed,
            device=options.device, quiet=True,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        found = {"seconds": seconds, "points": {part: score(model, parts[part]) for part in PARTS}}
        records.add(key, found)
    return found


def spread(values: Sequence[float]) -> str:
    """Return a mean and, of several values, their standard deviation; a dash where a set has no answer at all.

    >>> spread([65.0, 66.0])
    '65.5 ± 0.7'
    """
    if np.isnan(values).any():
        return "–"
    deviation = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{deviation}"


if __name__ == "__main__":
    run_script(main)
