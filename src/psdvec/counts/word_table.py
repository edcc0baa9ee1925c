"""Hash tables of words as bytes: numbering the words of a text, adding up their counts, looking them up.

:func:`number_words` turns a text into ids, :class:`WordTable` adds up the words of many texts and finds their ids.

The kernels below them run in numba. Texts here are *spaced*: uint8 UTF-8 in which bytes up to 32 separate words and
newlines separate sentences (:mod:`psdvec.kernels.tokenizers` makes them so). A list of words is ``(blob, offsets)``, as
in :class:`~psdvec.counts.vocabulary.WordList`. A hash table is ``slots``, uint64[2^k], with open addressing: 0 is an
empty slot, otherwise the upper half is that of the word's hash and the lower half is the word's id + 1. ``heads`` holds
the first eight bytes of each word as a number, so that most comparisons need no loop.
The definitions are in :mod:`psdvec.reference.counting`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from psdvec.arrays import Bytes, Int32s, Int64s
from psdvec.counts.vocabulary import WordCounts, WordList

SENTENCE_END = -1  # in a stream of ids: the sentence ends here
GAP = -2  # in a stream of ids: a word without an id stood here
MAX_WORD_BYTES = 1024  # a longer word leaves a gap, and the tally says how many there were

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_EMPTY = np.uint64(0)
_ONE = np.uint64(1)
_LOWER_HALF = np.uint64(0x00000000FFFFFFFF)
_UPPER_HALF = np.uint64(0xFFFFFFFF00000000)
_HASH_START = np.uint64(0xCBF29CE484222325)
_HASH_FACTOR = np.uint64(0x100000001B3)
_PART_BITS = np.uint64(
    40
)  # the bits that tell parts lie above those of slots, or a part would crowd into few slots


class NumberedText(Protocol):
    """A text as ids of its own words, such as a segment."""

    @property
    def words(self) -> WordList: ...  # noqa: D102
    @property
    def ids(self) -> Int32s: ...  # noqa: D102


class NumberedWords(NamedTuple):
    """A text as ``ids`` int32[t] into ``words``, which occur ``counts`` int64[n] times; ``overlong`` ones left gaps."""

    words: WordList
    counts: Int64s
    ids: Int32s
    overlong: int


def number_words(text: Bytes, *, joined: bool, closed: bool) -> NumberedWords:
    """Give each different word of a spaced text an id, in order of first appearance.

    ``joined``: the text begins inside a sentence; ``closed``: the last sentence ends with the text.
    The ids are valid until the same thread numbers its next text.
    """
    scratch = _scratch(len(text) + 2)
    t, blob, offsets, counts, overlong = _number_text(text, joined, closed, scratch)
    return NumberedWords(WordList(blob, offsets), counts, scratch[:t], int(overlong))


_thread = threading.local()


def _scratch(length: int) -> Int32s:
    """Return this thread's room for ids: fresh memory for every text would cost more than filling it."""
    if len(getattr(_thread, "ids", ())) < length:
        _thread.ids = np.empty(length, np.int32)
    ids: Int32s = _thread.ids
    return ids


class WordTable:
    """Words with counts, numbered in the order in which they were added; it grows as it fills."""

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.n = 0
        self._hashes, self._heads = np.empty(0, np.uint64), np.empty(0, np.uint64)
        self._counts, self._offsets = np.empty(0, np.int64), np.zeros(1, np.int64)
        self._blob = np.empty(0, np.uint8)
        self._grow(capacity)

    @classmethod
    def of(cls, words: Collection[str]) -> WordTable:
        """Return a table of ``words``, with their places as ids and counts of 0."""
        table = cls(max(1 << 10, 1 << len(words).bit_length()))
        table.add(WordCounts(WordList.pack(words), np.zeros(len(words), np.int64)))
        return table

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

    @property
    def word_counts(self) -> WordCounts:
        """The words with their counts."""
        return WordCounts(self.words, self.counts)

    def add(self, new: WordCounts, *, part: int = 0, parts: int = 1) -> None:
        """Add words with their counts, or only the ``part`` of them that their hashes assign to it."""
        words, counts = new
        done = 0
        while done < len(counts):
            done, self.n = _add_words(
                words.blob, words.offsets, counts, done, part, parts, self.n,
                self._slots, self._hashes, self._heads, self._counts, self._offsets, self._blob,
            )  # fmt: skip
            if done < len(counts):
                self._grow(2 * len(self._counts))

    def split(self, parts: int) -> list[WordCounts]:
        """Return the words in ``parts``, the same as in :meth:`add`."""
        part_of = _parts_of(self._hashes[: self.n], parts)
        ids_of_parts = [np.flatnonzero(part_of == part) for part in range(parts)]
        return [WordCounts(self.words.take(ids), self.counts[ids]) for ids in ids_of_parts]

    def find(self, words: WordList) -> Int32s:
        """Return the ids of ``words``, :data:`GAP` for words that are not in the table."""
        ids: Int32s = _find_words(
            words.blob, words.offsets, self._slots, self._heads, self._offsets, self._blob
        )
        return ids

    def translate(self, text: NumberedText, *, close_gaps: bool) -> Int32s:
        """Return a text in ids of this table; they take the place of its own ids."""
        n = _translate_ids(text.ids, self.find(text.words), close_gaps)
        return text.ids[:n]

    def _grow(self, capacity: int) -> None:
        used = int(self._offsets[self.n])
        n = self.n
        self._hashes, self._heads = _grown(self._hashes, n, capacity), _grown(self._heads, n, capacity)
        self._counts = _grown(self._counts, n, capacity)
        self._offsets = _grown(self._offsets, n + 1, capacity + 1)
        self._blob = _grown(self._blob, used, used + 12 * capacity + MAX_WORD_BYTES)
        self._slots = np.zeros(2 * capacity, np.uint64)
        _fill_slots(self._slots, self._hashes, n)


