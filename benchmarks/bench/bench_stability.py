"""Stability of neighbours against true refits: documents resampled and fitted again, fifty times.

    python -m benchmarks.bench.bench_stability CORPUS... [--words 1] [--true 50] [--record stability.json]

CORPUS is text with a document a line, or JSON lines. Two samples of other documents are drawn, so many million words
each. A model is fitted to the first. For the ten nearest words of 150 words of all frequencies, by the model, the true
refits say in which share of them a neighbour stays among the ten, and how its cosine spreads.

*order*: rank correlation of the shares with the true ones. *error*: their mean absolute difference. *refits*: how many
of 100 cosines of the true refits lie within the interval. *other documents*: how many cosines of a model of the other
sample do, the interval √2 times as wide since that model errs as well. *times cheaper*: processor seconds of the true
refits by those of the method, for all words; *answer s* are those of one question with 200 resamples, which come later.

*true refits* are counted as they are, without drawing from them. *deviations* are those that every model has: noise
that is the same for all axes and independent between words, and the intervals of ``most_similar_intervals``.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish
from scipy.stats import spearmanr

import psdvec
from psdvec.progress import SilentProgress
from psdvec.slices.stability import Stability, refit
from psdvec.topic_model.documents import read_documents

ASKED, NEAREST = 150, 10
MIN_COUNT, DIM = 12, 100
REFITS = (1, 2, 4)
NOISE = 60  # draws from the deviations


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+", type=Path)
    parser.add_argument("--words", type=float, default=1, help="million words of each sample")
    parser.add_argument("--true", type=int, default=50, help="true refits")
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for path in options.corpus:
        found.append(compare(path, int(options.words * 1e6), options.true))
        publish({"true": options.true, "corpora": found}, table, record=options.record)


def compare(path: Path, words: int, number: int) -> dict[str, Any]:
    """Return all figures of one corpus."""
    texts, others = samples(path, words)
    model = psdvec.fit(psdvec.count_pairs(texts, min_count=MIN_COUNT, quiet=True), dim=DIM, quiet=True)
    read, elsewhere = (read_documents(some, model, progress=SilentProgress()) for some in (texts, others))
    asked = Asked(model)
    begin = time.process_time()
    true = [asked.look(refit(model, read, np.random.default_rng([1, r]), workers=2)) for r in range(number)]
    cost = time.process_time() - begin
    other = asked.look(fitted(model, elsewhere))
    truth = Truth(np.mean([stays for stays, _ in true], axis=0), np.array([c for _, c in true]), other[1])
    rows: dict[str, Any] = {}
    half = len(true) // 2
    rows[f"{half} true refits"] = counted(true[:half], Truth(
        np.mean([stays for stays, _ in true[half:]], axis=0), np.array([c for _, c in true[half:]]), other[1],
    )) | {"cheaper": number / half}  # fmt: skip
    rows["4 true refits"] = counted(true[:4], Truth(
        np.mean([stays for stays, _ in true[4:]], axis=0), np.array([c for _, c in true[4:]]), other[1],
    )) | {"cheaper": number / 4}  # fmt: skip
    rows["deviations"] = by_deviations(model, asked, truth)
    for refits in REFITS:
        begin = time.process_time()
        found = psdvec.stability(model, texts, refits=refits, quiet=True)
        spent = time.process_time() - begin
        begin = time.process_time()
        judged = drawn_from(found, asked, truth)
        answer = (time.process_time() - begin) / len(asked.rows)
        rows[f"stability, {refits}"] = judged | {"cheaper": cost / spent, "answer s": answer}
    return {
        "corpus": path.stem, "documents": len(texts), "words": len(model), "tokens": int(model.counts.sum()),
        "refit s": cost / number, "true share": float(truth.stays.mean()), "rows": rows,
    }  # fmt: skip


def samples(path: Path, words: int) -> tuple[list[str], list[str]]:
    """Draw two samples of other documents."""
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = [line for line in file if line.strip()]
    order = np.random.default_rng(0).permutation(len(lines))
    found: tuple[list[str], list[str]] = ([], [])
    place = 0
    for sample in found:
        size = 0
        while size < words:
            line = lines[order[place]]
            sample.append(json.loads(line)["text"] if path.suffix == ".jsonl" else line.strip())
            size += len(sample[-1].split())
            place += 1
    return found


def fitted(model: psdvec.Model, read: Any) -> Any:
    """Return the vectors of all of these documents, each once."""

    class Each:
        def integers(self, low: int, high: int, size: int) -> Any:
            return np.arange(size)

    return refit(model, read, Each(), workers=2)  # type: ignore[arg-type]


class Asked:
    """The words that are asked for, and their nearest by the model."""

    def __init__(self, model: psdvec.Model) -> None:
        self.rows = np.unique(np.geomspace(30, len(model) - 1, ASKED).astype(int))
        self.words = [model.words[row] for row in self.rows]
        ids = model.key_to_index
        self.nearest = np.array(
            [[ids[w] for w, _ in model.most_similar(word, topn=NEAREST)] for word in self.words]
        )
        _, self.cosines = self.look(model.vectors)

    def look(self, vectors: Any) -> tuple[Any, Any]:
        """Return which of the nearest are so by other ``vectors`` too, and their cosines."""
        units = np.asarray(vectors, np.float64)
        units = units / np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-12)
        cosines = units[self.rows] @ units.T
        cosines[np.arange(len(self.rows)), self.rows] = -np.inf
        least = -np.partition(-cosines, NEAREST - 1, axis=1)[:, NEAREST - 1 : NEAREST]
        own = np.take_along_axis(cosines, self.nearest, 1)
        return own >= least, own


class Truth:
    """The true shares, the cosines of the true refits, and those of other documents."""

    def __init__(self, stays: Any, cosines: Any, other: Any) -> None:
        self.stays, self.cosines, self.other = stays, cosines, other

    def judge(self, stays: Any, low: Any, high: Any) -> dict[str, float]:
        """Compare shares and intervals with the truth."""
        middle, reach = (low + high) / 2, (high - low) / 2
        return {
            "order": float(spearmanr(stays.ravel(), self.stays.ravel())[0]),
            "error": float(np.abs(stays - self.stays).mean()),
            "share": float(stays.mean()),
            "refits": 100 * float(np.mean((self.cosines >= low) & (self.cosines <= high))),
            "other": 100 * float(np.mean(np.abs(self.other - middle) <= np.sqrt(2) * reach)),
        }


def counted(true: list[tuple[Any, Any]], truth: Truth) -> dict[str, float]:
    """Judge some true refits by the others."""
    cosines = np.array([c for _, c in true])
    mean, reach = cosines.mean(axis=0), 1.959964 * cosines.std(axis=0, ddof=1)
    return truth.judge(np.mean([stays for stays, _ in true], axis=0), mean - reach, mean + reach)


def by_deviations(model: psdvec.Model, asked: Asked, truth: Truth) -> dict[str, Any]:
    """Judge what the deviations of a model say without any document."""
    generator = np.random.default_rng(3)
    noise = [
        asked.look(
            model.vectors + model.deviations[:, None] * generator.standard_normal(model.vectors.shape)
        )[0]
        for _ in range(NOISE)
    ]
    bounds = [model.most_similar_intervals(word, topn=NEAREST) for word in asked.words]
    low, high = (np.array([[one[k] for _, one in each] for each in bounds]) for k in (1, 2))
    return truth.judge(np.mean(noise, axis=0), low, high) | {"cheaper": None}


def drawn_from(found: Stability, asked: Asked, truth: Truth) -> dict[str, float]:
    """Judge what :func:`psdvec.stability` says."""
    answers = [found.most_similar(word, topn=NEAREST) for word in asked.words]
    stays, low, high = (np.array([[one[k] for one in each] for each in answers]) for k in (2, 3, 4))
    return truth.judge(stays, low, high)


NAMES = {"enwiki-38m": "English Wikipedia", "bundestag-2013-2021": "Bundestag"}


def table(record: dict[str, Any]) -> str:
    """Write the table of the page."""
    heads = ("corpus", "by", "order", "error", "refits", "other documents", "times cheaper")
    rows = []
    for one in record["corpora"]:
        for name, row in one["rows"].items():
            cheaper = "" if row["cheaper"] is None else f"{row['cheaper']:.1f}"
            rows.append([
                NAMES.get(one["corpus"], one["corpus"]), name, f"{row['order']:.2f}", f"{row['error']:.2f}",
                f"{row['refits']:.0f}", f"{row['other']:.0f}", cheaper,
            ])  # fmt: skip
    return markdown(heads, rows, names=2)


if __name__ == "__main__":
    run_script(main)
