"""Vectors of the nodes of a graph: ours, skip-gram on walks (DeepWalk) and NetMF, judged by the labels they predict.

    python -m benchmarks.bench.bench_graphs blogcatalog.mat --record FILE

The file is MATLAB's, with the matrices ``network`` and ``group``. A share of the nodes is labelled; one logistic
regression per label (liblinear, C = 1) learns from their vectors, and each other node gets as many labels as it has,
the most probable ones, as in the paper of DeepWalk. C = 1 means something else for longer vectors. So the vectors of
every method are judged as they are or at the length, 1, 2 or 3, whichever was best for it on two splits of their own,
half of the nodes labelled; the splits that are reported had no part in that, nor in any other choice.

Then a tenth of the nodes is left out of the graph, and placed later from their edges alone. What is done is kept in
``--work``, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import Records, make_parser, write_record
from scipy import sparse
from scipy.io import loadmat
from scipy.sparse.linalg import svds

import psdvec

SHARES = (0.1, 0.5, 0.9)
LENGTHS = (1, 2, 3)
CHOSEN_ON = (1001, 1002)  # seeds of the splits that choose a length
WALKS, STEPS, WINDOW = 80, 40, 10  # of DeepWalk
PUBLISHED = {"DeepWalk, published": {"micro": {0.1: 35.9, 0.9: 42.4}, "macro": {0.1: 21.1, 0.9: 28.2}}}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--methods", nargs="*", help="names of the methods to judge; all by default")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=3, help="how often a tenth of the nodes is left out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("work"))
    options = parser.parse_args()
    file = loadmat(options.graph)
    A, labels = sparse.csr_array(file["network"]).astype(np.float64), file["group"].toarray() > 0
    figures: dict[str, Any] = {
        "nodes": A.shape[0],
        "edges": int(A.nnz / 2),
        "dim": options.dim,
        "methods": {},
    }
    walks = cache(lambda: drawn_walks(A, seed=0))
    make = {
        "PSDVec, walks in closed form": lambda: ours(A, options.dim),
        "NetMF": lambda: netmf(A, options.dim),
        "PSDVec, drawn walks": lambda: ours_of_walks(walks(), options.dim),
        "skip-gram, drawn walks": lambda: skipgram(walks(), options.dim, options.workers),
    }
    steps = Records(options.work / "graphs.jsonl")
    for name in options.methods or make:
        key = {"method": name, "dim": options.dim, "splits": options.splits}
        if steps.find(key) is None:
            vectors, took = timed(make[name])
            steps.add(key, took | judged(vectors, labels, options.splits))
        figures["methods"][name] = steps.find(key)
    figures["left_out"] = []
    fit_all = cache(lambda: ours(A, options.dim))
    for seed in range(options.draws):
        key = {"left out": seed, "dim": options.dim}
        if steps.find(key) is None:
            steps.add(key, left_out(A, labels, fit_all, options.dim, seed))
        figures["left_out"].append(steps.find(key))
    if options.record:
        write_record(options.record, figures)
        print(table(figures), left_out_table(figures), sep="\n\n")


def timed(make: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what ``make`` makes, and its wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    made = make()
    return made, {
        "wall_s": round(time.perf_counter() - wall, 1),
        "processor_s": round(time.process_time() - processor, 1),
    }


# The methods.


def ours(A: Any, dim: int) -> Any:
    """Return vectors of the walks' closed form."""
    return fitted(psdvec.count_walks(graph_of(A), window=WINDOW, quiet=True), dim, A.shape[0])


def graph_of(A: Any) -> psdvec.Cooccurrence:
    return psdvec.Cooccurrence.from_matrix(A, range(A.shape[0]))


def fitted(counts: psdvec.Cooccurrence, dim: int, n: int) -> Any:
    """Return the vectors (n, dim) of a fit, in the order of the nodes."""
    changes = {"spelling": 0.0}
    model = psdvec.fit(counts, dim=dim, recipe="graph", changes=changes, quiet=True)
    return model[[str(node) for node in range(n)]]


