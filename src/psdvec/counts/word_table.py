"""Hash tables of words as bytes: numbering the words of a text, adding up their counts, looking them up.

:func:`number_words` turns a text into ids, :class:`WordTable` adds up the words of many texts and finds their ids.

The kernels below them run in numba. Texts here are *spaced*: uint8 UTF-8 in which bytes up to 32 separate words and
newlines separate sentences (:mod:`psdvec.text.tokenizer_kernels` makes them so). A list of words is ``(blob, offsets)``, as
in :class:`~psdvec.counts.vocabulary.WordList`. A hash table is ``slots``, uint64[2^k, 2], with open addressing: a slot
holds a word's key (:mod:`psdvec.kernels.word_keys`), 0 if it is empty, and the word's id.
The definitions are in :mod:`psdvec.reference.counting`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import numpy as np

from psdvec.arrays import Array, Bytes, Int32s, Int64s
from psdvec.counts.vocabulary import WordCounts, WordList
from psdvec.kernels import kernel
from psdvec.kernels.word_keys import (
    HASHED,
    PADDING,
    before_separator,
    eight_bytes,
    key_of,
    length_of,
    long_key,
    mixed,
    same_bytes,
    short_key,
    word_length,
)
from psdvec.storage.arrays import Scratch

SENTENCE_END = -1  # in a stream of ids: the sentence ends here
GAP = -2  # in a stream of ids: a word without an id stood here
MAX_WORD_BYTES = 1024  # a longer word leaves a gap, and the tally says how many there were

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_EMPTY, _ONE = np.uint64(0), np.uint64(1)
_PART_BITS = np.uint64(
    40
)  # what tells parts lies above what tells slots, or a part would crowd into few slots


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
    m = len(text)
    padded, ids = _scratch.array(np.uint8, m + PADDING), _scratch.array(np.int32, m + 2)
    padded[:m], padded[m:] = text, _SPACE
    if closed:
        padded[m] = _NEWLINE
    t, blob, offsets, counts, overlong = _number_text(padded, joined, ids)
    return NumberedWords(WordList(blob, offsets), counts, ids[:t], int(overlong))


_scratch = Scratch()


class WordTable:
    """Words with counts, numbered in the order in which they were added; it grows as it fills."""

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.n = 0
        self._counts, self._offsets = np.empty(0, np.int64), np.zeros(1, np.int64)
        self._blob = np.empty(0, np.uint8)
        self._slots = np.zeros((1, 2), np.uint64)
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
                _read_only(words.blob), _read_only(words.offsets), _read_only(counts), done, part, parts, self.n,
                self._slots, self._counts, self._offsets, self._blob,
            )  # fmt: skip
            if done < len(counts):
                self._grow(2 * len(self._counts))

    def split(self, parts: int) -> list[WordCounts]:
        """Return the words in ``parts``, the same as in :meth:`add`."""
        part_of = _parts_of(self._slots, self.n, parts)
        ids_of_parts = [np.flatnonzero(part_of == part) for part in range(parts)]
        return [WordCounts(self.words.take(ids), self.counts[ids]) for ids in ids_of_parts]

    def find(self, words: WordList) -> Int32s:
        """Return the ids of ``words``, :data:`GAP` for words that are not in the table."""
        ids: Int32s = _find_words(
            _read_only(words.blob), _read_only(words.offsets), self._slots, self._offsets, self._blob
        )
        return ids

    def translate(self, text: NumberedText, *, close_gaps: bool) -> Int32s:
        """Return a text in ids of this table; they take the place of its own ids."""
        n = _translate_ids(text.ids, self.find(text.words), close_gaps)
        return text.ids[:n]

    def _grow(self, capacity: int) -> None:
        used, n = int(self._offsets[self.n]), self.n
        counts, offsets = np.empty(capacity, np.int64), np.empty(capacity + 1, np.int64)
        blob = np.empty(used + 12 * capacity + MAX_WORD_BYTES, np.uint8)
        slots = np.zeros((2 * capacity, 2), np.uint64)
        counts[:n], offsets[: n + 1], blob[:used] = (
            self._counts[:n],
            self._offsets[: n + 1],
            self._blob[:used],
        )
        _move_slots_into(slots, self._slots)
        self._slots, self._counts, self._offsets, self._blob = slots, counts, offsets, blob


def _read_only(array: Array) -> Array:
    """Return ``array`` as one that is not written to: a kernel is compiled once for these, and again for others."""
    view = array.view()
    view.flags.writeable = False
    return view


# slots uint64[2^k, 2]; blob uint8[b], offsets int64[n+1]; word = text[start : start + length]
@kernel(inline="always")
def _find(slots, blob, offsets, key, text, start, length):
    """Return the slot where the word is or would go, and its id or -1."""
    mask = np.uint64(len(slots) - 1)
    at = mixed(key) & mask
    while slots[at, 0] != _EMPTY:
        if slots[at, 0] == key:
            i = np.int64(slots[at, 1])
            if key < HASHED:
                return at, i
            other = offsets[i]
            if offsets[i + 1] - other == length and same_bytes(text, start, blob, other, length):
                return at, i
        at = (at + _ONE) & mask
    return at, np.int64(-1)


@kernel(inline="always")
def _has_room(n, length, counts, offsets, blob):
    return n < len(counts) and offsets[n] + length <= len(blob)


# word = text[start : start + length], which goes into slot ``at``; slots .. blob: the table, changed
@kernel(inline="always")
def _enter(at, key, text, start, length, n, slots, counts, offsets, blob):
    """Enter a new word, with the id ``n`` and a count of 0."""
    used = offsets[n]
    blob[used : used + length] = text[start : start + length]
    slots[at, 0], slots[at, 1] = key, np.uint64(n)
    counts[n], offsets[n + 1] = 0, used + length


# new, old uint64[2^k, 2]; new is empty
@kernel
def _move_slots_into(new, old):
    """Enter the words of the slots ``old`` into empty ``new`` ones."""
    mask = np.uint64(len(new) - 1)
    for k in range(len(old)):
        if old[k, 0] != _EMPTY:
            at = mixed(old[k, 0]) & mask
            while new[at, 0] != _EMPTY:
                at = (at + _ONE) & mask
            new[at, 0], new[at, 1] = old[k, 0], old[k, 1]


# text uint8[m + PADDING]; ids int32[m + 2] out; slots .. blob: the table, changed; overlong int64[1] changed
@kernel
def _number_until_full(text, joined, begin, ids, t, n, slots, counts, offsets, blob, overlong):
    """Number the words of ``text[begin:]`` until the table is full; return where that was, t and n."""
    start, last = begin, len(text) - PADDING
    while start <= last:
        bytes_ = eight_bytes(text, start)
        mask = before_separator(bytes_)
        length = length_of(mask)
        key = short_key(bytes_ & mask, length)
        if length == 8:
            length = word_length(text, start)
            key = long_key(text, start, length)
        if length > MAX_WORD_BYTES:
            ids[t] = GAP
            t += 1
            overlong[0] += 1
        elif length:
            at, found = _find(slots, blob, offsets, key, text, start, length)
            if found < 0:
                if not _has_room(n, length, counts, offsets, blob):
                    return start, t, n
                _enter(at, key, text, start, length, n, slots, counts, offsets, blob)
                found, n = n, n + 1
            ids[t] = found
            t += 1
            counts[found] += 1
        end = start + length
        if text[end] == _NEWLINE and (joined if t == 0 else ids[t - 1] != SENTENCE_END):
            ids[t] = SENTENCE_END
            t += 1
        start = end + 1
    return start, t, n


# text uint8[m + PADDING]; ids int32[m + 2] out; returns t, blob uint8[b], offsets int64[n+1], counts int64[n], overlong
@kernel
def _number_text(text, joined, ids):
    """Give each different word an id in order of first appearance; ``ids[:t]`` is the text in ids.

    Empty sentences leave no trace; words of more than MAX_WORD_BYTES leave a GAP.
    """
    overlong = np.zeros(1, dtype=np.int64)
    counts, offsets = np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    blob, slots = np.empty(0, dtype=np.uint8), np.zeros((1, 2), dtype=np.uint64)
    capacity, begin, t, n = 1 << 14, 0, 0, 0
    while begin <= len(text) - PADDING:
        counts, offsets = _grown(counts, n, capacity), _grown(offsets, n + 1, capacity + 1)
        blob = _grown(blob, offsets[n], offsets[n] + 12 * capacity + MAX_WORD_BYTES)
        more = np.zeros((2 * capacity, 2), dtype=np.uint64)
        _move_slots_into(more, slots)
        slots = more
        begin, t, n = _number_until_full(
            text, joined, begin, ids, t, n, slots, counts, offsets, blob, overlong
        )
        capacity *= 2
    return t, blob[: offsets[n]].copy(), offsets[: n + 1].copy(), counts[:n].copy(), overlong[0]


@kernel
def _grown(array, n, capacity):
    """Return a copy of ``array[:n]`` with room for ``capacity`` entries."""
    grown = np.empty(capacity, dtype=array.dtype)
    grown[:n] = array[:n]
    return grown


@kernel(inline="always")
def _part_of(key, parts):
    return np.int64((mixed(key) >> _PART_BITS) % np.uint64(parts))


# slots uint64[2^k, 2], of n words; returns int64[n]
@kernel
def _parts_of(slots, n, parts):
    """Return the part that each word belongs to."""
    found = np.empty(n, dtype=np.int64)
    for k in range(len(slots)):
        if slots[k, 0] != _EMPTY:
            found[slots[k, 1]] = _part_of(slots[k, 0], parts)
    return found


# new_blob, new_offsets, new_counts: m words to add; slots .. blob: the table, changed
@kernel
def _add_words(new_blob, new_offsets, new_counts, begin, part, parts, n, slots, counts, offsets, blob):
    """Add the counts of words from ``begin`` on, of one part by hash; return where the room ran out, and n."""
    for j in range(begin, len(new_counts)):
        start, length = new_offsets[j], new_offsets[j + 1] - new_offsets[j]
        key = key_of(new_blob, start, length)
        if parts > 1 and _part_of(key, parts) != part:
            continue
        at, i = _find(slots, blob, offsets, key, new_blob, start, length)
        if i < 0:
            if not _has_room(n, length, counts, offsets, blob):
                return j, n
            _enter(at, key, new_blob, start, length, n, slots, counts, offsets, blob)
            i, n = n, n + 1
        counts[i] += new_counts[j]
    return len(new_counts), n


# asked_blob uint8, asked_offsets int64[m+1]; returns int32[m]
@kernel
def _find_words(asked_blob, asked_offsets, slots, offsets, blob):
    """Return the id of each asked word, GAP where the table does not have it."""
    ids = np.empty(len(asked_offsets) - 1, dtype=np.int32)
    for j in range(len(ids)):
        start, length = asked_offsets[j], asked_offsets[j + 1] - asked_offsets[j]
        key = key_of(asked_blob, start, length)
        _, i = _find(slots, blob, offsets, key, asked_blob, start, length)
        ids[j] = i if i >= 0 else GAP
    return ids


# ids int32[t], changed; table int32[n]; returns how many are left
@kernel
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
