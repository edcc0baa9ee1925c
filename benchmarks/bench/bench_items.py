"""Baskets of items: which item is missing from a basket? Ours, item2vec, ALS and simple rivals; and counting in 1 GB.

    python -m benchmarks.bench.bench_items retail.dat groceries.csv --record items.json
    python -m benchmarks.bench.bench_items --drawn 10 --record items-memory.json

Each line of a file is a basket. Of the baskets, a tenth is for development and a tenth for the test. From each of these
one item is left out, drawn at random among those that have a vector, and every method names ten items for what is left:
recall is the share of baskets whose item is among them. Settings are chosen on development, figures are those of the
test. ``--drawn 10`` draws a table of 10 million orders from a stated model, rows of an order far apart, and counts it
by the command line. implicit, which is no dependency of psdvec, must be installed: ``pip install implicit gensim``.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import make_parser, write_record
from scipy import sparse
from threadpoolctl import threadpool_limits

import psdvec

TOP = 10
SEED = 1
FEWEST = 5  # baskets that an item must be in to get a vector
TRIED = 3000  # baskets of the development part, at most
CATALOGUE = 50_000  # items that orders are drawn from
KEPT = (1.0, 0.8, 0.6, 0.4, 0.2)  # how likely an order has a first, second, ... item


class Task(NamedTuple):
    """What is left of a basket, and the item that was taken out of it; both as ids of items."""

    basket: list[int]
    missing: int


Rank = Callable[[Sequence[Task]], np.ndarray]  # (tasks, 10) ids: what a method names for each basket


class Data(NamedTuple):
    """Training baskets as lists of items and as a matrix over the items that get a vector, and both lists of tasks."""

    baskets: list[list[str]]
    items: tuple[str, ...]
    matrix: Any
    development: list[Task]
    test: list[Task]


def read_data(path: Path) -> Data:
    """Read baskets, split them at random, and take an item out of each that is not for training."""
    with path.open(encoding="utf-8", newline="") as file:
        rows: Any = csv.reader(file) if path.suffix == ".csv" else map(str.split, file)
        baskets = [list(dict.fromkeys(item.strip() for item in row if item.strip())) for row in rows]
    random = np.random.default_rng(SEED)
    order = random.permutation(len(baskets)).tolist()
    tenth = len(baskets) // 10
    parts = [[baskets[i] for i in order[a:b]] for a, b in ((2 * tenth, None), (0, tenth), (tenth, 2 * tenth))]
    seen = Counter(item for basket in parts[0] for item in basket)
    items = tuple(sorted(item for item, count in seen.items() if count >= FEWEST))
    ids = {item: i for i, item in enumerate(items)}
    held = [list(_tasks(part, ids, random)) for part in parts[1:]]
    return Data(
        parts[0], items, _matrix([[ids[i] for i in b if i in ids] for b in parts[0]], len(items)), *held
    )


def _tasks(
    baskets: Sequence[Sequence[str]], ids: dict[str, int], random: np.random.Generator
) -> Iterator[Task]:
    for basket in baskets:
        known = [ids[item] for item in basket if item in ids]
        if len(known) > 1:
            missing = known.pop(int(random.integers(len(known))))
            yield Task(known, missing)


def _matrix(rows: Sequence[Sequence[int]], n: int) -> Any:
    """Return baskets as rows of ones."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.fromiter((item for row in rows for item in row), np.int32, starts[-1])
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=(len(rows), n))


# Methods: each is trained with a setting, and returns one way, or several, to rank items.


def by_scores(n: int, score: Callable[[Any], Any]) -> Rank:
    """Return a way to rank by the scores (tasks, n) of baskets that are given as rows whose sum is 1."""

    def rank(tasks: Sequence[Task]) -> np.ndarray:
        found = []
        for begin in range(0, len(tasks), 1024):
            some = tasks[begin : begin + 1024]
            baskets = _matrix([task.basket for task in some], n)
            means = sparse.diags(1 / baskets.sum(axis=1).A1) @ baskets
            scores = np.array(score(means), np.float64)
            scores[baskets.nonzero()] = -np.inf
            found.append(np.argpartition(-scores, TOP, axis=1)[:, :TOP])
        return np.concatenate(found)

    return rank


def popularity(data: Data) -> dict[str, Rank]:
    """Name the most frequent items."""
    seen = np.asarray(data.matrix.sum(axis=0)).ravel()
    return {"popularity": by_scores(len(seen), lambda means: np.tile(seen, (means.shape[0], 1)))}


