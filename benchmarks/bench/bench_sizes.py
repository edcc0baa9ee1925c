"""Quality by the size of the text: ours and rivals on the same random parts of a corpus, from 0.3 million words up.

    python -m benchmarks.bench.bench_sizes enwiki-38m.txt --work W --sizes 0.3 1 3 10 --draws 3 --testsets TESTSETS

A part is drawn line by line until it has so many words; draws differ by their seed alone. Words seen five
times get a vector. Every step (a part, a method, a setting) is a process of its own whose scores go to a line of
``W/steps.jsonl``, so that a run that was killed goes on where it was; ``--jobs`` of them run at once, each with
``--threads``. The record, ``--record FILE``, holds all raw scores, and the table that is printed is made of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.nine_sets import nine_tasks

import psdvec
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tasks import Task, read_task
from psdvec.evaluation.testsets import find_tasks
from psdvec.pages.plots import fit_axis, spread

FEWEST = 30  # items that a score takes, as in psdvec evaluate
SIMILARITY = ("ws353-similarity", "ws353-relatedness", "men", "mturk-287", "simlex-999")
NEVER_CHOSEN_ON = ("simverb-3500", "semeval-2017")
METHODS = {
    "psdvec": [{"dim": 300}],
    "before": [{"dim": 300}],
    "fasttext": [{"dim": dim, "epochs": epochs} for dim in (100, 300) for epochs in (15, 40)],
    "skipgram": [{"dim": dim, "epochs": epochs} for dim in (100, 300) for epochs in (15, 40)],
}
RIVALS = {
    "fasttext": {"model_class": "FastText", "skipgram": True, "negative": 5, "alpha": 0.05, "subsample": 1e-4,
                 "buckets": 500_000},
    "skipgram": {"model_class": "Word2Vec", "skipgram": True, "negative": 5, "alpha": 0.025, "subsample": 1e-4},
}  # fmt: skip


def draw(corpus: Path, work: Path, *, size: float, number: int, tokenizer: str) -> Path:
    """Write random lines of ``corpus`` with ``size`` million words to a file, in their order, and return it."""
    word = re.compile(r"[a-z]+(?:'[a-z]+)*" if tokenizer == "paper" else r"\w+")
    path = work / "texts" / f"{corpus.name.partition('.')[0]}-{size:g}m-{number}.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = corpus.read_text(encoding="utf-8").splitlines()
        order = list(range(len(lines)))
        random.Random(f"{corpus.name} {size:g} {number}").shuffle(order)
        words, taken = 0, []
        for place in order:
            taken.append(place)
            words += len(word.findall(lines[place].lower()))
            if words >= size * 1e6:
                break
        path.write_text("".join(f"{lines[place]}\n" for place in sorted(taken)), encoding="utf-8")
    return path


def train(
    text: Path, method: str, settings: dict[str, Any], *, tokenizer: str, max_words: int, threads: int
) -> Any:
    """Return the vectors of one method."""
    counts = psdvec.count_pairs(text, tokenizer=tokenizer, max_words=max_words, workers=threads, quiet=True)
    if method in ("psdvec", "before"):
        return psdvec.fit(counts, workers=threads, quiet=True, **settings)
    from psdvec.methods.gensim import fit
    from psdvec.progress import SilentProgress
    from psdvec.text.corpus import read_corpus

    return fit(
        read_corpus(text, tokenizer=tokenizer), vocabulary=counts.vocabulary, workers=threads, seed=1,
        progress=SilentProgress(), **RIVALS[method], **settings,
    )  # fmt: skip


def all_tasks(folder: Path, files: Sequence[str]) -> list[Task]:
    """Return the paper's nine sets and those that chose nothing, or the ``files`` of another language."""
    if files:
        return [read_task(folder / name) for name in files]
    return [*nine_tasks(folder), *find_tasks([*NEVER_CHOSEN_ON, "rare-words"], folder=folder)]


