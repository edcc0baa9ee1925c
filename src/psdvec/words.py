"""Lists and tables of words as bytes, for stages that handle more words than Python objects can carry.

A :class:`WordList` is many words in two arrays; a :class:`WordTable` counts words and finds their ids.
The kernels are in :mod:`psdvec.backends.cpu_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from psdvec.backends import cpu_words

Scalar = TypeVar("Scalar", bound=np.generic)
Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class WordList(NamedTuple):
    """``blob``: uint8, the words' UTF-8 bytes end to end; ``offsets``: int64[n + 1], where each begins."""

    blob: Bytes
    offsets: Int64s

    @classmethod
    def pack(cls, words: Iterable[str]) -> WordList:
        """Pack strings.

        >>> WordList.pack(["to", "be"]).offsets.tolist()
        [0, 2, 4]
        """
        encoded = [word.encode("utf-8") for word in words]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def encoded(self) -> list[bytes]:
        """Return the bytes of each word."""
        data, offsets = self.blob.tobytes(), self.offsets.tolist()
        return [data[begin:end] for begin, end in pairwise(offsets)]

    def take(self, ids: Int64s) -> WordList:
        """Return the words at places ``ids``.

        >>> WordList.pack(["to", "be", "or"]).take(np.array([2, 0])).unpack()
        ('or', 'to')
        """
        begins = self.offsets[ids]
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(self.offsets[ids + 1] - begins, out=offsets[1:])
        places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], np.diff(offsets))
        return WordList(self.blob[places], offsets)

    @classmethod
    def join(cls, lists: Sequence[WordList]) -> WordList:
        """Return the words of all lists, one list after the other."""
        lengths = np.concatenate([np.diff(words.offsets) for words in lists])
        return cls(np.concatenate([words.blob for words in lists]), np.concatenate([[0], np.cumsum(lengths)]))

    def unpack(self) -> tuple[str, ...]:
        """Return all words as strings."""
        return tuple(word.decode("utf-8") for word in self.encoded())


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
            done, self.n = cpu_words.add_words(
                words.blob, words.offsets, counts, done, part, parts, self.n,
                self._slots, self._hashes, self._heads, self._counts, self._offsets, self._blob,
            )  # fmt: skip
            if done < len(words):
                self._grow(2 * len(self._counts))

    def find(self, words: WordList) -> Int32s:
        """Return the ids of ``words``, :data:`~psdvec.backends.cpu_words.GAP` where there is none."""
        ids: Int32s = cpu_words.find_words(
            words.blob, words.offsets, self._slots, self._heads, self._offsets, self._blob
        )
        return ids

    def _grow(self, capacity: int) -> None:
        used = int(self._offsets[self.n])
        self._hashes, self._heads = _grown(self._hashes, capacity), _grown(self._heads, capacity)
        self._counts, self._offsets = _grown(self._counts, capacity), _grown(self._offsets, capacity + 1)
        self._blob = _grown(self._blob, used + 12 * capacity + cpu_words.MAX_WORD_BYTES)
        self._slots = np.zeros(2 * capacity, np.uint64)
        cpu_words.fill_slots(self._slots, self._hashes, self.n)


def _grown(array: npt.NDArray[Scalar], length: int) -> npt.NDArray[Scalar]:
    grown = np.empty(length, dtype=array.dtype)
    grown[: len(array)] = array
    return grown
