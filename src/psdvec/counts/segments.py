"""Tables of words, and segments: the numbered text between reading a corpus and counting its pairs.

A :class:`WordTable` gives each word a number, in the order in which words first appear, and a count. It is an open hash
table of 64-bit keys, filled by compiled loops. The key of a word of at most seven bytes holds these bytes and their
number, so that equal keys mean equal words. That of a longer word is a hash with :data:`HASHED` in place of the number;
such words are compared byte by byte. No key is 0.

A segment is a block of text (or a batch of sentences) as ids of its own table. Segments therefore depend neither on
each other nor on the number of workers nor on the vocabulary, which :func:`choose_words` chooses afterwards from the
words of all of them. :func:`number_text` makes segments, :mod:`psdvec.counts.pairs` counts their pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from psdvec.arrays import Array, Bytes, Int32s, Int64s, Scratch
from psdvec.counts.matrix import Tally
from psdvec.counts.vocabulary import Vocabulary, WordCounts, WordList, frequent_words, select_chosen
from psdvec.errors import InputError
from psdvec.kernels import kernel
from psdvec.options import Counting
from psdvec.progress import Progress
from psdvec.resources import map_ordered
from psdvec.storage.files import discard_folder
from psdvec.storage.workspace import piece_file, read_piece, write_piece
from psdvec.text.corpus import Block, Corpus, Place, Sentences, Texts, report_damage
from psdvec.text.phrases import JOINT
from psdvec.text.readers import UTF8
from psdvec.text.tokenizers import Cutting, changes_words

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
    """Return the key of a word of eight bytes or more; up to sixteen, there is no loop to mispredict the end of."""
    h = np.uint64(length)
    first = mixed(h ^ eight_bytes(text, start))
    h = first if length > 8 else h
    for k in range(start + 8, start + length - 8, 8):
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
    if eight_bytes(text, start) != eight_bytes(blob, other):
        return False
    for k in range(8, length - 8, 8):
        if eight_bytes(text, start + k) != eight_bytes(blob, other + k):
            return False
    return eight_bytes(text, start + length - 8) == eight_bytes(blob, other + length - 8)


# Hash tables of words as bytes: numbering the words of a text, adding up their counts, looking them up.

SENTENCE_END = -1  # in a stream of ids: the sentence ends here
GAP = -2  # in a stream of ids: a word without an id stood here
MAX_WORD_BYTES = 1024  # a longer word leaves a gap, and the tally says how many there were

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_EMPTY = np.uint64(0)
_BYTES_PER_WORD = 128  # of text, for each of its different words
_PART_BITS = np.uint64(40)  # what tells parts lies above what tells slots, or a part would crowd into few
_scratch = Scratch()


class Segment(NamedTuple):
    """Numbered text: ``ids`` int32[t] into ``words``, SENTENCE_END and GAP among them; ``counts`` int64[n].

    ``overlong`` words left gaps, ``replaced`` stretches were not UTF-8, and ``written`` words of the text look like
    phrases that were joined.
    """

    words: WordList
    counts: Int64s
    ids: Int32s
    overlong: int = 0
    replaced: int = 0
    written: int = 0


def number_words(text: Bytes, *, joined: bool, closed: bool) -> Segment:
    """Give each different word of a spaced text an id, in order of first appearance.

    Empty sentences leave no trace; words of more than MAX_WORD_BYTES leave a GAP. ``joined``: the text begins inside a
    sentence; ``closed``: the last sentence ends with the text. The ids are valid until this thread numbers another.
    """
    m = len(text)
    padded, ids = _scratch.array(np.uint8, m + PADDING), _scratch.array(np.int32, m + 2)
    padded[:m], padded[m:] = text, _SPACE
    if closed:
        padded[m] = _NEWLINE
    table, overlong = WordTable(max(1 << 10, 1 << (m // _BYTES_PER_WORD).bit_length())), np.zeros(1, np.int64)
    begin = t = 0
    while begin <= m:
        begin, t, table.n = _number_until_full(
            padded, joined, begin, ids, t, table.n, *table.arrays, overlong
        )
        if begin <= m:
            table.grow()
    return Segment(*table.word_counts, ids[:t], int(overlong[0]))


class WordTable:
    """Words with counts, numbered in the order in which they were added; it grows as it fills.

    ``arrays``: slots uint64[2^k, 2], counts int64, offsets int64 and blob uint8, all with room for more than ``n``.
    """

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.n = 0
        self.arrays: tuple[Array, Int64s, Int64s, Bytes] = (
            np.zeros((1, 2), np.uint64), np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint8),
        )  # fmt: skip
        self.grow(capacity)

    @classmethod
    def of(cls, words: Collection[str]) -> WordTable:
        """Return a table of ``words``, with their places as ids and counts of 0."""
        table = cls(max(1 << 10, 1 << len(words).bit_length()))
        table.add(WordCounts(WordList.pack(words), np.zeros(len(words), np.int64)))
        return table

    def __len__(self) -> int:
        return self.n

    @property
    def word_counts(self) -> WordCounts:
        """The words in order of their ids, with their counts."""
        _, counts, offsets, blob = self.arrays
        return WordCounts(WordList(blob[: offsets[self.n]], offsets[: self.n + 1]), counts[: self.n])

    def add(self, new: WordCounts, *, part: int = 0, parts: int = 1) -> None:
        """Add words with their counts, or only the ``part`` of them that their hashes assign to it."""
        words, counts = new
        added = _read_only(words.blob), _read_only(words.offsets), _read_only(counts)
        done = 0
        while done < len(counts):
            done, self.n = _add_words(*added, done, part, parts, self.n, *self.arrays)
            if done < len(counts):
                self.grow()

    def split(self, parts: int) -> list[WordCounts]:
        """Return the words in ``parts``, the same as in :meth:`add`."""
        words, counts = self.word_counts
        part_of = _parts_of(self.arrays[0], self.n, parts)
        ids_of_parts = [np.flatnonzero(part_of == part) for part in range(parts)]
        return [WordCounts(words.take(ids), counts[ids]) for ids in ids_of_parts]

    def find(self, words: WordList) -> Int32s:
        """Return the ids of ``words``, :data:`GAP` for words that are not in the table."""
        ids: Int32s = _find_words(_read_only(words.blob), _read_only(words.offsets), *self.arrays)
        return ids

    def translate(self, file: Path, *, close_gaps: bool) -> Int32s:
        """Return the text of a segment in ids of this table; they take the place of its own ids."""
        _, kept = read_piece(file)
        ids = _from_two_bytes(kept)
        found = self.find(WordList(kept["words"], kept["offsets"]))
        n = _translate_ids(ids, np.concatenate([[GAP, SENTENCE_END], found], dtype=np.int32), close_gaps)
        return ids[:n]

    def grow(self, capacity: int | None = None) -> None:
        """Make room for ``capacity`` words, or twice as many as before."""
        old_slots, old_counts, old_offsets, old_blob = self.arrays
        capacity = capacity or 2 * len(old_counts)
        n, used = self.n, int(old_offsets[self.n])
        counts, offsets = np.empty(capacity, np.int64), np.empty(capacity + 1, np.int64)
        blob = np.empty(used + 12 * capacity + MAX_WORD_BYTES, np.uint8)
        slots = np.zeros((2 * capacity, 2), np.uint64)
        counts[:n], offsets[: n + 1], blob[:used] = old_counts[:n], old_offsets[: n + 1], old_blob[:used]
        _move_slots_into(slots, old_slots)
        self.arrays = slots, counts, offsets, blob


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
def _find_words(asked_blob, asked_offsets, slots, _, offsets, blob):
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
    """Replace ids by ``table[id]`` in place; gaps stay or are closed."""
    n = 0
    for t in range(len(ids)):
        i = table[ids[t]]
        ids[n] = i
        n += i != GAP or not close_gaps  # a branch would be mispredicted too often
    return n


# Segments as files of a folder, numbered from 0.

FORMAT = 6  # of the files below, and of those of a cluster; a workspace of another format is discarded
_TABLE_BYTES_PER_WORD = 64  # of WordTable: slots, count, offset, and the word itself


class NumberedText(NamedTuple):
    """The ``files`` of its segments, what was read, and how many ``words``, counted once per segment, and ``ids``.

    Sentence ends and gaps are among the ids.
    """

    files: list[Path]
    tally: Tally
    words: int
    ids: int


def segment_files(folder: Path) -> list[Path]:
    """Return the segments in ``folder``, up to the first that is missing."""
    return list(takewhile(Path.exists, (_segment_file(folder, number) for number in count())))


def _segment_file(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.segment"


def _write_segment(path: Path, segment: Segment, end: Place, closed: bool) -> dict[str, int]:
    """Write a segment, and return its tally.

    The record says what can be known without the arrays: where the text ends, and whether its last sentence ends there
    too, the ids at its edges (gaps if there are none), and how many words and ids it has. The arrays of ids come last,
    so that the words can be read without them.
    """
    words, counts, ids, overlong, replaced, written = segment
    sentences = int(np.count_nonzero(ids == SENTENCE_END))
    tally = {
        "tokens": len(ids) - sentences, "sentences": sentences,
        "overlong_words": overlong, "replaced_bytes": replaced, "written_phrases": written,
    }  # fmt: skip
    first, last = (int(ids[0]), int(ids[-1])) if len(ids) else (GAP, GAP)
    edges = {"end": end, "closed": closed, "first_id": first, "last_id": last}
    record = {"tally": tally, **edges, "words": len(counts), "ids": len(ids)}
    narrow, places, wide = _in_two_bytes(ids)
    write_piece(
        path, record,
        words=words.blob, offsets=words.offsets, counts=counts, ids=narrow, places=places, wide=wide,
    )  # fmt: skip
    return tally


def _in_two_bytes(ids: Int32s) -> tuple[Array, Int32s, Int32s]:
    """Return ids as files have them, counted from GAP on, in two bytes; for those that have more, places and ids.

    All that is written is digested, waited for and read again; of most text, this is half as much.
    """
    places = np.flatnonzero(ids >= GAP + (1 << 16)).astype(np.int32)
    return (ids - np.int32(GAP)).astype(np.uint16), places, ids[places] - np.int32(GAP)


def _from_two_bytes(kept: Mapping[str, Array]) -> Int32s:
    """Return what :func:`_in_two_bytes` made of ids, counted from GAP on."""
    ids: Int32s = kept["ids"].astype(np.int32)
    ids[kept["places"]] = kept["wide"]
    return ids


def read_segment(path: Path) -> Segment:
    """Read the words and ids of a segment."""
    _, kept = read_piece(path)
    words = WordList(kept["words"], kept["offsets"])
    return Segment(words, kept["counts"], _from_two_bytes(kept) + np.int32(GAP))


def read_numbered(folder: Path) -> NumberedText:
    """Add up the records of all segments in ``folder``.

    Sentence ends that close nothing are not counted as sentences: those of lines without words that are longer than
    a block.
    """
    files, tally, inside = segment_files(folder), Counter[str](), False
    records = [read_piece(file, first=0)[0] for file in files]
    for record in records:
        tally.update(record["tally"])
        tally["sentences"] -= record["first_id"] == SENTENCE_END and not inside
        inside = record["last_id"] != SENTENCE_END if record["ids"] else inside
    words, ids = (sum(record[name] for record in records) for name in ("words", "ids"))
    return NumberedText(files, Tally(**tally), words, ids)


def write_word_counts(path: Path, found: WordCounts) -> None:
    """Keep words with their counts, as a segment without ids does."""
    words, counts = found
    write_piece(path, {}, words=words.blob, offsets=words.offsets, counts=counts)


def read_word_counts(path: Path) -> WordCounts:
    """Read what :func:`write_word_counts` kept, or the words of a segment."""
    _, kept = read_piece(path, first=3)
    return WordCounts(WordList(kept["words"], kept["offsets"]), kept["counts"])


def choose_words(text: NumberedText, what: Counting, *, memory: int, workers: int) -> Vocabulary:
    """Add up the words of all segments, and keep those that are to be counted.

    Each thread adds up one part of the words of all segments; words are split into parts by their hashes. Where
    ``memory`` requires it, there are more parts than threads.
    """
    parts = workers * (1 + text.words * _TABLE_BYTES_PER_WORD // max(memory, 1))

    def choose(part: int) -> WordCounts:
        return may_be_chosen(add_up_words(text.files, part=part, parts=parts), what, part=part, parts=parts)

    with ThreadPoolExecutor(workers) as pool:
        return select_chosen(list(pool.map(choose, range(parts))), what)


def add_up_words(files: Iterable[Path], *, part: int = 0, parts: int = 1) -> WordTable:
    """Add up the words of ``files``, or the ``part`` of them that their hashes assign to it."""
    table = WordTable()
    for file in files:
        table.add(read_word_counts(file), part=part, parts=parts)
    return table


def may_be_chosen(table: WordTable, what: Counting, *, part: int, parts: int) -> WordCounts:
    """Return the words of a part that may be counted: the frequent ones or, where words were given, all of these."""
    found = table.word_counts
    if what.given is None:
        return frequent_words(found, min_count=what.min_count, max_words=what.max_words)
    given = WordTable.of(what.given).split(parts)[part]
    ids = table.find(given.words)
    given.counts[ids >= 0] = found.counts[ids[ids >= 0]]
    return given


# Numbering: from a corpus, or texts and sentences from Python, to segments of ids.

BATCH_TOKENS = 1 << 20  # of sentences that come from Python
_SEPARATOR = re.compile(r"[\x00-\x1f\x85\u2028\u2029]")  # what ends words or lines in every file
NO_SENTENCES = (
    "the iterable gave no words (a generator can be read only once); give sentences with words in them"
)


# What is done to each segment before it is written, such as joining its phrases.
Change: TypeAlias = Callable[[Segment], Segment]


def number_text(
    corpus: Corpus | Texts | Sentences,
    folder: Path,
    *,
    workers: int,
    progress: Progress,
    change: Change | None = None,
) -> NumberedText:
    """Number a corpus, texts or sentences into ``folder``; what holds no words is refused."""
    if isinstance(corpus, Corpus | Texts):
        number_corpus(corpus, folder, workers=workers, progress=progress, change=change)
    else:
        batches = _number_batches(corpus)
        changed = batches if change is None else map(change, batches)
        write_segments(changed, folder, unit="sentences", progress=progress)
    text = read_numbered(folder)
    if not text.tally.tokens:
        discard_folder(folder)
        raise InputError(corpus.why_empty() if isinstance(corpus, Corpus) else NO_SENTENCES)
    return text


def report_tally(tally: Tally, text: Any, progress: Progress) -> None:
    """Say what of a text, or of baskets, was replaced or left out."""
    read = getattr(text, "corpus", text)  # baskets may be read from files
    files, encoding = (read.files, read.encoding) if isinstance(read, Corpus) else ((), UTF8)
    report_damage(
        replaced=tally.replaced_bytes, words=tally.tokens, overlong=tally.overlong_words, files=files,
        encoding=encoding, progress=progress,
    )  # fmt: skip
    if tally.written_phrases:
        progress.say(
            f"words that the text itself writes like phrases, with {JOINT}, counted as these: {tally.written_phrases:,}"
        )


def number_corpus(
    corpus: Corpus | Texts,
    folder: Path,
    *,
    workers: int,
    progress: Progress,
    change: Change | None = None,
) -> None:
    """Number a corpus, or texts, into ``folder``, continuing after the segments that are there."""
    folder.mkdir(exist_ok=True)
    if _is_complete(folder):
        return
    done = segment_files(folder)
    place, joined = Place(0, 0), False
    if done:
        last, _ = read_piece(done[-1], first=0)
        place, joined = Place(*last["end"]), not last["closed"]

    def number_and_write(numbered: tuple[int, Block]) -> tuple[Block, int]:
        number, block = numbered
        segment = number_block(corpus, block)
        segment = segment if change is None else change(segment)
        tally = _write_segment(_segment_file(folder, number), segment, block.end, block.closed)
        return block, tally["tokens"]

    with (
        progress.stage("reading", total=corpus.raw_size, unit="B") as stage,
        ThreadPoolExecutor(workers) as pool,
    ):
        blocks = enumerate(corpus.blocks(place, joined=joined), len(done))
        for block, tokens in map_ordered(pool, number_and_write, blocks, ahead=2 * workers):
            stage.advance(block.raw_bytes, tokens=tokens)
    _mark_complete(folder)


def number_block(corpus: Corpus | Texts, block: Block) -> Segment:
    """Cut a block into words and number them; the ids are valid until this thread numbers its next block."""
    spaced, replaced = corpus.space(block)
    segment = number_words(spaced, joined=block.joined, closed=block.closed)._replace(replaced=replaced)
    return change_words(segment, corpus.tokenizer) if changes_words(corpus.tokenizer) else segment


def change_words(segment: Segment, tokenizer: Cutting) -> Segment:
    """Leave out the words that ``tokenizer`` does, which leaves gaps, and let others be one, as it says."""
    forms = [tokenizer.form_of(word.decode("utf-8")) for word in segment.words.encoded()]
    kept = {form: i for i, form in enumerate(dict.fromkeys(form for form in forms if form is not None))}
    table = np.array([GAP if form is None else kept[form] for form in forms], np.int32)
    ids = segment.ids.copy()
    ids[ids >= 0] = table[ids[ids >= 0]]
    counts = np.bincount(ids[ids >= 0], minlength=len(kept)).astype(np.int64)
    return segment._replace(words=WordList.pack(kept), counts=counts, ids=ids)


def _is_complete(folder: Path) -> bool:
    """Tell whether the whole text has been numbered into ``folder``."""
    complete = folder / "complete"
    return complete.exists() and int(complete.read_bytes().split()[0]) == len(segment_files(folder))


def _mark_complete(folder: Path) -> None:
    """Note that the whole text has been numbered, and into how many segments."""
    with piece_file(folder / "complete") as file:
        file.write(b"%d\n" % len(segment_files(folder)))


def write_segments(segments: Iterable[Segment], folder: Path, *, unit: str, progress: Progress) -> None:
    """Write ``segments``, as they are made, into ``folder``, unless all of them are there."""
    folder.mkdir(exist_ok=True)
    if _is_complete(folder):
        return
    with progress.stage("reading", total=None, unit=unit) as stage:
        for number, segment in enumerate(segments):
            tally = _write_segment(_segment_file(folder, number), segment, Place(0, 0), True)
            stage.advance(tally["sentences"], tokens=tally["tokens"])
    _mark_complete(folder)


def _number_batches(sentences: Sentences) -> Iterator[Segment]:
    local: dict[str, int] = {}
    ids: list[int] = []
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise InputError(
                f"sentence {number} is a string, {sentence[:40]!r}, but the first was a list of words; "
                "give texts only, or lists of words only"
            )
        if not isinstance(sentence, Iterable):
            raise InputError(f"sentence {number} is {sentence!r}, not a list of words; leave it out")
        before = len(ids)
        if isinstance(sentence, set | frozenset):  # they have another order in every run
            sentence = sorted(sentence, key=str)
        for token in sentence:
            if not isinstance(token, str) or not token:
                raise InputError(
                    f"sentence {number} holds {token!r}, which is not a word; give non-empty strings, or items=True "
                    "for other keys"
                )
            ids.append(local.setdefault(token, len(local)))
        if len(ids) > before:
            ids.append(SENTENCE_END)
        if len(ids) >= BATCH_TOKENS:
            yield segment_of(local, ids)
            local, ids = {}, []
    if ids:
        yield segment_of(local, ids)


def segment_of(local: Collection[str], ids: list[int], *, whole: str = "the sentences") -> Segment:
    """Return ``ids`` of the words ``local``, sentence ends among them, as a segment; ``whole`` is what holds them."""
    for word in local:
        if word != word.strip() or (not word.isprintable() and _SEPARATOR.search(word)):
            raise InputError(
                f"{whole} hold {word[:80]!r}, which begins, ends or is cut by white space; leave such words out, "
                "or strip them (a blank inside a word may stay, as in 'New York')"
            )
    words = WordList.pack(local)
    array = np.array(ids, dtype=np.int32)
    too_long = np.flatnonzero(np.diff(words.offsets) > MAX_WORD_BYTES)
    is_overlong = np.isin(array, too_long)
    array[is_overlong] = GAP
    counts = np.bincount(array[array >= 0], minlength=len(local)).astype(np.int64)
    return Segment(words, counts, array, int(is_overlong.sum()))
