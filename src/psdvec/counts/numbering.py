"""Numbering: from a corpus, or texts and sentences from Python, to segments of ids.

:func:`number_text` is the stage of counting that reads the text. What an interrupted run has numbered is kept, and
numbering continues after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from psdvec.counts.matrix import Tally
from psdvec.counts.segments import Segment, SegmentFolder, Totals
from psdvec.counts.vocabulary import WordList
from psdvec.counts.word_table import GAP, MAX_WORD_BYTES, SENTENCE_END, number_words
from psdvec.errors import InputError
from psdvec.parallel import map_ordered
from psdvec.progress import Progress
from psdvec.storage.files import discard_folder
from psdvec.text.corpus import Block, Corpus, Place, Sentences, Texts

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
    place, joined = Place(0, 0), False
    if done:
        place, joined = Place(done[-1].end_file, done[-1].end_offset), not done[-1].closed

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
