"""Walk through a command: which functions it enters, and how often a reader who follows it changes files.

    python -m scripts.walk count corpus.txt -o counts/

runs ``psdvec count corpus.txt -o counts/`` in this process and lists every named function of psdvec in the order in
which each is first entered. A *move* is a change of file between one function and the next. Kernels run as plain
Python, so that they are seen too: give it a text of a few dozen lines. The exit code is the command's.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import numba

import psdvec

HOME = str(Path(psdvec.__file__).parent)


class Walk:
    """The functions of psdvec in the order of their first call."""

    def __init__(self) -> None:
        self.functions: dict[tuple[str, int], str] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; the profiler of an interpreter."""
        code = frame.f_code
        named = code.co_filename.startswith(HOME) and not code.co_name.startswith("<")
        if event == "call" and named and not _is_importing(frame):
            self.functions.setdefault((code.co_filename, code.co_firstlineno), code.co_qualname)

    def lines(self) -> list[tuple[str, str]]:
        """Return the file below the package, and the function."""
        return [(str(Path(file).relative_to(HOME)), name) for (file, _), name in self.functions.items()]


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "_call_with_frames_removed":
            return True
        frame = frame.f_back
    return False


def main() -> None:
    numba.config.DISABLE_JIT = True
    # Kernels that are not compiled return NumPy's numbers.
    json.JSONEncoder.default = lambda _, value: value.item()
    warnings.simplefilter("ignore", RuntimeWarning)  # compiled arithmetic gives none
    from psdvec import kernels

    kernels.prefetch = lambda array, index: None  # Python cannot fetch ahead
    from psdvec import cli

    walk = Walk()
    sys.argv = ["psdvec", *sys.argv[1:]]
    threading.setprofile(walk)
    sys.setprofile(walk)
    code: Any = 0
    try:
        cli.main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    lines = walk.lines()
    moves = 0
    for place, (file, name) in enumerate(lines):
        moved = place > 0 and file != lines[place - 1][0]
        moves += moved
        print(f"{'->' if moved else '  '} {file}: {name}", file=sys.stderr)
    files = len({file for file, _ in lines})
    print(f"{len(lines)} functions in {files} files, {moves} moves", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
