"""What the terminal shows: tables whose columns line up, and progress on standard error.

Progress is a bar with rates and remaining time on a terminal, log lines elsewhere. rich is imported where it is needed,
since a command that draws no bar starts sooner without it.
"""

from __future__ import annotations

import json
import logging
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from psdvec import progress
from psdvec.errors import printable
from psdvec.resources import compilations

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

TITLE = "bold cyan"
NUMBER = "cyan"


def print_json(value: Any) -> None:
    """Print ``value`` as one line of JSON, whatever letters standard output can show."""
    letters = (sys.stdout.encoding or "ascii").lower() if sys.stdout else "ascii"
    print(json.dumps(value, ensure_ascii=letters not in ("utf-8", "utf8")))


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return lines with the columns two spaces apart; the first ``left`` are aligned left, the others right.

    A character of Chinese, Japanese or Korean takes the place of two others, a combining accent takes none. What would
    move the cursor of a terminal, in words of vectors that somebody else made, is shown as an escape.

    >>> print(format_table(["word", "cosine"], [["king", "0.71"], ["queen", "0.65"]]))
    word   cosine
    king     0.71
    queen    0.65
    """
    from rich.cells import cell_len

    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    for column in range(len(header)):
        width = max(cell_len(line[column]) for line in lines)
        for line in lines:
            gap = " " * (width - cell_len(line[column]))
            line[column] = line[column] + gap if column < left else gap + line[column]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, styles: Sequence[str] = (), left: int = 1
) -> None:
    """Print a table of words and numbers; on a terminal, each row in its style and the numbers in a colour.

    The first ``left`` columns are aligned left. ``styles``, one for each row or none, are those of rich, such as
    ``"bold"`` or ``""``. Colours are left out where ``NO_COLOR`` is set, and everything but the text where the output
    is a file or a pipe.
    """
    from rich.console import Console
    from rich.text import Text

    text, console = format_table(header, rows, left=left), Console(highlight=False)
    if not console.is_terminal:
        return print(text)
    for line, style in zip(text.split("\n"), [TITLE, *(styles or [""] * len(rows))], strict=True):
        styled = Text(line, style=style)
        styled.highlight_regex(r"-?\d+\.\d+$", NUMBER)
        console.print(styled, soft_wrap=True)
    return None


# How the command line spells the library's Python arguments.

RENAMED = {  # parameters whose option has another name
    "vocabulary": "vocab", "format": "to", "unseen": "oov", "formats": "with", "languages": "language",
}  # fmt: skip
CLUSTER = "--scheduler ADDRESS or --cluster local:N"  # the options that stand for client=

_ARGUMENT = re.compile(
    r"""(?P<quoted>(?<!\w)'.*?'(?!\w))  # a name of the user's own, which is left alone
    | (?<![\w.-]) (?P<name>[a-z_]+) = (?P<value>
        "[^"]*" | '[^']*' | True\b | False\b | -?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)? | [A-Z][A-Z0-9_]*\b | \.{3}
    )""",
    re.VERBOSE,
)


def spell_options(sentence: str, parameters: Iterable[Any]) -> str:
    """Return ``sentence`` with each ``name=value`` spelled as an option, where ``parameters`` has one for it.

    ``parameters`` are those of a command, as click and typer describe them. Whatever stands in single quotes, such as
    a file's name, stays as it is, and so does an argument without an option.
    """
    options: dict[str, tuple[str, Any]] = {}
    for parameter in parameters:
        for option in parameter.opts:
            if option.startswith("--"):
                options[option.removeprefix("--").replace("-", "_")] = option, parameter

    def spell(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if name == "client" and "scheduler" in options:
            return CLUSTER
        found = (options.get(name) or options.get(RENAMED.get(name, name))) if name else None
        return match[0] if found is None else _spell(*found, value) or match[0]

    return _ARGUMENT.sub(spell, sentence)


def _spell(option: str, parameter: Any, value: str) -> str | None:
    """Return the option for one value; None where the command cannot say it."""
    if parameter.is_flag:
        forms = {"True": parameter.opts, "False": parameter.secondary_opts}.get(value, ())
        return next((form for form in forms if form.startswith("--")), None)
    if value in ("True", "False"):
        return None
    plain = shlex.quote(value[1:-1]) if value[0] in "'\"" else value.replace("_", "")
    return f"{option} {plain}"


def make_progress(*, quiet: bool = False) -> progress.Progress:
    """Return progress that suits standard error: a bar, log lines, or nothing if ``quiet``."""
    log = logging.getLogger("psdvec")
    if quiet:
        log.setLevel(logging.ERROR)
        return progress.SilentProgress()
    if sys.stderr.isatty():
        from rich.console import Console

        log.setLevel(logging.WARNING)  # no lines across the bar
        return BarProgress(Console(stderr=True))
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    log.setLevel(logging.INFO)
    return progress.LogProgress()


class BarProgress:
    """Draws one bar per stage on ``console``."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[progress.Stage]:
        """See :meth:`psdvec.progress.Progress.stage`."""
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"), _column(_rates, "cyan"), _column(_time, "yellow"),
            _column(_remark, ""),
        )  # fmt: skip
        with Progress(*columns, console=self.console) as bars:
            task = bars.add_task(label, total=total, remark="", paces={unit: progress.Pace()}, unit=unit)
            yield _BarStage(bars, next(each for each in bars.tasks if each.id == task))

    def say(self, text: str) -> None:
        """See :meth:`psdvec.progress.Progress.say`."""
        self.console.print(printable(text), highlight=False, markup=False)


class _BarStage:
    def __init__(self, bars: Progress, task: Task) -> None:
        self.bars, self.task = bars, task

    def advance(self, done: float, **rates: float) -> None:
        now, paces = self.task.get_time(), dict(self.task.fields["paces"])
        for name, amount in {self.task.fields["unit"]: done, **rates}.items():
            paces.setdefault(name, progress.Pace()).add(amount, now=now)
        self.bars.update(self.task.id, advance=done, paces=paces)

    def note(self, text: str) -> None:
        self.bars.update(self.task.id, remark=text)


def _column(tell: Callable[[Task], str], style: str) -> ProgressColumn:
    """Return a column that shows what ``tell`` says of a stage."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Column(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(tell(task), style=style)

    return Column()


def _rates(task: Task) -> str:
    """Return the speed of the stage and of each further counter; nothing while it is unknown."""
    rates = {name: pace.rate for name, pace in task.fields["paces"].items()}
    return ", ".join(progress.format_rate(rate, name) for name, rate in rates.items() if rate)


def _time(task: Task) -> str:
    """Return the time left, or how long the stage took; nothing while it is unknown."""
    if task.finished:
        return str(timedelta(seconds=round(task.finished_time or 0.0)))
    if task.total is None:
        return ""
    pace: progress.Pace = task.fields["paces"][task.fields["unit"]]
    left = pace.seconds_left(task.total, now=task.get_time())
    return "" if left is None else f"{timedelta(seconds=round(left))} left"


def _remark(task: Task) -> str:
    """Return the remark of the stage, or that it stands still for the sake of compiling."""
    remark: str = task.fields["remark"]
    return progress.COMPILING if compilations.under_way and not task.finished else remark
