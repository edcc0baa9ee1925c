"""Methods side by side on one text, by ``psdvec compare``, as a record.

    python -m benchmarks.bench.bench_compare CORPUS --work W --testsets TESTSETS --record FILE [--methods psdvec,svd]
    [--words 30000] [--dim 200] [--seeds 1] [--tokenizer unicode] [--best SEARCH]

``--best`` trains every rival with what ``benchmarks/studies/search.py`` found best, by its record; ours has its
defaults, and so has every method without it. The record also holds the points at the three parts of
``benchmarks/studies/split.py``. The comparison is kept below W and goes on where it was; a step is run again only if
what it uses has changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.lib.measure import run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.nine_sets import score
from benchmarks.studies.search import best_settings
from benchmarks.studies.split import all_parts

import psdvec
from psdvec.compare.run import compare
from psdvec.evaluation.testsets import column_title
from psdvec.methods import METHODS
from psdvec.pages.plots import fit_axis, spread

SIMILARITY = ("ws353-similarity", "ws353-relatedness", "men", "mturk-287", "simlex-999")
LEVEL = 0.05  # of the test, by Holm's correction


def table(record: dict[str, Any]) -> str:
    """Write means, inflexions, processor minutes and memory of every method, the best first."""
    lines = ["| | mean of nine sets | of five of similarity | inflexions (MSR) | processor minutes | GB |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for name, mean in ranked(record):
        points = points_of(record, name)
        similar = sum(points[task][0] for task in SIMILARITY) / len(SIMILARITY)
        cost = next(one for one in record["report"]["costs"] if one["method"] == name)
        cells = [mean, similar, points["msr"][0], minutes(record, name), cost["training"]["memory"] / 1e9]
        lines.append(
            f"| {METHODS[name].title} (`{name}`) | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |"
        )
    return "\n".join(lines)


def sets(record: dict[str, Any]) -> str:
    """Write the points at every set; those that the test does not tell apart from the best of their column are bold."""
    evaluation = record["report"]["evaluation"]
    tasks = [*evaluation["mean_over"], "rare-words"]
    heads = [column_title(task) for task in tasks]
    lines = [f"| | {' | '.join(heads)} | mean of nine |", "|---|" + "---:|" * (len(heads) + 1)]
    for name, mean in ranked(record):
        points = points_of(record, name)
        cells = [(points[task][0], points[task][1]) for task in tasks]
        cells.append((mean, evaluation["means"][name]["p_adjusted"]))
        shown = [f"**{value:.1f}**" if p is None or p > LEVEL else f"{value:.1f}" for value, p in cells]
        lines.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join(lines)


def untouched(record: dict[str, Any]) -> str:
    """Write the points at the sets that nobody had looked at, beside the means over the two halves of the questions."""
    tasks = [task for task in record["parts"]["psdvec"]["untouched"] if task != "mean"]
    heads = ["development questions", "reported questions", *tasks]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name, _ in ranked(record):
        parts = record["parts"][name]
        cells = [
            parts["development"]["mean"],
            parts["reported"]["mean"],
            *(parts["untouched"][t] for t in tasks),
        ]
        lines.append(f"| `{name}` | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    return "\n".join(lines)


def picture(record: dict[str, Any]) -> str:
    """Draw the mean of nine sets over the processor minutes from text to vectors. SVG."""
    dots = [(name, minutes(record, name), mean) for name, mean in ranked(record)]
    x = fit_axis([time for _, time, _ in dots], start=60, stop=440, log=True)
    y = fit_axis([mean for _, _, mean in dots], start=300, stop=30)
    parts = [
        f'<path d="M60 {y.place(tick):.1f}H560" stroke="#ddd"/>'
        f'<text x="50" y="{y.place(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in y.ticks
    ]
    parts += [
        f'<text x="{x.place(tick):.1f}" y="320" text-anchor="middle">{tick:g}</text>' for tick in x.ticks
    ]
    heights = spread([y.place(mean) + 4 for *_, mean in dots], apart=15, low=20, high=310)
    for (name, time, mean), height in zip(dots, heights, strict=True):
        colour = "#1f6f8b" if name.startswith("psdvec") else "#c8553d"
        parts.append(f'<circle cx="{x.place(time):.1f}" cy="{y.place(mean):.1f}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x.place(time) + 9:.1f}" y="{height:.1f}" fill="{colour}">{name}</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 350" font-family="sans-serif" font-size="13" '
        'fill="#333"><rect width="620" height="350" fill="#fff"/>'
        '<text x="14" y="20">mean of nine sets, points</text>'
        f'{"".join(parts)}<text x="290" y="342" text-anchor="middle">processor minutes, from text to vectors</text>'
        "</svg>\n"
    )


def minutes(record: dict[str, Any], name: str) -> float:
    """Return the processor minutes that a method takes from text to vectors."""
    cost = next(one for one in record["report"]["costs"] if one["method"] == name)
    counting = cost["counting"] or {"processor": 0.0}
    return float(cost["training"]["processor"] + counting["processor"]) / 60


def ranked(record: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the methods with their means of nine sets, the best first."""
    means = {name: 100 * one["score"] for name, one in record["report"]["evaluation"]["means"].items()}
    return sorted(means.items(), key=lambda item: -item[1])


def points_of(record: dict[str, Any], name: str) -> dict[str, tuple[float, float | None]]:
    """Return a method's points at each set, and how sure it is that the best is better; analogies by 3CosMul."""
    return {
        one["task"]: (100 * one["score"], one["p_adjusted"])
        for one in record["report"]["evaluation"]["scores"]
        if one["model"] == name and one["metric"] != "3cosadd"
    }


def main() -> None:
    parser = make_parser(__doc__)
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
    publish(figures, table, record=options.record)


if __name__ == "__main__":
    run_script(main)
