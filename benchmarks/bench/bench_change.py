"""Whether ``psdvec.change`` can be trusted: no change where there is none, what people say, and what it costs.

    python -m benchmarks.bench.bench_change null CORPUS ... --work FILE [--seeds 5] [--record FILE]
    python -m benchmarks.bench.bench_change groups CORPUS ... --work FILE [--seeds 5] [--record FILE]
    python -m benchmarks.bench.bench_change people FOLDER --work FILE [--record FILE]
    python -m benchmarks.bench.bench_change cost SPEECHES.jsonl --by FIELD --work FOLDER [--record FILE]

*Null*: random documents of each CORPUS, three million words, are dealt to two slices at random, half and half and one
to ten, so that no word differs; 5 of 100 tests should reject at 0.05, whatever a word's frequency. *Groups*: the same
of ``psdvec.distinctive``, with the time it takes. *People*: the
samples of SemEval-2020 task 1 below FOLDER, two slices for each language: the rank correlation with people's
judgements, of ours and of skip-gram with Procrustes. *Cost*: a model of 20,000 words, and then the command.

``bench_power`` asks which changes are found. Steps are kept in the FILE of --work: what was killed goes on.
"""

from __future__ import annotations

import argparse
import lzma
import time
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_power import (
    BANDS,
    band_names,
    draw_texts,
    kept_step,
    skipgram_distances,
)
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, run, run_script
from benchmarks.lib.records import Records, make_parser, publish
from scipy.stats import spearmanr

import psdvec
from psdvec.pages.plots import fit_axis

SAMPLES = {
    "english": ("ccoha1", "ccoha2"), "german": ("dta", "bznd"), "swedish": ("kubhist2a", "kubhist2b")
}  # fmt: skip
SHARES = (0.5, 1 / 11)
COLOURS = ("#0b6e99", "#b5501f", "#4b7f2b")
HAVING = (5, 20, 100, 1 << 40)  # documents that have a word, for the bands of groups
DIM, EPOCHS = 100, 30
QUANTILES = 10.0 ** -np.arange(0.1, 3.61, 0.1)  # shares of the words, for the picture
MEASURES = {
    "distance, 50": "distance, 50 dimensions",
    "low, 50": "its lower end",
    "cosine, 50": "1 less the cosine",
    "distance, 100": "distance, 100 dimensions",
    "low, 100": "its lower end",
    "cosine, 100": "1 less the cosine",
    "skip-gram": "skip-gram, Procrustes, 100 dimensions",
}  # in the order of the table


def null_table(record: dict[str, Any]) -> str:
    """Write the share of p below 0.05 and below 0.01, by occurrences in the smaller slice; ± is over the seeds."""
    return markdown(
        ["text", "smaller slice", "words", "p < 0.05", "p < 0.01", *band_names(), "splits with a q < 0.1"],
        _null_rows(record),
        names=2,
    )


def groups_table(record: dict[str, Any]) -> str:
    """Write the same of groups, by the documents that have a word, and the seconds of a split."""
    names = [f"{low:,} to {high - 1:,}" for low, high in pairwise(HAVING[:-1])] + [f"{HAVING[-2]:,} or more"]
    seconds = [f"{np.mean([step['seconds'] for step in steps]):.0f}" for steps in _by_split(record).values()]
    rows = [[*row, one] for row, one in zip(_null_rows(record), seconds, strict=True)]
    heads = ["text", "smaller group", "words", "p < 0.05", "p < 0.01", *names, "splits with a q < 0.05"]
    return markdown([*heads, "seconds"], rows, names=2)


def _null_rows(record: dict[str, Any]) -> list[list[str]]:
    rows = []
    for (name, share), steps in _by_split(record).items():
        tested = np.array([step["tested"] for step in steps])
        rejected = np.array([step["below 0.05"] for step in steps])
        far = np.array([sum(step["below 0.01"]) for step in steps])
        rows.append(
            [
                name, f"1 of {round(1 / share)}", f"{tested.sum(axis=1).mean():,.0f}",
                _share(rejected.sum(axis=1), tested.sum(axis=1)), _share(far, tested.sum(axis=1)),
                *(_share(rejected[:, band], tested[:, band]) for band in range(tested.shape[1])),
                f"{sum(step['discoveries'] > 0 for step in steps)} of {len(steps)}",
            ]
        )  # fmt: skip
    return rows


