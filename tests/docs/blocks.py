"""The code blocks of a page of the documentation: what to run, and what it should print.

``test_pages.py`` runs the blocks of two languages: ``console``, where lines that begin with ``$`` are commands and the
others are what they print, and ``python``, whose output is shown in the ``text`` block right after it. A block whose
title is ``not run by the tests: REASON`` is not run; one with the title ``needs PACKAGE`` is skipped if the package is
missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RUNNABLE = ("console", "python")
NOT_RUN = "not run by the tests: "
NEEDS = "needs "
TOLERANCE = 0.01

_FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?$")
_TOKEN = re.compile(r"(\.\.\.|-?\d+\.\d+|\s+)")


@dataclass(frozen=True)
class Block:
    """A fenced block. ``shown`` is what a ``python`` block prints, if the page says so."""

    page: Path
    line: int
    language: str
    title: str
    code: str
    shown: str | None = None

    @property
    def needs(self) -> str | None:
        """The package without which the block is skipped."""
        return self.title.removeprefix(NEEDS) if self.title.startswith(NEEDS) else None

    @property
    def is_run(self) -> bool:
        return self.language in RUNNABLE and not self.title.startswith(NOT_RUN)


def read_blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks: list[Block] = []
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            assert not lines[number].startswith("```"), (
                f"{page.name}:{number + 1}: {lines[number]} is not a known fence"
            )
            number += 1
            continue
        end = lines.index("```", number + 1)
        code = "\n".join(lines[number + 1 : end])
        last = blocks[-1] if blocks else None
        if (
            fence["language"] == "text"
            and last
            and last.language == "python"
            and _follows(lines, last, number)
        ):
            blocks[-1] = Block(last.page, last.line, last.language, last.title, last.code, code)
        else:
            blocks.append(Block(page, number + 1, fence["language"], fence["title"] or "", code))
        number = end + 1
    return blocks


def _follows(lines: list[str], block: Block, number: int) -> bool:
    """Whether there is nothing but blank lines between ``block`` and line ``number``."""
    end = block.line + len(block.code.splitlines()) + 1
    return not "".join(lines[end:number]).strip()


def read_commands(code: str) -> list[tuple[str, str]]:
    r"""Return the commands of a ``console`` block, each with what it is shown to print.

    >>> read_commands("$ echo a \\\n    b\na b\n$ true")
    [('echo a b', 'a b'), ('true', '')]
    """
    found: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\s*\\\n\s*", " ", code).splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in found]


def agrees(shown: str, found: str) -> bool:
    """Whether ``found`` is what a page shows.

    ``...`` stands for anything, numbers with a decimal point may differ by a hundredth, and blanks may differ in
    width; everything else must be equal.

    >>> agrees("horse  0.71 ...", "horse 0.7100001 and more"), agrees("horse 0.71", "horse 0.75")
    (True, False)
    """
    pattern, wanted = "", []
    for token in _TOKEN.split(shown.strip()):
        if token == "...":
            pattern += "(?:.*?)"
        elif re.fullmatch(r"-?\d+\.\d+", token):
            pattern += r"(-?\d+\.\d+)"
            wanted.append(float(token))
        elif token.isspace():
            pattern += r"\s*\n\s*" if "\n" in token else r"[^\S\n]+"
        else:
            pattern += re.escape(token)
    match = re.fullmatch(pattern, found.strip(), re.DOTALL)
    return match is not None and all(
        abs(float(number) - value) <= TOLERANCE * max(1.0, abs(value))
        for number, value in zip(match.groups(), wanted, strict=True)
    )
