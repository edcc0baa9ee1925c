"""How often intervals of similarity hold: vectors of one half of the articles against those of the other half.

    python -m benchmarks.bench.bench_calibration CORPUS... [--million 4] [--held-out 500]

CORPUS is raw text. Where blank lines separate articles, an article goes to one half or the other, elsewhere 500
consecutive lines do. Both halves are drawn evenly from the whole text, so many million words together. Each half is
fitted, with all its words and without the held-out ones; these are then placed from the same half.

With V₁ and V₂ the variances of an angle by the two halves, 95 of 100 angles of the second half should lie within 1.96
√(V₁ + V₂) of the first half's. *random*: other words at random. *nearest*: the ten nearest by the first half, by the
*deviations alone*, *as a pair* that somebody asks for, and *corrected* for having been chosen
(:func:`psdvec.vectors.neighbours.neighbour_intervals`).

*Unseen*, the held-out words have the vectors p of their spelling alone by the first half, and are compared with those v
that its text gives them: |v - p|² over the square of the mean length, what the deviations of p claim it to be, and how
often the bounds of p hold the similarity of v. *Refreshed* is a fitted word's deviation after it was placed from the
same counts, over the one before.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_extend import without
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import write_record
from benchmarks.lib.tables import RESULTS

from psdvec.counts.count import count_pairs
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import TAIL, angle_variances, lengths_of, neighbour_intervals

FROM = 1  # the first article; 0.027 of equation (12a) was chosen on every step-th from 0 on
LINES = 500  # of a text without blank lines that go to one half together
ASKED = 500  # fitted words whose neighbours are compared
NEAREST = 10  # of each
FIRST = 500  # more frequent words are not held out
Z = 1.959964
DEVIATIONS, CORRECTED = "nearest, by deviations alone", "nearest, corrected"
COLUMNS = ("random", DEVIATIONS, "nearest, as a pair", CORRECTED)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="+", help="raw text")
    parser.add_argument("--million", type=float, default=4, help="words of both halves together")
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--first-rank", type=int, default=FIRST)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--record", type=Path, default=RESULTS / "intervals.json")
    options = parser.parse_args()
    found = [{"corpus": Path(corpus).stem, **calibrate(Path(corpus), options)} for corpus in options.corpus]
    figures = {"million": options.million, "corpora": found}
    write_record(options.record, figures)
    print(table(figures), unseen_table(figures), refreshed_table(figures), sep="\n\n")


def calibrate(corpus: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures of one corpus."""
    with tempfile.TemporaryDirectory(prefix="bench-calibration-") as folder:
        halves = write_halves(corpus, Path(folder), words=int(options.million * 1e6))
        counts = [count_pairs(read_corpus(half), min_count=5) for half in halves]
    rng = np.random.default_rng(0)
    both = [word for word in counts[0].vocabulary.words if word in counts[1].vocabulary.ids]
    out = rng.choice(both[options.first_rank :], options.held_out, replace=False).tolist()
    asked = rng.choice(both, min(ASKED, len(both)), replace=False).tolist()
    fitted = [fit(one, dim=options.dim) for one in counts]
    cores = [fit(without(one, set(out)), dim=options.dim) for one in counts]
    placed = [extend(core, one, words=out) for core, one in zip(cores, counts, strict=True)]
    refreshed = extend(fitted[0], counts[0], refresh=asked)
    rows = [fitted[0].key_to_index[word] for word in asked]
    ratios = refreshed.deviations[rows] / fitted[0].deviations[rows]
    return {
        "words": [len(one.vocabulary.words) for one in counts],
        "fitted": coverage(fitted[0], fitted[1], asked),
        "placed": coverage(placed[0], placed[1], out),
        "unseen": unseen(cores[0], placed[0], out) if cores[0].subwords is not None else None,
        "refreshed": np.quantile(ratios, [0.05, 0.5, 0.95]).tolist(),
    }


