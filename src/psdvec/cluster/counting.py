"""Counting on a cluster: the same rows of the count matrix as on one machine, from blocks of text.

A block is some files, or the part of one file between two line ends; it is itself a
:class:`~psdvec.text.corpus.Corpus`. The workers first number the blocks; then they add up the words, each worker a part
of them chosen by hash; then they count the pairs, each worker some rows of a group of blocks; and then they add up the
groups, if there are several, each worker some rows. They run the same code as one machine does; sentences do not cross
lines and counts are integers, so neither the cuts nor the order affect the result. Every step leaves files in the
shared folder ``work``, where a later attempt finds them::

    blocks/NNNNNN     segments of the block, and its words in parts
    vocabulary        the words that were chosen
    shares            the blocks of each group, and the ranges of rows
    pairs/G-R         range R of the rows of the matrix of group G, a Run
    sums/R-ROW        the sum of all groups in range R, from its row ROW on, a Run
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.cluster.client import ask_workers, check_workers, memory_of_job, run_jobs
from psdvec.counts import pairs as out_of_core
from psdvec.counts import segments
from psdvec.counts.count import Counted
from psdvec.counts.matrix import Rows, Tally
from psdvec.counts.pairs import Range, Run, cut_ranges, sizes_of
from psdvec.counts.phrases import Joiner
from psdvec.counts.vocabulary import Vocabulary, WordCounts, WordList, select_chosen
from psdvec.errors import InputError
from psdvec.options import Counting
from psdvec.progress import Progress, SilentProgress
from psdvec.resources import parse_size
from psdvec.storage.workspace import PLAN, piece_folder, read_piece, write_piece
from psdvec.text.corpus import Corpus
from psdvec.text.phrases import Phrases
from psdvec.text.streams import STANDARD_INPUT, ByteRange, file_status, open_file

MOST_IDS = 1 << 30  # ids in a group, however many fit: they must be counted again if a worker is lost
MOST_RANGES = 8  # with more, reading the text takes longer than counting its pairs
RANGE_CELLS = 1 << 21  # cells of the sum per job: 25 megabytes on disk
_CELLS = 1 << 19  # cells of the sum that are passed on at a time
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
    phrases: Phrases | None = None,
    *,
    memory: int | None,
    progress: Progress,
) -> Counted:
    """Count on the workers of ``client``; each uses at most ``memory``, or half of the limit that Dask set."""
    work = work.absolute()
    threads = sum(check_workers(client, work / PLAN).values())
    parts = _FEWEST_PARTS + sum(block.raw_size or 0 for block in blocks) // _BYTES_PER_PART
    read = _number_blocks(client, blocks, parts, phrases, work, progress)
    tally = sum((block.tally for block in read), Tally())
    if not tally.tokens:
        files = tuple(dict.fromkeys(file for block in blocks for file in block.files))
        raise InputError(replace(blocks[0], files=files, byte_range=None).why_empty())
    vocabulary = _choose_words(client, len(blocks), parts, what, work, progress)
    if not len(vocabulary):
        return Counted(tally, vocabulary, iter(()))
    shares = _share_out(client, read, vocabulary, what, work, threads=threads, memory=memory)
    _count_shares(client, shares, what, work, memory=memory, progress=progress)
    if len(shares.groups) > 1:
        added = _add_up(client, shares, len(vocabulary), work, memory=memory, progress=progress)
        return Counted(tally, vocabulary, added)
    runs = [Run(_matrix(work, 0, r)) for r in range(len(shares.ranges))]
    rows = chain.from_iterable(run.blocks(cells=_CELLS) for run in runs)
    return Counted(tally, vocabulary, rows, sum(int(run.sizes().sum()) for run in runs))


def _make_missing(
    client: Any, function: Callable[..., None], jobs: Mapping[Path, tuple[Any, ...]], *, label: str
) -> Iterator[Path]:
    """Yield the paths of ``jobs`` in order, each when it is there; those that are not, ``function(path, *job)`` makes.

    A later attempt so does only what is missing.
    """
    missing = {path: job for path, job in jobs.items() if not path.exists()}
    with closing(run_jobs(client, function, [(p, *job) for p, job in missing.items()], label=label)) as made:
        for path in jobs:
            if path in missing:
                next(made)
            yield path


def _number_blocks(
    client: Any, blocks: Sequence[Corpus], parts: int, phrases: Phrases | None, work: Path, progress: Progress
) -> list[segments.NumberedText]:
    """Number all blocks, each with its words in ``parts``, and return what each holds."""
    (work / "blocks").mkdir(exist_ok=True)
    sizes = [block.raw_size or 0 for block in blocks]
    jobs = {_block(work, number): (block, parts, phrases) for number, block in enumerate(blocks)}
    with progress.stage("reading blocks", total=sum(sizes), unit="B") as stage:
        made = _make_missing(client, number_block, jobs, label="reading block")
        for size, _ in zip(sizes, made, strict=True):
            stage.advance(size)
    return [segments.read_numbered(path / "segments") for path in jobs]


def _block(work: Path, number: int) -> Path:
    return work / "blocks" / f"{number:06d}"


def number_block(path: Path, block: Corpus, parts: int, phrases: Phrases | None = None) -> None:
    """Number a block into the folder ``path``, with its ``phrases`` joined and its words in ``parts``."""
    change = None if phrases is None else Joiner(phrases)
    with piece_folder(path, existing="keep") as new:
        folder = new / "segments"
        segments.number_corpus(
            end_at_lines(block), folder, workers=1, progress=SilentProgress(), change=change
        )
        for part, words in enumerate(segments.add_up_words(segments.segment_files(folder)).split(parts)):
            segments.write_word_counts(new / f"words-{part}", words)


def _choose_words(
    client: Any, blocks: int, parts: int, what: Counting, work: Path, progress: Progress
) -> Vocabulary:
    """Add up the words of all blocks, choose the vocabulary, and leave it where the workers find it."""
    path = work / "vocabulary"
    if not path.exists():
        jobs = [(work, blocks, part, parts, what) for part in range(parts)]
        with progress.stage("choosing words", total=parts, unit="parts") as stage:
            found = []
            for words in run_jobs(client, add_words, jobs, label="adding up words, part"):
                found.append(words)
                stage.advance(1)
        chosen = select_chosen(found, what)
        segments.write_word_counts(path, WordCounts(WordList.pack(chosen.words), chosen.counts))
    words, counts = segments.read_word_counts(path)
    return Vocabulary(words.unpack(), counts)


def add_words(work: Path, blocks: int, part: int, parts: int, what: Counting) -> WordCounts:
    """Return the words of one part, over all blocks, that may be chosen, with their counts."""
    table = segments.add_up_words(_block(work, number) / f"words-{part}" for number in range(blocks))
    return segments.may_be_chosen(table, what, part=part, parts=parts)


class Shares(NamedTuple):
    """Who counts what: there is a job for each of ``groups`` (of blocks) and each of ``ranges`` (of rows)."""

    groups: list[Range]
    ranges: list[Range]


def _share_out(
    client: Any,
    read: Sequence[segments.NumberedText],
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
        n, pairs = len(vocabulary), vocabulary.counts * len(what.weights)
        room = min(ask_workers(client, room_of_worker, n, memory).values())
        loads = pairs + np.minimum(pairs, n)  # each pair is added to a cell, and each cell is written
        shares = share_out(np.array([block.ids for block in read]), loads, threads=threads, room=room)
        write_piece(path, shares._asdict())
    said, _ = read_piece(path)
    return Shares(*([Range(*pair) for pair in said[name]] for name in Shares._fields))


def room_of_worker(n: int, memory: int | None, dask_worker: Any) -> int:
    """Return how many ids of text one job on this worker can count at once."""
    return out_of_core.room_for_text(memory_of_job(memory, dask_worker), n=n, workers=1)[0]


def share_out(ids: Int64s, loads: Int64s, *, threads: int, room: int) -> Shares:
    """Share out blocks of so many ``ids``, and rows that take ``loads`` of work, among ``threads``.

    There are as few groups as ``threads`` and the ``room`` for each allow: one, if all text fits, is not added up. With
    a group for each thread instead, two workers take 1.25 times the processor time for 40 MB of text.

    >>> share_out(np.array([3, 3, 3]), np.array([4, 2, 1, 1]), threads=2, room=100)
    Shares(groups=[Range(begin=0, end=3)], ranges=[Range(begin=0, end=1), Range(begin=1, end=4)])
    >>> share_out(np.array([3, 3, 3]), np.array([4, 2, 1, 1]), threads=1, room=8).groups
    [Range(begin=0, end=2), Range(begin=2, end=3)]
    """
    room, total = min(room, MOST_IDS), int(ids.sum())
    for_room = 1 if total <= room else -(-total // max(room - int(ids.max()), 1))  # blocks stay whole
    groups = even_ranges(ids, min(max(-(-threads // MOST_RANGES), for_room), len(ids)))
    return Shares(groups, even_ranges(loads, min(-(-threads // len(groups)), MOST_RANGES)))


def even_ranges(loads: Int64s, most: int) -> list[Range]:
    """Cut what takes ``loads`` of work into at most ``most`` ranges of about the same load, none of them without any.

    >>> even_ranges(np.array([4, 2, 1, 1]), 2)
    [Range(begin=0, end=1), Range(begin=1, end=4)]
    """
    ends = np.cumsum(loads)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, most) / most) + 1
    inside = [int(cut) for cut in np.unique(cuts) if ends[cut - 1] < ends[-1]]
    return [Range(*pair) for pair in zip([0, *inside], [*inside, len(loads)], strict=True)]


def _matrix(work: Path, group: int, r: int) -> Path:
    """Return where range ``r`` of the rows of a group's matrix is, a :class:`Run`."""
    return work / "pairs" / f"{group}-{r}"


