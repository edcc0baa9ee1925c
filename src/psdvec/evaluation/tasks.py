"""Tasks: the questions that vectors are judged by, read from text files.

A file of word pairs with human scores becomes :class:`Pairs`, one of multiple-choice synonym questions
:class:`Choices`, and one of analogies :class:`Analogies`. A line that does not fit is refused with its number.
:mod:`psdvec.evaluation.testsets` knows where such files are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError
from psdvec.text.readers import read_lines

Kind: TypeAlias = Literal["similarity", "synonyms", "analogies", "tagging"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of words and how similar people find them. ``gold``: (m,) float64."""

    name: str
    items: tuple[tuple[str, ...], ...]
    gold: Float64s
    kind: Kind = "similarity"


@dataclass(frozen=True)
class Choices:
    """Synonym questions; each item is the word asked about, the right answer, and the wrong ones."""

    name: str
    items: tuple[tuple[str, ...], ...]
    kind: Kind = "synonyms"


@dataclass(frozen=True)
class Analogies:
    """Analogies ``a : a* = b : b*``, where b* is the answer, and the section each belongs to."""

    name: str
    items: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    kind: Kind = "analogies"

    def pairs(self) -> Int64s:
        """Return the (m, 2) numbers of the pairs {a, a*} and {b, b*} of each question.

        A pair is the same in whichever order its words stand.

        >>> Analogies("toy", (("a", "A", "b", "B"), ("B", "b", "A", "a")), ("all", "all")).pairs().tolist()
        [[0, 1], [1, 0]]
        """
        numbers: dict[frozenset[str], int] = {}
        halves = [(frozenset(item[:2]), frozenset(item[2:])) for item in self.items]
        found = [[numbers.setdefault(half, len(numbers)) for half in each] for each in halves]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


Task: TypeAlias = Pairs | Choices | Analogies


def read_task(path: str | Path, *, name: str | None = None, kind: Kind | None = None) -> Task:
    """Read a task from a text file; its kind is recognised by its lines unless given.

    Lines are ``word word score``, ``question | answer | wrong | wrong ...``, or ``a a* b b*`` with ``: section`` lines
    between them. Columns are separated by tabs, otherwise by white space; lines that begin with ``#`` are skipped.
    """
    path = Path(path)
    lines = list(_numbered_lines(path))
    if not lines:
        raise InputError(f"'{path}' contains no questions; give a file of word pairs, choices or analogies")
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
    """Return the first number after the two words; SimLex-999's own file has the part of speech before it."""
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
        if not columns[0] or not columns[1]:
            raise InputError(f"line {number} of '{path}' has an empty word: {line[:60]!r}; correct it")
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
