"""Counting on a cluster: the same rows of the count matrix as on one machine, from blocks of text.

A block is some files, or the part of one file between two line ends; it is itself a
:class:`~psdvec.text.corpus.Corpus`. The workers first number the blocks; then they add up the words, each worker a part
of them chosen by hash; then they count the pairs, each worker some rows of a group of blocks; and
then they add the groups up. They run the same code
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
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.cluster.client import ask_workers, check_workers, memory_of_job, run_jobs
from psdvec.counts import pairs as out_of_core
from psdvec.counts import segments as numbering
from psdvec.counts.matrix import Rows, Tally
from psdvec.counts.pairs import Range, RowReader, Run, add_rows, cut_ranges
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

# Shares of the work: which blocks and which rows each job of a cluster counts, so that little needs adding up.

MOST_IDS = 1 << 30  # ids in a group, however many fit: they must be counted again if a worker is lost
MOST_RANGES = 8  # with more, reading the text takes longer than counting its pairs


class Shares(NamedTuple):
    """Who counts what: there is a job for each of ``groups`` (of block numbers) and each of ``ranges`` (of rows)."""

    groups: list[list[int]]
    ranges: list[Range]


def share_out(sizes: Sequence[int], loads: Int64s, *, threads: int, room: int) -> Shares:
    """Share out blocks of these ``sizes``, and rows that take ``loads`` of work, among ``threads``.

    >>> share_out([3, 3, 3], np.array([4, 2, 1, 1]), threads=2, room=100)
    Shares(groups=[[0, 1, 2]], ranges=[Range(begin=0, end=1), Range(begin=1, end=4)])
    """
    groups = [list(group) for group in group_blocks(sizes, groups=-(-threads // MOST_RANGES), room=room)]
    return Shares(groups, even_ranges(loads, min(-(-threads // max(len(groups), 1)), MOST_RANGES)))


def even_ranges(loads: Int64s, most: int) -> list[Range]:
    """Cut rows that take ``loads`` of work into at most ``most`` ranges of about the same load, none of them empty."""
    ends = np.cumsum(loads)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, most) / most) + 1
    inside = [int(cut) for cut in np.unique(cuts) if cut < len(loads)]
    return [Range(*pair) for pair in zip([0, *inside], [*inside, len(loads)], strict=True)]


def group_blocks(sizes: Sequence[int], *, groups: int, room: int) -> list[range]:
    """Cut blocks of these ``sizes`` into at most ``groups`` groups, or into more if the ``room`` for each requires it.

    The largest group is as small as that number of groups allows. A block larger than ``room`` is a group of its own.

    >>> group_blocks([3, 3, 3, 3, 3], groups=2, room=100)
    [range(0, 3), range(3, 5)]
    >>> group_blocks([3, 3, 3, 3, 3], groups=2, room=6)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    room = max(min(room, MOST_IDS), 1)
    most = max(groups, len(_fill(sizes, room)))
    limits = range(1, room + 1)
    return _fill(sizes, limits[bisect_left(limits, True, key=lambda limit: len(_fill(sizes, limit)) <= most)])


def _fill(sizes: Sequence[int], limit: int) -> list[range]:
    """Fill one group after the other up to ``limit``; each has at least one block."""
    groups: list[range] = []
    begin, held = 0, 0
    for number, size in enumerate(sizes):
        if number > begin and held + size > limit:
            groups.append(range(begin, number))
            begin, held = number, 0
        held += size
    return [*groups, range(begin, len(sizes))] if len(sizes) else groups


# Adding up count matrices on a cluster, as a tree, by ranges of rows.

RANGE_CELLS = 1 << 21  # cells of the sum per job: 25 megabytes on disk
_CELLS = 1 << 19  # cells of the sum that are passed on at a time


