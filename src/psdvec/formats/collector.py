"""What the readers of foreign files share: collecting rows that arrive in blocks, and the rules for bad ones.

A :class:`RowCollector` takes words as bytes and blocks of numbers, and knows where each came from. The
:class:`~psdvec.vectors.embeddings.Embeddings` it returns have no duplicates, no empty words, no words that are not
UTF-8, and no numbers that are not finite: the first bad row is refused with its place, or all are skipped and counted.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol, TypeAlias

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError
from psdvec.progress import Progress
from psdvec.resources import disk_errors_explained
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import rows_not_finite

BadRows: TypeAlias = Literal["refuse", "skip"]


@dataclass(frozen=True)
class ReadingRules:
    """How foreign files are read.

    ``limit``: read only this many words. ``bad_rows``: refuse the first bad row, or skip them all. ``scratch``: a
    folder in which to keep the vectors, instead of in memory.
    """

    limit: int | None = None
    bad_rows: BadRows = "refuse"
    scratch: Path | None = None


class Source(Protocol):
    """Bytes to read, with their name for messages and the position in the file."""

    @property
    def name(self) -> str:
        """The name to use in messages; see :class:`psdvec.text.streams.ByteStream`."""

    @property
    def raw_position(self) -> int:
        """Bytes read from the file so far."""

    @property
    def raw_size(self) -> int | None:
        """Size of the file in bytes, or None if unknown."""

    def read(self, size: int) -> bytes:
        """Return between 1 and ``size`` bytes, none at the end."""


class RowCollector:
    """Collects rows; a ``place`` is the number of a line or of a word, whichever ``unit`` says."""

    def __init__(self, name: str, dim: int, *, unit: str, rules: ReadingRules) -> None:
        self.name, self.unit, self.bad_rows = name, unit, rules.bad_rows
        self.limit = float("inf") if rules.limit is None else rules.limit
        self.words: list[str] = []
        self.seen: set[str] = set()
        self.skipped: list[str] = []
        self._rows = _RowsInMemory(dim) if rules.scratch is None else _RowsOnDisk(dim, rules.scratch)

    @property
    def full(self) -> bool:
        """Whether the limit has been reached."""
        return len(self.words) >= self.limit

    def bad(self, place: int, what: str) -> None:
        """Refuse the row at ``place``, or note that it is skipped."""
        message = f"{self.unit} {place} of {self.name} {what}"
        if self.bad_rows == "refuse":
            raise InputError(f'{message}; correct the file, or leave out such rows with bad_rows="skip"')
        self.skipped.append(message)

    def add(self, places: Sequence[int], words: Sequence[bytes], values: Float32s) -> None:
        """Add one row for each word; ``values``: (len(words), d) float32."""
        finite = np.asarray(np.isfinite(values).all(axis=1))
        kept = []
        for row, (place, word) in enumerate(zip(places, words, strict=True)):
            if self.full:
                break
            if not finite[row]:
                self.bad(place, "holds a number that is not finite")
            elif self._take(place, word):
                kept.append(row)
        self._rows.append(values if len(kept) == len(values) else values[kept])

    def _take(self, place: int, word: bytes) -> bool:
        """Add the word of a row, unless it is bad, and say whether it was added."""
        try:
            text = word.decode("utf-8")
        except UnicodeDecodeError:
            self.bad(place, f"holds a word that is not UTF-8: {word[:40]!r}")
            return False
        if not text:
            self.bad(place, "has no word")
        elif text in self.seen:
            self.bad(place, f"holds the word '{text}' a second time")
        else:
            self.seen.add(text)
            self.words.append(text)
            return True
        return False

    def finish(self, promised: int | None, progress: Progress) -> Embeddings:
        """Return what was collected, after comparing it with the number of rows ``promised``."""
        found = len(self.words) + len(self.skipped)
        if promised is not None and not self.full and promised != found:
            what = f"the first line of {self.name} promises {promised} words, but the file holds {found}"
            if self.bad_rows == "refuse":
                raise InputError(f'{what}; get the whole file, or read what there is with bad_rows="skip"')
            progress.say(f"{what}; reading what there is")
        if not self.words:
            raise InputError(f"{self.name} holds no vectors; give a file of word vectors")
        if self.skipped:
            progress.say(f"rows left out: {len(self.skipped)}; the first: {self.skipped[0]}")
        return Embeddings(tuple(self.words), self._rows.matrix())


class _RowsInMemory:
    """A matrix that grows in place."""

    def __init__(self, dim: int) -> None:
        self._matrix, self._used = np.empty((0, dim), dtype=np.float32), 0

    def append(self, rows: Float32s) -> None:
        end = self._used + len(rows)
        if end > len(self._matrix):
            self._resize(max(end, len(self._matrix) * 5 // 4))
        self._matrix[self._used : end] = rows
        self._used = end

    def matrix(self) -> Float32s:
        self._resize(self._used)
        return self._matrix

    def _resize(self, rows: int) -> None:
        self._matrix.resize((rows, self._matrix.shape[1]), refcheck=False)


class _RowsOnDisk:
    """A matrix in a nameless file, which is mapped into memory at the end and disappears with the program."""

    def __init__(self, dim: int, folder: Path) -> None:
        self._dim, self._folder = dim, folder
        with disk_errors_explained(folder):
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115, closed below or when this object is collected
        self._close = weakref.finalize(self, _close, self._file)

    def append(self, rows: Float32s) -> None:
        with disk_errors_explained(self._folder):
            self._file.write(np.ascontiguousarray(rows, dtype=np.float32).data)

    def matrix(self) -> Float32s:
        with disk_errors_explained(self._folder):
            self._file.flush()
        rows = np.memmap(self._file, dtype=np.float32, mode="r")
        self._close()
        return np.asarray(rows).reshape(-1, self._dim)


def keep_good_rows(embeddings: Embeddings, name: str, bad_rows: BadRows, progress: Progress) -> Embeddings:
    """Return ``embeddings``, read in one piece, after the checks that :class:`RowCollector` makes of rows."""
    bad: dict[int, str] = {}
    seen: set[str] = set()
    for i, word in enumerate(embeddings.words):
        if not word:
            bad[i] = "is empty"
        elif not _is_text(word):
            bad[i] = f"is {word[:40]!r}, which cannot be written as UTF-8"
        elif word in seen:
            bad[i] = f"is '{word}' a second time"
        seen.add(word)
    for i in rows_not_finite(embeddings.vectors):
        bad.setdefault(i, f"is '{embeddings.words[i]}', whose vector holds a number that is not finite")
    if not bad:
        return embeddings
    first = f"word {min(bad) + 1} of {name} {bad[min(bad)]}"
    if bad_rows == "refuse":
        raise InputError(f'{first}; correct the file, or leave out such rows with bad_rows="skip"')
    progress.say(f"rows left out: {len(bad)}; the first: {first}")
    return embeddings.take(np.array([i for i in range(len(embeddings)) if i not in bad], dtype=np.int64))


def _close(file: IO[bytes]) -> None:
    """Close a file that has no name; what a full disk did not take is not missed any more."""
    with suppress(OSError):
        file.close()


def _is_text(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