def drawn_walks(A: Any, *, seed: int) -> Any:
    """Return walks as DeepWalk draws them, (walks, steps): as many from each node."""
    generator, n = np.random.default_rng(seed), A.shape[0]
    now = np.tile(np.arange(n), WALKS)
    walks = [now]
    for _ in range(STEPS - 1):
        begin, degree = A.indptr[now], A.indptr[now + 1] - A.indptr[now]
        now = A.indices[begin + (generator.random(now.size) * degree).astype(np.int64)]
        walks.append(now)
    return np.array(walks).T


def sentences_of(walks: Any) -> list[list[str]]:
    names = np.array([str(node) for node in range(walks.max() + 1)], object)
    return [names[walk].tolist() for walk in walks]


def ours_of_walks(walks: Any, dim: int) -> Any:
    counts = psdvec.count_pairs(sentences_of(walks), window=WINDOW, weighting="flat", min_count=1, quiet=True)
    return fitted(counts, dim, int(walks.max()) + 1)


def skipgram(walks: Any, dim: int, workers: int) -> Any:
    from gensim.models import Word2Vec

    order = np.random.default_rng(0).permutation(len(walks))
    model = Word2Vec(
        sentences_of(walks[order]), vector_size=dim, window=WINDOW, sg=1, negative=5, min_count=0, sample=0,
        epochs=1, workers=workers, seed=0,
    )  # fmt: skip
    return np.array([model.wv[str(node)] for node in range(int(walks.max()) + 1)])


def netmf(A: Any, dim: int) -> Any:
    """Return U √Σ of log max(M, 1), M = vol(G) / window Σ_r (D⁻¹A)^r D⁻¹ (Qiu et al. 2018, one negative sample)."""
    degrees = A.sum(axis=1)
    P = sparse.csr_array(A / degrees[:, None]).astype(np.float32)
    power = P.toarray()
    total = power.copy()
    for _ in range(WINDOW - 1):
        power = P @ power
        total += power
    total *= np.float32(degrees.sum() / WINDOW) / degrees.astype(np.float32)
    u, s, _ = svds(np.log(np.maximum(total, 1)), k=dim, random_state=0)
    return u * np.sqrt(s)


# How vectors are judged.


