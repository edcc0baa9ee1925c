"""The paper's size on a GPU, from counts in host memory: 25,000 core words, 155,000 by ridge, and 180,000 all together.

    python -m benchmarks.bench.bench_gpu [--device cuda] [--words 180000] [--pairs 90 1000] [--core 25000]
    [--dim 500 300] [--rounds 4] [--repeats 2] [--parts core whole] [--memory 8G] [--record FILE]

Needs torch. Times include bringing the counts to the device and the vectors back, with the device synchronised; beside
them stands the most memory that torch took of the device. With ``--memory``, pairs that have no room in so much of the
device's memory stay in the machine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.arrays import Float64s
from psdvec.counts.matrix import UNIT, Cooccurrence, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.kernels import kernel
from psdvec.resources import resolve_workers
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit

PARTS = ("core", "whole")
TOPICS = 50
ROWS = 500  # that a thread draws at a time


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--words", type=int, default=180_000)
    parser.add_argument("--pairs", type=float, nargs="+", default=[90], help="millions")
    parser.add_argument("--core", type=int, default=25_000)
    parser.add_argument("--dim", type=int, nargs="+", default=[500])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--memory", help="of the device, for pairs; default: what is free")
    options = parser.parse_args()
    how: dict[str, Any] = {
        "changes": {"rounds": options.rounds}, "device": options.device, "quiet": True, "memory": options.memory,
    }  # fmt: skip
    small = drawn_counts(3_000, 200_000)
    extend(fit(small, dim=20, max_words=2_000, **how), small, device=options.device, quiet=True)
    rows = []
    for millions in options.pairs:
        counts = drawn_counts(options.words, int(millions * 1e6))
        for dim in options.dim:
            for row in measured(counts, {**how, "dim": dim}, options):
                print(row, flush=True)
                rows.append({"pairs": counts.values.size, "dim": dim, **row})
    publish({"device": device_name(options.device), **how, "rows": rows}, table, record=options.record)


def measured(counts: Cooccurrence, how: dict[str, Any], options: Any) -> Iterator[dict[str, Any]]:
    """Yield what each step took, several times: the core, the words after it, and all words together."""

    def took(what: str, work: Callable[[], Any], words: Callable[[Any], int]) -> tuple[Any, dict[str, Any]]:
        seconds, memory, result = timed(work, options.repeats, options.device)
        return result, {"what": what, "words": words(result), "seconds": seconds, "memory": memory}

    if "core" in options.parts:
        for recipe in ("default", "paper"):
            fitted = partial(fit, counts, max_words=options.core, recipe=recipe, **how)
            model, row = took(f"fit, recipe {recipe}", fitted, len)
            yield row
            placed = partial(extend, model, counts, device=options.device, quiet=True)
            yield took(f"extend, recipe {recipe}", placed, lambda found: len(found.learned))[1]
    if "whole" in options.parts:
        yield took("fit, all words together", partial(fit, counts, **how), len)[1]


def device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return device
    import torch

    return str(torch.cuda.get_device_name())


def timed(work: Callable[[], Any], repeats: int, device: str) -> tuple[list[float], int, Any]:
    """Return the seconds of every run, the most bytes of the device that were taken, and the result of the last."""
    import torch

    seconds, result, memory = [], None, 0
    for _ in range(repeats):
        if device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
        if device.startswith("cuda"):
            memory = max(memory, torch.cuda.max_memory_allocated())
    return seconds, memory, result


def table(record: dict[str, Any]) -> str:
    """Write the seconds of every run."""
    rows = [
        [
            row["what"], f"{row['words']:,}", str(row["dim"]), f"{row['pairs'] / 1e6:,.0f}",
            ", ".join(f"{each:.1f}" for each in row["seconds"]), f"{row['memory'] / 1e9:.1f}",
        ]
        for row in record["rows"]
    ]  # fmt: skip
    device = record["device"] + (f", `memory={record['memory']}`" if record["memory"] else "")
    return markdown([device, "words", "dimensions", "million pairs", "seconds", "GB of its memory"], rows)


def drawn_counts(words: int, pairs: int, *, seed: int = 0) -> Cooccurrence:
    """Draw about so many different pairs of Zipf-distributed words, half of the draws within a topic, and count them.

    Each pair is there with the probability that it would have among so many draws, on its own, so that threads can draw
    the rows.
    """
    z = np.arange(1, words + 1) ** -0.9
    z /= z.sum()
    draws = _draws_for(pairs, z)
    firsts = range(0, words, ROWS)
    with ThreadPoolExecutor(resolve_workers(None)) as pool:
        nothing = np.empty(0, np.int32), np.empty(0, np.int64)
        lengths = np.concatenate(
            list(
                pool.map(
                    lambda first: draw_rows(first, min(first + ROWS, words), z, draws, seed, *nothing), firsts
                )
            )
        )
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        columns, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int64)

        def fill(first: int) -> None:
            last = min(first + ROWS, words)
            own = slice(indptr[first], indptr[last])
            draw_rows(first, last, z, draws, seed, columns[own], values[own])

        list(pool.map(fill, firsts))
    vocabulary = Vocabulary(tuple(f"w{i}" for i in range(words)), np.arange(words, 0, -1) * 100)
    return Cooccurrence(vocabulary, indptr, columns, values, {"unit": UNIT}, Tally())


def _draws_for(pairs: int, z: Float64s) -> float:
    """Return how many draws give so many different pairs, by bisection over a sample of the ranks."""
    ranks = np.unique(np.geomspace(1, z.size, 2000).astype(np.int64)) - 1
    each = np.diff(ranks, append=z.size)
    products = np.outer(z[ranks], z[ranks])
    low, high = 1.0, 1e15
    for _ in range(100):
        draws = np.sqrt(low * high)
        general, near = (1 - np.exp(-rate * products) for rate in (draws / 2, draws / 2 * TOPICS))
        found = each @ (general + (1 - general) * near / TOPICS) @ each
        low, high = (draws, high) if found < pairs else (low, draws)
    return float(draws)


# z float64[n], falling: column j is drawn with probability 1 - exp(-rate z[j])
@kernel
def next_column(z, j, step, rate):
    """Return the first column that is drawn of ``j`` and every ``step`` after it, n if none is.

    The way to it is exponential at the rate of the place where it begins; rates fall, and so some are not taken.
    """
    while j < z.size:
        bound = rate * z[j]
        way = -np.log(1 - np.random.random()) / bound
        if way * step >= z.size - j:
            return z.size
        j += np.int64(way) * step
        if np.random.random() * (1 - np.exp(-bound)) < 1 - np.exp(-rate * z[j]):
            return j
        j += step
    return z.size


# columns int32[m], values int64[m]: filled; where they are empty, rows are only counted; int64[last-first] is back
@kernel
def draw_rows(first, last, z, draws, seed, columns, values):
    """Draw rows, each from a seed of its own, and return how many pairs each has."""
    lengths, at = np.zeros(last - first, np.int64), 0
    for i in range(first, last):
        np.random.seed(seed + i)
        rate, begin = draws / 2 * z[i], at
        general, near = next_column(z, 0, 1, rate), next_column(z, i % TOPICS, TOPICS, rate * TOPICS)
        while min(general, near) < z.size:
            j = min(general, near)
            if columns.size:
                columns[at] = j
            at += 1
            general = next_column(z, j + 1, 1, rate) if general == j else general
            near = next_column(z, j + TOPICS, TOPICS, rate * TOPICS) if near == j else near
        lengths[i - first] = at - begin
        if values.size:
            for k in range(begin, at):
                values[k] = UNIT * (1 + np.random.poisson(2000 / (20 + i) + 2000 / (20 + columns[k])))
    return lengths


if __name__ == "__main__":
    run_script(main)