def co_occurrence(data: Data) -> dict[str, Rank]:
    """Name the items with the largest share of baskets among those that have an item of the basket, on average."""
    together = (data.matrix.T @ data.matrix).tocsr()
    shares = sparse.diags(1 / together.diagonal()) @ together
    return {"co-occurrence": by_scores(len(data.items), lambda means: (means @ shares).toarray())}


def ours(data: Data, *, dim: int) -> dict[str, Rank]:
    """Train PSDVec on the baskets; ask it what completes a basket, and what is similar to its items."""
    model = psdvec.train(data.baskets, items=True, min_count=FEWEST, dim=dim, quiet=True)
    places = {item: i for i, item in enumerate(data.items)}
    order = np.array([places[item] for item in model.words])
    units = np.empty((len(order), dim), np.float32)
    units[order] = model.vectors / model.lengths[:, None]

    def complete(tasks: Sequence[Task]) -> np.ndarray:
        answers = (model.complete([data.items[i] for i in task.basket], topn=TOP) for task in tasks)
        return np.array([[places[item] for item, _ in answer] for answer in answers])

    cosines = by_scores(len(order), lambda means: (means @ units) @ units.T)
    return {"PSDVec, complete": complete, "PSDVec, most similar": cosines}


def item2vec(data: Data, *, dim: int, epochs: int, ns_exponent: float, sample: float) -> dict[str, Rank]:
    """Train skip-gram with whole baskets as windows; rank by cosines, and by its output layer."""
    from gensim.models import Word2Vec

    longest = max(map(len, data.baskets))
    model = Word2Vec(
        data.baskets, vector_size=dim, epochs=epochs, ns_exponent=ns_exponent, window=longest, shrink_windows=False,
        sg=1, negative=5, sample=sample, min_count=FEWEST, workers=2, seed=SEED,
    )  # fmt: skip
    rows = [model.wv.key_to_index[item] for item in data.items]
    inputs, outputs = model.wv.vectors[rows], model.syn1neg[rows]
    units = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
    n = len(data.items)
    return {
        "item2vec, most similar": by_scores(n, lambda means: (means @ units) @ units.T),
        "item2vec, output layer": by_scores(n, lambda means: (means @ inputs) @ outputs.T),
    }


def als(data: Data, *, factors: int, alpha: float, regularization: float) -> dict[str, Rank]:
    """Train implicit's alternating least squares, baskets as users; new baskets are solved for."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        factors=factors,
        alpha=alpha,
        regularization=regularization,
        iterations=15,
        random_state=SEED,
        num_threads=2,
    )
    with threadpool_limits(1, "blas"):  # as it asks for; it has threads of its own
        model.fit(data.matrix, show_progress=False)

    def rank(tasks: Sequence[Task]) -> np.ndarray:
        baskets = _matrix([task.basket for task in tasks], len(data.items))
        found, _ = model.recommend(np.arange(len(tasks)), baskets, N=TOP, recalculate_user=True)
        return np.asarray(found)

    return {"ALS (implicit)": rank}


METHODS: list[tuple[Callable[..., dict[str, Rank]], list[dict[str, Any]]]] = [
    (popularity, [{}]),
    (co_occurrence, [{}]),
    (ours, [{"dim": 100}, {"dim": 300}]),
    (
        item2vec,
        [
            {"dim": dim, "epochs": epochs, "ns_exponent": exponent, "sample": 0}
            for dim, epochs, exponent in ((100, 5, 0.75), (100, 5, -0.5), (100, 20, -0.5), (300, 5, -0.5))
        ],
    ),
    (
        als,
        [
            {"factors": factors, "alpha": alpha, "regularization": regularization}
            for factors in (4, 16, 64)
            for alpha in (1.0, 10.0)
            for regularization in (0.1, 10.0, 100.0)
        ],
    ),
]


def compare(path: Path) -> dict[str, Any]:
    """Train every method with every setting, and measure the best setting of each on the test."""
    data = read_data(path)
    n = len(data.items)
    # Loads what was compiled before.
    psdvec.train(data.baskets[:500], items=True, min_count=1, dim=2, quiet=True)
    best: dict[str, dict[str, Any]] = {}
    for method, settings in METHODS:
        for setting in settings:
            if any(setting.get(name, 0) > n for name in ("dim", "factors")):
                continue
            wall, processor = time.perf_counter(), time.process_time()
            ranks = method(data, **setting)
            cost = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
            for name, rank in ranks.items():
                tried = data.development[:TRIED]
                score = float(hits_of(rank(tried), tried).mean())
                print(
                    f"{path.name}: {name} {setting}: {score:.4f} on development, {cost['processor']:.1f} s",
                    flush=True,
                )
                tried_before = best.get(name, {"development": {}})["development"]
                if score > max(tried_before.values(), default=-1):
                    hits = hits_of(rank(data.test), data.test)
                    best[name] = {"setting": setting, **cost, "hits": np.packbits(hits).tobytes().hex()}
                best[name]["development"] = {**tried_before, _say(setting): score}
    sizes = {
        "baskets": len(data.baskets),
        "items": n,
        "development": len(data.development),
        "test": len(data.test),
    }
    return {"name": path.name, **sizes, "methods": best}


def hits_of(ranked: np.ndarray, tasks: Sequence[Task]) -> np.ndarray:
    """Say of each task whether the missing item is among those named for it."""
    return (ranked == np.array([task.missing for task in tasks])[:, None]).any(axis=1)


def _say(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def table(record: dict[str, Any]) -> str:
    """Return the recall of every method, and its difference from ours with its standard error, as a table."""
    lines = []
    for data in record["sets"]:
        total = data["test"]
        all_hits = {name: _unpacked(found["hits"]) for name, found in data["methods"].items()}
        reference = all_hits["PSDVec, complete"]
        head = f"{data['name']}: {data['baskets']:,} baskets, {data['items']:,} items, {total:,} test baskets"
        lines += [f"| {head} | setting | recall at 10 | behind ours | seconds |", "|---|---|---:|---:|---:|"]
        for name in sorted(all_hits, key=lambda name: -int(all_hits[name].sum())):
            hits, found = all_hits[name], data["methods"][name]
            behind, apart = int(reference.sum()) - int(hits.sum()), int((reference != hits).sum())
            error = np.sqrt(max(apart - behind**2 / total, 0)) / total
            shown = "" if hits is reference else f"{behind / total:.1%} ± {error:.1%}"
            lines.append(
                f"| {name} | {_say(found['setting'])} | {hits.sum() / total:.1%} | {shown} | {found['processor']:.1f} |"
            )
        lines.append("")
    return "\n".join(lines[:-1])


def _unpacked(hits: str) -> np.ndarray:
    """Return which baskets were hits, and some zeros."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(hits), np.uint8))


