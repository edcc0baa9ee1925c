"""Where the command line begins: it can be interrupted, and can run out of memory, before anything is loaded.

Until it has said what is to happen then, nothing is imported but what that takes. ``python -m psdvec`` and the command
``psdvec`` both start here.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # as in psdvec itself, to begin sooner
if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130
_NEEDED = (
    1_200_000_000  # bytes of address space; with less, libraries of linear algebra abort or wait for ever
)


def main() -> None:
    """Load the commands and run the one that was given."""
    gc.set_threshold(1_000_000)  # loading makes many objects and no garbage; this saves 0.2 s
    try:
        import signal

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
    except KeyboardInterrupt:  # while it was imported
        _stop()
    from psdvec.errors import SHORT_OF_MEMORY, memory_is_short
    from psdvec.system import address_limit

    limit = address_limit()
    if limit is not None and limit < _NEEDED:
        sys.exit(
            f"psdvec: memory is short: this program may use {limit // 10**6} MB of addresses, and its libraries need "
            f"{_NEEDED // 10**6} MB; raise the limit (ulimit -v)"
        )
    try:
        from psdvec.cli import main as run
    except Exception as error:
        if not memory_is_short(error):
            raise
        sys.exit(f"psdvec: {SHORT_OF_MEMORY}")
    run()


def _stop(number: int | None = None, frame: FrameType | None = None) -> None:
    """End at once: nothing has been begun, and an exception would end up in the middle of somebody's import."""
    os.write(2, b"psdvec: interrupted before it began; run the same command again\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
