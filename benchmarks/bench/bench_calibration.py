"""How far to trust the deviation of a new word, placed or unseen: compare vectors made of less with those made of more.

    python -m benchmarks.bench.bench_calibration CORPUS [--one-in 2] [--first-rank 2000] [--last-rank 50000]
    [--held-out 500]

CORPUS is raw text, plain or compressed. The core is fitted on all of it without the held-out words.

These are then *placed* from one in so many lines and from all other lines. If deviations are right, the difference of
the two vectors of a word, divided by √(s₁² + s₂²), has a root mean square of 1 a coordinate, and 95 of 100 angles with
core words differ by less than 1.96 of their spread. Halves (2) show how much the vectors vary with the text; a thin
part (50) of words that are frequent in the rest shows how far they are from what much text would make of them, which is
what a deviation claims. Both parts know how a word is spelled, which draws its two vectors to the same place; so those
of halves may differ by less than they claim.

*Unseen*, the same words have the vectors p of their spelling alone, and are compared with those v that all lines give
them. The spread is the mean of |v - p|² over the square of the mean length of vectors, and beside it stands what the
deviations of p claim it to be; v·p / |p|² would be 1 if p were the mean of all v that are spelled like it. The coverage
is the share of similarities with core words that lie within the 95 % intervals of p, among core words at random and
among the nearest to p. All this by thirds of the words, from those whose spelling tells least to those where it tells
most.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.bench.bench_extend import without
from benchmarks.lib.corpora import add_corpus_arguments, write_words
from benchmarks.lib.measure import run_script

from psdvec.counts.count import count_pairs
from psdvec.resources import format_size, peak_memory
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings

BANDS = (0, 20, 50, 100, 300, 1000, 10**9)
COMMON = 20_000  # core words, the most frequent, with which words are compared
OTHERS = 20  # of them for each word


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
    show_placed(model, halves, out, whole.vocabulary, options)
    if model.subwords is not None:
        show_unseen(model, extend(model, whole, words=out))


def show_placed(model, halves, out, vocabulary, options):
    """Compare the vectors of words that were placed from two parts of the text."""
    words = [word for word in out if all(word in half.key_to_index for half in halves)]
    counts, ids = vocabulary.counts, vocabulary.ids
    frequency = np.array([counts[ids[word]] / options.one_in for word in words])
    rows = [[half.key_to_index[word] for word in words] for half in halves]
    first, second = (half.vectors[row] for half, row in zip(halves, rows, strict=True))
    s1, s2 = (half.deviations[row] for half, row in zip(halves, rows, strict=True))
    ratio = np.sqrt(((first - second) ** 2).mean(axis=1) / (s1**2 + s2**2))
    held = coverage(model, halves, words)
    print(
        f"placed: {len(words)} words; {options.dim} dimensions; rms of the difference over the deviation, coverage of "
        "95 %"
    )
    for low, high in itertools.pairwise(BANDS):
        band = (frequency >= low) & (frequency < high)
        if band.any():
            rms, share = np.sqrt((ratio[band] ** 2).mean()), held[band].mean()
            seen = f"  seen {low:>5} to {high:<10} times: {band.sum():>4} words"
            print(f"{seen}, rms {rms:.2f}, coverage {100 * share:.0f} %")
    print(f"  all: rms {np.sqrt((ratio**2).mean()):.2f}, coverage {100 * held.mean():.0f} %", flush=True)


def place(model, text, vocabulary, words, options, *, thin):
    """Learn the words from one in so many lines of the text, or from all others."""
    part = text.with_name("part")
    with text.open("rb") as lines, part.open("wb") as file:
        file.writelines(line for number, line in enumerate(lines) if (number % options.one_in == 0) == thin)
    counts = count_pairs(read_corpus(part, tokenizer="whitespace"), vocabulary=vocabulary.words)
    return extend(model, counts, words=words)


def coverage(model, halves, words):
    """Return for each word the share of angles with core words that differ no more between the parts than they may."""
    first, second = (Embeddings(half.words, half.vectors, deviations=half.deviations) for half in halves)
    shares = []
    for word, places in zip(words, at_random(model, words), strict=True):
        held = []
        for core in (model.words[place] for place in places):
            angles = [np.arccos(np.clip(e.similarity(word, core), -1, 1)) for e in (first, second)]
            spreads = [
                e.deviations[e.get_index(word)] / e.lengths[e.get_index(word)] for e in (first, second)
            ]
            held.append(abs(angles[0] - angles[1]) <= 1.96 * np.hypot(*spreads))
        shares.append(np.mean(held))
    return np.array(shares)


def show_unseen(model, placed):
    """Compare the vectors of words' spelling with those that all the text gives them."""
    spelled = model.with_spelled(placed.learned)
    words = [word for word in placed.learned if word in spelled]
    p, v = spelled[words], placed[words]
    told = np.linalg.norm(p, axis=1) / (model.subwords.share * model.subwords.length)
    found = {
        "spread": spreads(v, p, length=model.subwords.length),
        "claimed": model.dim * (model.subwords.deviations_of(p) / model.subwords.length) ** 2,
        "v·p / |p|²": (v * p).sum(axis=1) / (p**2).sum(axis=1),
        "coverage at random": within(spelled, placed, words, at_random(model, words)),
        "coverage of the nearest": within(spelled, placed, words, nearest(model, p)),
    }
    print(f"unseen: {len(words)} words of whose spelling something is known")
    for third in np.array_split(np.argsort(told), 3):
        print(f"  {told[third[0]]:.2f} to {told[third[-1]]:.2f} is told: {means(found, third)}")
    print(f"  all: {means(found, slice(None))}")


def spreads(v, p, *, length):
    """Return |v - p|² of each word, over the square of the mean ``length`` of vectors.

    >>> spreads(np.array([[3.0, 4.0]]), np.array([[3.0, 0.0]]), length=2)
    array([4.])
    """
    return ((v - p) ** 2).sum(axis=1) / length**2


def within(spelled, placed, words, places):
    """Return for each word the share of its similarities with core words that lie within what its spelling allows.

    ``places`` (m, k) are those of the core words for each of the words.
    """
    shares = []
    for word, others in zip(words, places, strict=True):
        held = []
        for other in (spelled.words[place] for place in others):
            _, low, high = spelled.similarity(word, other, interval=True)
            held.append(low <= placed.similarity(word, other) <= high)
        shares.append(np.mean(held))
    return np.array(shares)


def at_random(model, words):
    """Return the places of some frequent core words for each of the words."""
    rng = np.random.default_rng(1)
    common = min(COMMON, model.core)
    return np.array([rng.choice(common, min(OTHERS, common), replace=False) for _ in words])


def nearest(model, vectors):
    """Return the places of the frequent core words that are nearest to each of the vectors."""
    common = min(COMMON, model.core)
    rows = model.vectors[:common] / model.lengths[:common, None]
    return np.argsort(-(vectors @ rows.T), axis=1)[:, :OTHERS]


def means(found, part):
    return ", ".join(f"{name} {values[part].mean():.2f}" for name, values in found.items())


if __name__ == "__main__":
    run_script(main)