def points(vectors: Any, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return score and covered items of each task; analogies by 3CosMul."""
    report = evaluate(vectors, tasks, methods=["3cosmul"], resamples=0)
    found = {}
    for task in tasks:
        score = report.get("model", task.name)
        found[task.name] = {"points": 100 * score.value, "items": score.covered}
    return found


def step(options: argparse.Namespace) -> dict[str, Any]:
    """Train and score one method on one part."""
    begin = time.perf_counter()
    vectors = train(
        options.text, options.method, options.settings,
        tokenizer=options.tokenizer, max_words=options.max_words, threads=options.threads,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    tasks = all_tasks(options.testsets, options.task)
    return {
        "seconds": round(seconds, 2), "threads": options.threads, "words": len(vectors),
        "machine": f"{os.cpu_count()} processors",
        "scores": points(vectors, tasks),
    }  # fmt: skip


def run_steps(options: argparse.Namespace) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield key and result of every step, those of earlier runs first come, first served."""
    records = Records(options.work / "steps.jsonl")
    jobs = []
    for size in options.sizes:
        for number in range(1, options.draws + 1):
            text = draw(options.corpus, options.work, size=size, number=number, tokenizer=options.tokenizer)
            for method in options.methods:
                for settings in METHODS[method]:
                    if options.settings and not all(
                        settings.get(k) == v for k, v in options.settings.items()
                    ):
                        continue
                    key = {"text": text.name, "size": size, "draw": number, "method": method, **settings}
                    jobs.append((key, text, method, settings))

    def run(job: tuple[dict[str, Any], Path, str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
        key, text, method, settings = job
        found = records.find(key)
        if found is None:
            command = [sys.executable, "-m", "benchmarks.bench.bench_sizes", options.corpus, "--work", options.work,
                       "--testsets", options.testsets, "--tokenizer", options.tokenizer, "--text", text,
                       "--max-words", options.max_words, "--threads", options.threads,
                       "--method", method, "--settings", json.dumps(settings),
                       *(part for name in options.task for part in ("--task", name))]  # fmt: skip
            home = f"{options.before}/src:{options.before}:" if method == "before" else ""
            done = subprocess.run(
                [str(part) for part in command], capture_output=True, text=True, check=False,
                env={**os.environ, "PYTHONPATH": home + os.environ.get("PYTHONPATH", "")},
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"{key}: {done.stderr.strip().splitlines()[-1]}")
            found = json.loads(done.stdout.splitlines()[-1])
            records.add(key, found)
            print(
                json.dumps(key), found["seconds"], mean_of_nine(found["scores"]), file=sys.stderr, flush=True
            )
        return key, found

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(run, jobs)


def kept_steps(options: argparse.Namespace) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return key and result of the steps that earlier runs left."""
    kept = Records(options.work / "steps.jsonl").found.items()
    found = [(json.loads(key), result) for key, result in kept]
    return [(key, result) for key, result in found if key["text"].startswith(f"{options.corpus.stem}-")]


def mean_of_nine(scores: dict[str, Any]) -> float:
    """Return the mean over the sets with enough items, less those that are reported apart."""
    found = [
        one["points"] for name, one in scores.items()
        if one["items"] >= FEWEST and name not in (*NEVER_CHOSEN_ON, "rare-words")
    ]  # fmt: skip
    return round(float(np.mean(found)), 2)


def table(record: dict[str, Any]) -> str:
    """Write means over draws, a line for each method and setting at each size; other languages have their own sets."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for step in record["steps"]:
        setting = "; ".join(f"{step[name]} {name}" for name in ("dim", "epochs") if name in step)
        rows[step["size"], step["method"], setting.replace("dim", "dimensions")].append(step["scores"])
    groups = {"similarity": SIMILARITY, "Google": ["google"], "MSR": ["msr"], "untouched": NEVER_CHOSEN_ON}
    if not any("google" in scores for found in rows.values() for scores in found):
        groups = {name: [name] for found in rows.values() for scores in found for name in scores}
    lines = [f"| million words | method | {' | '.join(groups)} | mean | draws |"]
    lines.append(f"|---:|---|{'---:|' * len(groups)}---:|---:|")
    order = list(METHODS)
    for (size, method, setting), found in sorted(
        rows.items(), key=lambda row: (row[0][0], order.index(row[0][1]))
    ):
        cells = [_cell([_mean(scores, names) for scores in found]) for names in groups.values()]
        means = _cell([mean_of_nine(scores) for scores in found])
        lines.append(
            f"| {size:g} | {NAMES[method]}, {setting} | {' | '.join(cells)} | {means} | {len(found)} |"
        )
    return "\n".join(lines)


def _mean(scores: dict[str, Any], names: Sequence[str]) -> float:
    """Return the mean over those of some sets that have enough items."""
    found = [scores[name]["points"] for name in names if name in scores and scores[name]["items"] >= FEWEST]
    return float(np.mean(found)) if found else float("nan")


def _cell(values: Sequence[float]) -> str:
    """Write a mean over draws, and half of what they span."""
    span = f" ± {(max(values) - min(values)) / 2:.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{span}"


NAMES = {"psdvec": "PSDVec", "before": "PSDVec 0.1", "fasttext": "fastText", "skipgram": "skip-gram"}
COLOURS = {"psdvec": "#1f6f8b", "before": "#7fb3c4", "fasttext": "#c8553d", "skipgram": "#8a817c"}


def picture(record: dict[str, Any]) -> str:
    """Draw the mean score of each method, at its best setting, over the words of the text; draws are a band. SVG."""
    settings: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for step in record["steps"]:
        key = (step["method"], step["size"], step.get("dim"), step.get("epochs"))
        settings[key].append(mean_of_nine(step["scores"]))
    best: dict[str, dict[float, list[float]]] = defaultdict(dict)
    for (method, size, *_), means in settings.items():
        if np.mean(means) > np.mean(best[method].get(size, [-1.0])):
            best[method][size] = means
    x = fit_axis([size for one in best.values() for size in one], start=60, stop=520, log=True)
    y = fit_axis(
        [mean for one in best.values() for found in one.values() for mean in found], start=300, stop=30
    )
    parts = [
        f'<path d="M60 {y.place(tick):.1f}H520" stroke="#ddd"/>'
        f'<text x="50" y="{y.place(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in y.ticks
    ]
    for size in sorted({size for one in best.values() for size in one}):
        parts.append(f'<text x="{x.place(size):.1f}" y="320" text-anchor="middle">{size:g}</text>')
    ends: list[tuple[str, float, float]] = []
    for method, scores in best.items():
        colour, sizes = COLOURS[method], sorted(scores)
        band = [(size, max(scores[size])) for size in sizes] + [
            (size, min(scores[size])) for size in sizes[::-1]
        ]
        line = [(size, float(np.mean(scores[size]))) for size in sizes]
        joined = [" ".join(f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in each) for each in (band, line)]
        parts.append(f'<polygon points="{joined[0]}" fill="{colour}" opacity="0.2"/>')
        parts.append(f'<polyline points="{joined[1]}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="3.5" fill="{colour}"/>' for a, b in line
        ]
        ends.append((method, *line[-1]))
    ends.sort(key=lambda end: -end[2])  # from the top of the picture
    names = spread([y.place(mean) + 4 for _, _, mean in ends], apart=16, low=20, high=310)
    for (method, size, _), height in zip(ends, names, strict=True):
        place = f'x="{x.place(size) + 10:.1f}" y="{height:.1f}"'
        parts.append(f'<text {place} fill="{COLOURS[method]}">{NAMES[method]}</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 350" font-family="sans-serif" font-size="13" '
        'fill="#333"><rect width="620" height="350" fill="#fff"/>'
        '<text x="14" y="20">mean over the test sets, points</text>'
        f'{"".join(parts)}<text x="290" y="342" text-anchor="middle">million words of text</text></svg>\n'
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", type=Path, help="raw text, a paragraph a line")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--testsets", type=Path, required=True)
    parser.add_argument(
        "--task", action="append", default=[], help="a file of --testsets, in place of the English sets"
    )
    parser.add_argument("--tokenizer", default="paper")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.3, 1, 3, 10])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS), default=["psdvec", "fasttext", "skipgram"]
    )
    parser.add_argument("--before", type=Path, help="another checkout of psdvec, for the method 'before'")
    parser.add_argument("--max-words", type=int, default=50_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of each job")
    parser.add_argument(
        "--kept", action="store_true", help="run nothing: all steps of CORPUS that --work holds"
    )
    parser.add_argument("--settings", type=json.loads, default={}, help="only steps with these, as JSON")
    parser.add_argument("--text", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.before is None and "before" in options.methods and not options.text:
        parser.error("the method 'before' takes a checkout: --before FOLDER")
    if options.text:
        print(json.dumps(step(options)))
        return
    results = kept_steps(options) if options.kept else list(run_steps(options))
    figures = {"rivals": RIVALS, "steps": [{**key, **result} for key, result in results]}
    publish(figures, table, record=options.record)


if __name__ == "__main__":
    run_script(main)
