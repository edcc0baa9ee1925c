"""How the time of a fit grows with the pairs, and the paper's own size: counts drawn from a bigram model.

python benchmarks/bench_growth.py [--pairs 1 3 10 30 100] [--dim 300] [--paper --recipe paper --sample 2000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from psdvec.counts.matrix import Cooccurrence, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.counts.weighting import UNIT
from psdvec.resources import format_size, peak_memory
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=float, nargs="+", default=[1, 3, 10, 30, 100], help="millions")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--paper", action="store_true", help="25,000 core words of 180,000, 500 dimensions")
    parser.add_argument("--recipe", default="default")
    parser.add_argument(
        "--sample", type=int, default=2000, help="of the words by ridge, to time instead of all"
    )
    options = parser.parse_args()
    fit_timed(drawn_counts(2_000, 100_000), dim=20, rounds=2)  # compile
    if options.paper:
        counts = drawn_counts(180_000, 90_000_000)
        paper_size(counts, options)
        return
    for millions in options.pairs:
        fit_timed(drawn_counts(50_000, int(millions * 1e6)), dim=options.dim, rounds=options.rounds)


def paper_size(counts, options):
    """Fit the core, then place some of the other words, evenly over their ranks, and say what all would take."""
    core = fit_timed(counts, dim=500, rounds=None, core=25_000, max_words=25_000, recipe=options.recipe)
    others = counts.vocabulary.words[len(core) :]
    chosen = others[:: max(len(others) // options.sample, 1)]
    for ridge in (core.recipe.ridge, "auto"):
        start = time.perf_counter()
        extend(core, counts, words=chosen, ridge=ridge)
        took = (time.perf_counter() - start) / len(chosen)
        print(
            f"ridge {ridge}: {1000 * took:.1f} ms a word over {len(chosen):,} words, so {took * len(others):.0f} s for "
            f"all {len(others):,}; peak {format_size(peak_memory())}",
            flush=True,
        )


def fit_timed(counts, *, dim, rounds, core=None, max_words=None, recipe="default"):
    start = time.perf_counter()
    model = fit(counts, dim=dim, core=core, max_words=max_words, recipe=recipe, changes={"rounds": rounds})
    took = time.perf_counter() - start
    print(
        f"{len(counts):,} words, {counts.values.size / 1e6:.1f} M pairs, {len(model):,} vectors of {dim}: "
        f"{took:.1f} s, {1e6 * took / counts.values.size:.2f} µs a pair, peak {format_size(peak_memory())}",
        flush=True,
    )
    return model


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
    return Cooccurrence(vocabulary, indptr, columns.astype(np.int32), counts, {}, Tally())


if __name__ == "__main__":
    main()
