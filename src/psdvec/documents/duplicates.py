"""Documents that are nearly the same: all pairs whose sets of word n-grams are alike, exactly, and which to keep.

The likeness of two documents is the Jaccard index of their sets of *shingles*, runs of n words: how many they share
over how many there are in either. All pairs from a threshold t on are found, and no other. Shingles are put in the
order of how many documents have them, rare ones first. Two sets of sizes a ≤ b with a Jaccard index of t share
``2 t a / (1 + t)`` shingles or more, so that the first few of one meet the first few of the other (Xiao et al. 2008);
only pairs that meet are compared. Shingles that a single document has count for its size only, and take no room.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Bools, Float64s, Int32s, Int64s, UInt64s
from psdvec.counts.segments import key_of, mixed
from psdvec.documents.rows import Batch, Columns, make_cutter, report_read, worked, written_rows
from psdvec.errors import InputError, checked, demand_positive, import_extra
from psdvec.kernels import kernel
from psdvec.options import ENCODING, TOKENIZER
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import in_stretches, resolve_workers
from psdvec.text.readers import Choice, Reader, find_encoding, make_where
from psdvec.text.tokenizers import choose_tokenizer
from psdvec.topic_model.documents import Source

_PART = 1 << 24  # shingles that are sorted at a time
_AT_ONCE = 1 << 22  # shingles that are looked up at a time
_TOGETHER = 4096  # documents that a thread compares before progress is shown
_SLACK = 1e-9  # of a bound that is rounded up: a pair more is compared rather than one missed
_FREE = np.uint64(0)


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Shown):
    """Pairs of documents that are nearly the same, their groups, and which of each group to keep.

    ``ids``: of all documents, m of them; ``sizes`` (m,): how many shingles each has. ``first``, ``second`` (p,): the
    places of two documents that are alike, ``first`` before ``second``, in order; ``jaccard`` (p,): how alike. Of
    documents with the same shingles, each is paired with the first of them, and only the first with others. ``groups``
    (m,): which documents hang together by pairs, numbered from 0, and -1 for a document that is like no other. ``like``
    (m,): the document to keep in its place, itself if it is to be kept, and ``likeness`` (m,): how alike the two are.
    """

    ids: tuple[str, ...]
    sizes: Int64s
    first: Int64s
    second: Int64s
    jaccard: Float64s
    groups: Int64s
    like: Int64s
    likeness: Float64s

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def keep(self) -> Bools:
        """Whether to keep each document, (m,): the others have a near-duplicate among those that are kept."""
        return np.asarray(self.like == np.arange(len(self.ids)))

    @property
    def empty(self) -> tuple[str, ...]:
        """The ids of documents without a word, which are compared with no other."""
        return tuple(self.ids[i] for i in np.flatnonzero(self.sizes == 0).tolist())

    def _facts(self) -> dict[str, str]:
        groups = int(self.groups.max(initial=-1)) + 1
        return {
            "size": f"{count_of(len(self), 'pair')}, {count_of(groups, 'group')}",
            "of": count_of(len(self.ids), "document"),
            "to leave out": f"{int((~self.keep).sum()):,}",
            "without a word": f"{len(self.empty):,}",
        }

    def pairs(self) -> dict[str, Any]:
        """Return the columns of a table of pairs: ids, rows counted from 0, likeness and group."""
        return {
            "first": [self.ids[i] for i in self.first.tolist()],
            "second": [self.ids[i] for i in self.second.tolist()],
            "jaccard": self.jaccard, "group": self.groups[self.first], "first_row": self.first,
            "second_row": self.second,
        }  # fmt: skip

    def documents(self) -> dict[str, Any]:
        """Return the columns of a table of the documents in groups: whether to keep each, and what is like it."""
        rows = np.flatnonzero(self.groups >= 0)
        rows = rows[np.lexsort([rows, ~self.keep[rows], self.groups[rows]])]
        return {
            "id": [self.ids[i] for i in rows.tolist()], "group": self.groups[rows], "keep": self.keep[rows],
            "like": [self.ids[i] for i in self.like[rows].tolist()], "jaccard": self.likeness[rows], "row": rows,
        }  # fmt: skip

    @checked
    def to_frame(self, *, documents: bool = False) -> Any:
        """Return a pandas data frame of the pairs, or of the ``documents`` in groups."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        return pandas.DataFrame(self.documents() if documents else self.pairs())

    @checked
    def save(self, path: str | Path, *, documents: bool = False, overwrite: bool = False) -> None:
        """Write the pairs, or the ``documents`` in groups, as JSON lines, CSV, TSV or Parquet by the name of a file."""
        columns = self.documents() if documents else self.pairs()
        with written_rows(Path(path), overwrite=overwrite) as write:
            for begin in range(0, max(len(columns["group"]), 1), _PART):
                write(_rows_of(columns, begin))


