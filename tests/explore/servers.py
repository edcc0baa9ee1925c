"""The explorer as its users start it: a process of its own, at any free port."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running(*arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start ``psdvec explore`` and yield the address it announces, and the process."""
    options = ["--port", "0", "--no-open", "-q"]
    command = [sys.executable, "-m", "psdvec", "explore", *map(str, arguments), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert " at http" in line, process.stderr.read()
            yield line.partition(" at ")[2].split()[0], process
        finally:
            process.kill()
