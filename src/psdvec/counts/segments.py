"""Segments: numbered text on disk, between reading a corpus and counting its pairs.

A segment is a block of text (or a batch of sentences) as ids of its own: words are numbered in the order in which they
first appear in it. Segments therefore depend neither on each other nor on the number of workers nor on the vocabulary,
which :func:`choose_words` chooses afterwards from the words of all of them.
:func:`number_text` makes segments, :mod:`psdvec.counts.pairs` counts their pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.matrix import UNIT, Rows, Tally
from psdvec.counts.vocabulary import Vocabulary, WordCounts, WordList, frequent_words, select_words
from psdvec.counts.words import GAP, MAX_WORD_BYTES, SENTENCE_END, WordTable, number_words
from psdvec.errors import InputError
from psdvec.options import Counting
from psdvec.parallel import map_ordered
from psdvec.progress import Progress
from psdvec.storage.files import discard_folder
from psdvec.storage.workspace import piece_file, read_piece, write_piece
from psdvec.text.corpus import Block, Corpus, Place, Sentences, Texts

# What is to be counted, described before any text is read.


class Description(NamedTuple):
    """What counts say of themselves: ``parameters``, in which stores to be merged must agree, and ``sources``.

    ``input`` is what :func:`identity_of` returns.
    """

    parameters: dict[str, Any]
    sources: list[dict[str, Any]]
    input: Any


def describe(corpus: Corpus | Texts | Sentences, what: Counting) -> Description:
    """Describe the counts of ``corpus`` before they are made."""
    identity = identity_of(corpus)
    if isinstance(corpus, Corpus):
        tokenizer, files = corpus.tokenizer, corpus.sources()
    elif isinstance(corpus, Texts):
        tokenizer, files = corpus.tokenizer, [{"name": "texts from Python"}]
    else:
        tokenizer, files = "none", [{"name": "sentences from Python"}]
    words = (
        {"min_count": what.min_count, "max_words": what.max_words}
        if what.given is None
        else {"given_words": len(what.given)}
    )
    parameters = {
        "tokenizer": tokenizer,
        "window": what.window,
        "weighting": what.weighting,
        "gaps": what.gaps,
        "unit": UNIT,
    }
    return Description(parameters, [{**file, **words} for file in files], identity)


def identity_of(corpus: Corpus | Texts | Sentences) -> Any:
    """Return what tells whether the input is still the same; what comes from Python never is."""
    return corpus.identity if isinstance(corpus, Corpus) else {"once": np.random.SeedSequence().entropy}


class Counted(NamedTuple):
    """What was found in the text. The pairs are counted while ``rows``, those of the matrix, are asked for.

    ``cells``: how many cells the rows have in all, where that is known before.
    """

    tally: Tally
    vocabulary: Vocabulary
    rows: Iterator[Rows]
    cells: int | None = None


FORMAT = 4  # of the files below; a workspace of another format is discarded
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
    """What can be known of a segment without its arrays.

    The tally, where its text ends, the ids at its edges (gaps if there are none), and how many words and ids it has.
    """

    tally: Tally
    end: Place
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
        ids = segment.ids
        record = {
            "tally": asdict(segment.tally),
            "end": segment.end,
            "closed": segment.closed,
            "first_id": int(ids[0]) if len(ids) else GAP,
            "last_id": int(ids[-1]) if len(ids) else GAP,
            "words": len(segment.counts),
            "ids": len(ids),
        }
        words, offsets = segment.words.blob, segment.words.offsets
        write_piece(self._file(number), record, words=words, offsets=offsets, counts=segment.counts, ids=ids)

    def read(self, number: int, *, with_ids: bool) -> Segment:
        """Read a segment, or all but its ids."""
        said, kept = read_piece(self._file(number), first=4 if with_ids else 3)
        record = _record_of(said)
        ids = kept["ids"] if with_ids else np.empty(0, np.int32)
        words = WordList(kept["words"], kept["offsets"])
        return Segment(words, kept["counts"], ids, record.tally, record.end, record.closed)

    def records(self) -> list[SegmentRecord]:
        """Return the record of each segment."""
        return [_record_of(read_piece(self._file(number), first=0)[0]) for number in range(len(self))]

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
        tally = sum((record.tally for record in records), Tally(sentences=-empty))
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


def _record_of(said: dict[str, Any]) -> SegmentRecord:
    return SegmentRecord(**said | {"tally": Tally(**said["tally"]), "end": Place(*said["end"])})


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


# Numbering: from a corpus, or texts and sentences from Python, to segments of ids.

BATCH_TOKENS = 1 << 20  # of sentences that come from Python
_SEPARATOR = re.compile(r"[\x00-\x1f\x85\u2028\u2029]")  # what ends words or lines in every file
NO_WORDS = "the corpus holds no words; give a corpus with text in it"
NO_SENTENCES = (
    "the iterable gave no words (a generator can be read only once); give sentences with words in them"
)


def number_text(
    corpus: Corpus | Texts | Sentences, folder: SegmentFolder, *, workers: int, progress: Progress
) -> Totals:
    """Number a corpus, texts or sentences into ``folder``; what holds no words is refused."""
    if isinstance(corpus, Corpus | Texts):
        totals = number_corpus(corpus, folder, workers=workers, progress=progress)
    else:
        totals = _number_sentences(corpus, folder, progress=progress)
    if not totals.tally.tokens:
        discard_folder(folder.path)
        raise InputError(NO_WORDS if isinstance(corpus, Corpus) else NO_SENTENCES)
    return totals


def number_corpus(
    corpus: Corpus | Texts, folder: SegmentFolder, *, workers: int, progress: Progress
) -> Totals:
    """Number a corpus, or texts, into ``folder``, continuing after the segments that are there."""
    folder.path.mkdir(exist_ok=True)
    done = folder.records()
    place, joined = (done[-1].end, not done[-1].closed) if done else (Place(0, 0), False)

    def number_and_write(numbered: tuple[int, Block]) -> tuple[Block, int]:
        number, block = numbered
        segment = number_block(corpus, block)
        folder.write(number, segment)
        return block, segment.tally.tokens

    if not folder.is_complete:
        with (
            progress.stage("reading", total=corpus.raw_size, unit="B") as stage,
            ThreadPoolExecutor(workers) as pool,
        ):
            blocks = enumerate(corpus.blocks(place, joined=joined), len(done))
            for block, tokens in map_ordered(pool, number_and_write, blocks, ahead=workers):
                stage.advance(block.raw_bytes, tokens=tokens)
        folder.mark_complete()
    return folder.totals()


def number_block(corpus: Corpus | Texts, block: Block) -> Segment:
    """Cut a block into words and number them; the ids are valid until this thread numbers its next block."""
    spaced, replaced = corpus.space(block)
    words, counts, ids, overlong = number_words(spaced, joined=block.joined, closed=block.closed)
    sentences = int(np.count_nonzero(ids == SENTENCE_END))
    tally = Tally(int(counts.sum()) + overlong, sentences, overlong, replaced)
    return Segment(words, counts, ids, tally, block.end, block.closed)


def _number_sentences(sentences: Sentences, folder: SegmentFolder, *, progress: Progress) -> Totals:
    """Number sentences that come from Python, lists of tokens, into ``folder``."""
    folder.path.mkdir(exist_ok=True)
    with progress.stage("reading", total=None, unit="sentences") as stage:
        for number, segment in enumerate(_number_batches(sentences)):
            folder.write(number, segment)
            stage.advance(segment.tally.sentences, tokens=segment.tally.tokens)
    folder.mark_complete()
    return folder.totals()


def _number_batches(sentences: Sentences) -> Iterator[Segment]:
    local: dict[str, int] = {}
    ids: list[int] = []
    for count, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise InputError(
                f"sentence {count} is a string, {sentence[:40]!r}, but the first was a list of words; "
                "give texts only, or lists of words only"
            )
        if not isinstance(sentence, Iterable):
            raise InputError(f"sentence {count} is {sentence!r}, not a list of words; leave it out")
        before = len(ids)
        if isinstance(sentence, set | frozenset):  # they have another order in every run
            sentence = sorted(sentence, key=str)
        for token in sentence:
            if not isinstance(token, str) or not token:
                raise InputError(
                    f"sentence {count} holds {token!r}, which is not a word; give non-empty strings"
                )
            ids.append(local.setdefault(token, len(local)))
        if len(ids) > before:
            ids.append(SENTENCE_END)
        if len(ids) >= BATCH_TOKENS:
            yield _segment_of(local, ids)
            local, ids = {}, []
    if ids:
        yield _segment_of(local, ids)


def _segment_of(local: dict[str, int], ids: list[int]) -> Segment:
    for word in local:
        if word != word.strip() or (not word.isprintable() and _SEPARATOR.search(word)):
            raise InputError(
                f"the sentences hold {word[:80]!r}, which begins, ends or is cut by white space; leave such words out, "
                "or strip them (a blank inside a word may stay, as in 'New York')"
            )
    words = WordList.pack(local)
    array = np.array(ids, dtype=np.int32)
    too_long = np.flatnonzero(np.diff(words.offsets) > MAX_WORD_BYTES)
    is_overlong = np.isin(array, too_long)
    array[is_overlong] = GAP
    counts = np.bincount(array[array >= 0], minlength=len(local)).astype(np.int64)
    sentences = int(np.count_nonzero(array == SENTENCE_END))
    tally = Tally(len(array) - sentences, sentences, int(is_overlong.sum()), 0)
    return Segment(words, counts, array, tally, Place(0, 0), True)
