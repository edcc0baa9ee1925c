"""Segments: text as numbers. A corpus goes in; files with ids and the words they stand for come out.

Each segment is a block of text (or a batch of sentences), with ids that are its own: words in the order in
which they first appear there. Segments are therefore independent of each other, of the number of workers
and of the vocabulary, which is chosen afterwards from their words. :func:`choose_words` adds the words up,
:class:`Translation` turns a segment's ids into ids of the vocabulary.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from psdvec.counts.matrix import Tally
from psdvec.counts.packed_words import WordList
from psdvec.counts.vocabulary import Vocabulary, frequent_words, select_words
from psdvec.counts.word_table import WordTable
from psdvec.errors import InputError
from psdvec.kernels import hashing
from psdvec.parallel import map_ordered
from psdvec.progress import Progress
from psdvec.storage.atomic import whole_file
from psdvec.text.corpus import Block, Corpus, Place

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

BATCH_TOKENS = 1 << 20  # of sentences that come from Python
_TABLE_BYTES_PER_WORD = 64  # of WordTable: slots, hash, head, count, offset, and the word itself


@dataclass(frozen=True)
class Segment:
    """Numbered text: ``ids`` int32[t] into ``words``, SENTENCE_END and GAP among them; ``counts`` int64[n]."""

    words: WordList
    counts: Int64s
    ids: Int32s
    tally: Tally
    end: Place
    closed: bool

    @property
    def edges(self) -> tuple[int, int]:
        """The first and the last id; for a text without any, two gaps."""
        return (int(self.ids[0]), int(self.ids[-1])) if len(self.ids) else (hashing.GAP, hashing.GAP)


class SegmentFolder:
    """The segments of a corpus on disk, numbered from 0."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __len__(self) -> int:
        """How many there are without a hole."""
        n = 0
        while self._path(n).exists():
            n += 1
        return n

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.segment"

    def write(self, number: int, segment: Segment) -> None:
        """Write a segment; the ids come last, so that the words can be read without them."""
        record = [
            *asdict(segment.tally).values(),
            *segment.end,
            int(segment.closed),
            *segment.edges,
            len(segment.words),
            len(segment.ids),
        ]
        with whole_file(self._path(number)) as file:
            for array in (
                np.array(record, dtype=np.int64),
                segment.words.blob,
                segment.words.offsets,
                segment.counts,
                segment.ids,
            ):
                np.save(file, array, allow_pickle=False)

    def read(self, number: int, *, with_ids: bool) -> Segment:
        """Read a segment, or all but its ids."""
        with self._path(number).open("rb") as file:
            record, blob, offsets, counts = (np.load(file, allow_pickle=False) for _ in range(4))
            ids = np.load(file, allow_pickle=False) if with_ids else np.empty(0, np.int32)
        *tally, end_file, end_offset, closed, _, _, _, _ = record.tolist()
        return Segment(
            WordList(blob, offsets), counts, ids, Tally(*tally), Place(end_file, end_offset), bool(closed)
        )

    def records(self) -> Iterator[list[int]]:
        """Yield what is noted of each segment; at the end of it: first id, last id, number of words and of ids."""
        for number in range(len(self)):
            with self._path(number).open("rb") as file:
                yield np.load(file, allow_pickle=False).tolist()

    def totals(self) -> tuple[int, int]:
        """Return the words of all segments, counted anew in each, and the ids, sentence ends and gaps included."""
        sizes = [record[-2:] for record in self.records()]
        return sum(words for words, _ in sizes), sum(ids for _, ids in sizes)

    def empty_sentences(self) -> int:
        """Return how many sentence ends close nothing: those of lines without words that are longer than a block."""
        empty, inside = 0, False
        for first, last, _, ids in (record[-4:] for record in self.records()):
            empty += first == hashing.SENTENCE_END and not inside
            inside = last != hashing.SENTENCE_END if ids else inside
        return empty

    @property
    def is_complete(self) -> bool:
        """Whether the whole corpus has been numbered."""
        return (self.folder / "complete").exists()

    def mark_complete(self) -> None:
        """Remember that the whole corpus has been numbered."""
        with whole_file(self.folder / "complete"):
            pass


class SegmentChain:
    """Segments of several folders, numbered as if they were of one."""

    def __init__(self, folders: Iterable[SegmentFolder]) -> None:
        self._segments = [(folder, number) for folder in folders for number in range(len(folder))]

    def __len__(self) -> int:
        return len(self._segments)

    def read(self, number: int, *, with_ids: bool) -> Segment:
        """Read a segment, or all but its ids."""
        folder, own = self._segments[number]
        return folder.read(own, with_ids=with_ids)


def number_corpus(corpus: Corpus, folder: SegmentFolder, *, workers: int, progress: Progress) -> Tally:
    """Number a corpus into ``folder``, going on behind what is there."""
    tally, place, joined, done = Tally(), Place(0, 0), False, len(folder)
    for number in range(done):
        segment = folder.read(number, with_ids=False)
        tally, place, joined = tally + segment.tally, segment.end, not segment.closed

    def number_and_write(numbered: tuple[int, Block]) -> tuple[Block, Tally]:
        number, block = numbered
        segment = number_block(corpus, block)
        folder.write(number, segment)
        return block, segment.tally

    if not folder.is_complete:
        with (
            progress.stage("reading", total=corpus.raw_size, unit="B") as stage,
            ThreadPoolExecutor(workers) as pool,
        ):
            blocks = enumerate(corpus.blocks(place, joined=joined), done)
            for block, added in map_ordered(pool, number_and_write, blocks, ahead=workers):
                tally += added
                stage.advance(block.raw_bytes, tokens=added.tokens)
        folder.mark_complete()
    return tally + Tally(sentences=-folder.empty_sentences())


