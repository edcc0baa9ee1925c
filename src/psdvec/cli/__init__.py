"""The command line: one small function per command, which parses, calls the library and prints.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 an error that the message
explains, 2 a wrong call, 130 interrupted; users read about them in ``docs/command-line.md``.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import warnings
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from psdvec import __version__
from psdvec.cli import (
    association,
    change,
    compare,
    count,
    documents,
    evaluate,
    extract,
    graphs,
    learn,
    publish,
    query,
    search,
    topics,
)
from psdvec.cli.options import grouped
from psdvec.cli.tables import spell_options
from psdvec.errors import SHORT_OF_MEMORY, InputWarning, PSDVecError, memory_is_short, one_line
from psdvec.storage import files as syncing
from psdvec.system import catch_interruptions, interrupt_soon, text_output

OLD_NAMES = {"--field": "--column", "--text": "--column"}  # they still work
MAKE, USE, JUDGE, OTHER = "Make vectors", "Use vectors", "Judge vectors", "Counts and files"


class Group(TyperGroup):
    """A group of commands whose help texts show no type after flags, as these take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        return _without_type(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of the group by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _without_type(command.get_params(ctx))
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called, and its arguments, in which old names of options are replaced."""
        name, command, rest = super().resolve_command(ctx, args)
        known = {option for parameter in (command.params if command else ()) for option in parameter.opts}
        end = rest.index("--") if "--" in rest else len(rest)
        for place, (option, equals, value) in enumerate(word.partition("=") for word in rest[:end]):
            if option in OLD_NAMES and option not in known and OLD_NAMES[option] in known:
                rest[place] = f"{OLD_NAMES[option]}{equals}{value}"
        return name, command, rest


def _without_type(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


app = typer.Typer(
    name="psdvec",
    cls=Group,
    epilog="Examples: `psdvec train corpus.txt -o model/`, then `psdvec similar model/ king`. "
    "Each command shows an example of its own: `psdvec COMMAND --help`. "
    "Exit codes: 0 done, 1 an error that the message explains, 2 a wrong call, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"psdvec {__version__}")
        raise typer.Exit


@app.callback()
def describe_program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    no_sync: Annotated[
        bool,
        typer.Option(
            "--no-sync",
            help="Do not wait for the disk: less safe.",
            envvar=syncing.ENVIRONMENT,
            show_envvar=False,
        ),
    ] = False,
) -> None:
    """Word vectors from your own text, and new words whenever you need them, without moving the old ones."""
    if no_sync:
        os.environ[syncing.ENVIRONMENT] = "1"  # for this process and those that it starts


app.command(rich_help_panel=MAKE)(grouped(learn.train))
app.command(rich_help_panel=MAKE)(extract.extract)
app.command(rich_help_panel=MAKE)(grouped(count.phrases))
app.command(rich_help_panel=MAKE)(grouped(count.count))
app.command(rich_help_panel=MAKE)(grouped(graphs.walks))
app.command(rich_help_panel=MAKE)(grouped(learn.fit))
app.command(rich_help_panel=MAKE)(grouped(learn.extend))
app.command(rich_help_panel=MAKE)(grouped(learn.spell))
app.command(rich_help_panel=USE)(query.similar)
app.command(rich_help_panel=USE)(query.analogy)
app.command(rich_help_panel=USE)(query.odd)
app.command(rich_help_panel=USE)(query.why)
app.command(rich_help_panel=USE)(documents.vectorize)
app.command(rich_help_panel=USE)(query.convert)
app.command(rich_help_panel=USE)(publish.publish)
app.command(rich_help_panel=USE)(query.explore)
app.command(rich_help_panel=USE)(grouped(search.index))
app.command(rich_help_panel=USE)(search.search)
app.command(rich_help_panel=USE)(documents.duplicates)
app.command(rich_help_panel=USE)(grouped(documents.distinctive))
app.command(rich_help_panel=USE)(grouped(topics.topics))
app.command(rich_help_panel=USE)(grouped(change.change))
app.command(rich_help_panel=USE)(grouped(association.association))
app.command(rich_help_panel=USE)(grouped(change.stability))
app.command("evaluate", rich_help_panel=JUDGE)(evaluate.evaluate_models)
app.command(rich_help_panel=JUDGE)(grouped(compare.compare))
app.add_typer(evaluate.testsets, name="testsets", cls=Group, rich_help_panel=JUDGE)
app.command(rich_help_panel=OTHER)(count.merge)
app.command(rich_help_panel=OTHER)(query.info)
app.command(rich_help_panel=OTHER)(count.import_grams)
app.command(rich_help_panel=OTHER)(count.export_grams)


_SOON = 0.01  # seconds after which an interruption that was lost comes again
_shown_by_python = warnings.showwarning


class _InterruptedError(BaseException):
    """Control-C or SIGTERM; not KeyboardInterrupt, which typer would handle itself."""


def main() -> None:
    """Run the command line and exit with its code."""
    atexit.register(gc.freeze)  # there is no garbage at the end, where Python looks for it again; saves 0.3 s
    if isinstance(sys.stdout, TextIOWrapper):
        # A word given in bytes that are no text is shown as \udcff, in JSON too.
        sys.stdout.reconfigure(errors="backslashreplace", **text_output())
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(**text_output())
    catch_interruptions(_interrupt)
    sys.unraisablehook = _interrupt_again
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = _show_warning
            app()
    except _InterruptedError:
        # A comparison continues only when told to.
        resume = " with --resume" if "compare" in sys.argv[1:3] and "--resume" not in sys.argv else ""
        print(f"psdvec: interrupted; run the same command again{resume} to continue", file=sys.stderr)
        sys.exit(130)
    except PSDVecError as error:
        print(f"psdvec: {spell_options(str(error), _parameters())}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        if memory_is_short(error):
            sentence = SHORT_OF_MEMORY
        elif isinstance(error, OSError):
            place = "" if error.filename is None else f" '{error.filename}'"
            refused = f"the system refused{place}: {error.strerror or error}"
            sentence = f"{refused}; check the path, its permissions and the space on its disk"
        else:
            raise
        print(f"psdvec: {sentence}", file=sys.stderr)
        sys.exit(1)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show a warning about the input as one line, and any other as Python does."""
    if issubclass(category, InputWarning):
        said = spell_options(one_line(str(message)), _parameters())
        print(f"psdvec: warning: {said}", file=sys.stderr)
    else:
        _shown_by_python(message, category, *where, **more)


def _parameters() -> list[Any]:
    """Return the parameters of the command that was given."""
    command: Any = typer.main.get_command(app)
    for word in (word for word in sys.argv[1:] if word != "--no-sync"):
        if word not in getattr(command, "commands", ()):
            break
        command = command.commands[word]
    return list(command.params)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _InterruptedError


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Try again soon where the interruption came in a callback of C, as LLVM has them, through which nothing is raised.

    At once would be in this function, through which nothing is raised either.
    """
    if issubclass(lost.exc_type, _InterruptedError):
        interrupt_soon(_SOON)
    else:
        sys.__unraisablehook__(lost)
