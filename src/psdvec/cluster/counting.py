"""Counting on a cluster: the same rows of the count matrix as on one machine, from blocks of text.

A block is some files, or the part of one file between two line ends; it is itself a
:class:`~psdvec.text.corpus.Corpus`. The workers first number the blocks; then they add up the words, each worker a part
of them chosen by hash; then they count the pairs, each worker some rows of a group of blocks
(:mod:`psdvec.cluster.shares`); and then they add the groups up (:mod:`psdvec.cluster.merging`). They run the same code
as one machine does; sentences do not cross lines and counts are integers, so neither the cuts nor the order affect the
result. Every step leaves files in the shared folder ``work``, where a later attempt finds them::

    blocks/NNNNNN     segments of the block, its words in parts, and what was read
    vocabulary        the words that were chosen
    shares            the blocks of each group, and the ranges of rows
    pairs/G-R         group G: range R of the rows of its matrix, a Run
    merged/L-G-R      level L, group G: the sum of the group's matrices, range R of the rows
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.cluster.client import ask_workers, check_workers, memory_of_job, run_jobs
from psdvec.cluster.merging import Matrix, merge_matrices
from psdvec.cluster.shares import Shares, share_out
from psdvec.counts import pairs as out_of_core
from psdvec.counts import segments as numbering
from psdvec.counts.matrix import Tally
from psdvec.counts.pairs import Range, Run
from psdvec.counts.segments import Counted, Counting, SegmentChain, SegmentFolder, add_up_words
from psdvec.counts.vocabulary import Vocabulary, WordCounts, WordList, frequent_words, select_words
from psdvec.counts.words import WordTable
from psdvec.errors import InputError
from psdvec.progress import Progress, SilentProgress
from psdvec.resources import parse_size
from psdvec.storage.files import discard_folder
from psdvec.storage.workspace import PLAN, piece_file, piece_folder
from psdvec.text.corpus import Corpus
from psdvec.text.streams import STANDARD_INPUT, ByteRange, file_status, open_file

_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 24, 1 << 28
_BLOCKS = 64  # blocks that a corpus is cut into, if their size allows
_BYTES_PER_PART = 1 << 36  # bytes of the corpus for each part of its words
_FEWEST_PARTS = 4
_PIECE = 1 << 16


def plan_blocks(corpus: Any, block_size: float | str | None) -> list[Corpus]:
    """Cut a corpus into blocks of at most ``block_size`` bytes; compressed files and tables stay whole.

    The cuts lie anywhere in a line; :func:`end_at_lines` moves them to its end.
    """
    if not isinstance(corpus, Corpus) or STANDARD_INPUT in corpus.files:
        raise InputError(
            "a cluster cannot read sentences from Python or standard input; write the text to files first"
        )
    files = [file if "://" in file else str(Path(file).absolute()) for file in corpus.files]
    sizes = [file_status(file).bytes for file in files]
    size = (
        int(np.clip(sum(sizes) // _BLOCKS, _SMALLEST_BLOCK, _LARGEST_BLOCK))
        if block_size is None
        else parse_size(block_size)
    )
    if size < 1:
        raise InputError(
            f'a block of {block_size} bytes holds nothing; give a larger block_size, such as "256M"'
        )
    blocks: list[Corpus] = []
    small: list[str] = []
    room, reader = size, corpus.reader()
    for file, length in zip(files, sizes, strict=True):
        if length > size and reader.can_be_cut(file):
            even = -(-length // -(-length // size))
            for begin in range(0, length, even):
                byte_range = ByteRange(begin, min(begin + even, length))
                blocks.append(replace(corpus, files=(file,), byte_range=byte_range))
            continue
        if small and length > room:
            blocks.append(replace(corpus, files=tuple(small)))
            small, room = [], size
        small.append(file)
        room -= length
    return [*blocks, replace(corpus, files=tuple(small))] if small else blocks


def end_at_lines(block: Corpus) -> Corpus:
    """Return the block with the lines that begin in its span: from the first of them to the end of the last."""
    if block.byte_range is None:
        return block
    begin, end = (_next_line(block.files[0], place) for place in block.byte_range)
    return replace(block, byte_range=ByteRange(begin, end))


def _next_line(file: str, place: int) -> int:
    """Return where the first line at or after ``place`` begins; the end of the file if none does."""
    if place == 0:
        return 0
    with open_file(file) as stream:
        stream.seek(place - 1)
        at = place - 1
        while piece := stream.read(_PIECE):
            found = piece.find(b"\n")
            if found >= 0:
                return at + found + 1
            at += len(piece)
    return at


def count_blocks(
    client: Any,
    blocks: Sequence[Corpus],
    what: Counting,
    work: Path,
    *,
    memory: int | None,
    progress: Progress,
) -> Counted:
    """Count on the workers of ``client``; each uses at most ``memory``, or half of the limit that Dask set."""
    work = work.absolute()
    threads = sum(check_workers(client, work / PLAN).values())
    read = _number_blocks(client, blocks, work, progress)
    tally = sum((block.tally for block in read), Tally())
    if not tally.tokens:
        raise InputError(numbering.NO_WORDS)
    vocabulary = _choose_words(client, len(blocks), what, work, progress)
    if not len(vocabulary):
        return Counted(tally, vocabulary, iter(()))
    shares = _share_out(client, read, vocabulary, what, work, threads=threads, memory=memory)
    matrices = _count_shares(client, shares, what, work, memory=memory, progress=progress)
    rows = merge_matrices(client, matrices, len(vocabulary), memory=memory, progress=progress)
    return Counted(tally, vocabulary, rows, matrices[0].cells if len(matrices) == 1 else None)


class BlockRead(NamedTuple):
    """What a block holds: its ``tally``, how many ``ids``, sentence ends and gaps included, and ``parts`` of words."""

    tally: Tally
    ids: int
    parts: int


def _number_blocks(client: Any, blocks: Sequence[Corpus], work: Path, progress: Progress) -> list[BlockRead]:
    folder = work / "blocks"
    folder.mkdir(exist_ok=True)
    sizes = [block.raw_size or 0 for block in blocks]
    parts = _FEWEST_PARTS + sum(sizes) // _BYTES_PER_PART
    missing = [number for number in range(len(blocks)) if not _block(work, number).exists()]
    with progress.stage("reading blocks", total=sum(sizes), unit="B") as stage:
        stage.advance(sum(sizes) - sum(sizes[number] for number in missing))
        jobs = [(blocks[number], _block(work, number), parts) for number in missing]
        for number, _ in zip(
            missing, run_jobs(client, number_block, jobs, label="reading block"), strict=True
        ):
            stage.advance(sizes[number])
    return [_block_read(_block(work, number)) for number in range(len(blocks))]


def _block_read(path: Path) -> BlockRead:
    found = json.loads((path / "read.json").read_text())
    return BlockRead(Tally(**found["tally"]), found["ids"], found["parts"])


def _block(work: Path, number: int) -> Path:
    return work / "blocks" / f"{number:06d}"


def number_block(block: Corpus, path: Path, parts: int) -> None:
    """Number a block into the folder ``path``, with its words in ``parts``."""
    with piece_folder(path, existing="keep") as new:
        folder = SegmentFolder(new / "segments")
        totals = numbering.number_corpus(end_at_lines(block), folder, workers=1, progress=SilentProgress())
        for part, words in enumerate(add_up_words(folder).split(parts)):
            words.save(new / f"words-{part}")
        found = {"tally": asdict(totals.tally), "ids": totals.ids, "parts": parts}
        (new / "read.json").write_text(json.dumps(found))


def _choose_words(client: Any, blocks: int, what: Counting, work: Path, progress: Progress) -> Vocabulary:
    """Add up the words of all blocks, choose the vocabulary, and leave it where the workers find it."""
    path = work / "vocabulary"
    if not path.exists():
        parts = _block_read(_block(work, 0)).parts
        jobs = [(work, blocks, part, parts, what) for part in range(parts)]
        with progress.stage("choosing words", total=parts, unit="parts") as stage:
            found = []
            for words in run_jobs(client, add_words, jobs, label="adding up words, part"):
                found.append(words)
                stage.advance(1)
        kept, floor = (what.max_words, what.min_count) if what.given is None else (None, 0)
        chosen = select_words(WordCounts.join(found), min_count=floor, max_words=kept)
        WordCounts(WordList.pack(chosen.words), chosen.counts).save(path)
    words, counts = WordCounts.load(path)
    return Vocabulary(words.unpack(), counts)


def add_words(work: Path, blocks: int, part: int, parts: int, what: Counting) -> WordCounts:
    """Return the words of one part, over all blocks, that may be chosen, with their counts.

    If words were given, all of them are returned, even those that do not occur.
    """
    table = WordTable()
    for number in range(blocks):
        table.add(WordCounts.load(_block(work, number) / f"words-{part}"))
    if what.given is None:
        return frequent_words(table.word_counts, min_count=what.min_count, max_words=what.max_words)
    given = WordTable.of(what.given).split(parts)[part]
    if not len(table):
        return given
    places = table.find(given.words)
    return WordCounts(given.words, np.where(places >= 0, table.counts[places], 0))


def _share_out(
    client: Any,
    read: Sequence[BlockRead],
    vocabulary: Vocabulary,
    what: Counting,
    work: Path,
    *,
    threads: int,
    memory: int | None,
) -> Shares:
    """Decide which blocks and rows are counted together: a job for each of ``threads``, or more if memory is short.

    This is decided once: what is counted belongs to these shares, whatever cluster resumes the work.
    """
    path = work / "shares"
    if not path.exists():
        for counted in (work / "pairs", work / "merged"):
            if counted.exists():  # it belongs to other shares
                discard_folder(counted)
        n, pairs = len(vocabulary), vocabulary.counts * len(what.weights)
        full = [number for number, block in enumerate(read) if block.tally.tokens]
        room = min(ask_workers(client, room_of_worker, n, memory))
        loads = pairs + np.minimum(pairs, n)  # each pair is added to a cell, and each cell is written
        found = share_out([read[number].ids for number in full], loads, threads=threads, room=room)
        shares = [[full[place] for place in group] for group in found.groups], found.ranges
        with piece_file(path) as file:
            file.write(json.dumps(shares).encode() + b"\n")
    with path.open("rb") as file:
        groups, ranges = json.loads(file.readline())
    return Shares(groups, [Range(*rows) for rows in ranges])


def room_of_worker(n: int, memory: int | None, dask_worker: Any) -> int:
    """Return how many ids of text one job on this worker can count at once."""
    return out_of_core.room_for_text(memory_of_job(memory, dask_worker), n=n, workers=1)[0]


def _count_shares(
    client: Any, shares: Shares, what: Counting, work: Path, *, memory: int | None, progress: Progress
) -> list[Matrix]:
    for name in ("pairs", "merged"):
        (work / name).mkdir(exist_ok=True)
    ranges = tuple(shares.ranges)
    matrices = [
        Matrix(work, ranges, tuple(f"pairs/{group}-{r}" for r in range(len(ranges))))
        for group in range(len(shares.groups))
    ]
    jobs = [
        (work, group, rows, name, replace(what, given=None), memory)
        for group, matrix in zip(shares.groups, matrices, strict=True)
        for rows, name in zip(matrix.ranges, matrix.names, strict=True)
    ]
    missing = [job for job in jobs if not (work / job[3]).exists()]
    with progress.stage("counting pairs", total=len(jobs), unit="shares") as stage:
        stage.advance(len(jobs) - len(missing))
        for _ in run_jobs(client, count_share, missing, label="counting share"):
            stage.advance(1)
    return matrices


def count_share(
    work: Path, blocks: Sequence[int], rows: Range, name: str, what: Counting, memory: int | None
) -> None:
    """Count some rows of numbered blocks, and leave them in the shared folder under ``name``."""
    import distributed

    words = WordCounts.load(work / "vocabulary").words.unpack()
    text = SegmentChain(SegmentFolder(_block(work, number) / "segments") for number in blocks)
    ids = sum(_block_read(_block(work, number)).ids for number in blocks)
    worker = distributed.get_worker()
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as scratch:
        counted = out_of_core.count_text(
            text, words, what, Path(scratch),
            ids=ids, rows=rows, memory=memory_of_job(memory, worker), workers=1, progress=SilentProgress(),
        )  # fmt: skip
        Run(work / name).write(counted)
