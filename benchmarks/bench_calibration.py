"""How far to trust a new word's deviation: place words from each half of a corpus, and compare the two vectors.

python benchmarks/bench_calibration.py CORPUS [--words 50000] [--held-out 500] [--dim 300]

The core is fitted on the whole corpus without the held-out words. If deviations are right, the difference of the two
vectors of a word, divided by √(s₁² + s₂²), has a root mean square of 1 a coordinate, and 95 of 100 intervals of
similarity with core words from one half hold the similarity from the other (with both halves' spread).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from bench_extend import without
from psdvec import learning, noncore
from psdvec.corpus import read_corpus
from psdvec.counts import count_pairs
from psdvec.embeddings import Embeddings

BANDS = (0, 200, 500, 1000, 3000, 10**9)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--first-rank", type=int, default=2000)
    parser.add_argument("--dim", type=int, default=300)
    options = parser.parse_args()
    whole = count_pairs(read_corpus([options.corpus], tokenizer="whitespace"), max_words=options.words)
    rng = np.random.default_rng(0)
    out = rng.choice(whole.vocabulary.words[options.first_rank :], options.held_out, replace=False).tolist()
    model = learning.fit(without(whole, set(out)), dim=options.dim)
    halves = [place(model, options.corpus, whole.vocabulary, out, parity) for parity in (0, 1)]
    words = [word for word in out if all(word in half.ids for half in halves)]
    frequency = np.array([whole.vocabulary.counts[whole.vocabulary.ids[word]] for word in words])
    rows = [[half.ids[word] for word in words] for half in halves]
    first, second = (half.vectors[row] for half, row in zip(halves, rows, strict=True))
    s1, s2 = (half.deviations[row] for half, row in zip(halves, rows, strict=True))
    ratio = np.sqrt(((first - second) ** 2).mean(axis=1) / (s1**2 + s2**2))
    held = coverage(model, halves, words)
    print(
        f"{len(words)} words; {options.dim} dimensions; rms of the difference over the deviation, coverage of 95 %"
    )
    for low, high in zip(BANDS, BANDS[1:], strict=False):
        band = (frequency >= low) & (frequency < high)
        if band.any():
            rms, share = np.sqrt((ratio[band] ** 2).mean()), held[band].mean()
            seen = f"  seen {low:>5} to {high:<10} times: {band.sum():>4} words"
            print(f"{seen}, rms {rms:.2f}, coverage {100 * share:.0f} %")
    print(f"  all: rms {np.sqrt((ratio**2).mean()):.2f}, coverage {100 * held.mean():.0f} %")


def place(model, corpus, vocabulary, words, parity):
    """Learn the words from every other line of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        half = Path(folder, "half.txt")
        with corpus.open("rb") as lines, half.open("wb") as file:
            file.writelines(line for number, line in enumerate(lines) if number % 2 == parity)
        counts = count_pairs(read_corpus([half], tokenizer="whitespace"), vocabulary=vocabulary.words)
    return noncore.extend(model, counts, words=words).model


def coverage(model, halves, words, *, others=20):
    """Return for each word how many of its angles with core words differ between the halves by no more than they may."""
    rng = np.random.default_rng(1)
    first, second = (Embeddings(half.words, half.vectors, deviations=half.deviations) for half in halves)
    shares = []
    for word in words:
        held = []
        for place in rng.choice(min(20_000, model.core), others, replace=False):
            core = model.words[place]
            angles = [np.arccos(np.clip(e.similarity(word, core), -1, 1)) for e in (first, second)]
            spreads = [
                e.deviations[e.get_index(word)] / e.lengths[e.get_index(word)] for e in (first, second)
            ]
            held.append(abs(angles[0] - angles[1]) <= 1.96 * np.hypot(*spreads))
        shares.append(np.mean(held))
    return np.array(shares)


if __name__ == "__main__":
    main()