def number_block(corpus: Corpus, block: Block) -> Segment:
    """Cut a block into words and number them; the ids are good until this thread numbers its next block."""
    spaced, replaced = corpus.space(block)
    scratch = _scratch(len(spaced) + 2)
    t, blob, offsets, counts, overlong = hashing.number_words(spaced, block.joined, block.closed, scratch)
    ids = scratch[:t]
    tally = Tally(
        int(counts.sum()) + overlong, int(np.count_nonzero(ids == hashing.SENTENCE_END)), overlong, replaced
    )
    return Segment(WordList(blob, offsets), counts, ids, tally, block.end, block.closed)


_thread = threading.local()


def _scratch(length: int) -> Int32s:
    """Return this thread's room for ids: fresh memory for every block would cost more than filling it."""
    if len(getattr(_thread, "ids", ())) < length:
        _thread.ids = np.empty(length, np.int32)
    ids: Int32s = _thread.ids
    return ids


def number_sentences(
    sentences: Iterable[Iterable[str]], folder: SegmentFolder, *, progress: Progress
) -> Tally:
    """Number sentences that come from Python, lists of tokens, into ``folder``."""
    tally = Tally()
    with progress.stage("reading", total=None, unit="sentences") as stage:
        for number, segment in enumerate(_number_batches(sentences)):
            folder.write(number, segment)
            tally += segment.tally
            stage.advance(segment.tally.sentences, tokens=segment.tally.tokens)
    folder.mark_complete()
    return tally


def _number_batches(sentences: Iterable[Iterable[str]]) -> Iterator[Segment]:
    local: dict[str, int] = {}
    ids: list[int] = []
    for count, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise InputError(
                f"sentence {count} is a string, not a list of tokens ({sentence[:40]!r}); split it, "
                "or give files to read_corpus"
            )
        before = len(ids)
        for token in sentence:
            if not isinstance(token, str) or not token:
                raise InputError(
                    f"sentence {count} holds {token!r}, which is not a word; give non-empty strings"
                )
            ids.append(local.setdefault(token, len(local)))
        if len(ids) > before:
            ids.append(hashing.SENTENCE_END)
        if len(ids) >= BATCH_TOKENS:
            yield _segment_of(local, ids)
            local, ids = {}, []
    if ids:
        yield _segment_of(local, ids)


def _segment_of(local: dict[str, int], ids: list[int]) -> Segment:
    words = WordList.pack(local)
    array = np.array(ids, dtype=np.int32)
    too_long = np.diff(words.offsets) > hashing.MAX_WORD_BYTES
    overlong = int(np.isin(array, np.flatnonzero(too_long)).sum()) if too_long.any() else 0
    if overlong:
        array[np.isin(array, np.flatnonzero(too_long))] = hashing.GAP
    counts = np.bincount(array[array >= 0], minlength=len(local)).astype(np.int64)
    sentences = int(np.count_nonzero(array == hashing.SENTENCE_END))
    return Segment(
        words, counts, array, Tally(len(array) - sentences, sentences, overlong, 0), Place(0, 0), True
    )


def choose_words(
    folder: SegmentFolder, *, min_count: int, max_words: int | None, memory: int, workers: int
) -> Vocabulary:
    """Add up the words of all segments and keep the frequent ones.

    Each thread adds up a part of the words, told by their hash; there are as many parts as ``memory`` asks for.
    """
    parts = max(workers, 1 + workers * folder.totals()[0] * _TABLE_BYTES_PER_WORD // max(memory, 1))

    def choose(part: int) -> tuple[WordList, Int64s]:
        table = _add_up(folder, part, parts)
        return frequent_words(table.words, table.counts, min_count=min_count, max_words=max_words)

    with ThreadPoolExecutor(workers) as pool:
        lists, counts = zip(*pool.map(choose, range(parts)), strict=True)
    return select_words(
        WordList.join(lists), np.concatenate(counts), min_count=min_count, max_words=max_words
    )


def _add_up(folder: SegmentFolder, part: int, parts: int) -> WordTable:
    table = WordTable()
    for number in range(len(folder)):
        segment = folder.read(number, with_ids=False)
        table.add(segment.words, segment.counts, part=part, parts=parts)
    return table


class Translation:
    """From the ids of segments to those of a vocabulary."""

    def __init__(self, words: tuple[str, ...], *, close_gaps: bool) -> None:
        self.close_gaps = close_gaps
        packed = WordList.pack(words)
        self.table = WordTable(max(1 << 10, 1 << len(words).bit_length()))
        self.table.add(packed, np.zeros(len(words), np.int64))

    def find(self, words: WordList) -> Int32s:
        """Return the vocabulary's id for each of a segment's words."""
        return self.table.find(words)

    def translate(self, segment: Segment) -> Int32s:
        """Return a segment's text in ids of the vocabulary; it takes the place of the segment's own ids."""
        ids = segment.ids
        n = hashing.translate_ids(ids, self.find(segment.words), self.close_gaps)
        return ids[:n]


def count_given(folder: SegmentFolder, words: tuple[str, ...]) -> Vocabulary:
    """Count how often each of the given words occurs in all segments; none is left out."""
    translation = Translation(words, close_gaps=False)
    counts = np.zeros(len(words), np.int64)
    for number in range(len(folder)):
        segment = folder.read(number, with_ids=False)
        ids = translation.find(segment.words)
        np.add.at(counts, ids[ids >= 0], segment.counts[ids >= 0])
    return select_words(WordList.pack(words), counts, min_count=0, max_words=None)
