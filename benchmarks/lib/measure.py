"""Time and peak memory of whole commands, and tables of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from psdvec.compare.values import Cost
from psdvec.errors import PSDVecError

PSDVEC = [sys.executable, "-m", "psdvec"]


def run_script(main: Callable[[], None]) -> None:
    """Run a benchmark; what is wrong with its input ends it with one sentence."""
    try:
        main()
    except PSDVecError as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: {error}") from None


def run(command: Sequence[str | Path], *, stdin: Path | None = None, stdout: Path | None = None) -> Cost:
    """Run a command to its end and measure it; an error ends the benchmark with what the command said.

    It is started from a small process of its own, since a child's peak memory includes that of its parent at the fork.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as launcher:
        return launcher.submit(_run, [str(part) for part in command], stdin, stdout).result()


def _run(command: list[str], stdin: Path | None, stdout: Path | None) -> Cost:
    with (
        (stdin or Path(os.devnull)).open("rb") as source,
        (stdout or Path(os.devnull)).open("wb") as sink,
    ):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=subprocess.PIPE)
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        why = said.decode(errors="replace").strip().rpartition("\n")[2].removeprefix("psdvec: ")
        raise PSDVecError(f"'{' '.join(command)}' failed: {why}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def best(costs: Sequence[Cost]) -> Cost:
    """Return the quickest of several runs: what disturbs a run only ever makes it slower."""
    return min(costs, key=lambda cost: cost.wall)


def table(rows: Sequence[tuple[str, Cost]], *, against: str) -> str:
    """Write costs as a table, with ratios of wall time against one of the rows."""
    reference = dict(rows)[against].wall
    lines = [f"{'':<44} {'wall s':>8} {'cpu s':>8} {'peak MB':>8} {'ratio':>7}"]
    for name, cost in rows:
        ratio = reference / cost.wall
        lines.append(
            f"{name:<44} {cost.wall:8.2f} {cost.processor:8.2f} {cost.memory / 1e6:8.0f} {ratio:7.2f}"
        )
    return "\n".join(lines)
