"""What new words lose against being fitted together, the time a word, and the neighbours of a domain's words.

python benchmarks/bench_extend.py COUNTS TESTSETS [--domain COUNTS2] [--held-out 500] [--ridge auto]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import nine_sets
from psdvec.counts.matrix import load_counts
from psdvec.counts.vocabulary import Vocabulary
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts")
    parser.add_argument("testsets")
    parser.add_argument("--domain")
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--first-rank", type=int, default=2000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--ridge", nargs="+", default=["auto"])
    parser.add_argument("--unigrams", nargs="+", default=["corpus"])
    options = parser.parse_args()
    counts = load_counts(options.counts)
    known = nine_sets.test_words(options.testsets)
    candidates = [word for word in counts.vocabulary.words[options.first_rank :] if word in known]
    out = np.random.default_rng(0).choice(candidates, options.held_out, replace=False).tolist()
    changes = {"rounds": options.rounds}
    joint = fit(counts, dim=options.dim, changes=changes)
    print("together:", nine_sets.show(nine_sets.score(joint.words, joint.vectors, options.testsets)))
    model = fit(without(counts, set(out)), dim=options.dim, changes=changes)
    stores = {"same corpus": counts}
    if options.domain:
        stores["domain"] = load_counts(options.domain)
    for name, store in stores.items():
        for ridge in options.ridge:
            for unigrams in options.unigrams:
                extend_and_score(name, model, store, out, ridge, unigrams, options.testsets)
    if options.domain:
        show_neighbours(joint, stores["domain"])


def extend_and_score(name, model, store, out, ridge, unigrams, testsets):
    words = [word for word in out if word in store.vocabulary]
    start = time.perf_counter()
    extension = extend(model, store, words=words, ridge=ridge, unigrams=unigrams)
    took = 1000 * (time.perf_counter() - start) / len(words)
    new = extension
    lengths = np.linalg.norm(new.vectors, axis=1)
    print(
        f"{name}, {len(words)} words, ridge {ridge}, unigrams {unigrams}: {took:.1f} ms a word, median length "
        f"{np.median(lengths[len(model) :]):.2f} (core {np.median(lengths[: len(model)]):.2f})"
    )
    print("   ", nine_sets.show(nine_sets.score(new.words, new.vectors, testsets)))


def show_neighbours(model, store, *, words=20, neighbours=10):
    """Show the nearest words of the most frequent unknown words of a domain."""
    unknown = [word for word in store.vocabulary.words if word not in model.key_to_index and len(word) > 3][
        :300
    ]
    start = time.perf_counter()
    new = extend(model, store, words=unknown)
    took = time.perf_counter() - start
    print(f"{len(unknown)} words are unknown to the model: {1000 * took / len(unknown):.1f} ms a word")
    unit = new.vectors / np.maximum(np.linalg.norm(new.vectors, axis=1, keepdims=True), 1e-9)
    for word in unknown[:words]:
        if word in new.key_to_index:
            order = np.argsort(-(unit @ unit[new.key_to_index[word]]))[1 : neighbours + 1]
            print(f"  {word}: {', '.join(new.words[i] for i in order)}")


def without(counts, out):
    """Return the counts without some words' rows and columns."""
    keep = np.array([word not in out for word in counts.vocabulary.words])
    rows = np.repeat(np.arange(len(keep)), np.diff(counts.indptr))
    cells = keep[rows] & keep[counts.indices]
    new_ids = np.cumsum(keep) - 1
    sizes = np.bincount(new_ids[rows[cells]], minlength=int(keep.sum()))
    vocabulary = Vocabulary(
        tuple(word for word in counts.vocabulary.words if word not in out), counts.vocabulary.counts[keep]
    )
    return replace(
        counts, vocabulary=vocabulary, indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=new_ids[counts.indices[cells]].astype(np.int32), values=np.array(counts.values[cells]),
    )  # fmt: skip


if __name__ == "__main__":
    main()