def _rows_of(columns: Columns, begin: int) -> Columns:
    return {name: values[begin : begin + _PART] for name, values in columns.items()}


@checked
def near_duplicates(
    documents: Source,
    *,
    threshold: float = 0.8,
    shingle: int = 3,
    column: str | None = None,
    id: str = "id",
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] = TOKENIZER,
    workers: int | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Duplicates:
    """Find all pairs of documents that are nearly the same, and say which to keep.

    Parameters
    ----------
    documents
        Texts, lists of words, records, a table, or the names of files or folders, as for :func:`psdvec.topics`.
    threshold
        The least Jaccard index of a pair, above 0 and up to 1: of the shingles in either document, the share in both.
    shingle
        How many words make a shingle. A document with fewer words is one shingle.
    column, id
        The fields with the text and with the id of each document; of plain text, lines are numbered.
    where, encoding
        Which records to read, by field, and the encoding of files.
    tokenizer
        How to cut texts into words.
    workers
        Threads; the result is the same for any number.

    Examples
    --------
    >>> texts = ["a b c d e f g", "something else", "a b c d e f h", "a b c d e f g"]
    >>> found = near_duplicates(texts, threshold=0.6, quiet=True)
    >>> list(zip(found.first.tolist(), found.second.tolist(), found.jaccard.round(2).tolist()))
    [(0, 2, 0.67), (0, 3, 1.0)]
    >>> found.keep.tolist(), found.like.tolist()
    ([True, True, False, False], [0, 1, 0, 0])
    """
    if not 0 < threshold <= 1:
        raise InputError(f"the threshold is {threshold}; give a number above 0, and 1 at most")
    demand_positive(shingle, "shingle")
    progress = SilentProgress() if quiet else progress
    threads = resolve_workers(workers)
    reader = Reader(column, Choice(make_where(where)), encoding=find_encoding(encoding))
    with ExitStack() as stack:
        held = stack.enter_context(tempfile.TemporaryFile(prefix="psdvec-"))
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        ids, sizes = _write_shingles(
            documents, reader, held, shingle, choose_tokenizer(tokenizer), id=id, threads=threads, progress=progress
        )  # fmt: skip
        sets = _shared_sets(held, sizes, pool, threads, progress)
        copies = _copies(sets)
        pairs = _joined(sets, copies, threshold, pool, threads, progress)
    found = _kept(ids, sets.sizes, copies, pairs)
    if found.empty:
        progress.say(f"without a word, and so like no other: {len(found.empty):,} of {len(ids):,} documents")
    return found


class Sets(NamedTuple):
    """The sets of documents: ``sizes`` (m,), and of each its shingles that others have too, by rank, rare ones first.

    Those of document i are ``ranks[starts[i] : starts[i + 1]]``, int32, rising; ``shared``: how many there are.
    """

    sizes: Int64s
    ranks: Int32s
    starts: Int64s
    shared: int


# Reading: the different shingles of each document, as numbers of 64 bits, go to a file.


