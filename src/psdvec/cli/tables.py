"""Tables as text, with columns that line up wherever they are printed."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return lines with the columns two spaces apart; the first ``left`` are aligned left, the others right.

    >>> print(format_table(["word", "cosine"], [["king", "0.71"], ["queen", "0.65"]]))
    word   cosine
    king     0.71
    queen    0.65
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
