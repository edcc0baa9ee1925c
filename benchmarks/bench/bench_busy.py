"""What a busy machine costs: count, fit and extend alone, and beside as many busy loops as there are cores.

    python -m benchmarks.bench.bench_busy CORPUS [--words 50000] [--new-words 5000] [--dim 300] [--repeats 1]

CORPUS is raw text, plain or compressed. Each command runs in a process of its own, alone and busy in turn; the quickest
of its runs counts. The loops are processes that spin in Python at normal priority. Half of the machine is then ours: a
command that shares it well takes twice as long, and no more processor seconds than alone. One whose threads wait for
each other by spinning takes many more.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.lib.corpora import add_corpus_arguments
from benchmarks.lib.measure import PSDVEC, Cost, best, run, run_script

from psdvec.resources import resolve_workers

PROCESSOR, WALL = 1.15, 2.3  # the most that busy may cost, times what it costs alone

Costs = Mapping[str, tuple[Cost, Cost]]  # by command: alone, busy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("--words", type=int, default=50_000, help="to fit")
    parser.add_argument("--new-words", type=int, default=5_000, help="to place; the next most frequent")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    loops = resolve_workers(None)
    with tempfile.TemporaryDirectory(prefix="bench-busy-") as folder:
        warm_up(Path(folder), options.tokenizer)
        costs = measure_commands(commands(options, Path(folder)), loops=loops, repeats=options.repeats)
    print(f"alone, and beside {loops} busy loops")
    print(table(costs))


def commands(options: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """Return the commands by name, in the order in which each needs what the last one wrote."""
    counts, model, larger = folder / "counts", folder / "model", folder / "larger"
    asked: dict[str, list[object]] = {
        "count": [options.corpus, "-o", counts, "--tokenizer", options.tokenizer,
                  "--max-words", options.words + options.new_words],
        "fit": [counts, "-o", model, "--max-words", options.words, "--dim", options.dim],
        "extend": [model, counts, "-o", larger],
    }  # fmt: skip
    return {
        verb: [*PSDVEC, verb, *map(str, arguments), "--overwrite", "--quiet"]
        for verb, arguments in asked.items()
    }


def warm_up(folder: Path, tokenizer: str) -> None:
    """Compile the kernels, which happens once after installation."""
    text = folder / "tiny"
    text.write_text("the cat sat on the mat with a hat\nthat cat ate the rat on a mat\n" * 9)
    tiny = argparse.Namespace(corpus=text, tokenizer=tokenizer, words=8, new_words=3, dim=2)
    for command in commands(tiny, folder).values():
        run(command)


def measure_commands(commands: Mapping[str, list[str]], *, loops: int, repeats: int) -> Costs:
    """Run each command alone and beside busy loops, in turn, and return the quickest run of either kind."""
    costs = {}
    for verb, command in commands.items():
        alone, busy = [], []
        for _ in range(repeats):
            alone.append(run(command))
            with busy_loops(loops):
                busy.append(run(command))
        costs[verb] = best(alone), best(busy)
    return costs


@contextmanager
def busy_loops(number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep ``number`` processes spinning for as long as this is open."""
    loops: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(number):
            loops.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def table(costs: Costs) -> str:
    """Write the costs of each command alone and busy, what busy costs times alone, and what it may."""
    lines = [f"{'':<16} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}"]
    for verb, (alone, busy) in costs.items():
        for name, cost in ((f"{verb}, alone", alone), (f"{verb}, busy", busy)):
            lines.append(f"{name:<16} {cost.wall:8.2f} {cost.processor:8.2f} {cost.memory / 1e6:8.0f}")
        ratios = busy.wall / alone.wall, busy.processor / alone.processor, busy.memory / alone.memory
        lines.append(f"{'  busy / alone':<16} {ratios[0]:8.2f} {ratios[1]:8.2f} {ratios[2]:8.2f}")
    lines.append(f"{'  at most':<16} {WALL:8.2f} {PROCESSOR:8.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    run_script(main)