def judged(vectors: Any, labels: Any, splits: int) -> dict[str, Any]:
    """Return micro and macro F1, in per cent, of each split, for each share, at the length that other splits chose."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    lengths = {"as they are": vectors, **{f"length {length}": length * units for length in LENGTHS}}
    points = {
        name: float(np.mean([score(each, labels, 0.5, seed) for seed in CHOSEN_ON]))
        for name, each in lengths.items()
    }
    best = max(points, key=lambda name: points[name])
    scores = {
        f"{share}": [list(score(lengths[best], labels, share, seed)) for seed in range(splits)]
        for share in SHARES
    }
    return {"chosen": best, "points": points, "scores": scores}


def score(vectors: Any, labels: Any, share: float, seed: int) -> tuple[float, float]:
    order = np.random.default_rng(seed).permutation(len(labels))
    known, asked = np.split(order, [int(share * len(labels))])
    return f1(
        labels[asked], predicted(vectors[known], labels[known], vectors[asked], labels[asked].sum(axis=1))
    )


def predicted(known: Any, labels: Any, asked: Any, sizes: Any) -> Any:
    """Return the labels of the ``asked`` nodes, as many for each as ``sizes`` say."""
    from sklearn.linear_model import LogisticRegression

    margins = np.full((len(asked), labels.shape[1]), -np.inf)
    for label in np.flatnonzero(labels.any(axis=0)):
        classifier = LogisticRegression(solver="liblinear", C=1.0).fit(known, labels[:, label])
        margins[:, label] = classifier.decision_function(asked)
    ranks = np.argsort(np.argsort(-margins, axis=1), axis=1)
    return ranks < sizes[:, None]


def f1(truth: Any, found: Any) -> tuple[float, float]:
    """Return micro and macro F1 in per cent; a label that is neither there nor found has 0, as in scikit-learn."""
    hits, wrong = (truth & found).sum(axis=0), (truth ^ found).sum(axis=0)
    each = 2 * hits / np.maximum(2 * hits + wrong, 1)
    return 200 * hits.sum() / (2 * hits.sum() + wrong.sum()), 100 * float(each.mean())


# Nodes that come later.


def left_out(A: Any, labels: Any, fit_all: Callable[[], Any], dim: int, seed: int) -> dict[str, Any]:
    """Leave a tenth of the nodes out, place them, and predict their labels from those of the others."""
    n = A.shape[0]
    new = np.sort(np.random.default_rng(2000 + seed).permutation(n)[: n // 10])
    old = np.setdiff1d(np.arange(n), new)
    part = psdvec.Cooccurrence.from_matrix(A[old][:, old], old)
    model = psdvec.fit(
        psdvec.count_walks(part, window=WINDOW, quiet=True), dim=dim, recipe="graph", quiet=True
    )
    names = [str(node) for node in new]

    def extended() -> Any:
        counts = psdvec.count_walks(graph_of(A), window=WINDOW, nodes=names, quiet=True)
        return psdvec.extend(model, counts, words=names, quiet=True)

    placed, took = timed(extended)
    vectors = np.zeros((n, dim), np.float32)
    held = [node for node in range(n) if str(node) in placed.key_to_index]
    vectors[held] = placed[[str(node) for node in held]]
    neighbours = vectors.copy()
    neighbours[new] = 0
    weights = A[new].copy()
    weights.data = weights.data * np.isin(weights.indices, old)
    neighbours[new] = (weights @ neighbours) / np.maximum(weights.sum(axis=1), 1)[:, None]
    found = {}
    for name, each in {"placed": vectors, "mean of neighbours": neighbours, "fitted": fit_all()}.items():
        each = 2 * each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12)
        found[name] = f1(labels[new], predicted(each[old], labels[old], each[new], labels[new].sum(axis=1)))
    return {"nodes": len(new), "placed": len(placed.learned), "took": took, "scores": found}


# The tables.


def table(record: dict[str, Any]) -> str:
    """Return micro and macro F1 of every method, means over the splits."""
    head = " | ".join(f"{kind} {100 * share:.0f} %" for kind in ("micro", "macro") for share in SHARES)
    lines = [f"| vectors | {head} | wall s | processor s |", f"|---|{'---:|' * 8}"]
    for name, method in record["methods"].items():
        means = [np.mean(method["scores"][str(share)], axis=0) for share in SHARES]
        cells = [f"{mean[kind]:.1f}" for kind in (0, 1) for mean in means]
        took = f"{method['wall_s']:.0f} | {method['processor_s']:.0f}"
        lines.append(f"| {name}; {method['chosen']} | {' | '.join(cells)} | {took} |")
    for name, known in PUBLISHED.items():
        cells = [
            f"{known[kind][s]}" if s in known[kind] else "" for kind in ("micro", "macro") for s in SHARES
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | | |")
    return "\n".join(lines)


def left_out_table(record: dict[str, Any]) -> str:
    """Return how well labels of nodes that came later are predicted, means over the draws."""
    draws: Sequence[dict[str, Any]] = record["left_out"]
    wall, processor = (
        f"{np.mean([1000 * draw['took'][kind] / draw['nodes'] for draw in draws]):.1f}"
        for kind in ("wall_s", "processor_s")
    )
    rows = []
    for name in ("fitted", "placed", "mean of neighbours"):
        micro, macro = np.mean([draw["scores"][name] for draw in draws], axis=0)
        took = (wall, processor) if name == "placed" else ("", "")
        rows.append((name, f"{micro:.1f}", f"{macro:.1f}", *took))
    return markdown(("a tenth of the nodes", "micro", "macro", "wall ms each", "processor ms each"), rows)


if __name__ == "__main__":
    run_script(main)
