"""Segments: numbered text on disk, between reading a corpus and counting its pairs.

A segment is a block of text (or a batch of sentences) as ids of its own: words are numbered in the order in which they
first appear in it. Segments therefore depend neither on each other nor on the number of workers nor on the vocabulary,
which :func:`choose_words` chooses afterwards from the words of all of them.
:mod:`psdvec.counts.numbering` makes segments, :mod:`psdvec.counts.out_of_core` counts their pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.matrix import Tally
from psdvec.counts.plan import Counting
from psdvec.counts.vocabulary import Vocabulary, WordCounts, WordList, frequent_words, select_words
from psdvec.counts.word_table import GAP, SENTENCE_END, WordTable
from psdvec.storage.arrays import write_npy
from psdvec.storage.workspace import piece_file
from psdvec.text.corpus import Place

FORMAT = 3  # of the files below; a workspace of another format is discarded
_TABLE_BYTES_PER_WORD = 64  # of WordTable: slots, count, offset, and the word itself


@dataclass(frozen=True)
class Segment:
    """Numbered text: ``ids`` int32[t] into ``words``, SENTENCE_END and GAP among them; ``counts`` int64[n].

    ``tally`` says what was read, ``end`` where in the corpus the text ends, ``closed`` whether its last sentence ends
    there too.
    """

    words: WordList
    counts: Int64s
    ids: Int32s
    tally: Tally
    end: Place
    closed: bool


class SegmentRecord(NamedTuple):
    """What the first line of a segment's file says, as JSON: all that can be known of it without its arrays.

    The tally, where its text ends, the ids at its edges (gaps if there are none), and how many words and ids it has.
    """

    tokens: int
    sentences: int
    overlong_words: int
    replaced_bytes: int
    end_file: int
    end_offset: int
    closed: bool
    first_id: int
    last_id: int
    words: int
    ids: int


class Totals(NamedTuple):
    """What all segments hold: ``words`` counted once per segment, ``ids`` with sentence ends and gaps."""

    tally: Tally
    words: int
    ids: int


@dataclass(frozen=True)
class SegmentFolder:
    """The segments of a corpus on disk, numbered from 0."""

    path: Path

    def __len__(self) -> int:
        """How many there are before the first that is missing."""
        n = 0
        while self._file(n).exists():
            n += 1
        return n

    def _file(self, number: int) -> Path:
        return self.path / f"{number:08d}.segment"

    def write(self, number: int, segment: Segment) -> None:
        """Write a segment; the ids come last, so that the words can be read without them."""
        tally, ids = segment.tally, segment.ids
        record = SegmentRecord(
            tokens=tally.tokens,
            sentences=tally.sentences,
            overlong_words=tally.overlong_words,
            replaced_bytes=tally.replaced_bytes,
            end_file=segment.end.file,
            end_offset=segment.end.offset,
            closed=segment.closed,
            first_id=int(ids[0]) if len(ids) else GAP,
            last_id=int(ids[-1]) if len(ids) else GAP,
            words=len(segment.counts),
            ids=len(ids),
        )
        with piece_file(self._file(number)) as file:
            file.write(json.dumps(record._asdict()).encode() + b"\n")
            for array in (segment.words.blob, segment.words.offsets, segment.counts, ids):
                write_npy(file, array)

    def read(self, number: int, *, with_ids: bool) -> Segment:
        """Read a segment, or all but its ids."""
        with self._file(number).open("rb") as file:
            record = SegmentRecord(**json.loads(file.readline()))
            blob, offsets, counts = (np.load(file, allow_pickle=False) for _ in range(3))
            ids = np.load(file, allow_pickle=False) if with_ids else np.empty(0, np.int32)
        tally = Tally(record.tokens, record.sentences, record.overlong_words, record.replaced_bytes)
        end = Place(record.end_file, record.end_offset)
        return Segment(WordList(blob, offsets), counts, ids, tally, end, record.closed)

    def records(self) -> list[SegmentRecord]:
        """Return the record of each segment."""
        found = []
        for number in range(len(self)):
            with self._file(number).open("rb") as file:
                found.append(SegmentRecord(**json.loads(file.readline())))
        return found

    def totals(self) -> Totals:
        """Add up the records of all segments.

        Sentence ends that close nothing are not counted as sentences: those of lines without words that are longer than
        a block.
        """
        records = self.records()
        empty, inside = 0, False
        for record in records:
            empty += record.first_id == SENTENCE_END and not inside
            inside = record.last_id != SENTENCE_END if record.ids else inside
        tally = Tally(
            tokens=sum(record.tokens for record in records),
            sentences=sum(record.sentences for record in records) - empty,
            overlong_words=sum(record.overlong_words for record in records),
            replaced_bytes=sum(record.replaced_bytes for record in records),
        )
        return Totals(tally, sum(record.words for record in records), sum(record.ids for record in records))

    @property
    def is_complete(self) -> bool:
        """Whether the whole corpus has been numbered."""
        path = self.path / "complete"
        return path.exists() and int(path.read_bytes().split()[0]) == len(self)

    def mark_complete(self) -> None:
        """Note that the whole corpus has been numbered, and into how many segments."""
        with piece_file(self.path / "complete") as file:
            file.write(b"%d\n" % len(self))


class SegmentChain:
    """The segments of several folders, numbered as if they were in one."""

    def __init__(self, folders: Iterable[SegmentFolder]) -> None:
        self._segments = [(folder, number) for folder in folders for number in range(len(folder))]

    def __len__(self) -> int:
        return len(self._segments)

    def read(self, number: int, *, with_ids: bool) -> Segment:
        """Read a segment, or all but its ids."""
        folder, own = self._segments[number]
        return folder.read(own, with_ids=with_ids)


def choose_words(
    folder: SegmentFolder, what: Counting, *, words: int, memory: int, workers: int
) -> Vocabulary:
    """Add up the words of all segments, ``words`` in their totals, and keep those that are to be counted.

    Each thread adds up one part of the words at a time; words are split into parts by their hashes, into as many as
    ``memory`` requires.
    """
    if what.given is not None:
        return _count_given(folder, what.given)
    parts = max(workers, 1 + workers * words * _TABLE_BYTES_PER_WORD // max(memory, 1))

    def choose(part: int) -> WordCounts:
        table = add_up_words(folder, part=part, parts=parts)
        return frequent_words(table.word_counts, min_count=what.min_count, max_words=what.max_words)

    with ThreadPoolExecutor(workers) as pool:
        found = WordCounts.join(list(pool.map(choose, range(parts))))
    return select_words(found, min_count=what.min_count, max_words=what.max_words)


def add_up_words(folder: SegmentFolder, *, part: int = 0, parts: int = 1) -> WordTable:
    """Add up the words of all segments, or the ``part`` of them that their hashes assign to it."""
    table = WordTable()
    for number in range(len(folder)):
        segment = folder.read(number, with_ids=False)
        table.add(WordCounts(segment.words, segment.counts), part=part, parts=parts)
    return table


def _count_given(folder: SegmentFolder, given: tuple[str, ...]) -> Vocabulary:
    """Count how often each given word occurs in all segments; words that do not occur are kept."""
    table = WordTable.of(given)
    counts = np.zeros(len(given), np.int64)
    for number in range(len(folder)):
        segment = folder.read(number, with_ids=False)
        ids = table.find(segment.words)
        np.add.at(counts, ids[ids >= 0], segment.counts[ids >= 0])
    return select_words(WordCounts(table.words, counts), min_count=0, max_words=None)
