"""Cases run one after the other in a forked process that has little memory and little time, and may die.

:func:`run_confined` calls a function once for each case and says what became of it. A case that crashes the process or
takes too long is one failed case: the next goes on in a new process.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import psdvec
from psdvec.errors import InputWarning, PSDVecError, ResourceError

Case = TypeVar("Case")
FINE = ("read", "refused")
MEMORY = 2_000_000_000  # bytes, on top of what the process has when it starts
SECONDS = 20.0  # of processor time for one case, which other work on the machine does not use up
PATIENCE = 600.0  # seconds without an answer until a case counts as hanging
_LONGEST_SENTENCE = 1000


def run_confined(
    cases: Sequence[Case],
    call: Callable[[Case], None],
    *,
    memory: int = MEMORY,
    seconds: float = SECONDS,
    patience: float = PATIENCE,
) -> Iterator[str]:
    """Yield what became of each case: one of :data:`FINE`, or what went wrong."""
    done = 0
    while done < len(cases):
        for outcome in _run_until_death(cases[done:], call, memory, seconds, patience):
            yield outcome
            done += 1


def _run_until_death(
    cases: Sequence[Case], call: Callable[[Case], None], memory: int, seconds: float, patience: float
) -> Iterator[str]:
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live(cases, call, memory, seconds, writing)
    os.close(writing)
    received, told = b"", 0
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while told < len(cases):
            ready, _, _ = select.select([pipe], [], [], patience)
            data = pipe.read(1 << 16) if ready else b""
            if not data:
                if not ready:
                    os.kill(child, signal.SIGKILL)
                break
            received += data
            *lines, received = received.split(b"\n")
            for line in lines:
                told += 1
                yield line.decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    if told < len(cases):
        code = os.waitstatus_to_exitcode(status)
        if not ready:
            yield f"hung for {patience:.0f} seconds"
        elif code == -signal.SIGPROF:
            yield f"took more than {seconds:.0f} processor seconds"
        else:
            yield f"the process died with code {code}"


def _live(
    cases: Sequence[Case], call: Callable[[Case], None], memory: int, seconds: float, pipe: int
) -> None:
    """What the forked process does, and nothing after it."""
    code = 1
    try:
        faulthandler.disable()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        _limit_memory(memory)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", InputWarning)  # damaged text is read with a word about it
        for case in cases:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process
            outcome = _outcome(case, call)
            os.write(pipe, outcome.encode("utf-8", "replace") + b"\n")
        code = 0
    finally:
        os._exit(code)


def _limit_memory(memory: int) -> None:
    """Let this process take so much more memory; only Linux says how much it has, and keeps to such a limit."""
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        used = int(sizes.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def _outcome(case: Case, call: Callable[[Case], None]) -> str:
    try:
        call(case)
        return "read"
    except ResourceError as error:
        return f"a small file took too much: {error}".replace("\n", " ")[:_LONGEST_SENTENCE]
    except PSDVecError as error:
        sentence = str(error)
        if "\n" in sentence or len(sentence) > _LONGEST_SENTENCE:
            return f"not one short sentence: {sentence!r}"[:_LONGEST_SENTENCE]
        return "refused"
    except BaseException as error:
        return f"{_place(error)}{type(error).__name__}: {error}".replace("\n", " ")[:_LONGEST_SENTENCE]


_HOME = Path(psdvec.__file__).parent


def _place(error: BaseException) -> str:
    """Return the last line of psdvec that the error passed."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _HOME in Path(file).parents:
            place = f"{Path(file).name}:{trace.tb_lineno} "
        trace = trace.tb_next
    return place