def _count_shares(
    client: Any, shares: Shares, what: Counting, work: Path, *, memory: int | None, progress: Progress
) -> None:
    (work / "pairs").mkdir(exist_ok=True)
    jobs = {
        _matrix(work, group, r): (work, blocks, rows, replace(what, given=None), memory)
        for group, blocks in enumerate(shares.groups)
        for r, rows in enumerate(shares.ranges)
    }
    with progress.stage("counting pairs", total=len(jobs), unit="shares") as stage:
        for _ in _make_missing(client, count_share, jobs, label="counting share"):
            stage.advance(1)


def count_share(
    path: Path, work: Path, blocks: Range, rows: Range, what: Counting, memory: int | None
) -> None:
    """Count some rows of numbered ``blocks`` into the :class:`Run` ``path``."""
    import distributed

    words = segments.read_word_counts(work / "vocabulary").words.unpack()
    read = [segments.read_numbered(_block(work, number) / "segments") for number in range(*blocks)]
    files, ids = [file for text in read for file in text.files], sum(text.ids for text in read)
    worker = distributed.get_worker()
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as scratch:
        counted = out_of_core.count_text(
            files, words, what, Path(scratch),
            ids=ids, rows=rows, memory=memory_of_job(memory, worker), workers=1, progress=SilentProgress(),
        )  # fmt: skip
        Run(path).write(counted)


