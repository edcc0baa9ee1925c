"""Neighbours, analogies, opening and reading, side by side with gensim, as ratios in one run.

    python benchmarks/bench_queries.py [--words 50000] [--dim 300] [--json]

Vectors are random: the work does not depend on their values. Analogies are Google's 19,544 questions where
gensim ships them, with the words they hold put into the vocabulary. Every line is the best of several runs,
and the peak memory is of the whole process after it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.analogies import solve_analogies
from psdvec.embeddings import Embeddings
from psdvec.evaluation import evaluate
from psdvec.formats import load, save
from psdvec.resources import format_size, peak_memory
from psdvec.tasks import Analogies
from psdvec.testsets import find_tasks

QUERIES = 1000


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    seconds, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def make_embeddings(words: int, dim: int, task: Analogies) -> Embeddings:
    """Return random vectors whose vocabulary holds the words of ``task``, lower-cased."""
    vocabulary = list(dict.fromkeys(word.lower() for item in task.items for word in item))
    vocabulary += [f"word{i}" for i in range(words - len(vocabulary))]
    vectors = np.random.default_rng(0).standard_normal((words, dim), dtype=np.float32)
    return Embeddings(tuple(vocabulary), vectors)


def gensim_model(e: Embeddings) -> Any:
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        return None
    model = KeyedVectors(e.dim)
    model.add_vectors(list(e.words), np.array(e.vectors))
    model.fill_norms()
    return model


def measure(words: int, dim: int) -> list[dict[str, Any]]:
    (task,) = find_tasks(["google"])
    assert isinstance(task, Analogies)
    e = make_embeddings(words, dim, task)
    theirs = gensim_model(e)
    rows: list[dict[str, Any]] = []

    def record(what: str, ours: float, gensim: float | None = None) -> None:
        rows.append({"what": what, "ours_s": ours, "gensim_s": gensim, "peak_bytes": peak_memory()})

    asked = list(e.words[:: max(1, words // QUERIES)])[:QUERIES]
    _ = e.lengths
    seconds, found = best_of(3, lambda: e.most_similar_many(asked))
    loop, expected = (
        best_of(1, lambda: [theirs.most_similar(word) for word in asked]) if theirs else (None, None)
    )
    if expected is not None:
        same = [[word for word, _ in row] for row in found] == [[word for word, _ in row] for row in expected]
        assert same, "the neighbours differ from gensim's"
    record(f"{QUERIES} neighbour queries", seconds, loop)

    for method in ("3cosadd", "3cosmul"):
        ids = np.array([[e.key_to_index[word.lower()] for word in item[:3]] for item in task.items])
        seconds, _ = best_of(
            1, lambda ids=ids, method=method: solve_analogies(e.vectors, e.lengths, ids, method=method)
        )
        record(f"{len(ids)} analogies by {method}", seconds)
    seconds, report = best_of(1, lambda: evaluate(e, [task], resamples=0))
    record("Google analogies, both methods, with scoring", seconds)
    if theirs is not None:
        rows[-3]["gensim_s"] = gensim_analogies(theirs, task, report.get("model", "google", "3cosadd").value)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model", "vectors.bin", "vectors.txt"):
            path = Path(folder) / name
            save(e, path)
            record(f"open {name}", best_of(3, lambda path=path: load(path))[0], gensim_reading(theirs, path))
    return rows


def gensim_analogies(theirs: Any, task: Analogies, score: float) -> float:
    """Return how long gensim takes for the same questions, and check that it scores the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.txt"
        path.write_text(": all\n" + "".join(" ".join(item) + "\n" for item in task.items))
        seconds, (expected, _) = best_of(1, lambda: theirs.evaluate_word_analogies(path))
    assert score == expected, (score, expected)
    return seconds


def gensim_reading(theirs: Any, path: Path) -> float | None:
    if theirs is None or not path.suffix:
        return None
    return best_of(1, lambda: theirs.load_word2vec_format(path, binary=path.suffix == ".bin"))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.words, options.dim)
    if options.json:
        print(json.dumps({"words": options.words, "dim": options.dim, "rows": rows}))
        return
    print(f"{options.words} words, {options.dim} dimensions")
    for row in rows:
        gensim = row["gensim_s"]
        ratio = f"gensim {gensim:8.2f} s, {gensim / row['ours_s']:6.1f} times as long" if gensim else ""
        print(f"{row['what']:46} {row['ours_s']:8.3f} s  peak {format_size(row['peak_bytes']):>8}  {ratio}")


if __name__ == "__main__":
    main()
