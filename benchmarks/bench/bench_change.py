"""Whether ``psdvec.change`` can be trusted: random halves of documents, and what people say.

    python -m benchmarks.bench.bench_change SPEECHES.jsonl --people FOLDER [--documents 6000] [--record FILE]

*Null*: the first documents are dealt to two slices at random, half and half and one to ten, so that no word differs;
5 of 100 tests should reject at 0.05, whatever a word's frequency. *People*: the samples of SemEval-2020 task 1 below
FOLDER, two slices for each language; the rank correlation of distances, and of cosines, with people's judgements.
"""

from __future__ import annotations

import json
import lzma
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import make_parser, publish
from scipy.stats import spearmanr

import psdvec

SAMPLES = {
    "english": ("ccoha1", "ccoha2"), "german": ("dta", "bznd"), "swedish": ("kubhist2a", "kubhist2b")
}  # fmt: skip
BANDS = (20, 50, 200, 1000, 10**9)
DIM = 100


def null_table(record: dict[str, Any]) -> str:
    """Write the share of p below 0.05 and below 0.01, of all words and by their occurrences in the smaller slice."""
    bands = [f"{low} to {high - 1}" for low, high in pairwise(BANDS[:-1])]
    heads = [
        "share in the smaller slice",
        "words",
        "p < 0.05",
        "p < 0.01",
        *bands,
        f"{BANDS[-2]:,} or more",
        "q < 0.1",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---|" + "---:|" * (len(heads) - 1)]
    for one in record["null"]:
        shares = [one["below 0.05"], one["below 0.01"], *one["bands"]]
        cells = [f"{100 * share:.1f} %" for share in shares]
        lines.append(f"| {one['share']:g} | {one['words']:,} | {' | '.join(cells)} | {one['discoveries']} |")
    return "\n".join(lines)


def people_table(record: dict[str, Any]) -> str:
    """Write the rank correlations with people's judgements."""
    lines = ["| language | targets | distance | 1 less the cosine |", "|---|---:|---:|---:|"]
    for name, one in record["people"].items():
        lines.append(f"| {name} | {one['targets']} | {one['distance']:.2f} | {one['cosine']:.2f} |")
    return "\n".join(lines)


def null(texts: list[str], model: psdvec.Model, share: float, seed: int) -> dict[str, Any]:
    """Return how often tests reject where documents were dealt to slices at random."""
    chosen = np.random.default_rng(seed).random(len(texts)) < share
    sides = {
        str(side): [text for text, is_in in zip(texts, chosen, strict=True) if is_in == side]
        for side in (True, False)
    }
    found = psdvec.change(model, slices=sides, seed=seed, quiet=True)
    rare = found.occurrences.min(axis=1)
    bands = [found.p[(rare >= low) & (rare < high)] < 0.05 for low, high in pairwise(BANDS)]
    return {
        "share": share, "seed": seed, "words": len(found), "below 0.05": float((found.p < 0.05).mean()),
        "below 0.01": float((found.p < 0.01).mean()), "bands": [float(band.mean()) for band in bands],
        "discoveries": int((found.q < 0.1).sum()),
        "p": np.round(np.sort(found.p)[:: max(len(found) // 200, 1)], 4).tolist(),
    }  # fmt: skip


def people(folder: Path, names: tuple[str, str]) -> dict[str, Any]:
    """Return how distances go with what people say, for the sample in ``folder``."""
    slices = {}
    for name in names:
        with lzma.open(folder / f"{name}.txt.xz", "rt", encoding="utf-8") as file:
            slices[name] = [line.split() for line in file]
    sentences = [sentence for each in slices.values() for sentence in each]
    counts = psdvec.count_pairs(sentences, min_count=3, window=10, quiet=True)
    model = psdvec.fit(counts, dim=DIM, changes={"spelling": 0.0}, quiet=True)
    found = psdvec.change(model, slices=slices, min_count=5, quiet=True)
    lines = (folder / "truth" / "graded.txt").read_text(encoding="utf-8").split("\n")
    judged = {word: float(score) for word, _, score in (line.partition("\t") for line in lines if line)}
    words = [word for word in judged if word in found.ids]
    rows = [found.ids[word] for word in words]
    truth = [judged[word] for word in words]
    return {
        "targets": len(words), "distance": float(spearmanr(found.distance[rows], truth)[0]),
        "cosine": float(spearmanr(-found.cosine[rows], truth, nan_policy="omit")[0]),
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("speeches", type=Path, help="JSON lines with a field text")
    parser.add_argument("--people", type=Path, required=True, help="folder with a folder for each language")
    parser.add_argument("--documents", type=int, default=6000)
    given = parser.parse_args()
    with given.speeches.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line, _ in zip(file, range(given.documents), strict=False)]
    model = psdvec.train(texts, dim=DIM, max_words=20_000, quiet=True)
    figures = {
        "null": [null(texts, model, share, seed) for share, seed in ((0.5, 0), (0.5, 1), (0.09, 0))],
        "people": {name: people(given.people / name, names) for name, names in SAMPLES.items()},
    }
    publish(figures, null_table, people_table, record=given.record)


if __name__ == "__main__":
    run_script(main)
