"""Documents by slice: from a field of theirs, or a source for each slice; dates are put into years, decades or months.

:func:`read_slices` returns :class:`Sliced`, and says whatever cannot be compared in one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from psdvec.arrays import Int64s
from psdvec.errors import InputError
from psdvec.progress import Progress, count_of
from psdvec.topic_model.documents import Documents, Source, read_documents
from psdvec.topic_model.page import order_of
from psdvec.vectors.embeddings import Embeddings

FEWEST_DOCUMENTS = 16  # of a slice
MOST_SLICES = 24
ALL = "documents"  # the name of all of them as one slice
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-\d\d.*)?)?")


@dataclass(frozen=True, eq=False)
class Sliced:
    """Documents, the slice of each (-1 for none), and the unit that it is dealt with: itself, or one with others."""

    documents: Documents
    names: tuple[str, ...]
    owners: Int64s
    units: Int64s

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many documents each slice has."""
        return tuple(np.bincount(self.owners[self.owners >= 0], minlength=len(self.names)).tolist())

    def occurrences(self, words: int) -> Int64s:
        """Return how often each word occurs in each slice, (words, slices)."""
        owners = np.repeat(self.owners, np.diff(self.documents.starts))
        tokens = self.documents.tokens
        known = (tokens >= 0) & (owners >= 0)
        pairs = tokens[known].astype(np.int64) * len(self.names) + owners[known]
        return np.bincount(pairs, minlength=words * len(self.names)).reshape(words, -1)


def read_slices(
    embeddings: Embeddings,
    documents: Source | None,
    *,
    by: str | None,
    slices: Mapping[str, Any] | None,
    unit: str | None = None,
    column: str | None,
    where: Mapping[str, Any] | None,
    encoding: str,
    tokenizer: str | Callable[[str], Any] | None,
    alone: bool = False,
    progress: Progress,
) -> Sliced:
    """Read the documents of two or more slices: ``documents`` with the field ``by``, or ``slices`` by their names.

    With ``alone``, documents without ``by`` are one slice.
    """
    fields = [unit] if unit is not None else []
    read_one = partial(
        read_documents, embeddings=embeddings, column=column, where=where, encoding=encoding, tokenizer=tokenizer,
        progress=progress,
    )  # fmt: skip
    if slices is not None:
        if documents is not None or by is not None:
            raise InputError(
                "slices are given, and documents as well; give either slices, or documents and by"
            )
        read, owners = _joined([read_one(source, by=fields) for source in slices.values()])
        names = tuple(map(str, slices))
    else:
        if documents is None or (by is None and not alone):
            raise InputError(
                "nothing says which document is of which slice; give documents and by, or slices"
            )
        read = read_one(documents, by=fields if by is None else [by, *fields])
        names, owners = (ALL,), np.zeros(len(read), np.int64)
        if by is not None:
            names, owners = _slices_of(read.fields[by], by, progress)
    found = Sliced(read, names, owners, _units(read, unit, owners))
    for name, size in zip(names, found.sizes, strict=True):
        if size < FEWEST_DOCUMENTS:
            raise InputError(
                f"the slice '{name}' has {count_of(size, 'document')}, and a test takes "
                f"{FEWEST_DOCUMENTS} or more in each; join it with another slice, or leave it out"
            )
    for number, name in enumerate(names):
        if len(np.unique(found.units[owners == number])) < 2:
            raise InputError(
                f"all documents of the slice '{name}' have one value of '{unit}', so that nothing tells how sure a "
                "number is; name another unit, or none"
            )
    return found


def _units(read: Documents, field: str | None, owners: Int64s) -> Int64s:
    """Return the number of the unit of each document; a unit lies in one slice."""
    if field is None:
        return np.arange(len(read))
    values = [
        (owner, number if value is None else value)
        for number, (owner, value) in enumerate(zip(owners.tolist(), read.fields[field], strict=True))
    ]
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


def _joined(parts: Sequence[Documents]) -> tuple[Documents, Int64s]:
    """Join the documents of several slices; return them, and the slice of each."""
    if len(parts) < 2:
        raise InputError(f"there is only {count_of(len(parts), 'slice')}; give two or more to compare")
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))])
    joined = Documents(
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.tokens for part in parts]),
        starts.astype(np.int64),
        {field: tuple(value for part in parts for value in part.fields[field]) for field in parts[0].fields},
    )
    return joined, owners


def _slices_of(
    values: Sequence[str | None], field: str, progress: Progress
) -> tuple[tuple[str, ...], Int64s]:
    """Return the names of the slices in their order, and the slice of each document, -1 where it has none."""
    known = {value for value in values if value is not None}
    binned = {value: value for value in known}
    if len(known) > MOST_SLICES:
        binned = _binned(known, field, progress)
    names = sorted(set(binned.values()), key=order_of)
    if len(names) < 2:
        raise InputError(
            f"the field '{field}' has only one value, '{names[0]}'; two or more are needed to compare"
        )
    places = {name: place for place, name in enumerate(names)}
    missing = sum(value is None for value in values)
    if missing:
        progress.say(f"documents without '{field}', left out: {missing:,}")
    owners = np.array([-1 if value is None else places[binned[value]] for value in values])
    return tuple(names), owners


def _binned(values: set[str], field: str, progress: Progress) -> dict[str, str]:
    """Return dates as years or, if these are too many, decades or centuries; those of one year as months."""
    dates = {value: _DATE.fullmatch(value) for value in values}
    if not all(dates.values()):
        raise InputError(
            f"the field '{field}' has {len(values):,} values, which are too many slices (at most {MOST_SLICES}) and no "
            "dates; name a field with fewer"
        )
    ways = {
        "year": {value: date[1] for value, date in dates.items() if date},
        "decade": {value: f"{date[1][:3]}0" for value, date in dates.items() if date},
        "century": {value: f"{date[1][:2]}00" for value, date in dates.items() if date},
        "month": {value: f"{date[1]}-{date[2] or '01'}" for value, date in dates.items() if date},
    }
    for way, binned in ways.items():
        if 2 <= len(set(binned.values())) <= MOST_SLICES:
            progress.say(f"'{field}' holds {len(values):,} dates; slices are by {way}")
            return binned
    raise InputError(f"the dates of '{field}' span too many centuries; name a field with fewer values")
