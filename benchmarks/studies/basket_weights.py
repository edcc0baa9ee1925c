"""What a pair of a basket of n items should count, and what an item beside itself.

    python -m benchmarks.studies.basket_weights retail.dat groceries.csv --record items-weights.json

A pair counts 1, 1/(n - 1), so that every item has as much weight as any other whatever its basket, or the root of that;
an item beside itself has weight 0, as in psdvec, or is a pair that was never seen. Recall at 10 of the development part
of ``bench_items``, whose rows are read and split alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_items import FEWEST, TRIED, Data, by_scores, hits_of, read_data
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, write_record
from scipy import sparse

import psdvec
from psdvec.counts.matrix import UNIT, Cooccurrence, Tally

POWERS = {"1": 0.0, "1/√(n − 1)": 0.5, "1/(n − 1)": 1.0}
BESIDE = ("weight 0", "never seen")
DIMENSIONS = (100, 300)  # of which the most that there are items for


def count(data: Data, *, power: float, beside: str) -> Cooccurrence:
    """Return the counts of the training baskets, a pair of n items counting (n - 1)^-power."""
    own = psdvec.count_pairs(data.baskets, items=True, min_count=FEWEST, quiet=True)
    matrix = data.matrix[:, _places(data, own.vocabulary.words)]
    sizes = np.array([max(len(basket) - 1, 1) for basket in data.baskets], np.float64)
    pairs = (matrix.T @ sparse.diags_array(sizes**-power) @ matrix).tocsr()
    pairs.setdiag(1 / UNIT if beside == "weight 0" else 0)
    pairs.eliminate_zeros()
    pairs.sort_indices()
    values = np.maximum(np.rint(pairs.data * UNIT), 1).astype(np.int64)
    indptr, indices = pairs.indptr.astype(np.int64), pairs.indices.astype(np.int32)
    return Cooccurrence(own.vocabulary, indptr, indices, values, own.parameters, Tally())


def _places(data: Data, words: Sequence[str]) -> np.ndarray:
    places = {item: i for i, item in enumerate(data.items)}
    return np.array([places[word] for word in words])


def measure(data: Data, counts: Cooccurrence, *, dim: int) -> dict[str, float]:
    """Return the recall of ``complete`` and of cosines after a fit."""
    model = psdvec.fit(counts, dim=dim, quiet=True)
    order = _places(data, model.words)
    units, likely = np.empty((len(order), dim), np.float32), np.empty((len(order),) * 2, np.float32)
    units[order] = model.vectors / model.lengths[:, None]
    for i, row in enumerate(order.tolist()):
        likely[row, order] = model.likelihoods(np.array([i]))
    tasks, n = data.development[:TRIED], len(order)
    ranks = {
        "complete": by_scores(n, lambda means: means @ likely),
        "most similar": by_scores(n, lambda means: (means @ units) @ units.T),
    }
    return {name: float(hits_of(rank(tasks), tasks).mean()) for name, rank in ranks.items()}


def table(record: dict[str, Any]) -> str:
    """Return the recall of every way to count as a table."""
    names, ways = ("name", "weight", "beside", "dim"), ("complete", "most similar")
    rows = [
        [*(str(one[name]) for name in names), *(f"{one[way]:.1%}" for way in ways)] for one in record["runs"]
    ]
    return markdown(("baskets", "a pair counts", "an item beside itself", "dimensions", *ways), rows, names=3)


def main() -> None:
    """Count, fit and measure in every way."""
    parser = make_parser(__doc__, required=True)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    runs = []
    for path in options.files:
        data = read_data(path)
        for weight, power in POWERS.items():
            for beside in BESIDE if power == 0 else BESIDE[:1]:
                counts = count(data, power=power, beside=beside)
                dim = max(dim for dim in DIMENSIONS if dim <= len(data.items))
                named = {"name": path.name, "weight": weight, "beside": beside, "dim": dim}
                runs.append({**named, **measure(data, counts, dim=dim)})
                print(runs[-1], flush=True)
    write_record(options.record, {"runs": runs})


if __name__ == "__main__":
    run_script(main)
