"""The recipe at all sizes of text at once: one number changed at a time, scored on the development questions.

    python -m benchmarks.studies.all_sizes SIMPLEWIKI ENWIKI --work W --testsets TESTSETS --record FILE

Parts of Simple Wikipedia with 0.2, 0.75 and 3 million words, and all of ENWIKI. What changes only how spelling is mixed
in (``power`` and what begins with ``spelling``) needs no fit of its own. Steps are kept in ``W/all-sizes.jsonl``.

The rule: numbers go back to those of version 0.1 as long as all that went back costs less than 0.2 points together,
in the mean over the sizes.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_sizes import draw
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.nine_sets import score
from benchmarks.studies.split import all_parts

import psdvec
from psdvec.errors import InputError
from psdvec.evaluation.tasks import Task
from psdvec.options import Recipe
from psdvec.solver.pmi import word_scales
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import lengths_of
from psdvec.vectors.subwords import learn_subwords, mix, stretches

SIZES = (0.2, 0.75, 3.0)  # million words of Simple Wikipedia
FEWEST = 15  # questions of a set that count: development questions are half of all
# What a search over all sizes found.
CENTRE = {"rounds": 7, "saturation": 2.0, "power": 0.42, "spelling_ridge": 2.0}
MIXING = ("power", "spelling", "spelling_ridge", "spelling_noise")
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    *({"spelling": value} for value in (0.0, 0.4, 0.5, 0.6, 0.8, 0.9)),
    *({"power": value} for value in (0.25, 0.35, 0.5)),
    *({"spelling_noise": value} for value in (0.0, 50.0, 100.0)),
    *({"spelling_ridge": value} for value in (1.0, 4.0)),
    {"unigram": 0.75},
    {"saturation": 1.0},
    {"rounds": 6},
    {"rounds": 10},
    {"saturation": 1.0, "power": 0.35},
    {"saturation": 1.0, "rounds": 6},
    {"saturation": 1.0, "rounds": 6, "power": 0.35},
    {"saturation": 1.0, "rounds": 6, "power": 0.35, "spelling_ridge": 1.0},
)


def remixed(model: Model, recipe: Recipe) -> Model:
    """Return a model with its spelling learned and mixed in by another recipe, as a fit with it would."""
    scales = word_scales(model.row_sums, model.column_sums, model.constants)
    stretch = stretches(model.rows, scales.emphases, power=recipe.power)
    if not recipe.spelling:
        return replace(
            model, vectors=mix(model.rows, stretch, None, share=0.0), subwords=None, stretch=stretch
        )
    units = model.rows * stretch
    lengths = lengths_of(units)
    units /= lengths[:, None]
    subwords = learn_subwords(
        model.words, units, model.counts, length=float(lengths.mean()), recipe=recipe, workers=2
    )
    if subwords is None:
        raise InputError("no two words of this text share an n-gram; give more text")
    vectors = mix(model.rows, stretch, subwords.predict(model.words), share=subwords.share)
    return replace(model, vectors=vectors, subwords=subwords, stretch=stretch)


def points(model: Model, parts: dict[str, list[Task]]) -> dict[str, dict[str, float]]:
    """Return the points at every task of every part that has enough questions."""
    known = set(model.words)
    found = {}
    for part, tasks in parts.items():
        enough = [task for task in tasks if _covered(task, known) >= FEWEST]
        found[part] = {name: value for name, value in score(model, enough).items() if name != "mean"}
    return found


def _covered(task: Task, known: set[str]) -> int:
    return sum(all(word.lower() in known for word in item) for item in task.items)


def run_steps(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the points of every change at every size."""
    records = Records(options.work / "all-sizes.jsonl")
    parts = all_parts(options.testsets)
    texts = [
        (size, draw(options.simplewiki, options.work, size=size, number=1, tokenizer="paper"))
        for size in SIZES
    ]
    texts.append((38.0, options.enwiki))
    steps = []
    for size, text in texts:
        keys = [{"size": size, "change": change} for change in CHANGES]
        if any(records.find(key) is None for key in keys):
            counts = psdvec.count_pairs(text, tokenizer="paper", max_words=50_000, quiet=True)
            centre = psdvec.fit(counts, changes=CENTRE, quiet=True)
        for key, change in zip(keys, CHANGES, strict=True):
            found = records.find(key)
            if found is None:
                if set(change) <= set(MIXING):
                    model = remixed(centre, replace(centre.recipe, **change))
                else:
                    model = psdvec.fit(counts, changes={**CENTRE, **change}, quiet=True)
                found = points(model, parts)
                records.add(key, found)
            steps.append({**key, "points": found})
    return steps


def table(record: dict[str, Any]) -> str:
    """Write what each change adds to the mean of the development questions at every size."""
    means: dict[str, dict[float, float]] = defaultdict(dict)
    for step in record["steps"]:
        name = ", ".join(f"{key} {value:g}" for key, value in step["change"].items()) or "centre"
        means[name][step["size"]] = float(np.mean(list(step["points"]["development"].values())))
    sizes = sorted(means["centre"])
    rows = []
    for name, found in means.items():
        given = [found[size] - (means["centre"][size] if name != "centre" else 0.0) for size in sizes]
        form = "{:.1f}" if name == "centre" else "{:+.1f}"
        rows.append([name, *(form.format(one) for one in [*given, np.mean(given)])])
    return markdown(["million words", *(f"{size:g}" for size in sizes), "all"], rows)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("simplewiki", type=Path, help="raw text")
    parser.add_argument("enwiki", type=Path, help="raw text")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--testsets", type=Path, required=True)
    options = parser.parse_args()
    figures = {"steps": run_steps(options)}
    publish(figures, table, record=options.record)


if __name__ == "__main__":
    run_script(main)
