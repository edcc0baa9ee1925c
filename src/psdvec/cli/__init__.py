"""The command line: one small function a subcommand, which parses, calls the library and prints.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 an error
that the message explains, 2 a wrong call, 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from psdvec.cli import judging, using
from psdvec.errors import PSDVecError

app = typer.Typer(
    name="psdvec",
    help="Word vectors from your own text, and new words later.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
using.register(app)
judging.register(app)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        app()
    except PSDVecError as error:
        print(f"psdvec: {error}", file=sys.stderr)
        sys.exit(1)
    except SystemExit as stop:
        if stop.code == 130:
            print("psdvec: interrupted; run the same command again to go on", file=sys.stderr)
        raise
