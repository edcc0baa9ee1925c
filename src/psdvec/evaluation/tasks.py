"""Tasks: the questions that vectors are judged by, read from text files.

A file of word pairs with human scores becomes :class:`Pairs`, one of multiple-choice synonym questions
:class:`Choices`, and one of analogies :class:`Analogies`. A line that does not fit is refused with its number.
:mod:`psdvec.evaluation.testsets` knows where such files are found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError
from psdvec.text.readers import read_lines

Kind: TypeAlias = Literal["similarity", "synonyms", "analogies", "tagging"]
Oov: TypeAlias = Literal["skip", "zero", "mean", "spelling"]  # how to treat words without vectors
Lines: TypeAlias = dict[int, str]  # of a file, by their numbers
Numbers: TypeAlias = dict[str | frozenset[str], int]  # of words and of pairs of words, the same for all tasks


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of words and how similar people find them. ``gold``: (m,) float64."""

    name: str
    items: tuple[tuple[str, ...], ...]
    gold: Float64s
    kind: Kind = "similarity"

    def links(self, numbers: Numbers) -> Int64s:
        """Return the (m, 2) numbers of the words of each pair, in whatever case; new ones join ``numbers``.

        >>> Pairs("toy", (("a", "b"), ("c", "A")), np.zeros(2)).links({}).tolist()
        [[0, 1], [2, 0]]
        """
        return _number([tuple(word.lower() for word in item) for item in self.items], numbers)


@dataclass(frozen=True)
class Choices:
    """Synonym questions; each item is the word asked about, the right answer, and the wrong ones."""

    name: str
    items: tuple[tuple[str, ...], ...]
    kind: Kind = "synonyms"

    def links(self, numbers: Numbers) -> None:
        """Return None: questions are taken as independent."""


@dataclass(frozen=True)
class Analogies:
    """Analogies ``a : a* = b : b*``, where b* is the answer, and the section each belongs to."""

    name: str
    items: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    kind: Kind = "analogies"

    def links(self, numbers: Numbers) -> Int64s:
        """Return the (m, 2) numbers of the pairs {a, a*} and {b, b*} of each question; new ones join ``numbers``.

        A pair is the same in whichever order its words stand.

        >>> Analogies("toy", (("a", "A", "b", "B"), ("B", "b", "A", "a")), ("all", "all")).links({}).tolist()
        [[0, 1], [1, 0]]
        """
        return _number([(frozenset(item[:2]), frozenset(item[2:])) for item in self.items], numbers)


def _number(links: Iterable[tuple[str | frozenset[str], ...]], numbers: Numbers) -> Int64s:
    found = [[numbers.setdefault(link, len(numbers)) for link in each] for each in links]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


Task: TypeAlias = Pairs | Choices | Analogies


def read_task(path: str | Path, *, name: str | None = None, kind: Kind | None = None) -> Task:
    """Read a task from a text file; its kind is recognised by its lines unless given.

    Lines are ``word word score``, ``question | answer | wrong | wrong ...``, or ``a a* b b*`` with ``: section`` lines
    between them. Columns are separated by tabs, otherwise by white space; lines that begin with ``#`` are skipped.
    """
    path = Path(path)
    numbered = enumerate(read_lines(path), start=1)
    lines = {number: line.strip() for number, line in numbered if line.strip() and not line.startswith("#")}
    if not lines:
        raise InputError(f"'{path}' contains no questions; give a file of word pairs, choices or analogies")
    kind = kind or _guess_kind(lines)
    name = name or path.name.partition(".")[0]
    if kind == "similarity":
        return _read_pairs(path, name, lines)
    return _read_choices(path, name, lines) if kind == "synonyms" else _read_analogies(path, name, lines)


def _guess_kind(lines: Lines) -> Kind:
    samples = [line for line in lines.values() if not line.startswith(":")][:5]
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


def _wrong_line(path: Path, number: int, line: str, what: str) -> InputError:
    return InputError(f"line {number} of '{path}' {what}: {line[:60]!r}; correct it")


def _read_pairs(path: Path, name: str, lines: Lines) -> Pairs:
    items, gold = [], []
    for number, line in lines.items():
        columns = _columns(line)
        score = _first_number(columns)
        if score is None or not np.isfinite(score):
            if number == min(lines) and len(columns) >= 3:
                continue  # the names of the columns
            raise _wrong_line(path, number, line, "is not 'word word score'")
        if not columns[0] or not columns[1]:
            raise _wrong_line(path, number, line, "has an empty word")
        items.append((columns[0], columns[1]))
        gold.append(score)
    return Pairs(name, tuple(items), np.array(gold, dtype=np.float64))


def _read_choices(path: Path, name: str, lines: Lines) -> Choices:
    items = []
    for number, line in lines.items():
        words = tuple(word.strip() for word in line.split("|"))
        if len(words) < 3 or not all(words):
            raise _wrong_line(path, number, line, "is not 'question | answer | wrong'")
        items.append(words)
    return Choices(name, tuple(items))


def _read_analogies(path: Path, name: str, lines: Lines) -> Analogies:
    items, sections, section = [], [], "all"
    for number, line in lines.items():
        if line.startswith(":"):
            section = line.lstrip(": ").strip()
            continue
        words = tuple(line.split())
        if len(words) != 4:
            raise _wrong_line(path, number, line, "is not four words 'a a* b b*'")
        items.append(words)
        sections.append(section)
    return Analogies(name, tuple(items), tuple(sections))
