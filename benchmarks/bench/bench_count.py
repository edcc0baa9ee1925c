"""Counting: starting, side by side with GloVe's own programs, in bounded memory, and as the corpus grows.

    GLOVE_BUILD=path/to/GloVe/build python -m benchmarks.bench.bench_count CORPUS [--only PART ...]

CORPUS is raw text, plain or compressed; it is cut into words beforehand, so that all programs read the same ones.
GloVe's programs count it once and four times over; without GLOVE_BUILD their rows are left out. Each command runs
REPEATS times in turn with its rivals, and the quickest run counts.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, write_words
from benchmarks.lib.measure import PSDVEC, Cost, best, run, run_script, table

from psdvec.counts.matrix import UNIT, load_counts

REPEATS = int(os.environ.get("REPEATS", "3"))
WORDS = 50_000
PARTS = ("once", "four", "memory", "size")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run; default: all")
    options = parser.parse_args()
    glove = os.environ.get("GLOVE_BUILD")
    with tempfile.TemporaryDirectory(prefix="bench-count-") as temporary:
        folder = Path(temporary)
        text = write_words(options.corpus, folder / "text", tokenizer=options.tokenizer)
        starting(folder)
        for copies, part in ((1, "once"), (4, "four")):
            if part in options.only:
                many = repeat(text, folder / "many", copies)
                for window, weighting in ((3, "flat"), (10, "harmonic")):
                    against_glove(many, folder, window, weighting, Path(glove) if glove else None)
        if "memory" in options.only:
            by_memory(text, folder)
        if "size" in options.only:
            by_size(text, folder)


def starting(folder: Path) -> None:
    """Count five lines ten times; where the kernels are not compiled yet, the first run does that."""
    (folder / "tiny").write_text("a b c d\n" * 5)
    costs = [count(folder / "tiny", folder / "counts", "--memory", "4G") for _ in range(10)]
    print("\ncounting five lines, run after run")
    print(table([("first", costs[0]), ("tenth", costs[-1]), ("best", best(costs))], against="tenth"))


def repeat(text: Path, path: Path, copies: int) -> Path:
    """Write the text ``copies`` times over, and return the path."""
    with path.open("wb") as file:
        for _ in range(copies):
            with text.open("rb") as source:
                shutil.copyfileobj(source, file)
    return path


def count(text: Path, output: Path, *options: str) -> Cost:
    command = [
        *PSDVEC,
        "count",
        text,
        "-o",
        output,
        "--tokenizer",
        "whitespace",
        "--overwrite",
        "--quiet",
        *options,
    ]
    return run(command)


def ours(text: Path, output: Path, window: int, weighting: str, *options: str) -> Cost:
    size = ("--max-words", str(WORDS), "--min-count", "1", "--window", str(window), "--weighting", weighting)
    return count(text, output, *size, "--gaps", "close", *options)


def theirs(glove: Path, text: Path, vocabulary: Path, pairs: Path, window: int, weighting: str) -> Cost:
    words = [glove / "vocab_count", "-min-count", "1", "-max-vocab", str(WORDS), "-verbose", "0"]
    flags = [
        "-symmetric",
        "0",
        "-window-size",
        str(window),
        "-distance-weighting",
        str(int(weighting == "harmonic")),
    ]
    cooccur = [glove / "cooccur", "-vocab-file", vocabulary, "-memory", "4.0", "-verbose", "0", *flags]
    overflow = ["-overflow-file", vocabulary.with_name("overflow")]
    return run(words, stdin=text, stdout=vocabulary) + run([*cooccur, *overflow], stdin=text, stdout=pairs)


def against_glove(text: Path, folder: Path, window: int, weighting: str, glove: Path | None) -> None:
    vocabulary, pairs, output = folder / "vocabulary", folder / "pairs", folder / "counts"
    costs: dict[str, list[Cost]] = {"psdvec count": [], "GloVe vocab_count + cooccur": []}
    for _ in range(REPEATS):
        costs["psdvec count"].append(ours(text, output, window, weighting, "--memory", "4G"))
        if glove:
            costs["GloVe vocab_count + cooccur"].append(
                theirs(glove, text, vocabulary, pairs, window, weighting)
            )
    rows = [(name, best(found)) for name, found in costs.items() if found]
    tokens = load_counts(output).tally.tokens
    print(f"\n{tokens:,} words of text, window {window}, {weighting}, vocabulary {WORDS:,}; "
          "ratio: how much slower than psdvec is 1/ratio")  # fmt: skip
    print(table(rows, against="psdvec count"))
    if glove:
        compare_cells(text, folder, vocabulary, pairs, window, weighting)


def compare_cells(
    text: Path, folder: Path, vocabulary: Path, pairs: Path, window: int, weighting: str
) -> None:
    """Count over GloVe's vocabulary, in case it broke ties otherwise, and compare every cell."""
    words = [line.split(" ")[0] for line in vocabulary.read_text().splitlines()]
    (folder / "list").write_text("\n".join(words))
    ours(text, folder / "same", window, weighting, "--vocab", str(folder / "list"))
    mine = load_counts(folder / "same")
    record = np.dtype([("context", "<i4"), ("focus", "<i4"), ("count", "<f8")])
    cells = np.fromfile(pairs, record)
    ids = np.array([mine.vocabulary.ids[word] for word in words], np.int64)
    keys = ids[cells["context"] - 1] * len(words) + ids[cells["focus"] - 1]
    order = np.argsort(keys)
    rows = np.repeat(np.arange(len(words)), np.diff(mine.indptr))
    my_keys = rows * len(words) + mine.indices
    same_cells = np.array_equal(keys[order], my_keys)
    difference = np.abs(cells["count"][order] - mine.values / UNIT).max() if same_cells else np.inf
    print(f"{len(cells):,} cells of GloVe, {len(my_keys):,} of psdvec; same cells: {same_cells}; "
          f"largest difference {difference:.2g}")  # fmt: skip


def by_memory(text: Path, folder: Path) -> None:
    rows, outputs = [], []
    for memory in ("4G", "512M"):
        output = folder / f"counts-{memory}"
        found = [ours(text, output, 10, "harmonic", "--memory", memory) for _ in range(REPEATS)]
        rows.append((f"psdvec count --memory {memory}", best(found)))
        outputs.append({path.name: path.read_bytes() for path in output.iterdir()})
        shutil.rmtree(output)
    print("\nwindow 10, harmonic, by memory; same bytes:", outputs[0] == outputs[1])
    print(table(rows, against=rows[0][0]))


def by_size(text: Path, folder: Path) -> None:
    """A quarter of the lines, all of them, and all four times over, shuffled."""
    lines = text.read_bytes().splitlines(keepends=True)
    rng = random.Random(0)
    rng.shuffle(lines)
    print("\nwindow 10, harmonic, --memory 2G, as the corpus grows")
    for share in (0.25, 1, 4):
        path = folder / "grown"
        with path.open("wb") as file:
            for _ in range(max(1, int(share))):
                rng.shuffle(lines)
                file.writelines(lines[: int(len(lines) * min(share, 1))])
        cost = best([ours(path, folder / "counts", 10, "harmonic", "--memory", "2G") for _ in range(REPEATS)])
        tokens = load_counts(folder / "counts").tally.tokens
        print(f"{tokens:13,} words  {cost.wall:7.2f} s  {tokens / cost.wall / 1e6:6.2f} million words/s  "
              f"{cost.memory / 1e6:6.0f} MB")  # fmt: skip


if __name__ == "__main__":
    run_script(main)
