"""Vocabulary: words and how often each occurs, in one canonical order.

Goes in: word counts, from :mod:`psdvec.counts.count` or a file. Comes out: a :class:`Vocabulary`, most frequent
word first, words of equal count in the order of their UTF-8 bytes, so the same words and counts always
give the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from psdvec.counts.packed_words import WordList
from psdvec.errors import InputError, StoreError
from psdvec.storage.artefact import META, Artefact, ArtefactWriter, open_artefact
from psdvec.text.lines import read_lines

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
        if "" in counts:
            raise InputError("a word is empty; leave empty tokens out")
        amounts = np.fromiter(counts.values(), np.int64, len(counts))
        return select_words(WordList.pack(counts), amounts, min_count=0, max_words=None)

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


def select_words(words: WordList, counts: Int64s, *, min_count: int, max_words: int | None) -> Vocabulary:
    """Keep the words that occur ``min_count`` times or more, and of these the ``max_words`` first.

    >>> words = WordList.pack(["be", "or", "to"])
    >>> select_words(words, np.array([2, 1, 2]), min_count=1, max_words=1).words
    ('be',)
    """
    words, counts = frequent_words(words, counts, min_count=min_count, max_words=max_words)
    ranked = sorted(zip((-counts).tolist(), words.encoded(), strict=True))[:max_words]
    return Vocabulary(
        tuple(word.decode("utf-8") for _, word in ranked), np.array([-count for count, _ in ranked], np.int64)
    )


def frequent_words(
    words: WordList, counts: Int64s, *, min_count: int, max_words: int | None
) -> tuple[WordList, Int64s]:
    """Leave out words that :func:`select_words` cannot keep; words of the last count that is kept all stay."""
    floor = min_count
    if max_words is not None and len(counts) > max_words:
        floor = max(floor, int(np.partition(counts, len(counts) - max_words)[len(counts) - max_words]))
    kept = np.flatnonzero(counts >= floor)
    return words.take(kept), counts[kept]


def write_vocabulary(writer: ArtefactWriter, vocabulary: Vocabulary) -> None:
    """Add a vocabulary to an artefact, packed for programs and as a table for people."""
    packed = WordList.pack(vocabulary.words)
    writer.add_array("words", packed.blob)
    writer.add_array("word_offsets", packed.offsets)
    writer.add_array("word_counts", vocabulary.counts)
    rows = (
        f"{_escape(word)}\t{count}\n"
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)
    )
    writer.add_text("vocabulary.tsv", "".join(rows))


def read_vocabulary(artefact: Artefact) -> Vocabulary:
    """Read the vocabulary out of an artefact."""
    return Vocabulary(read_words(artefact), artefact.array("word_counts"))


def read_words(artefact: Artefact) -> tuple[str, ...]:
    """Read the words out of an artefact that has some."""
    try:
        return WordList(artefact.array("words"), artefact.array("word_offsets")).unpack()
    except InputError as error:
        raise StoreError(f"in '{artefact.path}' {error}") from error


def read_word_list(path: str | Path) -> tuple[str, ...]:
    """Read words from an artefact with a vocabulary, or from a file: the first column, up to a tab, of each line."""
    if (Path(path) / META).is_file():
        return read_vocabulary(open_artefact(path)).words
    words: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        word = _unescape(line.split("\t")[0].strip(" "))
        if word in words:
            raise InputError(
                f"the word list '{path}' has '{word}' a second time in line {number}; leave one out"
            )
        if word:
            words[word] = None
    if not words:
        raise InputError(f"the word list '{path}' holds no word; write one a line")
    return tuple(words)


_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = str.maketrans(_ESCAPES)
_PLAIN = {escaped: character for character, escaped in _ESCAPES.items()}


def _escape(word: str) -> str:
    return word.translate(_ESCAPED)


def _unescape(text: str) -> str:
    return re.sub(r"\\[\\tnr]", lambda match: _PLAIN[match[0]], text)
