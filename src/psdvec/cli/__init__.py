"""The command line: one small function a subcommand, which parses, calls the library and prints.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 an error
that the message explains, 2 a wrong call, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

import typer

from psdvec.cli import extracting
from psdvec.errors import PSDVecError

app = typer.Typer(
    name="psdvec",
    help="Word vectors from your own text, and new words later.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

app.command()(extracting.extract)


@app.callback()
def _commands() -> None:
    """Word vectors from your own text, and new words later."""


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        app()
    except PSDVecError as error:
        print(f"psdvec: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
