"""How the time and the memory of a fit grow with the pairs: real text, at several sizes of the vocabulary.

    python -m benchmarks.bench.bench_growth CORPUS [CORPUS ...] --work FOLDER [--words 10000 20000 50000 200000]
    [--dim 300] [--memory 4G] [--record FILE]

Each CORPUS is raw text, plain or compressed; they are counted together, by ``--tokenizer paper`` and a window of 20,
and their counts are kept below FOLDER. Every fit is a process of its own.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.corpora import count_together
from benchmarks.lib.measure import COST, PSDVEC, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.counts.matrix import map_counts


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+", help="raw text, plain or compressed")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts and models")
    parser.add_argument("--words", type=int, nargs="+", default=[10_000, 20_000, 50_000, 200_000])
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--memory", help="of each fit, such as 4G; default: what is free")
    options = parser.parse_args()
    limit = [] if options.memory is None else ["--memory", options.memory]
    fits = []
    for words in options.words:
        counts = count_together(options.corpus, options.work, words=words)
        found = map_counts(counts)
        model = options.work / f"model-{words}"
        command = [*PSDVEC, "fit", counts, "-o", model, "--dim", str(options.dim), "--overwrite", "--quiet"]
        cost = run([*command, *limit])
        fits.append({"words": len(found), "pairs": found.indices.size, **asdict(cost)})
    publish({"dim": options.dim, "fits": fits}, table, record=options.record)


def table(record: dict[str, Any]) -> str:
    """Write what a fit took at each size."""
    rows = [[f"{fit['words']:,}", f"{fit['pairs'] / 1e6:.1f}", *cells(fit)] for fit in record["fits"]]
    return markdown([f"words × {record['dim']}", "million pairs", *COST], rows)


if __name__ == "__main__":
    run_script(main)
