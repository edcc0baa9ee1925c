"""A fit within several memory limits, by one thread and by all, and on a local cluster: time, peak memory, same bytes.

    python -m benchmarks.bench.bench_memory CORPUS --work FOLDER [--words 50000] [--dim 300] [--memory 1G 2G]
    [--clusters 1 2] [--record FILE]

CORPUS is raw text, plain or compressed; its counts are kept below FOLDER. Every fit is a process of its own. The
digest is that of the vectors and of all else that the model holds: it must be the same in every row. The memory of a
cluster's workers is not shown; the time is that from the first worker's start.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, quickest, run, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.counts.matrix import map_counts
from psdvec.storage.artefact import open_artefact


def main() -> None:
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("--work", type=Path, required=True, help="folder for counts")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--memory", nargs="*", default=["2G", "1G"])
    parser.add_argument("--clusters", type=int, nargs="*", default=[1, 2], help="worker processes")
    options = parser.parse_args()
    counts = count_once(options.corpus, options.work, tokenizer=options.tokenizer, words=options.words)
    variants: list[list[str]] = [[], ["--workers", "1"]]
    variants += [["--memory", size] for size in options.memory]
    variants += [["--cluster", f"local:{workers}"] for workers in options.clusters]
    found = map_counts(counts)
    figures: dict[str, Any] = {
        "words": len(found), "pairs": found.indices.size, "dim": options.dim, "fits": []
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="bench-memory-", dir=options.work) as folder:
        model = Path(folder, "model")
        fit = [*PSDVEC, "fit", counts, "-o", model, "--dim", str(options.dim), "--overwrite", "--quiet"]
        for variant in variants:
            cost = run([*fit, *variant])
            figures["fits"].append(
                {"options": " ".join(variant), **asdict(cost), "digest": open_artefact(model).digest}
            )
    publish(figures, table, record=options.record)


def table(record: dict[str, Any]) -> str:
    """Write what each fit took, and the beginning of its digest."""
    rows = []
    for fit in record["fits"]:
        wall, processor, memory = cells(fit)
        shown = "" if "--cluster" in fit["options"] else memory
        name = f"`{fit['options']}`" if fit["options"] else "as it is"
        rows.append([name, wall, processor, shown, f"`{fit['digest'][:8]}`"])
    title = f"{record['words']:,} words × {record['dim']}, {record['pairs'] / 1e6:.0f} million pairs"
    return markdown([title, *COST, "digest"], rows)


def summary(count: dict[str, Any], memory: dict[str, Any], growth: dict[str, Any]) -> str:
    """Write counting and fitting in one table, from the records of ``bench_count``, this one and ``bench_growth``."""
    rows = []
    for found in count["glove"]:
        text = f"{found['tokens'] / 1e6:.0f} million words"
        rows.append([f"count, window {found['window']}", text, *cells(quickest(found["psdvec"]))])
    largest = count["size"][-1]
    text = f"{largest['tokens'] / 1e6:.0f} million words"
    rows.append(["count, window 10, `--memory 2G`", text, *cells(quickest(largest["psdvec"]))])
    for fit in memory["fits"]:
        name = f"fit, `{fit['options']}`" if fit["options"] else "fit"
        rows.append([name, f"{memory['words']:,} × {memory['dim']}", *cells(fit)])
    for fit in growth["fits"]:
        if fit["words"] > memory["words"]:
            rows.append(["fit", f"{fit['words']:,} × {growth['dim']}", *cells(fit)])
    return markdown(["", "of", *COST], rows)


if __name__ == "__main__":
    run_script(main)
