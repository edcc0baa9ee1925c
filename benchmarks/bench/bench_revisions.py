"""Two checkouts of psdvec on the same work, in turn: time and memory of each stage, and whether the bytes agree.

    python -m benchmarks.bench.bench_revisions BEFORE AFTER CORPUS [--words 30000] [--core 26000] [--dim 200]
    [--repeats 5]

BEFORE and AFTER are folders with a ``src/psdvec``. The runs alternate, so that what disturbs the machine disturbs both,
and the quickest of each counts. At the end, every file that the two wrote is compared byte by byte.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.measure import PSDVEC, Cost, best, run

QUERIES = """
import psdvec
e = psdvec.load("model")
e.most_similar_many(e.words[:4000], topn=10)
for word in e.words[:200]:
    e.most_similar(word)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--core", type=int, default=26_000)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    corpus = arguments.corpus.resolve()
    stages = {
        "count": [*PSDVEC, "count", corpus, "-o", "counts", "--max-words", arguments.words],
        "fit": [*PSDVEC, *f"fit counts -o model --dim {arguments.dim} --max-words {arguments.core}".split()],
        "extend": [*PSDVEC, "extend", "model", "counts", "-o", "larger"],
        "queries": [sys.executable, "-c", QUERIES],
    }
    outputs = {"count": "counts", "fit": "model", "extend": "larger"}
    homes = {"before": arguments.before.resolve() / "src", "after": arguments.after.resolve() / "src"}
    print(
        f"{'':<10} {'before s':>9} {'after s':>9} {'ratio':>7} {'cpu ratio':>10} {'before MB':>10} {'after MB':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder) / name for name in homes}
        for stage, command in stages.items():
            costs = {name: [] for name in homes}
            for _ in range(arguments.repeats + 1):  # the first run of each compiles and is not counted
                for name in homes:
                    places[name].mkdir(exist_ok=True)
                    shutil.rmtree(places[name] / outputs.get(stage, "nothing"), ignore_errors=True)
                    costs[name].append(timed(command, home=homes[name], place=places[name]))
            show(stage, *(best(costs[name][1:]) for name in homes))
        for output in outputs.values():
            print(f"{output}: {compare(*(place / output for place in places.values()))}")


def timed(command, *, home: Path, place: Path) -> Cost:
    os.environ["PYTHONPATH"] = str(home)
    os.chdir(place)
    return run([str(part) for part in command])


def show(stage: str, before: Cost, after: Cost) -> None:
    print(
        f"{stage:<10} {before.wall:9.2f} {after.wall:9.2f} {after.wall / before.wall:7.3f} "
        f"{after.processor / before.processor:10.3f} {before.memory / 1e6:10.0f} {after.memory / 1e6:9.0f}",
        flush=True,
    )


def compare(before: Path, after: Path) -> str:
    if not before.exists() and not after.exists():
        return "nothing was written by either"
    names = sorted({path.name for folder in (before, after) for path in folder.iterdir()})
    _, different, missing = filecmp.cmpfiles(before, after, names, shallow=False)
    wrong = [*different, *missing]
    return f"files that differ: {', '.join(wrong)}" if wrong else f"{len(names)} files, all the same bytes"


if __name__ == "__main__":
    main()