# Counting orders that do not fit into memory.


def draw_orders(path: Path, *, orders: int) -> int:
    """Write a table of orders, all first items before all second ones, and return how many rows it has."""
    random, rows = np.random.default_rng(SEED), 0
    shares = np.cumsum(1 / np.arange(1, CATALOGUE + 1) ** 0.9)
    with path.open("w", encoding="utf-8") as file:
        file.write("order_id,sku\n")
        for kept in KEPT:
            for begin in range(0, orders, 1_000_000):
                some = begin + np.flatnonzero(random.random(min(1_000_000, orders - begin)) < kept)
                items = np.searchsorted(shares, shares[-1] * random.random(len(some)))
                file.write(
                    "".join(f"{a},sku-{b}\n" for a, b in zip(some.tolist(), items.tolist(), strict=True))
                )
                rows += len(some)
    return rows


def count_drawn(orders: int, memory: str) -> dict[str, Any]:
    """Count drawn orders by the command line within ``memory``."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "orders.csv"
        rows = draw_orders(path, orders=orders)
        columns = ["--basket", "order_id", "--item", "sku"]
        cost = run(
            [*PSDVEC, "count", path, "-o", Path(folder) / "counts", "--items", *columns, "--memory", memory]
        )
        counts = psdvec.load(Path(folder) / "counts")
        sizes = {
            "rows": rows,
            "bytes": path.stat().st_size,
            "items": len(counts),
            "pairs": len(counts.values),
        }
        baskets = counts.tally.sentences
    return {"baskets": baskets, **sizes, "allowed": memory, **vars(cost)}


def memory_table(record: dict[str, Any]) -> str:
    """Return what counting drawn orders took, as a table."""
    found = record["drawn"]
    sizes = ("baskets", "rows", "items", "pairs")
    cost = (f"{found['memory'] / 1e6:,.0f} MB", f"{found['wall']:.0f}", f"{found['processor']:.0f}")
    titles = (*sizes, "allowed", "peak memory", "wall seconds", "processor seconds")
    return markdown(titles, [(*(f"{found[name]:,}" for name in sizes), found["allowed"], *cost)], names=0)


def main() -> None:
    """Compare the methods on the files, or count drawn orders."""
    parser = make_parser(__doc__, required=True)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--drawn", type=float, help="count so many million drawn orders instead")
    parser.add_argument("--memory", default="1G")
    options = parser.parse_args()
    if options.drawn is not None:
        figures: dict[str, Any] = {"drawn": count_drawn(round(options.drawn * 1e6), options.memory)}
    else:
        figures = {"implicit": version("implicit"), "sets": [compare(path) for path in options.files]}
    write_record(options.record, figures)


if __name__ == "__main__":
    run_script(main)
