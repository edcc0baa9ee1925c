"""Vocabulary: words and how often each occurs, in one canonical order.

Goes in: word counts from :mod:`psdvec.counts` or a file. Comes out: a :class:`Vocabulary`, most frequent
word first, words of equal count in the order of their UTF-8 bytes, so the same words and counts always
give the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with their counts; the id of a word is its place.

    ``words``: n strings, all different, none empty. ``counts``: (n,) int64, never rising.

    >>> Vocabulary.from_counts({"a": 2, "the": 5, "an": 2}).words
    ('the', 'a', 'an')
    """

    words: tuple[str, ...]
    counts: Int64s

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Vocabulary:
        """Put the words of ``counts`` into canonical order."""
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogatepass")))
        return cls(tuple(word for word, _ in order), np.array([count for _, count in order], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every word."""
        return {word: i for i, word in enumerate(self.words)}
