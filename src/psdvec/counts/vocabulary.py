"""Words: packed as bytes for programs that handle many of them, and as a vocabulary in one canonical order.

Words are strings. The items of baskets (:mod:`psdvec.counts.items`) may also be whole numbers or tuples; in files, and
where they are counted, their text stands for them (:func:`key_text`).

A :class:`WordList` holds the UTF-8 bytes of its words end to end, in memory as in files, because Python strings would
not fit for a large corpus. A :class:`Vocabulary` holds the words that were chosen: the most frequent first, words of
equal count in the order of their UTF-8 bytes, so that the same words and counts always get the same ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from psdvec.arrays import Bytes, Int64s
from psdvec.errors import InputError, StoreError, demand_whole, demand_words
from psdvec.options import Counting
from psdvec.progress import Shown, count_of
from psdvec.storage.artefact import META, Artefact, ArtefactWriter, open_artefact, parse_json
from psdvec.text.readers import read_lines

MOST = 2**63 - 1  # that counts may add up to, so that no sum of some of them is beyond 64 bits
TOO_MANY = "the counts add up to more than whole numbers of 64 bits hold"
_SHOWN = 3  # words that a glance shows
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED = str.maketrans(_ESCAPES)
_PLAIN = {escaped: character for character, escaped in _ESCAPES.items()}


def exact_sum(values: Int64s) -> int:
    """Return the sum of numbers that are 0 or more, also where 64 bits do not hold it.

    >>> exact_sum(np.array([2**62, 2**62, 1])) == 2**63 + 1
    True
    """
    if int(values.max(initial=0)) <= MOST // max(values.size, 1):
        return int(values.sum())
    return (int((values >> 32).sum()) << 32) + int((values & (1 << 32) - 1).sum())


# Keys: what words and items are to Python, and their text in files.

Key: TypeAlias = Any  # a string; of items also a whole number, or a tuple of strings and whole numbers
TEXT_KEYS = "str"  # of text, and of files that do not say what their keys are
KEY_TYPES: dict[str, type] = {TEXT_KEYS: str, "int": int, "tuple": tuple}
ONE_KIND = 'make all of them strings, or tuples that tell them apart, such as ("user", 1)'
_PARTS = "strings, whole numbers or tuples of these"


def as_key(value: Any) -> Key:
    """Return a value as a key: a string, a whole number or a tuple of these; those of NumPy become Python's.

    >>> as_key(np.int64(5)), as_key(("user", 1))
    (5, ('user', 1))
    """
    if isinstance(value, str) and value:
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple) and value:
        return tuple(as_key(part) for part in value)
    empty = "is empty" if value in ("", ()) else f"is {value!r:.40}, of type {type(value).__name__}"
    raise InputError(f"a key {empty}; keys are {_PARTS}; leave it out, or turn it into one of these")


def kind_of(key: Key) -> str:
    """Return the kind of a key, by which files name it.

    >>> kind_of("a"), kind_of(3), kind_of(("a", 3))
    ('str', 'int', 'tuple')
    """
    return type(as_key(key)).__name__


def kind_of_all(keys: Iterable[Key]) -> str:
    """Return the kind of all ``keys``; raise :class:`InputError` if they are of several: 1 and "1" would look alike."""
    kinds = {kind_of(key): key for key in {type(key): key for key in keys}.values()}
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise InputError(f"the keys are of several kinds, such as {one!r:.40} and {other!r:.40}; {ONE_KIND}")
    return next(iter(kinds), TEXT_KEYS)


def demand_keys(words: Any) -> list[Key]:
    """Return an iterable of words, or of other keys of one kind, as a list; a single string is refused."""
    if isinstance(words, str | bytes | Mapping) or not isinstance(words, Iterable):
        return list(demand_words(words))
    found = list(words)
    if any(not isinstance(word, str) for word in found):
        kind_of_all(found)
    return found


def key_text(key: Key) -> str:
    """Return a key as text: a string as it is, a number in digits, a tuple as a list of JSON.

    >>> key_text("red wine"), key_text(7), key_text(("user", 1))
    ('red wine', '7', '["user",1]')
    """
    if isinstance(key, str):
        return key
    return json.dumps(as_key(key), ensure_ascii=False, separators=(",", ":"))


def read_key(text: str, kind: str) -> Key:
    """Return the key of a ``kind`` that :func:`key_text` wrote; raise :class:`InputError` if it wrote no such text.

    >>> read_key("7", "int"), read_key('["user",1]', "tuple")
    (7, ('user', 1))
    """
    if kind == TEXT_KEYS:
        return text
    try:
        key = int(text) if kind == "int" else _as_tuples(parse_json(text))
        if kind_of(key) == kind and key_text(key) == text:
            return key
    except (ValueError, InputError):
        pass
    raise InputError(f"{text!r:.60} is not the text of a key of kind {kind!r:.20}")


def read_keys(words: Iterable[Key], kind: str) -> tuple[Key, ...]:
    """Return keys of a ``kind``, of which some are given by their texts, as a file or a command line gives them.

    >>> read_keys(["7", 8], "int")
    (7, 8)
    """
    keys = tuple(read_key(word, kind) if isinstance(word, str) else word for word in words)
    other = next((key for key in keys if not isinstance(key, str) and kind_of(key) != kind), None)
    if other is not None:
        raise InputError(
            f"{other!r:.40} was given where keys are of type {kind}; give such keys, or their texts"
        )
    return keys


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True, eq=False)
class WordList:
    """Packed words: ``blob`` uint8, their UTF-8 bytes end to end; ``offsets`` int64[n + 1], where each begins."""

    blob: Bytes
    offsets: Int64s

    @classmethod
    def pack(cls, words: Iterable[Key]) -> WordList:
        """Pack strings, or the texts of other keys.

        >>> WordList.pack(["to", "be"]).offsets.tolist()
        [0, 2, 4]
        """
        try:
            encoded = [(word if type(word) is str else key_text(word)).encode("utf-8") for word in words]
        except UnicodeEncodeError as error:
            raise InputError(f"the word {error.object!r} cannot be written as UTF-8; leave it out") from error
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask tells what its workers hold."""
        return object.__sizeof__(self) + self.blob.nbytes + self.offsets.nbytes

    def encoded(self) -> list[bytes]:
        """Return the bytes of each word."""
        blob, offsets = self.blob, self.offsets
        if (
            blob.dtype != np.uint8
            or offsets.dtype.kind not in "iu"
            or offsets.ndim != 1
            or len(offsets) == 0
            or offsets[0] != 0
            or offsets[-1] != blob.size
            or (offsets[1:] < offsets[:-1]).any()
        ):
            raise InputError(
                "the offsets of the words do not fit their bytes; the file is damaged; make it again"
            )
        data = blob.tobytes()
        return [data[begin:end] for begin, end in pairwise(offsets.tolist())]

    def take(self, ids: Int64s) -> WordList:
        """Return the words numbered ``ids``.

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
        """Return the words of all ``lists``, one list after the other."""
        lengths = np.concatenate([np.diff(words.offsets) for words in lists])
        return cls(np.concatenate([words.blob for words in lists]), np.concatenate([[0], np.cumsum(lengths)]))

    def unpack(self, kind: str = TEXT_KEYS) -> tuple[Key, ...]:
        """Return all words as strings, or as keys of another ``kind``."""
        try:
            words = tuple(word.decode("utf-8") for word in self.encoded())
            return words if kind == TEXT_KEYS else tuple(read_key(word, kind) for word in words)
        except UnicodeDecodeError as error:
            raise InputError(f"a word is not UTF-8 ({error}); the file is damaged; make it again") from error


class WordCounts(NamedTuple):
    """Packed ``words``, all different, and how often each occurs: ``counts`` int64[n]."""

    words: WordList
    counts: Int64s

    @classmethod
    def join(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """Return the words of all ``parts``, which have none in common."""
        return cls(
            WordList.join([part.words for part in parts]), np.concatenate([part.counts for part in parts])
        )


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary(Shown):
    """Words with their counts; the id of a word is its place.

    ``words``: n strings or other keys of one kind, all different, none empty. ``counts``: (n,) int64, never rising.

    >>> Vocabulary.from_counts({"a": 2, "the": 5, "an": 2}).words
    ('the', 'a', 'an')
    """

    words: tuple[Key, ...]
    counts: Int64s

    @classmethod
    def from_counts(cls, counts: Mapping[Key, int]) -> Vocabulary:
        """Put the words of ``counts`` into canonical order."""
        if not isinstance(counts, Mapping):
            raise InputError(
                "the counts are no mapping; give a dictionary from words to how often each occurs"
            )
        if "" in counts:
            raise InputError("a word is empty; leave empty tokens out")
        if set(map(type, counts.values())) - {int}:
            counts = {word: demand_whole(count, f"the count of '{word}'") for word, count in counts.items()}
        if min(counts.values(), default=0) < 0:
            raise InputError("a word cannot occur less than 0 times; check the counts")
        if sum(counts.values()) > MOST:
            raise InputError(f"{TOO_MANY}; count or merge less text")
        amounts = np.fromiter(counts.values(), np.int64, len(counts))
        kind = kind_of_all(counts)
        return select_words(
            WordCounts(WordList.pack(counts), amounts), min_count=0, max_words=None, kind=kind
        )

    def __len__(self) -> int:
        return len(self.words)

    def _facts(self) -> dict[str, str]:
        first = zip(self.words[:_SHOWN], self.counts[:_SHOWN].tolist(), strict=False)
        facts = {"size": count_of(len(self), "word")}
        return facts | (
            {"first": ", ".join(f"{word} {count:,}" for word, count in first)} if self.words else {}
        )

    def __iter__(self) -> Iterator[Key]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and bool(np.array_equal(self.counts, other.counts))

    @cached_property
    def ids(self) -> dict[Key, int]:
        """The id of every word."""
        return {word: i for i, word in enumerate(self.words)}


def select_words(
    found: WordCounts, *, min_count: int, max_words: int | None, kind: str = TEXT_KEYS
) -> Vocabulary:
    """Keep the words, keys of a ``kind``, that occur ``min_count`` times or more; of these the first ``max_words``.

    >>> found = WordCounts(WordList.pack(["be", "or", "to"]), np.array([2, 1, 2]))
    >>> select_words(found, min_count=1, max_words=1).words
    ('be',)
    """
    words, counts = frequent_words(found, min_count=min_count, max_words=max_words)
    ranked = sorted(zip((-counts).tolist(), words.encoded(), strict=True))[:max_words]
    return Vocabulary(
        tuple(read_key(word.decode("utf-8"), kind) for _, word in ranked),
        np.array([-count for count, _ in ranked], np.int64),
    )


def select_chosen(parts: Sequence[WordCounts], what: Counting) -> Vocabulary:
    """Choose the vocabulary among the words of all parts; given words that do not occur are kept."""
    floor, most = (what.min_count, what.max_words) if what.given is None else (0, None)
    return select_words(WordCounts.join(parts), min_count=floor, max_words=most, kind=what.keys)


def frequent_words(found: WordCounts, *, min_count: int, max_words: int | None) -> WordCounts:
    """Leave out words that :func:`select_words` cannot keep; all words with the lowest count it may keep stay."""
    words, counts = found
    floor = min_count
    if max_words is not None and len(counts) > max_words:
        floor = max(floor, int(np.partition(counts, len(counts) - max_words)[len(counts) - max_words]))
    kept = np.flatnonzero(counts >= floor)
    return WordCounts(words.take(kept), counts[kept])


def write_vocabulary(writer: ArtefactWriter, vocabulary: Vocabulary) -> None:
    """Add a vocabulary to an artefact, packed for programs and as a table for people."""
    packed = WordList.pack(vocabulary.words)
    table = "".join(
        f"{key_text(word).translate(_ESCAPED)}\t{count}\n"
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)
    )
    writer.add_array("words", packed.blob)
    writer.add_array("word_offsets", packed.offsets)
    writer.add_array("word_counts", vocabulary.counts)
    writer.add_text("vocabulary.tsv", table)


def read_vocabulary(artefact: Artefact) -> Vocabulary:
    """Read the vocabulary of an artefact."""
    return Vocabulary(read_words(artefact), artefact.array("word_counts", np.int64))


def read_words(artefact: Artefact) -> tuple[Key, ...]:
    """Read the words of an artefact that has some; none is empty, and none is there twice."""
    packed = WordList(artefact.array("words", np.uint8), artefact.array("word_offsets", np.int64))
    try:
        words = packed.unpack(str(artefact.parameters.get("keys", TEXT_KEYS)))
    except InputError as error:
        raise StoreError(f"in '{artefact.path}' {error}") from error
    if not np.diff(packed.offsets).all() or len(set(words)) < len(words):
        raise StoreError(f"'{artefact.path}' is damaged: a word is empty or there twice; make it again")
    return words


def read_word_list(path: str | Path) -> tuple[Key, ...]:
    """Read words from an artefact with a vocabulary, or from a text file: each line up to its first tab."""
    if (Path(path) / META).is_file():
        return read_vocabulary(open_artefact(path)).words
    words: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        word = re.sub(r"\\[\\tnr]", lambda match: _PLAIN[match[0]], line.split("\t")[0].strip(" "))
        if word in words:
            raise InputError(
                f"the word list '{path}' repeats '{word}' in line {number}; leave one of them out"
            )
        if word:
            words[word] = None
    if not words:
        raise InputError(f"the word list '{path}' holds no words; write one word per line")
    return tuple(words)
