"""Tasks: the questions that vectors are judged by, read from the files people keep them in.

Goes in: a text file of word pairs with human scores, of multiple-choice synonym questions, or of analogies.
Comes out: a :class:`Pairs`, :class:`Choices` or :class:`Analogies`. A line that fits none is refused with its
number. Where such files are found is the business of :mod:`psdvec.evaluation.testsets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError
from psdvec.text.lines import read_lines

Kind: TypeAlias = Literal["similarity", "synonyms", "analogies", "tagging"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of words and how alike people find them. ``gold``: (m,) float64."""

    name: str
    items: tuple[tuple[str, ...], ...]
    gold: npt.NDArray[np.float64]
    kind: Kind = "similarity"


@dataclass(frozen=True)
class Choices:
    """Synonym questions; each item is the word asked for, the right answer, and the wrong ones."""

    name: str
    items: tuple[tuple[str, ...], ...]
    kind: Kind = "synonyms"


@dataclass(frozen=True)
class Analogies:
    """Analogies ``a : a* = b : b*``, where b* is asked for, and the section each belongs to."""

    name: str
    items: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    kind: Kind = "analogies"


Task: TypeAlias = Pairs | Choices | Analogies


def read_task(path: str | Path, *, name: str | None = None, kind: Kind | None = None) -> Task:
    """Read a task from a text file; its kind is recognised by its lines unless given.

    Lines are ``word word score``, ``question | answer | wrong | wrong ...``, or ``a a* b b*`` with
    ``: section`` lines between; columns are separated by tabs or else by white space, ``#`` begins a remark.
    """
    path = Path(path)
    lines = list(_numbered_lines(path))
    if not lines:
        raise InputError(f"'{path}' holds no questions; give a file of word pairs, choices or analogies")
    kind = kind or _guess_kind(lines)
    name = name or path.name.partition(".")[0]
    if kind == "similarity":
        return _read_pairs(path, name, lines)
    if kind == "synonyms":
        return _read_choices(path, name, lines)
    return _read_analogies(path, name, lines)


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def _guess_kind(lines: list[tuple[int, str]]) -> Kind:
    samples = [line for _, line in lines if not line.startswith(":")][:5]
    if samples and all("|" in line for line in samples):
        return "synonyms"
    if samples and _first_number(_columns(samples[-1])) is None and len(_columns(samples[-1])) == 4:
        return "analogies"
    return "similarity"


def _columns(line: str) -> list[str]:
    return [part.strip() for part in line.split("\t")] if "\t" in line else line.split()


def _first_number(columns: list[str]) -> float | None:
    """The first number after the two words: SimLex-999's own file has the part of speech before it."""
    for column in columns[2:]:
        try:
            return float(column)
        except ValueError:
            continue
    return None


def _read_pairs(path: Path, name: str, lines: list[tuple[int, str]]) -> Pairs:
    items, gold = [], []
    for place, (number, line) in enumerate(lines):
        columns = _columns(line)
        score = _first_number(columns)
        if score is None or not np.isfinite(score):
            if place == 0 and len(columns) >= 3:
                continue  # the names of the columns
            raise InputError(f"line {number} of '{path}' is not 'word word score': {line[:60]!r}; correct it")
        items.append((columns[0], columns[1]))
        gold.append(score)
    return Pairs(name, tuple(items), np.array(gold, dtype=np.float64))


def _read_choices(path: Path, name: str, lines: list[tuple[int, str]]) -> Choices:
    items = []
    for number, line in lines:
        words = tuple(word.strip() for word in line.split("|"))
        if len(words) < 3 or not all(words):
            raise InputError(
                f"line {number} of '{path}' is not 'question | answer | wrong': {line[:60]!r}; correct it"
            )
        items.append(words)
    return Choices(name, tuple(items))


def _read_analogies(path: Path, name: str, lines: list[tuple[int, str]]) -> Analogies:
    items, sections, section = [], [], "all"
    for number, line in lines:
        if line.startswith(":"):
            section = line.lstrip(": ").strip()
            continue
        words = tuple(line.split())
        if len(words) != 4:
            raise InputError(
                f"line {number} of '{path}' is not four words 'a a* b b*': {line[:60]!r}; correct it"
            )
        items.append(words)
        sections.append(section)
    return Analogies(name, tuple(items), tuple(sections))
