"""A fit within several memory limits, by one thread and by all, and on a local cluster: time, peak memory, same bytes.

    python -m benchmarks.bench.bench_memory CORPUS --work FOLDER [--words 50000] [--dim 300] [--memory 1G 2G]
    [--clusters 1 2]

CORPUS is raw text, plain or compressed; its counts are kept below FOLDER. Every fit is a process of its own. The
digest is that of the vectors and of all else that the model holds: it must be the same in every row. The memory of a
cluster's workers is not shown; the time is that from the first worker's start.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import PSDVEC, run, run_script

from psdvec.storage.artefact import open_artefact


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    print("| fit | seconds | processor seconds | peak memory | digest |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="bench-memory-", dir=options.work) as folder:
        for variant in variants:
            model = Path(folder, "model")
            command = [
                *PSDVEC,
                "fit",
                counts,
                "-o",
                model,
                "--dim",
                str(options.dim),
                "--overwrite",
                "--quiet",
            ]
            cost = run([*command, *variant])
            memory = "" if "--cluster" in variant else f"{cost.memory / 1e9:.2f} GB"
            digest = open_artefact(model).digest[:12]
            name = " ".join(variant) or "as it is"
            print(f"| {name} | {cost.wall:.1f} | {cost.processor:.1f} | {memory} | {digest} |", flush=True)


if __name__ == "__main__":
    run_script(main)
