"""How long a map of words takes to draw, the memory that takes, and how many neighbours it keeps.

    python -m benchmarks.bench.bench_layout MODEL [--words 20000 50000] [--record FILE]

Each layout is drawn in a process of its own, from reading the model to naming the regions. Fidelity is the share of a
word's ten nearest words by cosine, among those on the map, that are among its ten nearest dots.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, cast

from benchmarks.lib.measure import COST, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.formats import load
from psdvec.maps.drawing import LAYOUTS, LayoutName, draw, take_words
from psdvec.progress import SilentProgress


def draw_once(model: str, words: int, layout: str) -> None:
    """Draw one map and print its fidelity."""
    units = take_words(load(model, progress=SilentProgress()), words=words).units
    print(draw(units, layout=cast(LayoutName, layout), progress=SilentProgress()).fidelity)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--layout", choices=LAYOUTS, help="draw this one here, and print its fidelity")
    options = parser.parse_args()
    if options.layout:
        draw_once(options.model, options.words[0], options.layout)
        return
    maps = []
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "fidelity"
        for layout, words in product(LAYOUTS, options.words):
            command = [sys.executable, "-m", "benchmarks.bench.bench_layout", options.model]
            cost = run([*command, "--words", str(words), "--layout", layout], stdout=printed)
            found = {"layout": layout, "words": words, "fidelity": float(printed.read_text())}
            maps.append({**found, **asdict(cost)})
    dim = load(options.model, progress=SilentProgress()).dim
    publish({"dim": dim, "maps": maps}, table, record=options.record)


def table(record: dict[str, Any]) -> str:
    """Write what each map took, and its fidelity."""
    rows = [
        [one["layout"], f"{one['words']:,}", *cells(one), f"{one['fidelity']:.3f}"] for one in record["maps"]
    ]
    return markdown(["layout", f"words × {record['dim']}", *COST, "fidelity"], rows)


if __name__ == "__main__":
    run_script(main)
