"""What the readers of foreign files share: rows that arrive in blocks, and rules for bad ones.

Goes in: words as bytes and blocks of numbers, with the place each came from. Comes out:
:class:`~psdvec.embeddings.Embeddings` without duplicates, empty words, words that are not UTF-8, or numbers
that are not finite; the first of these is refused with its place, or all are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.embeddings import Embeddings
from psdvec.errors import InputError, ResourceError
from psdvec.progress import Progress

Floats = npt.NDArray[np.float32]
BadRows: TypeAlias = Literal["refuse", "skip"]


class Source(Protocol):
    """Bytes to read, with the name that messages give them and where the reader stands in the file."""

    @property
    def name(self) -> str:
        """See :class:`psdvec.streams.ByteStream`, also for the others."""

    @property
    def raw_position(self) -> int:
        """Bytes taken from the file so far."""

    @property
    def raw_size(self) -> int | None:
        """Bytes of the file, None where unknown."""

    def read(self, size: int) -> bytes:
        """Return between 1 and ``size`` bytes, none at the end."""


class RowCollector:
    """Gathers rows; ``place`` in its methods is a line number or the number of a word."""

    def __init__(self, name: str, dim: int, *, unit: str, bad_rows: BadRows, limit: int | None) -> None:
        self.name, self.unit, self.bad_rows = name, unit, bad_rows
        self.limit = float("inf") if limit is None else limit
        self.words: list[str] = []
        self.seen: set[str] = set()
        self.skipped: list[str] = []
        self._matrix = np.empty((0, dim), dtype=np.float32)

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return len(self.words) >= self.limit

    def bad(self, place: int, what: str) -> None:
        """Refuse the row at ``place``, or note that it is left out."""
        message = f"{self.unit} {place} of {self.name} {what}"
        if self.bad_rows == "refuse":
            raise InputError(f"{message}; correct the file, or leave such rows out with --bad-rows skip")
        self.skipped.append(message)

    def add(self, places: Sequence[int], words: Sequence[bytes], values: Floats) -> None:
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
        self._append(values if len(kept) == len(values) else values[kept])

    def _take(self, place: int, word: bytes) -> bool:
        """Add the word of a row unless it is bad."""
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

    def _append(self, values: Floats) -> None:
        """Copy ``values`` behind the rows there are; the matrix grows in place."""
        end = len(self.words)
        try:
            if end > len(self._matrix):
                rows = min(max(end, len(self._matrix) * 5 // 4), self.limit)
                self._matrix.resize((int(rows), self._matrix.shape[1]), refcheck=False)
        except MemoryError as error:
            raise ResourceError(
                f"the vectors of {self.name} do not fit into memory beyond {end} words; "
                "read fewer with --limit"
            ) from error
        self._matrix[end - len(values) : end] = values

    def finish(self, promised: int | None, progress: Progress) -> Embeddings:
        """Return what was gathered, after comparing it with the number of rows ``promised``."""
        found = len(self.words) + len(self.skipped)
        if promised is not None and not self.full and promised != found:
            what = f"{self.name} promises {promised} words in its first line and holds {found}"
            if self.bad_rows == "refuse":
                raise InputError(f"{what}; get the whole file, or take what there is with --bad-rows skip")
            progress.say(f"{what}; taking what there is")
        if not self.words:
            raise InputError(f"{self.name} holds no vectors; give a file of word vectors")
        if self.skipped:
            progress.say(f"{len(self.skipped)} rows left out; the first: {self.skipped[0]}")
        self._matrix.resize((len(self.words), self._matrix.shape[1]), refcheck=False)
        return Embeddings(tuple(self.words), self._matrix)