def _add_up(
    client: Any, shares: Shares, n: int, work: Path, *, memory: int | None, progress: Progress
) -> Iterator[Rows]:
    """Add up the groups' matrices of ``n`` columns; the first rows are yielded while others are added."""
    (work / "sums").mkdir(exist_ok=True)
    groups, jobs = len(shares.groups), {}
    for r in range(len(shares.ranges)):
        sizes = sizes_of([Run(_matrix(work, group, r)) for group in range(groups)])
        for rows in cut_ranges(np.minimum(sizes, n), cells=RANGE_CELLS):
            jobs[work / "sums" / f"{r}-{rows.begin}"] = (work, groups, r, rows, n, memory)
    with progress.stage(f"adding up {groups} matrices", total=len(jobs), unit="ranges") as stage:
        for path in _make_missing(client, add_range, jobs, label="adding up, job"):
            yield from Run(path).blocks(cells=_CELLS)
            stage.advance(1)


def add_range(path: Path, work: Path, groups: int, r: int, rows: Range, n: int, memory: int | None) -> None:
    """Add up some rows of all matrices into the :class:`Run` ``path``, as one machine adds up its runs."""
    import distributed

    worker = distributed.get_worker()
    portions = out_of_core.choose_portions(0, n=n, memory=memory_of_job(memory, worker), workers=1)
    runs = [Run(_matrix(work, group, r), rows) for group in range(groups)]
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as scratch, ThreadPoolExecutor(1) as pool:
        Run(path).write(out_of_core.merge_runs(runs, Path(scratch), portions, pool, SilentProgress()))