def _write_shingles(
    documents: Source,
    reader: Reader,
    held: Any,
    shingle: int,
    tokenizer: str,
    *,
    id: str,
    threads: int,
    progress: Progress,
) -> tuple[list[str], Int64s]:
    """Write the shingles of all documents to the file ``held``; return ids, and how many shingles each has."""
    cut = make_cutter(tokenizer)

    def shingles_of(batch: Batch) -> tuple[list[str], int, UInt64s, Int64s]:
        found = cut(batch.texts)
        keys = _keys_of(found.words.blob, found.words.offsets)
        hashes, ends = _hash_shingles(found.ids, found.starts, keys, shingle)
        return batch.names, len(found.ids), hashes, np.diff(ends)

    ids, sizes, words = list[str](), [], 0
    parts = worked(documents, reader, shingles_of, label="reading", id=id, threads=threads, progress=progress)
    for names, number, hashes, own in parts:
        ids += names
        words += number
        sizes.append(own)
        held.write(hashes.data)
    held.flush()
    report_read(reader, words, progress)
    return ids, np.concatenate(sizes)


# blob uint8, offsets int64[n+1]; returns uint64[n]
@kernel
def _keys_of(blob, offsets):
    """Return a number that stands for each word, whatever the batch."""
    keys = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(keys)):
        keys[i] = key_of(blob, offsets[i], offsets[i + 1] - offsets[i])
    return keys


# ids int32[t], starts int64[m+1], keys uint64[n]; returns uint64[s] and int64[m+1]
@kernel
def _hash_shingles(ids, starts, keys, shingle):
    """Return the different shingles of each document, rising, and where those of each begin."""
    found = np.empty(len(ids), np.uint64)
    ends = np.zeros(len(starts), np.int64)
    used = 0
    for i in range(len(starts) - 1):
        begin, end = starts[i], starts[i + 1]
        size = min(shingle, end - begin)
        first = used
        for place in range(begin, end - size + 1 if size else begin):
            h = np.uint64(size)
            for k in range(place, place + size):
                h = mixed(h ^ (keys[ids[k]] if ids[k] >= 0 else np.uint64(1)))
                h = mixed(h + np.uint64(0x9E3779B97F4A7C15))
            found[used] = max(h, np.uint64(1))
            used += 1
        own = np.sort(found[first:used])
        used = first
        for k in range(len(own)):
            if k == 0 or own[k] != own[k - 1]:
                found[used] = own[k]
                used += 1
        ends[i + 1] = used
    return found[:used].copy(), ends


# Ranks: shingles that two documents have, by how many have them.


