"""Whether text that is generated grows as real text does: different words, pairs, and how frequencies fall.

    python -m benchmarks.bench.bench_generated CORPUS... --work FOLDER [--parts 32 8 1] [--times 4] [--counts FOLDER]
    [--memory 6G] [--record FILE]

Of the texts, every 32nd, every 8th and every line is counted, with a flat window of 3 and all words; then texts of the
same sizes that :mod:`benchmarks.lib.generate` makes of every 32nd line alone, which is how well it foretells text that
it has not read; and such that it makes of all lines, up to ``--times`` their size. ``--counts`` are those of a larger
text made of all lines. A slope is the power of its rank with which a word's frequency falls, from rank 100 to 1,000,
and so on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.generate import write_text
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import Records, make_parser, publish

from psdvec.counts.matrix import Cooccurrence, map_counts

FREQUENT = 20_000
RANKS = (100, 1_000, 10_000, 100_000)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--work", type=Path, required=True, help="folder for texts and counts")
    parser.add_argument("--parts", type=int, nargs="+", default=[32, 8, 1])
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--counts", type=Path, help="of a larger text")
    parser.add_argument("--memory", default="6G", help="of each count")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    done = Records(options.work / "texts.jsonl")

    def measured(text: str, sources: Sequence[str | Path], **of: int) -> dict[str, Any]:
        key = {"text": text, "sources": [Path(source).name for source in sources], **of}
        found = done.find(key)
        if found is None:
            path, counts = options.work / "text.txt", options.work / "counts"
            if "part" in of:
                path = sample_of(options.work, of["part"])
                write_sample(sources, path, every=of["part"])
            else:
                write_text(sources, path, words=of["words"])
            counting = ["--tokenizer", "paper", "--window", "3", "--weighting", "flat", "--min-count", "1"]
            run([*PSDVEC, "count", path, "-o", counts, *counting, "--memory", options.memory, "--overwrite"])
            found = {"text": text, **statistics(map_counts(counts))}
            done.add(key, found)
        return found

    rows = [measured("real", options.corpus, part=part) for part in options.parts]
    sizes = [row["tokens"] for row in rows]
    first = sample_of(options.work, options.parts[0])
    write_sample(options.corpus, first, every=options.parts[0])
    rows += [measured("from the first", [first], words=size) for size in sizes]
    rows += [
        measured("from all", options.corpus, words=size) for size in (sizes[-1], options.times * sizes[-1])
    ]
    if options.counts:
        rows.append({"text": "from all", **statistics(map_counts(options.counts))})
    publish({"texts": rows}, table, record=options.record)


def sample_of(work: Path, every: int) -> Path:
    """Return where a sample of the lines is kept."""
    return work / f"every-{every}.txt"


def write_sample(sources: Sequence[str | Path], path: Path, *, every: int) -> None:
    """Write every so manieth line of texts."""
    with path.open("wb") as sample:
        for source in sources:
            with Path(source).open("rb") as lines:
                sample.writelines(line for number, line in enumerate(lines) if number % every == 0)


def statistics(counts: Cooccurrence) -> dict[str, Any]:
    """Return sizes of counts, and the slopes of their frequencies between each two of :data:`RANKS`."""
    seen, indptr = counts.vocabulary.counts, counts.indptr
    last = min(FREQUENT, seen.size)
    slopes = [
        math.log(seen[b - 1] / seen[a - 1]) / math.log(b / a) if b <= seen.size else None
        for a, b in pairwise(RANKS)
    ]
    return {
        "tokens": counts.tally.tokens, "words": int(seen.size), "least": int(seen[-1]),
        "once": float(np.mean(seen == 1)), "pairs": int(counts.indices.size),
        "frequent_pairs": int(np.count_nonzero(counts.indices[: indptr[last]] < last)), "slopes": slopes,
    }  # fmt: skip


def table(record: dict[str, Any]) -> str:
    """Write a row for each text."""
    rows = []
    for text in record["texts"]:
        is_whole = text["least"] == 1
        rows.append([
            text["text"], f"{text['tokens'] / 1e6:,.1f}", f"{text['words']:,}" if is_whole else "",
            f"{100 * text['once']:.0f}" if is_whole else "", f"{text['pairs'] / 1e6:.1f}" if is_whole else "",
            f"{text['frequent_pairs'] / 1e6:.1f}", *("" if one is None else f"{one:.2f}" for one in text["slopes"]),
        ])  # fmt: skip
    slopes = [f"slope to rank {rank:,}" for rank in RANKS[1:]]
    frequent = f"of the {FREQUENT:,} most frequent words"
    titles = ["text", "million words", "different", "% of them once", "million pairs", frequent, *slopes]
    return markdown(titles, rows)


if __name__ == "__main__":
    run_script(main)