class Matrix(NamedTuple):
    """A matrix on disk in pieces: ``ranges`` of its rows, and for each the name of its :class:`Run` in ``folder``."""

    folder: Path
    ranges: tuple[Range, ...]
    names: tuple[str, ...]

    @property
    def cells(self) -> int:
        """The number of its cells."""
        return sum(int(Run(self.folder / name).sizes().sum()) for name in self.names)

    def overlapping(self, rows: Range) -> Matrix:
        """Return only the pieces that hold some of ``rows``."""
        kept = [
            (piece, name)
            for piece, name in zip(self.ranges, self.names, strict=True)
            if piece.begin < rows.end and rows.begin < piece.end
        ]
        return Matrix(self.folder, tuple(piece for piece, _ in kept), tuple(name for _, name in kept))

    def read(self, rows: Range) -> Rows:
        """Return some rows."""
        parts = [run.read(own) for run, own in self._parts(rows)]
        return Rows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def sizes(self, rows: Range) -> Int64s:
        """Return the number of cells in some rows."""
        return np.concatenate([run.sizes(own) for run, own in self._parts(rows)])

    def _parts(self, rows: Range) -> Iterator[tuple[Run, Range]]:
        """Yield the runs that hold ``rows``, and which of their own rows these are."""
        _, ranges, names = self.overlapping(rows)
        for piece, name in zip(ranges, names, strict=True):
            begin, end = max(rows.begin, piece.begin), min(rows.end, piece.end)
            yield Run(self.folder / name), Range(begin - piece.begin, end - piece.begin)


def merge_matrices(
    client: Any, matrices: list[Matrix], n: int, *, memory: int | None, progress: Progress
) -> Iterator[Rows]:
    """Add matrices of ``n`` rows level by level until one is left; its first rows are yielded while others are added.

    How full the rows are is taken from the first matrix, so the ranges are even if the texts are alike. A level of many
    groups is cut into few ranges, so that each level has about as many jobs as the last.
    """
    level, folder = 0, matrices[0].folder
    while len(matrices) > 1:
        groups = [
            matrices[first : first + out_of_core.FAN_IN]
            for first in range(0, len(matrices), out_of_core.FAN_IN)
        ]
        filled = np.minimum(matrices[0].sizes(Range(0, n)) * len(groups[0]), n)
        ranges = tuple(cut_ranges(filled, cells=RANGE_CELLS * len(groups)))
        matrices = [
            Matrix(folder, ranges, tuple(f"merged/{level}-{group}-{r}" for r in range(len(ranges))))
            for group in range(len(groups))
        ]
        jobs = [
            ([matrix.overlapping(rows) for matrix in group], rows, n, folder / name, memory)
            for group, target in zip(groups, matrices, strict=True)
            for rows, name in zip(target.ranges, target.names, strict=True)
        ]
        ready = _merge_level(client, jobs, f"adding up {sum(map(len, groups))} matrices", progress)
        if len(groups) == 1:
            for path in ready:
                yield from Run(path).blocks(cells=_CELLS)
            return
        deque(ready, maxlen=0)
        level += 1
    for name in matrices[0].names:
        yield from Run(folder / name).blocks(cells=_CELLS)


def _merge_level(client: Any, jobs: list[tuple[Any, ...]], label: str, progress: Progress) -> Iterator[Path]:
    """Do the jobs of a level that are not done yet; yield the path of each, in order, as soon as it is ready."""
    done = [job[3].exists() for job in jobs]
    results = run_jobs(
        client,
        merge_range,
        [job for job, is_done in zip(jobs, done, strict=True) if not is_done],
        label="adding up, job",
    )
    with progress.stage(label, total=len(jobs), unit="ranges") as stage:
        for job, is_done in zip(jobs, done, strict=True):
            if not is_done:
                next(results)
            yield job[3]
            stage.advance(1)
    for _ in results:
        pass


def merge_range(matrices: Sequence[Matrix], rows: Range, n: int, path: Path, memory: int | None) -> None:
    """Add up some rows of several matrices of ``n`` columns into the :class:`Run` ``path``."""
    sizes = sum((matrix.sizes(rows) for matrix in matrices), np.zeros(rows.size, np.int64))

    def reader(matrix: Matrix) -> RowReader:
        return lambda own: matrix.read(Range(own.begin + rows.begin, own.end + rows.begin))

    import distributed

    budget = memory_of_job(memory, distributed.get_worker())
    plan = out_of_core.plan_runs(0, n=n, memory=budget, workers=1)
    with ThreadPoolExecutor(1) as pool:
        added = add_rows(
            pool, [reader(matrix) for matrix in matrices],
            signs=[1] * len(matrices), n=n, sizes=sizes, cells=plan.cells, workers=1,
        )  # fmt: skip
        Run(path).write(added)


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
