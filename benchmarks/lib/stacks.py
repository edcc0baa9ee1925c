"""A command of psdvec with its main thread looked at a hundred times a second: where it waits while processors idle.

    python -m benchmarks.lib.stacks FILE COMMAND...

COMMAND is what stands after ``psdvec``. FILE gets, as JSON, for each place in the code where the main thread was seen,
the seconds that passed there and how many processor seconds the whole process took meanwhile. Where the two are equal,
one thread worked and all others waited. The cost of looking is below a hundredth.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

EVERY = 0.01  # seconds between two looks
DEPTH = 3  # functions of psdvec that make a place: the innermost and those that called it
# Of what waits or measures for others.
PASSED_OVER = ("resources.py", "progress.py", "errors.py", "arrays.py")


def main() -> None:
    file, command = Path(sys.argv[1]), sys.argv[2:]
    places: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    stop = threading.Event()
    looking = threading.Thread(target=look, args=(threading.get_ident(), places, stop), daemon=True)
    looking.start()
    sys.argv = ["psdvec", *command]
    try:
        from psdvec.__main__ import main as run

        run()
    finally:
        stop.set()
        looking.join()
        file.write_text(json.dumps(places), encoding="utf-8")


def look(thread: int, places: dict[str, list[float]], stop: threading.Event) -> None:
    """Add to each place the wall and the processor seconds since the last look, until ``stop`` is set."""
    wall, processor = time.perf_counter(), time.process_time()
    while not stop.wait(EVERY):
        place = place_of(sys._current_frames().get(thread))
        now, taken = time.perf_counter(), time.process_time()
        found = places[place]
        found[0] += now - wall
        found[1] += taken - processor
        wall, processor = now, taken


def place_of(frame: Any) -> str:
    """Return the innermost functions of psdvec that a stack is in, the caller first, with the line of the innermost."""
    found: list[str] = []
    while frame is not None and len(found) < DEPTH:
        path = Path(frame.f_code.co_filename)
        if "psdvec" in path.parts and path.name not in PASSED_OVER:
            line = "" if found else f":{frame.f_lineno}"
            found.append(f"{path.stem}.{frame.f_code.co_name}{line}")
        frame = frame.f_back
    return " > ".join(reversed(found)) or "outside psdvec"


def lost(places: Mapping[str, Sequence[float]], threads: int) -> list[tuple[str, float, float, float]]:
    """Return places, their wall and processor seconds, and the seconds that idle processors would have saved there.

    With ``threads`` fully at work, processor seconds that took ``wall`` seconds would have taken ``processor /
    threads``. The greatest losses come first.
    """
    found = [(place, wall, taken, wall - taken / threads) for place, (wall, taken) in places.items()]
    return sorted(found, key=lambda each: -each[3])


if __name__ == "__main__":
    main()
