"""Neighbours, analogies, opening and reading, side by side with gensim, as ratios in one run.

    python -m benchmarks.bench.bench_queries [neighbours] [analogies] [reading] [--words 50000] [--dim 300]

Vectors are random: the work does not depend on their values. Analogies are Google's 19,544 questions where
gensim ships them, with the words they hold put into the vocabulary. The peak memory is of the whole
process, gensim's part included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.evaluation.evaluate import ANALOGY_METHODS, evaluate
from psdvec.evaluation.tasks import Analogies
from psdvec.evaluation.testsets import find_tasks
from psdvec.formats import load, save
from psdvec.resources import format_size, peak_memory
from psdvec.vectors.embeddings import Embeddings

QUERIES = 1000


class Row(NamedTuple):
    """Seconds of ours and of gensim's for the same work."""

    what: str
    ours: float
    gensim: float | None


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


def measure_neighbours(e: Embeddings, theirs: Any, _: Analogies) -> Iterator[Row]:
    asked = list(e.words[:: max(1, len(e) // QUERIES)])[:QUERIES]
    _ = e.lengths
    seconds, found = best_of(3, lambda: e.most_similar_many(asked))
    loop = None
    if theirs is not None:
        loop, expected = best_of(1, lambda: [theirs.most_similar(word) for word in asked])
        for ours, other in zip(found, expected, strict=True):
            assert [word for word, _ in ours] == [word for word, _ in other], (
                "the neighbours differ from gensim's"
            )
    yield Row(f"{len(asked)} neighbour queries", seconds, loop)


def measure_analogies(e: Embeddings, theirs: Any, task: Analogies) -> Iterator[Row]:
    for method in ANALOGY_METHODS:
        seconds, report = best_of(1, lambda method=method: evaluate(e, [task], methods=[method], resamples=0))
        score = report.get("model", "google").value
        other = gensim_analogies(theirs, task, score) if theirs is not None and method == "3cosadd" else None
        yield Row(f"{len(task.items)} analogies by {method}", seconds, other)


def measure_reading(e: Embeddings, theirs: Any, _: Analogies) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model", "vectors.bin", "vectors.txt"):
            path = Path(folder) / name
            save(e, path)
            seconds, _ = best_of(3 if name == "model" else 1, lambda path=path: load(path))
            yield Row(f"open {name}", seconds, gensim_reading(theirs, path))


PARTS = {"neighbours": measure_neighbours, "analogies": measure_analogies, "reading": measure_reading}


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
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="what to measure; all without any")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    options = parser.parse_args()
    (task,) = find_tasks(["google"])
    assert isinstance(task, Analogies)
    e = make_embeddings(options.words, options.dim, task)
    theirs = gensim_model(e)
    print(f"{options.words} words, {options.dim} dimensions")
    for part in options.parts or PARTS:
        for row in PARTS[part](e, theirs, task):
            ratio = (
                f"gensim {row.gensim:7.2f} s, {row.gensim / row.ours:5.1f} times as long"
                if row.gensim
                else ""
            )
            peak = format_size(peak_memory())
            print(f"{row.what:32} {row.ours:7.3f} s  peak {peak:>8}  {ratio}", flush=True)


if __name__ == "__main__":
    main()
