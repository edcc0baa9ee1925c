"""The paper's size on a GPU, from counts in host memory: 25,000 core words, 155,000 by ridge, and 180,000 all together.

    python -m benchmarks.bench.bench_gpu [--device cuda] [--words 180000] [--pairs 90] [--core 25000] [--dim 500]
    [--rounds 4] [--repeats 2] [--record FILE]

Needs torch. Times include bringing the counts to the device and the vectors back, with the device synchronised.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.counts.matrix import UNIT, Cooccurrence, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--words", type=int, default=180_000)
    parser.add_argument("--pairs", type=float, default=90, help="millions")
    parser.add_argument("--core", type=int, default=25_000)
    parser.add_argument("--dim", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    how: dict[str, Any] = {
        "dim": options.dim, "changes": {"rounds": options.rounds}, "device": options.device
    }  # fmt: skip
    small = drawn_counts(3_000, 200_000)
    extend(fit(small, dim=20, max_words=2_000, device=options.device), small, device=options.device)
    counts = drawn_counts(options.words, int(options.pairs * 1e6))
    rows = []
    for recipe in ("default", "paper"):
        work: Callable[[], Any] = lambda r=recipe: fit(counts, max_words=options.core, recipe=r, **how)  # noqa: E731
        seconds, model = timed(work, options.repeats)
        rows.append({"what": f"fit, recipe {recipe}", "words": len(model), "seconds": seconds})
        work = lambda m=model: extend(m, counts, device=options.device)  # noqa: E731
        seconds, found = timed(work, options.repeats)
        rows.append({"what": f"extend, recipe {recipe}", "words": len(found.learned), "seconds": seconds})
    seconds, model = timed(lambda: fit(counts, **how), options.repeats)
    rows.append({"what": "fit, all words together", "words": len(model), "seconds": seconds})
    pairs = counts.values.size
    publish(
        {"device": device_name(options.device), "pairs": pairs, **how, "rows": rows},
        table,
        record=options.record,
    )


def device_name(device: str) -> str:
    if device == "cpu":
        return device
    import torch

    return str(torch.cuda.get_device_name())


def timed(work: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    """Return the seconds of every run, and the result of the last."""
    seconds, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return seconds, result


def table(record: dict[str, Any]) -> str:
    """Write the seconds of every run."""
    rows = [
        [row["what"], f"{row['words']:,}", ", ".join(f"{each:.1f}" for each in row["seconds"])]
        for row in record["rows"]
    ]
    return markdown([f"{record['device']}, {record['dim']} dimensions", "words", "seconds, each run"], rows)


def drawn_counts(words: int, pairs: int, *, topics: int = 50, seed: int = 0) -> Cooccurrence:
    """Draw about this many different pairs of Zipf-distributed words, half of them within a topic, and count them."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1 / np.arange(1, words + 1) ** 0.9)
    keys = np.empty(0, np.int64)
    while keys.size < pairs:
        size = 3 * (pairs - keys.size) // 2 + 1000
        drawn = np.searchsorted(cumulative, rng.random((2, size)) * cumulative[-1])
        near = np.minimum(drawn[1] - drawn[1] % topics + drawn[0] % topics, words - 1)
        drawn[1] = np.where(rng.random(size) < 0.5, near, drawn[1])
        keys = np.sort(np.concatenate([keys, drawn[0] * words + drawn[1]]))
        keys = keys[np.diff(keys, prepend=-1) > 0]
    keys = keys[rng.random(keys.size) < pairs / keys.size]
    rows, columns = np.divmod(keys, words)
    counts = UNIT * (1 + rng.poisson(2000 / (20 + rows) + 2000 / (20 + columns)))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=words))])
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(words)), np.arange(words, 0, -1) * 100)
    return Cooccurrence(vocabulary, indptr, columns.astype(np.int32), counts, {"unit": UNIT}, Tally())


if __name__ == "__main__":
    run_script(main)
