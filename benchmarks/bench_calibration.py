"""How far to trust a new word's deviation: place words from two parts of a corpus, and compare the two vectors.

    python benchmarks/bench_calibration.py CORPUS [--one-in 2] [--first-rank 2000] [--last-rank 50000] [--held-out 500]

CORPUS is raw text, plain or compressed. The core is fitted on all of it without the held-out words. These are then
placed from one in so many lines and from all other lines. If deviations are right, the difference of the two vectors
of a word, divided by √(s₁² + s₂²), has a root mean square of 1 a coordinate, and 95 of 100 angles with core words
differ by less than 1.96 of their spread. Halves (2) show how much the vectors vary with the text; a thin part (50) of
words that are frequent in the rest shows how far they are from what much text would make of them, which is what a
deviation claims.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np

from bench_extend import without
from corpora import add_corpus_arguments, write_words
from measure import run_script
from psdvec.counts.count import count_pairs
from psdvec.resources import format_size, peak_memory
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings

BANDS = (0, 20, 50, 100, 300, 1000, 10**9)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--one-in", type=int, default=2)
    parser.add_argument("--first-rank", type=int, default=2000)
    parser.add_argument("--last-rank", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-calibration-") as folder:
        text = write_words(options.corpus, Path(folder, "words"), tokenizer=options.tokenizer)
        calibrate(text, options)
    print(f"peak memory {format_size(peak_memory())}")


def calibrate(text, options):
    whole = count_pairs(read_corpus(text, tokenizer="whitespace"), max_words=options.words)
    rng = np.random.default_rng(0)
    candidates = whole.vocabulary.words[options.first_rank : options.last_rank]
    out = rng.choice(candidates, options.held_out, replace=False).tolist()
    model = fit(without(whole, set(out)), dim=options.dim)
    halves = [place(model, text, whole.vocabulary, out, options, thin=thin) for thin in (True, False)]
    words = [word for word in out if all(word in half.key_to_index for half in halves)]
    counts, ids = whole.vocabulary.counts, whole.vocabulary.ids
    frequency = np.array([counts[ids[word]] / options.one_in for word in words])
    rows = [[half.key_to_index[word] for word in words] for half in halves]
    first, second = (half.vectors[row] for half, row in zip(halves, rows, strict=True))
    s1, s2 = (half.deviations[row] for half, row in zip(halves, rows, strict=True))
    ratio = np.sqrt(((first - second) ** 2).mean(axis=1) / (s1**2 + s2**2))
    held = coverage(model, halves, words)
    print(
        f"{len(words)} words; {options.dim} dimensions; rms of the difference over the deviation, coverage of 95 %"
    )
    for low, high in itertools.pairwise(BANDS):
        band = (frequency >= low) & (frequency < high)
        if band.any():
            rms, share = np.sqrt((ratio[band] ** 2).mean()), held[band].mean()
            seen = f"  seen {low:>5} to {high:<10} times: {band.sum():>4} words"
            print(f"{seen}, rms {rms:.2f}, coverage {100 * share:.0f} %")
    print(f"  all: rms {np.sqrt((ratio**2).mean()):.2f}, coverage {100 * held.mean():.0f} %")


def place(model, text, vocabulary, words, options, *, thin):
    """Learn the words from one in so many lines of the text, or from all others."""
    part = text.with_name("part")
    with text.open("rb") as lines, part.open("wb") as file:
        file.writelines(line for number, line in enumerate(lines) if (number % options.one_in == 0) == thin)
    counts = count_pairs(read_corpus(part, tokenizer="whitespace"), vocabulary=vocabulary.words)
    return extend(model, counts, words=words)


def coverage(model, halves, words, *, others=20):
    """Return for each word the share of angles with core words that differ no more between the parts than they may."""
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
    run_script(main)
