"""Tables as text, with columns that line up wherever they are printed, and with colours on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
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
    header: Sequence[str], rows: Sequence[Sequence[str]], *, styles: Sequence[str], left: int = 1
) -> None:
    """Print a table of words and numbers; on a terminal, each row in its style and the numbers in a colour.

    The first ``left`` columns are aligned left. ``styles``, one for each row, are those of rich, such as ``"bold"`` or
    ``""``. Colours are left out where ``NO_COLOR`` is set, and everything but the text where the output is a file or a
    pipe.
    """
    from rich.console import Console
    from rich.text import Text

    text, console = format_table(header, rows, left=left), Console(highlight=False)
    if not console.is_terminal:
        return print(text)
    for line, style in zip(text.split("\n"), [TITLE, *styles], strict=True):
        styled = Text(line, style=style)
        styled.highlight_regex(r"-?\d+\.\d+$", NUMBER)
        console.print(styled, soft_wrap=True)
    return None
