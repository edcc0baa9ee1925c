"""The paper's size on a GPU, from counts in host memory: 25,000 core words, 155,000 by ridge, and 180,000 all together.

    python -m benchmarks.bench.bench_gpu [--device cuda] [--words 180000] [--pairs 90] [--core 25000] [--dim 500]
    [--rounds 4] [--repeats 2]

Needs torch. Times include bringing the counts to the device and the vectors back, with the device
synchronised, and every run's is printed; at the end stands what the last one's products would take at the card's peak
rates (``--tflops``, ``--tbytes``).
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from psdvec.counts.matrix import UNIT, Cooccurrence, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--words", type=int, default=180_000)
    parser.add_argument("--pairs", type=float, default=90, help="millions")
    parser.add_argument("--core", type=int, default=25_000)
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--tflops", type=float, default=60, help="float32 rate of the card")
    parser.add_argument("--tbytes", type=float, default=4.8, help="memory rate of the card")
    options = parser.parse_args()
    small = drawn_counts(3_000, 200_000)
    extend(fit(small, dim=20, max_words=2_000, device=options.device), small, device=options.device)
    counts = drawn_counts(options.words, int(options.pairs * 1e6))
    print(f"{options.words:,} words, {counts.values.size / 1e6:.0f} M pairs drawn", flush=True)
    changes = {"rounds": options.rounds}
    for recipe in ("default", "paper"):
        took, model = timed(
            lambda recipe=recipe: fit(
                counts,
                dim=options.dim,
                max_words=options.core,
                recipe=recipe,
                changes=changes,
                device=options.device,
            ),
            options.repeats,
        )
        print(
            f"core {options.core:,} x {options.dim}, {model.recipe.spectrum}, {options.rounds} rounds: {took}",
            flush=True,
        )
        took, extension = timed(
            lambda model=model: extend(model, counts, device=options.device), options.repeats
        )
        print(f"  {len(extension.learned):,} words by ridge {model.recipe.ridge}: {took}", flush=True)
    took, model = timed(
        lambda: fit(counts, dim=options.dim, changes=changes, device=options.device), options.repeats
    )
    print(f"all {len(model):,} words x {options.dim}, {options.rounds} rounds: {took}", flush=True)
    pairs = 2 * counts.values.size
    products = 2 * pairs * options.dim * 2 * options.rounds
    floor = max(
        products / options.tflops / 1e12, pairs * options.dim * 8 * options.rounds / options.tbytes / 1e12
    )
    print(f"  floor of its rounds' products: {floor:.2f} s")


def timed(work, repeats):
    """Return the seconds of every run, in words, and the result of the last."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return ", ".join(f"{second:.1f} s" for second in seconds), result


def drawn_counts(words, pairs, *, topics=50, seed=0):
    """Draw about this many different pairs of Zipf-distributed words, half of them within a topic, and count them."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1 / np.arange(1, words + 1) ** 0.9)
    keys = np.empty(0, np.int64)
    while keys.size < pairs:
        size = 3 * (pairs - keys.size) // 2 + 1000
        drawn = np.searchsorted(cumulative, rng.random((2, size)) * cumulative[-1])
        near = np.minimum(drawn[1] - drawn[1] % topics + drawn[0] % topics, words - 1)
        drawn[1] = np.where(rng.random(size) < 0.5, near, drawn[1])
        keys = np.sort(np.concatenate([keys, drawn[0] * words + drawn[1]]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
    keys = keys[rng.random(keys.size) < pairs / keys.size]
    rows, columns = np.divmod(keys, words)
    counts = UNIT * (1 + rng.poisson(2000 / (20 + rows) + 2000 / (20 + columns)))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=words))])
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(words)), np.arange(words, 0, -1) * 100)
    return Cooccurrence(vocabulary, indptr, columns.astype(np.int32), counts, {"unit": UNIT}, Tally())


if __name__ == "__main__":
    main()
