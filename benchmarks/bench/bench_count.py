"""Counting: side by side with GloVe's own programs, in bounded memory, as the text grows, and starting.

    GLOVE_BUILD=path/to/GloVe/build python -m benchmarks.bench.bench_count CORPUS [--only PART ...] [--repeats 2]
    [--record FILE]

CORPUS is raw text, plain or compressed; it is cut into words beforehand, so that all programs read the same ones.
Without GLOVE_BUILD, GloVe's rows are left out. Each command runs ``--repeats`` times in turn with its rivals, and the
quickest run is shown; the record holds all.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, write_words
from benchmarks.lib.measure import COST, PSDVEC, Cost, cells, markdown, quickest, run, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.counts.matrix import UNIT, load_counts

WORDS = 50_000
WINDOWS = ((3, "flat"), (10, "harmonic"))
PARTS = ("glove", "memory", "size", "start")


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run; default: all")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    glove = os.environ.get("GLOVE_BUILD")
    with tempfile.TemporaryDirectory(prefix="bench-count-") as temporary:
        folder = Path(temporary)
        ours(tiny(folder), folder / "counts", 3, "flat")  # which may have to compile
        text = write_words(options.corpus, folder / "text", tokenizer=options.tokenizer)
        figures: dict[str, Any] = {"vocabulary": WORDS}
        if "glove" in options.only:
            figures["glove"] = [
                against_glove(text, folder, *how, Path(glove) if glove else None, options.repeats) for how in WINDOWS
            ]  # fmt: skip
        if "memory" in options.only:
            figures["memory"] = by_memory(text, folder, options.repeats)
        if "size" in options.only:
            figures["size"] = by_size(text, folder, options.repeats)
        if "start" in options.only:
            figures["start"] = costs_of(10, lambda: ours(tiny(folder), folder / "counts", 3, "flat"))
    tables = {"glove": table, "memory": memory_table, "size": size_table, "start": start_table}
    publish(figures, *(tables[part] for part in PARTS if part in figures), record=options.record)


def tiny(folder: Path) -> Path:
    (folder / "tiny").write_text("a b c d\n" * 5)
    return folder / "tiny"


def costs_of(times: int, work: Any) -> list[dict[str, float]]:
    return [asdict(work()) for _ in range(times)]


def ours(text: Path, output: Path, window: int, weighting: str, *options: str) -> Cost:
    size = ["--max-words", str(WORDS), "--min-count", "1", "--window", str(window), "--weighting", weighting]
    how = ["--tokenizer", "whitespace", "--gaps", "close", "--overwrite", "--quiet"]
    return run([*PSDVEC, "count", text, "-o", output, *size, *how, *options])


def theirs(glove: Path, text: Path, vocabulary: Path, pairs: Path, window: int, weighting: str) -> Cost:
    words = [glove / "vocab_count", "-min-count", "1", "-max-vocab", str(WORDS), "-verbose", "0"]
    harmonic = str(int(weighting == "harmonic"))
    flags = ["-symmetric", "0", "-window-size", str(window), "-distance-weighting", harmonic]
    cooccur = [glove / "cooccur", "-vocab-file", vocabulary, "-memory", "4.0", "-verbose", "0", *flags]
    overflow = ["-overflow-file", vocabulary.with_name("overflow")]
    return run(words, stdin=text, stdout=vocabulary) + run([*cooccur, *overflow], stdin=text, stdout=pairs)


def against_glove(
    text: Path, folder: Path, window: int, weighting: str, glove: Path | None, repeats: int
) -> dict[str, Any]:
    """Return what either program took in each run, and how far their counts differ."""
    vocabulary, pairs, output = folder / "vocabulary", folder / "pairs", folder / "counts"
    found: dict[str, Any] = {"window": window, "weighting": weighting, "psdvec": [], "glove": []}
    for _ in range(repeats):
        found["psdvec"] += costs_of(1, lambda: ours(text, output, window, weighting, "--memory", "4G"))
        if glove:
            found["glove"] += costs_of(1, lambda: theirs(glove, text, vocabulary, pairs, window, weighting))
    found["tokens"] = load_counts(output).tally.tokens
    if glove:
        found |= compare_cells(text, folder, vocabulary, pairs, window, weighting)
    return found


def compare_cells(
    text: Path, folder: Path, vocabulary: Path, pairs: Path, window: int, weighting: str
) -> dict[str, Any]:
    """Count over GloVe's vocabulary, in case it broke ties otherwise, and compare every cell."""
    words = [line.split(" ")[0] for line in vocabulary.read_text().splitlines()]
    (folder / "list").write_text("\n".join(words))
    ours(text, folder / "same", window, weighting, "--vocab", str(folder / "list"))
    mine = load_counts(folder / "same")
    record = np.dtype([("context", "<i4"), ("focus", "<i4"), ("count", "<f8")])
    theirs = np.fromfile(pairs, record)
    ids = np.array([mine.vocabulary.ids[word] for word in words], np.int64)
    keys = ids[theirs["context"] - 1] * len(words) + ids[theirs["focus"] - 1]
    order = np.argsort(keys)
    rows = np.repeat(np.arange(len(words)), np.diff(mine.indptr))
    same = np.array_equal(keys[order], rows * len(words) + mine.indices)
    difference = np.abs(theirs["count"][order] - mine.values / UNIT).max() if same else np.inf
    return {"cells": len(theirs), "same_cells": same, "largest_difference": float(difference)}


