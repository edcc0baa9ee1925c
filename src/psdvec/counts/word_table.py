"""Tables of words as bytes, for counting more words than Python objects can carry.

Goes in: :class:`~psdvec.counts.packed_words.WordList` values and counts. Comes out: a :class:`WordTable`, which adds up
counts and finds ids. The kernels are in :mod:`psdvec.kernels.hashing`.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from psdvec.counts.packed_words import Int64s, WordList
from psdvec.kernels import hashing

Scalar = TypeVar("Scalar", bound=np.generic)
Int32s = npt.NDArray[np.int32]


class WordTable:
    """Words with counts, numbered in the order in which they came; grows as it is filled."""

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.n = 0
        self._hashes, self._heads = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self._counts, self._offsets = np.empty(0, np.int64), np.zeros(1, np.int64)
        self._blob = np.empty(0, np.uint8)
        self._grow(capacity)

    def __len__(self) -> int:
        return self.n

    @property
    def words(self) -> WordList:
        """The words in order of their ids."""
        return WordList(self._blob[: self._offsets[self.n]], self._offsets[: self.n + 1])

    @property
    def counts(self) -> Int64s:
        """(n,) int64."""
        return self._counts[: self.n]

    def add(self, words: WordList, counts: Int64s, *, part: int = 0, parts: int = 1) -> None:
        """Add ``counts`` of ``words``, or of that ``part`` of them that falls to it by hash."""
        done = 0
        while done < len(words):
            done, self.n = hashing.add_words(
                words.blob, words.offsets, counts, done, part, parts, self.n,
                self._slots, self._hashes, self._heads, self._counts, self._offsets, self._blob,
            )  # fmt: skip
            if done < len(words):
                self._grow(2 * len(self._counts))

    def deal(self, parts: int) -> list[tuple[WordList, Int64s]]:
        """Return the words of each of ``parts``, told by hash as in :meth:`add`, and their counts."""
        part_of = hashing.parts_of(self._hashes[: self.n], parts)
        dealt = [np.flatnonzero(part_of == part) for part in range(parts)]
        return [(self.words.take(ids), self.counts[ids]) for ids in dealt]

    def find(self, words: WordList) -> Int32s:
        """Return the ids of ``words``, :data:`~psdvec.kernels.hashing.GAP` where there is none."""
        ids: Int32s = hashing.find_words(
            words.blob, words.offsets, self._slots, self._heads, self._offsets, self._blob
        )
        return ids

    def _grow(self, capacity: int) -> None:
        used = int(self._offsets[self.n])
        self._hashes, self._heads = _grown(self._hashes, capacity), _grown(self._heads, capacity)
        self._counts, self._offsets = _grown(self._counts, capacity), _grown(self._offsets, capacity + 1)
        self._blob = _grown(self._blob, used + 12 * capacity + hashing.MAX_WORD_BYTES)
        self._slots = np.zeros(2 * capacity, np.uint64)
        hashing.fill_slots(self._slots, self._hashes, self.n)


def _grown(array: npt.NDArray[Scalar], length: int) -> npt.NDArray[Scalar]:
    grown = np.empty(length, dtype=array.dtype)
    grown[: len(array)] = array
    return grown
