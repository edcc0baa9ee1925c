"""The command line: one small function a subcommand, which parses, calls the library and prints.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 an error
that the message explains, 2 a wrong call, 130 interrupted; ``docs/command-line.md`` tells the user.
"""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from psdvec import __version__
from psdvec.cli import compare, count, evaluate, explore, extract, learn, query
from psdvec.errors import PSDVecError

MAKE, USE, JUDGE, OTHER = "Make vectors", "Use vectors", "Judge vectors", "Counts and files"

app = typer.Typer(
    name="psdvec",
    epilog="Examples: `psdvec train corpus.txt -o model/`, then `psdvec similar model/ king`. "
    "Each command has one of its own: `psdvec COMMAND --help`. "
    "Exit codes: 0 done, 1 an error that the message explains, 2 a wrong call, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"psdvec {__version__}")
        raise typer.Exit


@app.callback()
def describe_program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Word vectors from your own text, and new words later.

    Text becomes counts, counts become vectors, and new words are added without moving the old ones.
    """


app.command(rich_help_panel=MAKE)(learn.train)
app.command(rich_help_panel=MAKE)(extract.extract)
app.command(rich_help_panel=MAKE)(count.count)
app.command(rich_help_panel=MAKE)(learn.fit)
app.command(rich_help_panel=MAKE)(learn.extend)
app.command(rich_help_panel=USE)(query.similar)
app.command(rich_help_panel=USE)(query.analogy)
app.command(rich_help_panel=USE)(query.odd)
app.command(rich_help_panel=USE)(query.vectorize)
app.command(rich_help_panel=USE)(query.convert)
app.command(rich_help_panel=USE)(explore.explore)
app.command("evaluate", rich_help_panel=JUDGE)(evaluate.evaluate_models)
app.command(rich_help_panel=JUDGE)(compare.compare)
app.add_typer(evaluate.testsets, name="testsets", rich_help_panel=JUDGE)
app.command(rich_help_panel=OTHER)(count.merge)
app.command(rich_help_panel=OTHER)(count.info)
app.command(rich_help_panel=OTHER)(count.import_grams)
app.command(rich_help_panel=OTHER)(count.export_grams)


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
        print(f"psdvec: interrupted; run the same command again{_with_resume()} to go on", file=sys.stderr)
        sys.exit(130)
    except PSDVecError as error:
        print(f"psdvec: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        place = "" if error.filename is None else f" '{error.filename}'"
        print(
            f"psdvec: the system refused{place}: {error.strerror or error}; check the path, its permissions "
            "and the space on its disk",
            file=sys.stderr,
        )
        sys.exit(1)


def _with_resume() -> str:
    """What to add to the command that was interrupted: a comparison goes on only when told to."""
    return " with --resume" if "compare" in sys.argv[1:2] and "--resume" not in sys.argv else ""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _InterruptedError
