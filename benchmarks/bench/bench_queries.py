"""Neighbours, analogies, opening and reading, side by side with gensim, as ratios in one run.

    python -m benchmarks.bench.bench_queries [neighbours] [analogies] [reading] [--words 50000] [--dim 300]
    [--record FILE]

Vectors are random: the work does not depend on their values. Analogies are Google's 19,544 questions where gensim ships
them, with the words they hold put into the vocabulary.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.evaluation.evaluate import ANALOGY_METHODS, evaluate
from psdvec.evaluation.tasks import Analogies
from psdvec.evaluation.testsets import find_tasks
from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings

QUERIES = 1000
Row = dict[str, Any]  # what was done, and what ours and gensim's took


def best_of(times: int, work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return wall and processor seconds of the quickest of several runs, and what the last one returned."""
    costs, result = [], None
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        result = work()
        costs.append({"wall": time.perf_counter() - wall, "processor": time.process_time() - processor})
    return min(costs, key=lambda cost: cost["wall"]), result


def make_embeddings(words: int, dim: int, task: Analogies) -> Embeddings:
    """Return random vectors whose vocabulary holds the words of ``task``, lower-cased."""
    vocabulary = list(dict.fromkeys(word.lower() for item in task.items for word in item))
    vocabulary += [f"word{i}" for i in range(words - len(vocabulary))]
    vectors = np.random.default_rng(0).standard_normal((words, dim), dtype=np.float32)
    return Embeddings(tuple(vocabulary), vectors)


def gensim_model(e: Embeddings) -> Any:
    from gensim.models import KeyedVectors

    model = KeyedVectors(e.dim)
    model.add_vectors(list(e.words), np.array(e.vectors))
    model.fill_norms()
    return model


def measure_neighbours(e: Embeddings, theirs: Any, _: Analogies) -> Iterator[Row]:
    asked = list(e.words[:: max(1, len(e) // QUERIES)])[:QUERIES]
    _ = e.lengths
    cost, found = best_of(3, lambda: e.most_similar_many(asked))
    loop, expected = best_of(1, lambda: [theirs.most_similar(word) for word in asked])
    for ours, other in zip(found, expected, strict=True):
        assert [word for word, _ in ours] == [word for word, _ in other], "other neighbours than gensim's"
    yield {"what": f"{len(asked):,} neighbour queries", "psdvec": cost, "gensim": loop}


def measure_analogies(e: Embeddings, theirs: Any, task: Analogies) -> Iterator[Row]:
    for method in ANALOGY_METHODS:
        cost, report = best_of(1, lambda method=method: evaluate(e, [task], methods=[method], resamples=0))
        score = report.get("model", "google").value
        other = gensim_analogies(theirs, task, score) if method == "3cosadd" else None
        yield {"what": f"{len(task.items):,} analogies by {method}", "psdvec": cost, "gensim": other}


def measure_reading(e: Embeddings, theirs: Any, _: Analogies) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in (("model", "our folder"), ("vectors.bin", "`.bin`"), ("vectors.txt", "text")):
            path = Path(folder) / name
            save(e, path)
            cost, _ = best_of(3, lambda path=path: load(path))
            binary = path.suffix == ".bin"
            read = lambda path=path, binary=binary: theirs.load_word2vec_format(path, binary=binary)  # noqa: E731
            other = best_of(1, read)[0] if path.suffix else None
            yield {"what": f"open vectors: {kind}", "psdvec": cost, "gensim": other}


PARTS = {"neighbours": measure_neighbours, "analogies": measure_analogies, "reading": measure_reading}


def gensim_analogies(theirs: Any, task: Analogies, score: float) -> dict[str, float]:
    """Return how long gensim takes for the same questions, and check that it scores the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "questions.txt"
        path.write_text(": all\n" + "".join(" ".join(item) + "\n" for item in task.items))
        cost, (expected, _) = best_of(1, lambda: theirs.evaluate_word_analogies(path))
    assert score == expected, (score, expected)
    return cost


def table(record: dict[str, Any]) -> str:
    """Write what each kind of question took, and gensim's processor seconds over ours."""
    rows = []
    for row in record["rows"]:
        ours, other = row["psdvec"], row["gensim"] or {}
        cells = [f"{ours['wall']:.2f}", f"{ours['processor']:.2f}"]
        cells += [f"{other[name]:.2f}" if other else "" for name in ("wall", "processor")]
        rows.append([row["what"], *cells, f"{other['processor'] / ours['processor']:.1f}" if other else ""])
    titles = ["seconds", "processor seconds", "gensim: seconds", "processor seconds", "processor, ratio"]
    return markdown([f"{record['words']:,} × {record['dim']}", *titles], rows)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="what to measure; all without any")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    options = parser.parse_args()
    (task,) = find_tasks(["google"])
    assert isinstance(task, Analogies)
    e = make_embeddings(options.words, options.dim, task)
    theirs = gensim_model(e)
    rows = [row for part in options.parts or PARTS for row in PARTS[part](e, theirs, task)]
    publish({"words": options.words, "dim": options.dim, "rows": rows}, table, record=options.record)


if __name__ == "__main__":
    run_script(main)
