"""How long a map of words takes to draw, the memory that takes, and how many neighbours it keeps.

    python -m benchmarks.bench.bench_layout MODEL [--words 20000 50000]

Each layout is drawn in a process of its own, from reading the model to naming the regions. Fidelity is the share of a
word's ten nearest words by cosine, among those on the map, that are among its ten nearest dots.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import cast

from benchmarks.lib.measure import run, run_script

from psdvec.formats import load
from psdvec.maps.drawing import LAYOUTS, LayoutName, draw, take_words
from psdvec.progress import SilentProgress


def draw_once(model: str, words: int, layout: str) -> None:
    """Draw one map and print its fidelity."""
    units = take_words(load(model, progress=SilentProgress()), words=words).units
    print(draw(units, layout=cast(LayoutName, layout), progress=SilentProgress()).fidelity)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--words", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--layout", choices=LAYOUTS, help="draw this one here, and print its fidelity")
    options = parser.parse_args()
    if options.layout:
        draw_once(options.model, options.words[0], options.layout)
        return
    print(f"{'':<24} {'wall s':>8} {'cpu s':>8} {'peak MB':>8} {'fidelity':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for words in options.words:
            for layout in LAYOUTS:
                command = [sys.executable, "-m", "benchmarks.bench.bench_layout", options.model]
                printed = Path(folder) / "fidelity"
                cost = run([*command, "--words", str(words), "--layout", layout], stdout=printed)
                numbers = f"{cost.wall:8.1f} {cost.processor:8.1f} {cost.memory / 1e6:8.0f}"
                print(
                    f"{f'{layout}, {words:,} words':<24} {numbers} {float(printed.read_text()):9.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    run_script(main)
