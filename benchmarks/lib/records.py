"""Results of benchmarks: steps as JSON lines, so that a run that was killed goes on where it was, and records.

A record is what a finished run leaves in ``benchmarks/results``: :func:`made_by` says what made it, and beside that it
holds all raw figures. :mod:`benchmarks.lib.tables` writes the tables of the pages from it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# What figures may depend on beside our own code, as far as it is installed.
VERSIONS = ("numpy", "scipy", "numba", "gensim", "scikit-learn")
_IMPORTED = {"scikit-learn": "sklearn"}
LOAD = os.getloadavg()[0]  # processes that wanted a processor in the minute before the benchmark began


def make_parser(description: str | None, *, required: bool = False) -> argparse.ArgumentParser:
    """Return a parser that shows the ``description`` as it is written, and knows ``--record``, perhaps ``required``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=Path, required=required, help="file for all raw results, as JSON")
    return parser


def publish(figures: dict[str, Any], *tables: Callable[[dict[str, Any]], str], record: Path | None) -> None:
    """Write the record if one is asked for, and print its tables."""
    if record:
        write_record(record, figures)
    for table in tables:
        print(f"\n{table(figures)}")


def made_by() -> dict[str, Any]:
    """Return the command that runs, its commit and date, and the machine: what a record begins with."""
    ask = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parent,
    )  # fmt: skip
    cpu = Path("/proc/cpuinfo")
    models = [
        line.partition(":")[2].strip()
        for line in (cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "command": " ".join(["python", "-m", _module(), *sys.argv[1:]]),
        "commit": os.environ.get("BENCHMARK_COMMIT") or ask.stdout.strip(),  # a copy without git may be told
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": (models or [platform.machine()])[0],
        "processors": os.cpu_count(),
        "load": round(LOAD, 1),
        "versions": {
            "python": platform.python_version(),
            **{n: version(n) for n in VERSIONS if find_spec(_IMPORTED.get(n, n))},
        },
    }


def _module() -> str:
    return ".".join(Path(sys.argv[0]).with_suffix("").parts[-3:])


def write_record(path: Path, figures: dict[str, Any]) -> None:
    """Write a record: what made it, and the ``figures``."""
    text = json.dumps({**made_by(), **figures}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def made_where(record: dict[str, Any]) -> str:
    """Return the sentence that stands below the tables of a record: when and on what it was measured."""
    return f"{date_and_machine(record)}: `{record['command']}`"


def date_and_machine(record: dict[str, Any]) -> str:
    """Return when and on what a record was measured, and how busy the machine was where the record says so."""
    load = f", load {record['load']:.1f} at the start" if "load" in record else ""
    return f"{record['date']}, {record['processors']} processors ({record['machine']}{load})"


class Records:
    """Results in a file, each under a key that says what was run; both are dictionaries that JSON can hold.

    A key holds all that a result depends on but the program itself: after a change of psdvec, begin a new file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        records = [record for line in lines if (record := _parse(line)) is not None]
        self.found = {_text(record["key"]): record["result"] for record in records}

    def find(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result under this key, or None if it is still to be had."""
        return self.found.get(_text(key))

    def add(self, key: dict[str, Any], result: dict[str, Any]) -> None:
        """Keep a result, in memory and as a line of the file."""
        self.found[_text(key)] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                broken = file.read() != b"\n"  # a run was killed while it wrote
            else:
                broken = False
            line = json.dumps({"key": key, "result": result}, ensure_ascii=False)
            file.write(b"\n" * broken + line.encode() + b"\n")


def _text(key: dict[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


def _parse(line: str) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:  # of a run that was killed while it wrote
        return None
    return record