def _shared_sets(
    held: Any, sizes: Int64s, pool: ThreadPoolExecutor, threads: int, progress: Progress
) -> Sets:
    """Return the sets of documents, with the shingles that at least two of them have."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    total = int(starts[-1])
    hashes: Any = np.memmap(held, np.uint64, "r", shape=(total,)) if total else np.zeros(0, np.uint64)
    with progress.stage("sorting shingles", total=2 * total, unit="shingles") as stage:
        keys, counts = _repeated(hashes, stage.advance)
        ranks = np.empty(len(keys), np.int32)
        ranks[np.lexsort([keys, counts])] = np.arange(len(keys), dtype=np.int32)
        slots, values = _table_of(keys, ranks)
        kept, lengths = [], []
        for begin, end in _stretches(starts):
            own = np.asarray(hashes[starts[begin] : starts[end]])
            places = starts[begin : end + 1] - starts[begin]

            def look_up(
                one: int, other: int, own: UInt64s = own, places: Int64s = places
            ) -> tuple[Int32s, Int64s]:
                found: tuple[Int32s, Int64s] = _look_up(own, places, one, other, slots, values)
                return found

            for found, own_lengths in in_stretches(pool, look_up, end - begin, threads=threads):
                kept.append(found)
                lengths.append(own_lengths)
            stage.advance(len(own))
    joined = np.concatenate([np.zeros(0, np.int32), *kept])
    own_starts = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))])
    return Sets(sizes, joined, own_starts.astype(np.int64), len(keys))


def _repeated(hashes: UInt64s, advance: Callable[[float], None]) -> tuple[UInt64s, Int64s]:
    """Return the numbers that are there more than once, rising, and how often; a part of all numbers at a time."""
    parts = -(-len(hashes) // _PART) if len(hashes) else 1
    bounds = [(1 << 64) * part // parts for part in range(parts + 1)]
    keys, counts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for part in range(parts):
        low, high = np.uint64(bounds[part]), np.uint64(bounds[part + 1] - 1)
        own = []
        for begin in range(0, len(hashes), _PART):
            piece = np.asarray(hashes[begin : begin + _PART])
            own.append(piece if parts == 1 else piece[(piece >= low) & (piece <= high)])
        found, times = np.unique(np.concatenate([np.zeros(0, np.uint64), *own]), return_counts=True)
        keys.append(found[times > 1])
        counts.append(times[times > 1])
        advance(len(hashes) / parts)
    return np.concatenate(keys), np.concatenate(counts)


def _stretches(starts: Int64s) -> Iterator[tuple[int, int]]:
    """Yield stretches of documents that have about so many shingles together."""
    begin, last = 0, len(starts) - 1
    while begin < last:
        end = int(np.searchsorted(starts, starts[begin] + _AT_ONCE, side="right")) - 1
        end = min(max(end, begin + 1), last)
        yield begin, end
        begin = end


# keys uint64[n], none of them 0, values int32[n]; returns slots uint64[2^k], and their values
@kernel
def _table_of(keys, values):
    """Return a hash table."""
    size = 1024
    while size < 2 * len(keys):
        size *= 2
    slots, found, mask = np.zeros(size, np.uint64), np.empty(size, np.int32), np.uint64(size - 1)
    for i in range(len(keys)):
        at = keys[i] & mask
        while slots[at] != _FREE:
            at = (at + np.uint64(1)) & mask
        slots[at], found[at] = keys[i], values[i]
    return slots, found


# hashes uint64[s], starts int64[m+1]; slots .. values: a table; returns int32[k] and int64[end - begin]
@kernel
def _look_up(hashes, starts, begin, end, slots, values):
    """Return the ranks of the shingles of some documents that are in the table, rising, and how many each has."""
    found, lengths = (
        np.empty(starts[end] - starts[begin], np.int32),
        np.zeros(end - begin, np.int64),
    )
    mask, used = np.uint64(len(slots) - 1), 0
    for i in range(begin, end):
        first = used
        for k in range(starts[i], starts[i + 1]):
            at = hashes[k] & mask
            while slots[at] != _FREE and slots[at] != hashes[k]:
                at = (at + np.uint64(1)) & mask
            if slots[at] != _FREE:
                found[used] = values[at]
                used += 1
        found[first:used].sort()
        lengths[i - begin] = used - first
    return found[:used].copy(), lengths


# Copies: documents with the same shingles, of which only the first is compared with others.


def _copies(sets: Sets) -> Int64s:
    """Return for each document the first one that has the same shingles, often itself, (m,)."""
    lengths = np.diff(sets.starts)
    marks = _marks_of(sets.ranks, sets.starts)
    first = np.arange(len(sets.sizes))
    whole = np.flatnonzero((lengths == sets.sizes) & (lengths > 0))
    order = whole[np.lexsort([whole, marks[whole], lengths[whole]])]
    alike = (marks[order[1:]] == marks[order[:-1]]) & (lengths[order[1:]] == lengths[order[:-1]])
    for one, other in zip(order[:-1][alike].tolist(), order[1:][alike].tolist(), strict=True):
        own = first[one]
        if np.array_equal(_set_of(sets, own), _set_of(sets, other)):
            first[other] = own
    return first


def _set_of(sets: Sets, document: int) -> Int32s:
    return sets.ranks[sets.starts[document] : sets.starts[document + 1]]


# ranks int32[k], starts int64[m+1]; returns uint64[m]
@kernel
def _marks_of(ranks, starts):
    """Return a number for each set, which is the same for the same sets."""
    marks = np.zeros(len(starts) - 1, np.uint64)
    for i in range(len(marks)):
        for k in range(starts[i], starts[i + 1]):
            marks[i] = mixed(marks[i] ^ np.uint64(ranks[k] + 1))
    return marks


# The join: what two sets from the threshold on must share lies within their first ranks.


class Pairs(NamedTuple):
    """Places of two documents each, ``first`` before ``second``, in order, and how alike they are."""

    first: Int64s
    second: Int64s
    jaccard: Float64s


def _joined(
    sets: Sets, copies: Int64s, threshold: float, pool: ThreadPoolExecutor, threads: int, progress: Progress
) -> Pairs:
    """Return all pairs from the threshold on among the documents that are no copies, and each copy with its first."""
    places = np.arange(len(copies))
    lengths = np.diff(sets.starts)
    own = np.flatnonzero((copies == places) & (lengths > 0))
    order = own[np.lexsort([own, sets.sizes[own]])]  # small sets first
    index_starts, index = _index_of(sets.ranks, sets.starts, sets.sizes, order, sets.shared, threshold)
    found: list[tuple[Int64s, Int64s, Float64s]] = []
    with progress.stage("comparing", total=len(order), unit="documents") as stage:
        step = _TOGETHER * threads
        for begin in range(0, len(order), step):
            end = min(begin + step, len(order))

            def probe(one: int, other: int, begin: int = begin) -> tuple[Int64s, Int64s, Float64s]:
                return _probe(sets, order, index_starts, index, begin + one, begin + other, threshold)

            found += in_stretches(pool, probe, end - begin, threads=threads)
            stage.advance(end - begin)
    copied = np.flatnonzero(copies != places)
    one = np.concatenate([copies[copied], *(each[0] for each in found)])
    other = np.concatenate([copied, *(each[1] for each in found)])
    jaccard = np.concatenate([np.ones(len(copied)), *(each[2] for each in found)])
    first, second = np.minimum(one, other), np.maximum(one, other)
    by_place = np.lexsort([second, first])
    return Pairs(first[by_place], second[by_place], jaccard[by_place])


# ranks int32[k], starts int64[m+1], sizes int64[m], order int64[o]; returns int64[shared+1] and int64[e]
@kernel
def _index_of(ranks, starts, sizes, order, shared, threshold):
    """Return by shingle where in ``order`` those documents stand that have it among their first ones."""
    index_starts = np.zeros(shared + 1, np.int64)
    for turn in range(2):
        if turn == 1:
            for rank in range(shared, 0, -1):
                index_starts[rank] = index_starts[rank - 1]
            index_starts[0] = 0
            for rank in range(shared):
                index_starts[rank + 1] += index_starts[rank]
            index = np.empty(index_starts[shared], np.int64)
            used = index_starts[:shared].copy()
        else:
            index, used = np.empty(0, np.int64), np.empty(0, np.int64)
        for o in range(len(order)):
            i = order[o]
            alone = sizes[i] - (starts[i + 1] - starts[i])
            most = sizes[i] - np.int64(np.ceil(2 * threshold / (1 + threshold) * sizes[i] - _SLACK)) + 1
            for k in range(starts[i], min(starts[i] + most - alone, starts[i + 1])):
                if turn == 0:
                    index_starts[ranks[k]] += 1
                else:
                    index[used[ranks[k]]] = o
                    used[ranks[k]] += 1
    return index_starts, index


def _probe(
    sets: Sets, order: Int64s, index_starts: Int64s, index: Int64s, begin: int, end: int, threshold: float
) -> tuple[Int64s, Int64s, Float64s]:
    """Return the pairs of some documents with smaller ones, or ones as large that come before them."""
    parts: list[tuple[Int64s, Int64s, Float64s]] = []
    while begin < end or not parts:
        begin, one, other, jaccard = _probe_until_full(
            sets.ranks, sets.starts, sets.sizes, order, index_starts, index, begin, end, threshold
        )
        parts.append((one, other, jaccard))
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2]


# as above; returns where it stopped, and int64[p], int64[p], float64[p]
@kernel
def _probe_until_full(ranks, starts, sizes, order, index_starts, index, begin, end, threshold):
    """Compare documents with those that meet their first shingles, until there is no more room for pairs."""
    room = len(order) + 4096
    one, other, jaccard = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64)
    seen, used = np.full(len(order), -1, np.int64), 0
    for x in range(begin, end):
        if room - used < x:
            return x, one[:used].copy(), other[:used].copy(), jaccard[:used].copy()
        i = order[x]
        size = sizes[i]
        alone = size - (starts[i + 1] - starts[i])
        least = np.int64(np.ceil(threshold * size - _SLACK))
        for k in range(starts[i], min(starts[i] + size - least + 1 - alone, starts[i + 1])):
            low, high = index_starts[ranks[k]], index_starts[ranks[k] + 1]
            top = high
            while low < top:  # the first that is large enough
                middle = (low + top) // 2
                if sizes[order[index[middle]]] < least:
                    low = middle + 1
                else:
                    top = middle
            for at in range(low, high):
                y = index[at]
                if y >= x:
                    break
                if seen[y] == x:
                    continue
                seen[y] = x
                j = order[y]
                both = _shared_by(ranks, starts, sizes, i, j, threshold)
                share = both / (size + sizes[j] - both)
                if share >= threshold:
                    one[used], other[used], jaccard[used] = i, j, share
                    used += 1
    return end, one[:used].copy(), other[:used].copy(), jaccard[:used].copy()


@kernel(inline="always")
def _shared_by(ranks, starts, sizes, i, j, threshold):
    """Return how many shingles two documents share, or 0 as soon as they cannot share enough."""
    need = np.int64(np.ceil(threshold / (1 + threshold) * (sizes[i] + sizes[j]) - _SLACK))
    a, b, last, end = starts[i], starts[j], starts[i + 1], starts[j + 1]
    both = 0
    while a < last and b < end:
        if both + min(last - a, end - b) < need:
            return 0
        if ranks[a] == ranks[b]:
            both += 1
            a += 1
            b += 1
        elif ranks[a] < ranks[b]:
            a += 1
        else:
            b += 1
    return both


# Which to keep.


def _kept(ids: list[str], sizes: Int64s, copies: Int64s, pairs: Pairs) -> Duplicates:
    """Put documents into groups, and choose of each which to keep.

    They are looked at from the largest to the smallest, and before that in their order; one is kept unless it is like
    one that is kept. So whatever is left out is like something that is kept, and no two that are kept are alike.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    m = len(ids)
    edges = np.concatenate([pairs.first, pairs.second]), np.concatenate([pairs.second, pairs.first])
    places = np.tile(np.arange(len(pairs.first)), 2)
    graph = sparse.csr_array((places, edges), shape=(m, m))
    _, parts = connected_components(graph, directed=False)
    groups = np.full(m, -1)
    inside = np.unique(edges[0])
    firsts, numbers = np.unique(parts[inside], return_index=True)
    order_of_parts = np.empty(int(firsts.max(initial=-1)) + 1, np.int64)
    order_of_parts[firsts[np.argsort(numbers)]] = np.arange(len(firsts))
    groups[inside] = order_of_parts[parts[inside]]
    like, likeness = np.arange(m), np.ones(m)
    is_kept = np.zeros(m, bool)
    for i in inside[np.lexsort([inside, -sizes[inside]])].tolist():
        if copies[i] != i:
            continue
        own = slice(int(graph.indptr[i]), int(graph.indptr[i + 1]))
        near = [
            (-pairs.jaccard[at], int(j))
            for j, at in zip(graph.indices[own], graph.data[own], strict=True)
            if is_kept[j]
        ]
        if near:
            share, like[i] = min(near)
            likeness[i] = -share
        else:
            is_kept[i] = True
    copied = np.flatnonzero(copies != np.arange(m))
    like[copied], likeness[copied] = like[copies[copied]], likeness[copies[copied]]
    return Duplicates(tuple(ids), sizes, *pairs, groups, like, likeness)