def _by_split(record: dict[str, Any]) -> dict[tuple[str, float], list[dict[str, Any]]]:
    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for step in record["steps"]:
        found.setdefault((step["corpus"], step["share"]), []).append(step)
    return found


def _share(part: Any, whole: Any) -> str:
    """Write a share of all seeds, with the standard error over seeds: words of one split are not independent."""
    error = (part / whole).std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else float("nan")
    return f"{100 * part.sum() / whole.sum():.1f} ± {100 * error:.1f} %"


def null_picture(record: dict[str, Any]) -> str:
    """Draw the quantiles of p against those of chance, -log10 of both: a line for each corpus and split. SVG."""
    most = 4.0
    x = fit_axis([0, most], start=50, stop=430)
    y = fit_axis([0, most], start=330, stop=20)
    parts = [
        f'<path d="M50 {y.place(tick):.1f}H430" stroke="#ddd"/>'
        f'<text x="44" y="{y.place(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        f'<text x="{x.place(tick):.1f}" y="348" text-anchor="middle">{tick:g}</text>'
        for tick in y.ticks
    ]
    ends = f"M{x.place(0):.1f} {y.place(0):.1f}L{x.place(most):.1f} {y.place(most):.1f}"
    parts.append(f'<path d="{ends}" stroke="#999"/>')
    names = list(dict.fromkeys(step["corpus"] for step in record["steps"]))
    for (name, share), steps in _by_split(record).items():
        colour, dash = COLOURS[names.index(name)], "" if share == 0.5 else ' stroke-dasharray="5 3"'
        found = np.mean([step["quantiles"] for step in steps], axis=0)
        points = " ".join(
            f"{x.place(-np.log10(at)):.1f},{y.place(value):.1f}"
            for at, value in zip(QUANTILES, found, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
    for place, name in enumerate(names):
        parts.append(f'<text x="66" y="{44 + 17 * place}" fill="{COLOURS[place]}">{name}</text>')
    parts.append(f'<text x="66" y="{44 + 17 * len(names)}">dashed: one to ten</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 450 385" font-family="sans-serif" font-size="13" '
        'fill="#333"><rect width="450" height="385" fill="#fff"/>'
        f'<text x="10" y="14">-log10 of p, its quantiles</text>{"".join(parts)}'
        '<text x="240" y="374" text-anchor="middle">-log10 of the share of words: what chance gives</text></svg>\n'
    )


def people_table(record: dict[str, Any]) -> str:
    """Write the rank correlations with people's judgements, with their 95 % intervals over the targets."""
    rows, languages = [], {step["language"]: step["targets"] for step in record["steps"]}
    for measure, name in MEASURES.items():
        ways = [step["scores"][measure] for step in record["steps"] if measure in step["scores"]]
        means = [np.mean(scores["seeds"]) for scores in ways]
        cells = [f"{mean:.2f} ({_ends(scores)})" for mean, scores in zip(means, ways, strict=True)]
        rows.append([name, *cells, f"{np.mean(means):.2f}"])
    heads = [f"{language}, {targets} targets" for language, targets in languages.items()]
    return markdown(["", *heads, "mean"], rows)


def _ends(scores: dict[str, Any]) -> str:
    """Write an interval and, with several seeds, their span."""
    seeds, (low, high) = scores["seeds"], scores["interval"]
    span = f"; seeds {min(seeds):.2f} to {max(seeds):.2f}" if len(seeds) > 1 else ""
    return f"{low:.2f} to {high:.2f}{span}"


def cost_table(record: dict[str, Any]) -> str:
    """Write what a model and then the change cost."""
    names = {"train": "train", "change": f"change, {record['words']:,} words in both slices"}
    rows = [[name, *cells(record["costs"][command])] for command, name in names.items()]
    return markdown(["command", *COST], rows)


@lru_cache(maxsize=1)
def trained(corpus: Path, words: int) -> tuple[list[str], psdvec.Model]:
    """Return random documents with so many words, and a model of them."""
    texts = draw_texts(corpus, words, seed=0)
    return texts, psdvec.train(texts, dim=DIM, max_words=20_000, quiet=True)


def null(corpus: Path, words: int, share: float, seed: int) -> dict[str, Any]:
    """Return how often tests reject where documents were dealt to slices at random."""
    texts, model = trained(corpus, words)
    found = psdvec.change(model, slices=dealt(texts, share, seed), seed=seed, quiet=True)
    rejected = rejections(found.p, found.occurrences.min(axis=1), BANDS)
    quantiles = np.round(-np.log10(np.quantile(found.p, QUANTILES)), 3).tolist()
    return {**rejected, "discoveries": int((found.q < 0.1).sum()), "quantiles": quantiles}


def null_of_groups(corpus: Path, words: int, share: float, seed: int) -> dict[str, Any]:
    """Return how often the test of ``distinctive`` rejects, of the smaller group, and how long it takes."""
    groups, begun = dealt(draw_texts(corpus, words, seed=0), share, seed), time.perf_counter()
    found = psdvec.distinctive(slices=groups, seed=seed, quiet=True)
    seconds = time.perf_counter() - begun
    rejected = rejections(found.p[:, 0], found.having.sum(axis=1), HAVING)
    return {**rejected, "discoveries": int((found.q < 0.05).sum()), "seconds": seconds}


def dealt(texts: list[str], share: float, seed: int) -> dict[str, list[str]]:
    """Deal documents to two groups at random; the first has this share of them."""
    chosen = np.random.default_rng(seed).random(len(texts)) < share
    return {
        str(side): [text for text, is_in in zip(texts, chosen, strict=True) if is_in == side]
        for side in (True, False)
    }


def rejections(p: Any, sizes: Any, bands: tuple[int, ...]) -> dict[str, list[int]]:
    """Count the tests in each band of ``sizes``, and those with a p below 0.05 and 0.01."""
    in_bands = [(low <= sizes) & (sizes < high) for low, high in pairwise(bands)]
    return {
        "tested": [int(band.sum()) for band in in_bands],
        "below 0.05": [int((p[band] < 0.05).sum()) for band in in_bands],
        "below 0.01": [int((p[band] < 0.01).sum()) for band in in_bands],
    }


def null_steps(given: argparse.Namespace) -> dict[str, Any]:
    """Run or find every corpus, split and seed."""
    kept, steps = Records(given.work), []
    for path in given.corpora:
        for share in SHARES:
            for seed in range(given.seeds):
                key = {"corpus": path.stem, "words": given.words, "share": share, "seed": seed}
                steps.append(kept_step(kept, key, partial(given.test, path, given.words, share, seed)))
    return {"steps": steps}


def people_of(folder: Path, names: tuple[str, str], method: str) -> dict[str, Any]:
    """Return how well distances go with what people say, for the sample in ``folder``."""
    slices = {}
    for name in names:
        with lzma.open(folder / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
            slices[name] = [line.split() for line in file]
    lines = (folder / "truth" / "graded.txt").read_text(encoding="utf-8").split("\n")
    judged = {word: float(score) for word, _, score in (line.partition("\t") for line in lines if line)}
    truth = np.array(list(judged.values()))
    if method == "skip-gram":
        options = {"dim": DIM, "window": 10, "min_count": 3, "epochs": EPOCHS}
        scores = {
            method: [
                skipgram_distances(*slices.values(), list(judged), seed=seed, **options) for seed in range(3)
            ]
        }
    else:
        scores = {
            f"{name}, {method}": [each] for name, each in _ours(slices, list(judged), int(method)).items()
        }
    return {
        "targets": len(judged),
        "scores": {name: _agreement(each, truth) for name, each in scores.items()},
    }


def _ours(slices: dict[str, list[list[str]]], words: list[str], dim: int) -> dict[str, Any]:
    counts = psdvec.count_pairs(
        [line for own in slices.values() for line in own], min_count=3, window=10, quiet=True
    )
    model = psdvec.fit(counts, dim=dim, changes={"spelling": 0.0}, quiet=True)
    found = psdvec.change(model, slices=slices, min_count=5, quiet=True)
    rows = [found.ids[word] for word in words]
    return {
        "distance": found.distance[rows], "low": found.low[rows],
        "cosine": np.nan_to_num(1 - found.cosine[rows], nan=1.0),
    }  # fmt: skip


def _agreement(seeds: list[Any], truth: Any) -> dict[str, Any]:
    """Return the rank correlation of each seed, and the interval of their mean over resampled targets."""
    generator = np.random.default_rng(0)
    samples = [generator.integers(len(truth), size=len(truth)) for _ in range(2000)]
    means = [np.mean([spearmanr(seed[rows], truth[rows])[0] for seed in seeds]) for rows in samples]
    return {
        "seeds": [float(spearmanr(seed, truth)[0]) for seed in seeds],
        "interval": np.nanquantile(means, [0.025, 0.975]).tolist(),
    }


def people_steps(given: argparse.Namespace) -> dict[str, Any]:
    """Run or find every language and method."""
    kept = Records(given.work)
    return {
        "steps": [
            kept_step(
                kept, {"language": language, "method": method},
                partial(people_of, given.folder / language, SAMPLES[language], method),
            )
            for method in given.methods
            for language in SAMPLES
        ]
    }  # fmt: skip


def cost(given: argparse.Namespace) -> dict[str, Any]:
    """Measure the two commands that lead from speeches to a report."""
    model, report = given.work / "model", given.work / "report"
    size = ["--dim", str(DIM), "--max-words", "20000", "--workers", "2", "--quiet"]
    commands = {
        "train": [*PSDVEC, "train", given.speeches, "-o", model, *size],
        "change": [*PSDVEC, "change", model, given.speeches, "--by", given.by, "-o", report, *size[-3:]],
    }  # fmt: skip
    given.work.mkdir(parents=True, exist_ok=True)
    costs = {name: asdict(run([*command, "--overwrite"])) for name, command in commands.items()}
    with (report / "change.csv").open(encoding="utf-8") as file:
        return {"costs": costs, "words": sum(1 for _ in file) - 1}


def main() -> None:
    parser = make_parser(__doc__)
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("null")
    one.add_argument("corpora", type=Path, nargs="+", help="JSON lines with a field text, or plain text")
    one.add_argument("--seeds", type=int, default=5)
    one.add_argument("--words", type=int, default=3_000_000)
    one.set_defaults(steps=null_steps, test=null, tables=[null_table])
    four = kinds.add_parser("groups", parents=[one], add_help=False)
    four.set_defaults(steps=null_steps, test=null_of_groups, tables=[groups_table])
    two = kinds.add_parser("people")
    two.add_argument("folder", type=Path, help="a folder for each language below it")
    two.add_argument(
        "--methods", nargs="+", default=["50", "100", "skip-gram"], help="our dimensions, or skip-gram"
    )
    two.set_defaults(steps=people_steps, tables=[people_table])
    three = kinds.add_parser("cost")
    three.add_argument("speeches", type=Path, help="JSON lines")
    three.add_argument("--by", required=True, help="the field of the slices")
    three.set_defaults(steps=cost, tables=[cost_table])
    for each in (one, two, three, four):
        each.add_argument("--work", type=Path, required=True)
        each.add_argument("--record", type=Path)
    given = parser.parse_args()
    publish(given.steps(given), *given.tables, record=given.record)


if __name__ == "__main__":
    run_script(main)
