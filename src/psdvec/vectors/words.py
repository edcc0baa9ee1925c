"""Words in an order: which there are, which id each has, and how they are spelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from psdvec.errors import InputError, MissingWordError
from psdvec.vectors.spelling import closest_spellings


class WordIndex:
    """What :class:`~psdvec.vectors.embeddings.Embeddings` knows of its ``words`` without their vectors."""

    words: Sequence[str]

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.key_to_index

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words, in the order of their ids."""
        return self.words

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The id of every word."""
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if ids[word] != i)
            raise InputError(f"the word '{twice}' has two vectors; keep only one of them")
        return ids

    def get_index(self, word: str) -> int:
        """Return the id of ``word``; the error for a missing word names the closest spellings."""
        try:
            return self.key_to_index[word]
        except KeyError:
            raise MissingWordError(word, self.closest_spellings) from None

    def closest_spellings(self, word: str) -> list[str]:
        """Return a few words that are spelled like ``word``."""
        return closest_spellings(word, self.words, self.key_to_index)