# FNV-1a, byte by byte, then mixed so that both halves of the hash are usable
@njit(nogil=True, cache=True, inline="always")
def _hash_step(h, byte):
    return (h ^ np.uint64(byte)) * _HASH_FACTOR


@njit(nogil=True, cache=True, inline="always")
def _hash_end(h):
    h ^= h >> np.uint64(32)
    h *= np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@njit(nogil=True, cache=True, inline="always")
def _slot(h, i):
    return (h & _UPPER_HALF) | np.uint64(i + 1)


# slots uint64[2^k]; heads uint64[n]; blob uint8[b], offsets int64[n+1]; word = text[start : start + length]
@njit(nogil=True, cache=True, inline="always")
def _find(slots, heads, blob, offsets, h, head, text, start, length):
    """Return the slot where the word is or would go, and its id or -1."""
    mask = np.uint64(len(slots) - 1)
    at = h & mask
    while slots[at] != _EMPTY:
        if (slots[at] ^ h) & _UPPER_HALF == _EMPTY:
            i = np.int64(slots[at] & _LOWER_HALF) - 1
            if heads[i] == head and offsets[i + 1] - offsets[i] == length:
                k = 8
                while k < length and blob[offsets[i] + k] == text[start + k]:
                    k += 1
                if k >= length:
                    return at, i
        at = (at + _ONE) & mask
    return at, np.int64(-1)


# slots uint64[2^k], all empty; hashes uint64[>= n]
@njit(nogil=True, cache=True)
def _fill_slots(slots, hashes, n):
    """Enter words 0 to n - 1, all different, into empty ``slots``."""
    mask = np.uint64(len(slots) - 1)
    for i in range(n):
        at = hashes[i] & mask
        while slots[at] != _EMPTY:
            at = (at + _ONE) & mask
        slots[at] = _slot(hashes[i], i)


# text uint8[m]; ids int32[>= m+2] out; slots .. blob: the table, changed; overlong int64[1] changed
@njit(nogil=True, cache=True)
def _number_until_full(
    text, last, joined, begin, ids, t, n, slots, hashes, heads, counts, offsets, blob, overlong
):
    """Number the words of ``text[begin:]`` until the table is full; return where that was, t and n."""
    start, h, head = begin, _HASH_START, _EMPTY
    for i in range(begin, len(text) + 1):
        byte = text[i] if i < len(text) else last
        length = i - start
        if byte > _SPACE:
            h = _hash_step(h, byte)
            if length < 8:
                head |= np.uint64(byte) << np.uint64(8 * length)
            continue
        if length > MAX_WORD_BYTES:
            ids[t] = GAP
            t += 1
            overlong[0] += 1
        elif length > 0:
            h = _hash_end(h)
            at, found = _find(slots, heads, blob, offsets, h, head, text, start, length)
            if found < 0:
                used = offsets[n]
                if n == len(counts) or used + length > len(blob):
                    return start, t, n
                found = n
                blob[used : used + length] = text[start:i]
                slots[at] = _slot(h, n)
                hashes[n], heads[n], counts[n], offsets[n + 1] = h, head, 0, used + length
                n += 1
            ids[t] = found
            t += 1
            counts[found] += 1
        if byte == _NEWLINE and (joined if t == 0 else ids[t - 1] != SENTENCE_END):
            ids[t] = SENTENCE_END
            t += 1
        start, h, head = i + 1, _HASH_START, _EMPTY
    return len(text) + 1, t, n


