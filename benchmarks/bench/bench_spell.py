"""What our spelling is worth to the vectors of others: scores before and after ``psdvec spell``, seconds and sizes.

    python -m benchmarks.bench.bench_spell enwiki-3m.txt simplewiki-3m.txt --work W --testsets TESTSETS

On the first text, gensim's skip-gram and our GloVe are trained; on the others, skip-gram alone. Vectors are kept below
``--work`` and trained once. They are spelled as other programs write them, without counts. ``--variants`` also scores,
on development questions, what was tried: the words' own counts, equal ones, the letters of other words, and no mean
taken away.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_sizes import NEVER_CHOSEN_ON, RIVALS, SIMILARITY, mean_of_nine, points
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish
from benchmarks.studies.split import all_parts

import psdvec
from psdvec.methods import spelling
from psdvec.options import Recipe
from psdvec.progress import SilentProgress
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.subwords import learn_subwords, mix

NAMES = {"skipgram": "skip-gram", "glove": "GloVe"}
GROUPS = {"similarity": SIMILARITY, "Google": ("google",), "MSR": ("msr",)}


def train(text: Path, method: str, dim: int, *, threads: int) -> Any:
    """Return the vectors of one method."""
    silent: dict[str, Any] = {"dim": dim, "seed": 1, "workers": threads, "progress": SilentProgress()}
    if method == "glove":
        from psdvec.methods import glove

        counts = psdvec.count_pairs(
            text, tokenizer="paper", window=10, gaps="close", workers=threads, quiet=True
        )
        return glove.fit(counts, **silent)
    from psdvec.methods import gensim

    counts = psdvec.count_pairs(text, tokenizer="paper", workers=threads, quiet=True)
    corpus = psdvec.read_corpus(text, tokenizer="paper")
    return gensim.fit(corpus, vocabulary=counts.vocabulary, epochs=15, **RIVALS["skipgram"], **silent)


def scores(vectors: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the scores of each part of the questions."""
    return {name: points(vectors, tasks) for name, tasks in parts.items()}


def variants(e: Embeddings, tasks: Any, *, threads: int) -> dict[str, dict[str, float]]:
    """Return the mean over development questions, and a of equation (15), of what was tried.

    That is, by which counts words count, and whether the mean of all vectors is taken away; and, to see whether a tells
    that letters tell nothing, the letters of other words.
    """
    by_rank, found = spelling.seen_about(replace(e, counts=None)), {}
    dealt = [e.words[i] for i in np.random.default_rng(0).permutation(len(e)).tolist()]
    tried = {
        "counts": (e.words, e.counts),
        "rank": (e.words, by_rank),
        "equal": (e.words, np.full(len(e), 1e12)),
        "rank, letters of other words": (dealt, by_rank),
    }
    for centred in (True, False):
        mean = np.mean(e.vectors, axis=0) * np.float32(centred)
        rest = e.vectors - mean
        lengths = np.linalg.norm(rest, axis=1, keepdims=True)
        for name, (words, seen) in tried.items():
            subwords = learn_subwords(
                words, rest / lengths, seen, length=1.0, recipe=Recipe(), workers=threads, progress=SilentProgress()
            )  # fmt: skip
            assert subwords is not None
            one = np.ones(e.dim, np.float32)
            mixed = mean + mix(rest, one, subwords.predict(words), share=subwords.share)
            score = mean_of_nine(points(replace(e, vectors=mixed), tasks))
            found[f"{name}; {'mean apart' if centred else 'as they are'}"] = {
                "mean": score,
                "share": round(subwords.share, 3),
            }
    return found


def step(text: Path, method: str, dim: int, options: argparse.Namespace, parts: Any) -> dict[str, Any]:
    """Score the vectors of one method before and after spelling."""
    folder = options.work / f"{text.stem}-{method}-{dim}"
    if not folder.exists():
        psdvec.save(train(text, method, dim, threads=options.threads), folder)
    before = psdvec.load(folder)
    begin = time.perf_counter()
    after = psdvec.spell(replace(before, counts=None), workers=options.threads, quiet=True)
    seconds, target = time.perf_counter() - begin, options.work / "spelled"
    psdvec.save(after, target, overwrite=True)
    size = {name: sum(file.stat().st_size for file in path.iterdir())
            for name, path in (("before", folder), ("after", target))}  # fmt: skip
    found = {
        "text": text.stem, "method": method, "dim": dim, "words": len(before), "seconds": round(seconds, 1),
        "bytes": size, "before": scores(before, parts), "after": scores(after, parts),
    }  # fmt: skip
    if options.variants:
        found["variants"] = variants(before, parts["development"], threads=options.threads)
    return found


def _mean(found: dict[str, Any], names: Any) -> float:
    return float(np.mean([found[name]["points"] for name in names if name in found]))


def table(record: dict[str, Any]) -> str:
    """Write a line for each of the vectors, before and after: questions that nothing was chosen on."""
    rows = []
    for one in record["steps"]:
        name = f"{NAMES[one['method']]}, {one['dim']} dimensions, {one['text']}"
        for when in ("before", "after"):
            part = one[when]["reported"]
            cells = [f"{_mean(part, names):.1f}" for names in GROUPS.values()]
            cells += [f"{_mean(one[when]['untouched'], NEVER_CHOSEN_ON):.1f}", f"{mean_of_nine(part):.1f}"]
            cells += [
                f"{one['seconds']:.0f}" if when == "after" else "",
                f"{one['bytes'][when] / 1e6:.0f} MB",
            ]
            rows.append([name if when == "before" else "+ spelling", *cells])
    return markdown(["vectors", *GROUPS, "untouched", "mean", "seconds", "folder"], rows)


def choices(record: dict[str, Any]) -> str:
    """Write the means of development questions that the choices were made by."""
    steps = [one for one in record["steps"] if "variants" in one]
    names = [f"{NAMES[one['method']]} {one['dim']}, {one['text']}" for one in steps]
    rows = [["no spelling", *(f"{mean_of_nine(one['before']['development']):.1f}" for one in steps)]]
    rows += [[name, *(_choice(one["variants"][name]) for one in steps)] for name in steps[0]["variants"]]
    return markdown(["words count by", *names], rows)


def _choice(found: dict[str, float]) -> str:
    return f"{found['mean']:.1f} (a = {found['share']:.2f})"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("texts", type=Path, nargs="+", help="raw text")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--testsets", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--variants", action="store_true")
    options = parser.parse_args()
    parts = all_parts(options.testsets)
    first, *others = options.texts
    jobs = [(first, "skipgram", dim) for dim in (100, 300)]
    jobs += [(first, "glove", 100), *((text, "skipgram", 100) for text in others)]
    record = {"steps": [step(*job, options, parts) for job in jobs]}
    publish(record, table, *[choices] * options.variants, record=options.record)


if __name__ == "__main__":
    run_script(main)