def by_memory(text: Path, folder: Path, repeats: int) -> list[dict[str, Any]]:
    found, outputs = [], []
    for memory in ("4G", "512M"):
        output = folder / f"counts-{memory}"
        costs = costs_of(repeats, lambda o=output, m=memory: ours(text, o, 10, "harmonic", "--memory", m))
        outputs.append({path.name: path.read_bytes() for path in output.iterdir()})
        found.append({"memory": memory, "psdvec": costs, "same_bytes": outputs[0] == outputs[-1]})
        shutil.rmtree(output)
    return found


def by_size(text: Path, folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Count a quarter of the lines, all of them, and all four times over, shuffled."""
    lines = text.read_bytes().splitlines(keepends=True)
    rng = random.Random(0)
    found = []
    for share in (0.25, 1, 4):
        path = folder / "grown"
        with path.open("wb") as file:
            for _ in range(max(1, int(share))):
                rng.shuffle(lines)
                file.writelines(lines[: int(len(lines) * min(share, 1))])
        counts = folder / "counts"
        costs = costs_of(repeats, lambda p=path, c=counts: ours(p, c, 10, "harmonic", "--memory", "2G"))
        found.append({"tokens": load_counts(counts).tally.tokens, "psdvec": costs})
    return found


def table(record: dict[str, Any]) -> str:
    """Write the quickest run of either program at each window, and GloVe's processor seconds over ours."""
    rows = []
    for found in record["glove"]:
        mine = quickest(found["psdvec"])
        window = f"window {found['window']}, {found['weighting']}"
        rows.append([f"`psdvec count`, {window}", *cells(mine), ""])
        if found["glove"]:
            other = quickest(found["glove"])
            ratio = f"{other['processor'] / mine['processor']:.1f}"
            rows.append([f"GloVe's `vocab_count` and `cooccur`, {window}", *cells(other), ratio])
    return markdown(
        [f"{record['glove'][0]['tokens'] / 1e6:.1f} million words", *COST, "processor, ratio"], rows
    )


def memory_table(record: dict[str, Any]) -> str:
    """Write what counting took within two limits of memory."""
    rows = [
        [f"`--memory {found['memory']}`", *cells(quickest(found["psdvec"]))] for found in record["memory"]
    ]
    return markdown(["window 10, harmonic", *COST], rows)


def size_table(record: dict[str, Any]) -> str:
    """Write what counting took as the text grows."""
    rows = [
        [f"{found['tokens'] / 1e6:.1f}", *cells(cost), f"{found['tokens'] / cost['processor'] / 1e6:.1f}"]
        for found in record["size"]
        for cost in [quickest(found["psdvec"])]
    ]
    return markdown(["million words", *COST, "million words a processor second"], rows)


def start_table(record: dict[str, Any]) -> str:
    """Write what the command takes where there is nothing to count: the quickest and the slowest of ten runs."""
    runs = sorted(record["start"], key=lambda cost: cost["wall"])
    return markdown(["five lines", *COST], [["quickest", *cells(runs[0])], ["slowest", *cells(runs[-1])]])


if __name__ == "__main__":
    run_script(main)
