"""How the time and the memory of a fit grow with the pairs: real text, at several sizes of the vocabulary.

    python -m benchmarks.bench.bench_growth CORPUS [CORPUS ...] --work FOLDER [--words 10000 20000 50000 200000]
    [--dim 300] [--memory 4G]

Each CORPUS is raw text, plain or compressed; they are counted together, by ``--tokenizer paper`` and a window of 20,
and their counts are kept below FOLDER. Every fit is a process of its own. The last line is a straight line through the
processor seconds, by least squares: so much for a thousand words, and so much for a million pairs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from benchmarks.lib.corpora import count_together
from benchmarks.lib.measure import PSDVEC, run, run_script

from psdvec.counts.matrix import map_counts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", nargs="+", help="raw text, plain or compressed")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts and models")
    parser.add_argument("--words", type=int, nargs="+", default=[10_000, 20_000, 50_000, 200_000])
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--memory", help="of each fit, such as 4G; default: what is free")
    options = parser.parse_args()
    limit = [] if options.memory is None else ["--memory", options.memory]
    print("| words | million pairs | seconds | processor seconds | peak memory |\n|---|---|---|---|---|")
    sizes, seconds = [], []
    for words in options.words:
        counts = count_together(options.corpus, options.work, words=words)
        found = map_counts(counts)
        pairs = found.indices.size / 1e6
        model = options.work / f"model-{words}"
        command = [*PSDVEC, "fit", counts, "-o", model, "--dim", str(options.dim), "--overwrite", "--quiet"]
        cost = run([*command, *limit])
        row = (f"{len(found):,}", f"{pairs:.1f}", f"{cost.wall:.1f}", f"{cost.processor:.1f}")
        print(f"| {' | '.join(row)} | {cost.memory / 1e9:.2f} GB |", flush=True)
        sizes.append((1.0, len(found) / 1000, pairs))
        seconds.append(cost.processor)
    if len(sizes) > 2:
        start, by_words, by_pairs = np.linalg.lstsq(np.array(sizes), np.array(seconds), rcond=None)[0]
        print(
            f"\nprocessor seconds: {start:.1f}, {by_words:.2f} for a thousand words, {by_pairs:.2f} for a million pairs"
        )


if __name__ == "__main__":
    run_script(main)
