"""Commands in processes of their own, with wall time and peak memory measured in the same way for all.

:func:`run_measured` returns the :class:`~psdvec.compare.values.Cost` of a psdvec command, or raises the sentence with
which it failed. The command is started by a small process in between (``python -m psdvec.compare.process``), because a
child's peak memory includes that of the process it was forked from.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from psdvec.compare.values import Cost

_THREADS = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class FailedCommandError(Exception):
    """A command failed; the text is the sentence with which it did."""


def run_measured(
    command: Sequence[str], *, folder: Path, workers: int, note: Callable[[str], None] = lambda _: None
) -> Cost:
    """Run ``python -m psdvec COMMAND`` in ``folder`` with this many threads and measure it.

    ``note`` is called with each line that the command writes to standard error.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(workers))}
    with tempfile.TemporaryDirectory(prefix="psdvec-") as temporary:
        result = Path(temporary) / "result.json"
        launch = [sys.executable, "-m", "psdvec.compare.process", str(result)]
        said: deque[str] = deque(maxlen=20)
        with subprocess.Popen(
            [*launch, sys.executable, "-m", "psdvec", *command],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        ) as process:  # fmt: skip
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    said.append(line.strip())
                    note(line.strip())
            except BaseException:
                process.terminate()
                raise
        measured = json.loads(result.read_text()) if result.exists() else {"code": process.returncode}
    if measured["code"] != 0:
        raise FailedCommandError(complaint(measured["code"], said))
    return Cost(measured["wall"], measured["processor"], measured["memory"])


def complaint(code: int, said: Sequence[str]) -> str:
    """Return the sentence with which a command failed, from its exit code and the lines it ``said``."""
    if code < 0:
        name = signal.Signals(-code).name
        return f"it was killed by {name}" + (", perhaps for lack of memory" if name == "SIGKILL" else "")
    lines = [line for line in said if line]
    return lines[-1].removeprefix("psdvec: ") if lines else f"it ended with exit code {code} and said nothing"


def main() -> None:
    """Run the command in ``sys.argv`` and write its cost to the file named before it.

    Standard input is the other end of a pipe that ends with the process that started this one, however it ends; then
    the command is stopped too.
    """
    result, *command = sys.argv[1:]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    threading.Thread(target=_stop_at_end, args=(sys.stdin.fileno(), process), daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    signal.signal(signal.SIGINT, lambda *_: None)  # the command gets it too, and stops by itself
    _, status, usage = os.wait4(process.pid, 0)
    measured = {
        "wall": time.perf_counter() - start,
        "processor": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
    }
    Path(result).write_text(json.dumps(measured))


def _stop_at_end(pipe: int, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of ``pipe``, in which nothing is ever written, and stop ``process``."""
    os.read(pipe, 1)
    process.terminate()


if __name__ == "__main__":
    main()
