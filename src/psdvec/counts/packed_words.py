"""Lists of words as bytes, for stages that handle more words than Python objects can carry.

Goes in: strings. Comes out: a :class:`WordList`, the words' UTF-8 bytes and where each begins, which is how
words are kept in files too, and strings again. Tables that count words are in :mod:`psdvec.counts.word_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError

Bytes = npt.NDArray[np.uint8]
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
        try:
            encoded = [word.encode("utf-8") for word in words]
        except UnicodeEncodeError as error:
            raise InputError(f"the word {error.object!r} cannot be written as UTF-8; leave it out") from error
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def encoded(self) -> list[bytes]:
        """Return the bytes of each word."""
        data, offsets = self.blob.tobytes(), self.offsets.tolist()
        if not offsets or offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(self.offsets) < 0).any():
            raise InputError(
                "the offsets of the words do not fit their bytes; the file is damaged, make it again"
            )
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
        try:
            return tuple(word.decode("utf-8") for word in self.encoded())
        except UnicodeDecodeError as error:
            raise InputError(f"a word is not UTF-8 ({error}); the file is damaged, make it again") from error
