"""Tables of words: each word gets a number, in the order in which words first appear, and a count.

A :class:`WordTable` is an open hash table of 64-bit keys, filled from text or from other tables by compiled loops. The
key of a word of at most seven bytes holds these bytes and their number, so that equal keys mean equal words. That of a
longer word is a hash with :data:`HASHED` in place of the number; such words are compared byte by byte. No key is 0.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import numpy as np

from psdvec.arrays import Array, Bytes, Int32s, Int64s
from psdvec.counts.vocabulary import WordCounts, WordList
from psdvec.kernels import kernel
from psdvec.storage.arrays import Scratch

# Words as numbers: their bytes are read eight at a time, and a key of 64 bits stands for each word.

HASHED = np.uint64(0xFF << 56)
PADDING = 8  # separators after a text: eight bytes to read wherever a word begins or goes on
_ONE, _SEVEN = np.uint64(1), np.uint64(7)
_NUMBER_BITS = np.uint64(56)  # in a key, the number of bytes lies above them
_HASH_FACTOR, _HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_EACH_BYTE = np.uint64(0x0101010101010101)
_TOP_OF_EACH = np.uint64(0x8080808080808080)
_ABOVE_SPACE = np.uint64(0x2121212121212121)  # in each byte, the lowest value that belongs to a word


# text uint8[m]; i + 8 <= m; the compiler makes one load of it
@kernel(inline="always")
def eight_bytes(text, i):
    """Return the eight bytes from ``i`` on as a number, the first byte lowest."""
    at = np.uint64(i)
    return (
        np.uint64(text[at])
        | np.uint64(text[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(text[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(text[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(text[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(text[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(text[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(text[at + np.uint64(7)]) << np.uint64(56)
    )


@kernel(inline="always")
def before_separator(bytes_):
    """Return a mask of the bytes before the first separator, all bytes up to 32 being such; all if there is none."""
    ends = (bytes_ - _ABOVE_SPACE) & ~bytes_ & _TOP_OF_EACH  # the lowest bit set is right, others need not be
    return ((ends & (~ends + _ONE)) >> _SEVEN) - _ONE


@kernel(inline="always")
def length_of(mask):
    """Return how many bytes a mask of the lowest bytes covers."""
    return np.int64(((mask & _EACH_BYTE) * _EACH_BYTE) >> _NUMBER_BITS)


# text uint8[m + PADDING]
@kernel
def word_length(text, start):
    """Return how many bytes the word from ``start`` on has, given that they are eight or more."""
    length = more = 8
    while more == 8:
        more = length_of(before_separator(eight_bytes(text, start + length)))
        length += more
    return length


@kernel(inline="always")
def mixed(h):
    """Return a hash in which all bits depend on those below them, and the lower half on the upper half."""
    h *= _HASH_FACTOR
    return h ^ (h >> _HASH_SHIFT)


@kernel(inline="always")
def short_key(bytes_, length):
    """Return the key of a word of at most seven ``bytes_``."""
    return bytes_ | np.uint64(length + 1) << _NUMBER_BITS


# word = text[start : start + length], of eight bytes or more; the last piece may overlap the one before
@kernel(inline="always")
def long_key(text, start, length):
    """Return the key of a word of eight bytes or more."""
    h = np.uint64(length)
    for k in range(start, start + length - 8, 8):
        h = mixed(h ^ eight_bytes(text, k))
    return mixed(h ^ eight_bytes(text, start + length - 8)) | HASHED


# word = text[start : start + length]; text uint8[m], of any length
@kernel(inline="always")
def key_of(text, start, length):
    """Return the key of a word of known length."""
    if length >= 8:
        return long_key(text, start, length)
    if start + 8 <= len(text):
        return short_key(eight_bytes(text, start) & ((_ONE << np.uint64(8 * length)) - _ONE), length)
    bytes_ = np.uint64(0)
    for k in range(length - 1, -1, -1):
        bytes_ = bytes_ << np.uint64(8) | np.uint64(text[start + k])
    return short_key(bytes_, length)


# words text[start : start + length] and blob[other : other + length], of eight bytes or more
@kernel(inline="always")
def same_bytes(text, start, blob, other, length):
    """Tell whether two long words are the same."""
    for k in range(0, length - 8, 8):
        if eight_bytes(text, start + k) != eight_bytes(blob, other + k):
            return False
    return eight_bytes(text, start + length - 8) == eight_bytes(blob, other + length - 8)


# Hash tables of words as bytes: numbering the words of a text, adding up their counts, looking them up.

SENTENCE_END = -1  # in a stream of ids: the sentence ends here
GAP = -2  # in a stream of ids: a word without an id stood here
MAX_WORD_BYTES = 1024  # a longer word leaves a gap, and the tally says how many there were

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_EMPTY = np.uint64(0)
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
