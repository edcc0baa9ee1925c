"""Time and peak memory of whole commands, and tables of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from psdvec.compare.values import Cost, FailedCommandError, measure
from psdvec.errors import PSDVecError

PSDVEC = [sys.executable, "-m", "psdvec"]


def run_script(main: Callable[[], None]) -> None:
    """Run a benchmark; what is wrong with its input ends it with one sentence."""
    try:
        main()
    except PSDVecError as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: {error}") from None


def run(command: Sequence[str | Path], *, stdin: Path | None = None, stdout: Path | None = None) -> Cost:
    """Run a command to its end and measure it; an error ends the benchmark with what the command said."""
    parts = [str(part) for part in command]
    try:
        return measure(parts, stdin=stdin, stdout=stdout)
    except FailedCommandError as error:
        raise PSDVecError(f"'{' '.join(parts)}' failed: {error}") from None


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