def write_halves(corpus: Path, folder: Path, *, words: int) -> list[Path]:
    """Write two texts of articles, spread evenly over the corpus, with so many words together."""
    articles = list(articles_of(corpus))
    total = sum(len(line.split()) for article in articles for line in article)
    step = max(round(2 * total / words), 2)
    halves = [folder / "first", folder / "second"]
    for half, begin in zip(halves, (FROM, FROM + step // 2), strict=True):
        half.write_text("".join(line for article in articles[begin::step] for line in article), "utf-8")
    return halves


def articles_of(corpus: Path) -> Iterator[list[str]]:
    """Yield the lines of each article; of each 500 lines where no blank lines separate articles."""
    with corpus.open(encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    ends = [number for number, line in enumerate(lines) if not line.strip()]
    ends = ends or list(range(LINES, len(lines), LINES))
    for begin, end in zip([0, *ends], [*ends, len(lines)], strict=True):
        yield lines[begin:end]


def coverage(first: Embeddings, second: Embeddings, asked: Sequence[str]) -> dict[str, float]:
    """Return how many of 100 angles of ``asked`` words differ no more between two halves than they may."""
    common = [word for word in first.words if word in second]
    one, other = (Compared(e, common) for e in (first, second))
    rng = np.random.default_rng(1)
    held: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for word in asked:
        here, there = one.cosines(word), other.cosines(word)
        order = np.argsort(-here, kind="stable")
        order = order[[common[i] != word for i in order.tolist()]]
        for name in COLUMNS:
            places = rng.choice(order, NEAREST) if name == "random" else order[:NEAREST]
            cosines = np.zeros(places.size) if name == DEVIATIONS else here[places]
            variance = sum(angle_variances(cosines, e.spread(word), e.spreads[places]) for e in (one, other))
            angles = np.arccos(np.clip(here[places], -1, 1))
            if name == CORRECTED:
                angles = middles(here[order[: TAIL * NEAREST]], one.spread(word), one.spreads[places])
            off = np.abs(np.arccos(np.clip(there[places], -1, 1)) - angles)
            held[name].append(off <= Z * np.sqrt(variance))
    return {name: 100 * float(np.mean(np.concatenate(found))) for name, found in held.items()}


class Compared:
    """Vectors of some words, of length 1, and their deviations over their lengths."""

    def __init__(self, e: Embeddings, words: Sequence[str]) -> None:
        rows = e[list(words)]
        lengths = lengths_of(rows)
        self.units, self.places = rows / lengths[:, None], {word: i for i, word in enumerate(words)}
        deviations = np.asarray(e.deviations)[[e.key_to_index[word] for word in words]]
        self.spreads = (deviations / lengths).astype(np.float64)

    def cosines(self, word: str) -> Any:
        """Return the cosines of ``word`` with all words."""
        return (self.units @ self.units[self.places[word]]).astype(np.float64)

    def spread(self, word: str) -> float:
        """Return s / |v| of ``word``."""
        return float(self.spreads[self.places[word]])


def middles(cosines: Any, spread: float, spreads: Any) -> Any:
    """Return the angles in the middle of the intervals of neighbours."""
    bounds = neighbour_intervals(cosines, spread, spreads, confidence=0.95)
    reach = Z * np.sqrt(angle_variances(cosines[: len(spreads)], spread, spreads))
    return np.arccos([each.low for each in bounds]) - reach


def unseen(core: Any, placed: Any, words: Sequence[str]) -> dict[str, float]:
    """Compare the vectors of words' spelling with those that the text gives them."""
    spelled = core.with_spelled(words)
    words = [word for word in words if word in spelled and word in placed]
    p, v = spelled[words], placed[words]
    length = core.subwords.length
    random, nearest = [], []
    rng = np.random.default_rng(1)
    for word in words:
        for other in rng.choice(core.words, NEAREST, replace=False).tolist():
            _, low, high = spelled.similarity(word, other, interval=True)
            random.append(low <= placed.similarity(word, other) <= high)
        bounds = core.most_similar_intervals(word, topn=NEAREST, unseen="spelling")
        nearest += [low <= placed.similarity(word, other) <= high for other, (_, low, high) in bounds]
    return {
        "words": len(words),
        "distance": float(((v - p) ** 2).sum(axis=1).mean() / length**2),
        "claimed": float(core.dim * (core.subwords.deviations_of(p) ** 2).mean() / length**2),
        "random": 100 * float(np.mean(random)),
        "nearest, corrected": 100 * float(np.mean(nearest)),
    }


NAMES = {"enwiki-38m": "English Wikipedia", "simplewiki": "Simple Wikipedia"}


def table(record: dict[str, Any]) -> str:
    """Write how often intervals of fitted and placed words hold."""
    rows = [
        [NAMES.get(one["corpus"], one["corpus"]), kind, *(f"{one[kind][name]:.0f}" for name in COLUMNS)]
        for one in record["corpora"]
        for kind in ("fitted", "placed")
    ]
    return markdown(["corpus", "words", *COLUMNS], rows, names=2)


def unseen_table(record: dict[str, Any]) -> str:
    """Write how far vectors of spelling are from those of contexts, and how often their intervals hold."""
    columns = ("distance", "claimed", "random", "nearest, corrected")
    rows = []
    for one in record["corpora"]:
        if one["unseen"] is not None:
            cells = [f"{one['unseen'][name]:.{2 if i < 2 else 0}f}" for i, name in enumerate(columns)]
            rows.append([NAMES.get(one["corpus"], one["corpus"]), *cells])
    return markdown(["corpus", *columns], rows)


def refreshed_table(record: dict[str, Any]) -> str:
    """Write how the deviations of fitted words change when they are placed from the same counts."""
    rows = [
        [NAMES.get(one["corpus"], one["corpus"]), *(f"{ratio:.2f}" for ratio in one["refreshed"])]
        for one in record["corpora"]
    ]
    return markdown(("corpus", "5 of 100 below", "median", "5 of 100 above"), rows)


if __name__ == "__main__":
    run_script(main)