# text uint8[m], spaced; ids int32[>= m+2] out; returns t, blob uint8[b], offsets int64[n+1], counts int64[n], overlong
@njit(nogil=True, cache=True)
def _number_text(text, joined, closed, ids):
    """Give each different word an id in order of first appearance; ``ids[:t]`` is the text in ids.

    Empty sentences leave no trace; words of more than MAX_WORD_BYTES leave a GAP.
    """
    last = _NEWLINE if closed else _SPACE
    overlong = np.zeros(1, dtype=np.int64)
    hashes, heads = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)
    counts, offsets = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    blob = np.empty(0, dtype=np.uint8)
    capacity, begin, t, n = 1 << 14, 0, 0, 0
    while begin <= len(text):
        hashes, heads = _grown(hashes, n, capacity), _grown(heads, n, capacity)
        counts, offsets = _grown(counts, n, capacity), _grown(offsets, n + 1, capacity + 1)
        blob = _grown(blob, offsets[n], offsets[n] + 12 * capacity + MAX_WORD_BYTES)
        slots = np.zeros(2 * capacity, dtype=np.uint64)
        _fill_slots(slots, hashes, n)
        begin, t, n = _number_until_full(
            text, last, joined, begin, ids, t, n, slots, hashes, heads, counts, offsets, blob, overlong
        )
        capacity *= 2
    return t, blob[: offsets[n]].copy(), offsets[: n + 1].copy(), counts[:n].copy(), overlong[0]


@njit(nogil=True, cache=True)
def _grown(array, n, capacity):
    """Return a copy of ``array[:n]`` with room for ``capacity`` entries."""
    grown = np.empty(capacity, dtype=array.dtype)
    grown[:n] = array[:n]
    return grown


# words blob uint8[b], offsets int64[m+1]; word i
@njit(nogil=True, cache=True, inline="always")
def _hash_word(blob, offsets, i):
    """Return the hash and the head of one word of a list."""
    h, head = _HASH_START, _EMPTY
    for k in range(offsets[i], offsets[i + 1]):
        h = _hash_step(h, blob[k])
        if k - offsets[i] < 8:
            head |= np.uint64(blob[k]) << np.uint64(8 * (k - offsets[i]))
    return _hash_end(h), head


@njit(nogil=True, cache=True, inline="always")
def _part_of(h, parts):
    return np.int64((h >> _PART_BITS) % np.uint64(parts))


# hashes uint64[n]; returns int64[n]
@njit(nogil=True, cache=True)
def _parts_of(hashes, parts):
    """Return the part that each word belongs to."""
    found = np.empty(len(hashes), dtype=np.int64)
    for i in range(len(hashes)):
        found[i] = _part_of(hashes[i], parts)
    return found


# new_blob, new_offsets, new_counts: m words to add; slots .. blob: the table, changed
@njit(nogil=True, cache=True)
def _add_words(
    new_blob, new_offsets, new_counts, begin, part, parts, n, slots, hashes, heads, counts, offsets, blob
):
    """Add the counts of words from ``begin`` on, of one part by hash; return where the room ran out, and n."""
    for j in range(begin, len(new_counts)):
        h, head = _hash_word(new_blob, new_offsets, j)
        if parts > 1 and _part_of(h, parts) != part:
            continue
        start, length = new_offsets[j], new_offsets[j + 1] - new_offsets[j]
        at, i = _find(slots, heads, blob, offsets, h, head, new_blob, start, length)
        if i < 0:
            used = offsets[n]
            if n == len(counts) or used + length > len(blob):
                return j, n
            i = n
            blob[used : used + length] = new_blob[start : start + length]
            slots[at] = _slot(h, n)
            hashes[n], heads[n], counts[n], offsets[n + 1] = h, head, 0, used + length
            n += 1
        counts[i] += new_counts[j]
    return len(new_counts), n


# asked_blob uint8, asked_offsets int64[m+1]; returns int32[m]
@njit(nogil=True, cache=True)
def _find_words(asked_blob, asked_offsets, slots, heads, offsets, blob):
    """Return the id of each asked word, GAP where the table does not have it."""
    ids = np.empty(len(asked_offsets) - 1, dtype=np.int32)
    for j in range(len(ids)):
        h, head = _hash_word(asked_blob, asked_offsets, j)
        start, length = asked_offsets[j], asked_offsets[j + 1] - asked_offsets[j]
        _, i = _find(slots, heads, blob, offsets, h, head, asked_blob, start, length)
        ids[j] = i if i >= 0 else GAP
    return ids


# ids int32[t], changed; table int32[n]; returns how many are left
@njit(nogil=True, cache=True)
def _translate_ids(ids, table, close_gaps):
    """Replace ids by ``table[id]`` in place; sentence ends stay, gaps stay or are closed."""
    n = 0
    for t in range(len(ids)):
        i = ids[t]
        if i >= 0:
            i = table[i]
        if i != GAP or not close_gaps:
            ids[n] = i
            n += 1
    return n
