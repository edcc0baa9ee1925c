"""Tables as text, with columns that line up wherever they are printed, and with colours on a terminal."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from psdvec.errors import printable

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

    def gap(cell: str, width: int) -> str:
        return " " * (width - cell_len(cell))

    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell + gap(cell, width) if column < left else gap(cell, width) + cell
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


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

RENAMED = {
    "vocabulary": "vocab",
    "format": "to",
    "unseen": "oov",
}  # Python parameters whose option has another name
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
        found = options.get(RENAMED.get(name, name)) if name else None
        spelled = None if found is None else _spell(*found, value)
        return match[0] if spelled is None else spelled

    return _ARGUMENT.sub(spell, sentence)


def _spell(option: str, parameter: Any, value: str) -> str | None:
    """Return the option for one value; None where the command cannot say it."""
    if value in ("True", "False"):
        forms = parameter.opts if value == "True" else parameter.secondary_opts
        return _long(forms) if parameter.is_flag else None
    if parameter.is_flag:
        return None
    plain = shlex.quote(value[1:-1]) if value[0] in "'\"" else value.replace("_", "")
    return f"{option} {plain}"


def _long(forms: Iterable[str]) -> str | None:
    return next((form for form in forms if form.startswith("--")), None)
