"""The command line: one small function a subcommand, which parses, calls the library and prints.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 an error
that the message explains, 2 a wrong call, 130 interrupted.
"""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType

import typer

from psdvec.cli import comparing, counting, exploring, extracting, judging, learning, using
from psdvec.errors import PSDVecError

app = typer.Typer(
    name="psdvec",
    help="Word vectors from your own text, and new words later.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

app.command()(extracting.extract)
app.command()(counting.count)
app.command()(counting.merge)
app.command()(counting.info)
app.command()(counting.import_grams)
app.command()(counting.export_grams)
app.command()(learning.fit)
app.command()(learning.extend)
app.command()(learning.train)
app.command()(using.similar)
app.command()(using.analogy)
app.command()(using.odd)
app.command()(using.convert)
app.command()(using.vectorize)
app.command()(exploring.explore)
app.command("evaluate")(judging.evaluate_models)
app.command()(comparing.compare)
app.add_typer(judging.testsets, name="testsets")


class _InterruptedError(BaseException):
    """Control-C or a polite kill; not KeyboardInterrupt, which typer answers itself."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(100_000)  # loading numba makes many objects and no garbage: a fifth of a second is saved
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        app()
    except _InterruptedError:
        print("psdvec: interrupted; run the same command again to go on", file=sys.stderr)
        sys.exit(130)
    except PSDVecError as error:
        print(f"psdvec: {error}", file=sys.stderr)
        sys.exit(1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _InterruptedError
