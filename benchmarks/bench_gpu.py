"""The paper's size on a GPU, from counts in host memory: 25,000 core words, 155,000 by ridge, and 180,000 all together.

python benchmarks/bench_gpu.py [--device cuda] [--words 180000] [--pairs 90] [--core 25000] [--dim 500] [--rounds 4]

Needs torch and NumPy only. Times include bringing the counts to the device and the vectors back, with the device
synchronised; beside each stands what its operations would take at the card's peak rates (``--tflops``, ``--tbytes``).
"""

from __future__ import annotations

import argparse
import time

from bench_growth import drawn_counts
from psdvec import noncore
from psdvec.methods import psd
from psdvec.recipe import make_recipe


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--words", type=int, default=180_000)
    parser.add_argument("--pairs", type=float, default=90, help="millions")
    parser.add_argument("--core", type=int, default=25_000)
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--tflops", type=float, default=60, help="float32 rate of the card")
    parser.add_argument("--tbytes", type=float, default=4.8, help="memory rate of the card")
    options = parser.parse_args()
    small = drawn_counts(3_000, 200_000)
    noncore.extend(
        psd.fit(small, dim=20, max_words=2_000, device=options.device), small, device=options.device
    )
    counts = drawn_counts(options.words, int(options.pairs * 1e6))
    print(f"{options.words:,} words, {counts.values.size / 1e6:.0f} M pairs drawn", flush=True)
    for recipe in (
        make_recipe("default", rounds=options.rounds),
        make_recipe("paper", rounds=options.rounds),
    ):
        took, model = timed(
            lambda recipe=recipe: psd.fit(
                counts, dim=options.dim, max_words=options.core, recipe=recipe, device=options.device
            )
        )
        print(
            f"core {options.core:,} x {options.dim}, {recipe.spectrum}, {recipe.rounds} rounds: {took:.1f} s",
            flush=True,
        )
        took, extension = timed(lambda model=model: noncore.extend(model, counts, device=options.device))
        print(f"  {len(extension.learned):,} words by ridge {model.recipe.ridge}: {took:.1f} s", flush=True)
    took, model = timed(
        lambda: psd.fit(
            counts, dim=options.dim, recipe=make_recipe("default", rounds=options.rounds), device=options.device,

        )
    )  # fmt: skip
    print(f"all {len(model):,} words x {options.dim}, {options.rounds} rounds: {took:.1f} s", flush=True)
    pairs = 2 * counts.values.size
    products = 2 * pairs * options.dim * 2 * options.rounds
    floor = max(
        products / options.tflops / 1e12, pairs * options.dim * 8 * options.rounds / options.tbytes / 1e12
    )
    print(f"  floor of its rounds' products: {floor:.2f} s")


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
