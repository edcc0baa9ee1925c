"""Adding and subtracting counts: exact, in any order, over the union of their vocabularies.

:func:`merge_counts` makes one :class:`~psdvec.counts.matrix.Cooccurrence` of several, as if their texts had been
counted together, each with its own vocabulary. Since counts are integers and the order of words is canonical, merging
is associative and commutative to the byte, and subtracting undoes adding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.counts.matrix import Cooccurrence, Rows, Tally, counts_of, in_memory, write_counts
from psdvec.counts.pairs import Range, add_rows, gather_rows, room_for
from psdvec.counts.vocabulary import MOST, TOO_MANY, Vocabulary, exact_sum
from psdvec.errors import InputError, checked
from psdvec.progress import LogProgress, Progress
from psdvec.resources import resolve_workers
from psdvec.storage.workspace import place_for

_CELLS = 1 << 20
_TOO_MUCH = "more is subtracted than there is"


@checked
def merge_counts(
    stores: Sequence[Cooccurrence | str | Path],
    *,
    subtract: Sequence[Cooccurrence | str | Path] = (),
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Cooccurrence:
    """Add the counts of ``stores`` and subtract those of ``subtract``, each a count store or the folder that holds one.

    Words whose count falls to zero leave the vocabulary, and pairs whose count falls to zero leave the matrix.

    Raises
    ------
    InputError
        If the stores were not counted in the same way, or more is subtracted than there is.

    Examples
    --------
    >>> from psdvec.counts.count import count_pairs
    >>> a = count_pairs([["to", "be"]], min_count=1)
    >>> b = count_pairs([["to", "be", "or", "not"]], min_count=1)
    >>> merge_counts([a, b]).row("to")["be"]
    2.0
    """
    if not stores:
        raise InputError("nothing to merge; give one store of counts or more")
    added, subtracted = [counts_of(store) for store in stores], [counts_of(store) for store in subtract]
    parameters = _common_parameters([*added, *subtracted])
    union = _add_vocabularies(added, subtracted)
    # In canonical order, words that no longer occur come last.
    kept = int(np.count_nonzero(union.counts)) if subtract else len(union)
    vocabulary = Vocabulary(union.words[:kept], union.counts[:kept])
    workers = resolve_workers(workers)
    with place_for(output) as place, ThreadPoolExecutor(workers) as pool:
        aligned = [_Aligned(store, union) for store in (*added, *subtracted)]
        blocks = add_rows(
            pool, [part.read for part in aligned], signs=[1] * len(added) + [-1] * len(subtracted), n=len(union),
            sizes=reduce(np.add, (part.sizes for part in aligned)), cells=_CELLS, workers=workers,
        )  # fmt: skip
        merged = write_counts(  # adds up a block of rows at a time, as it writes them
            place, _checked(blocks, aligned[: len(added)], union, vocabulary, progress), vocabulary,
            parameters=parameters, sources=_add_sources(added, subtracted), overwrite=overwrite,
            phrases=added[0].phrases,
            tally=sum((*(store.tally for store in added), *(-store.tally for store in subtracted)), Tally()),
        )  # fmt: skip
        return in_memory(merged) if output is None else merged


def _common_parameters(stores: Sequence[Cooccurrence]) -> Mapping[str, Any]:
    """Return the parameters that all stores share; raise :class:`InputError` if one was counted differently."""
    first = stores[0].parameters
    for number, store in enumerate(stores[1:], 2):
        for name in {**first, **store.parameters}:
            value, other = first.get(name), store.parameters.get(name)
            if value != other:
                first_with, other_with = (
                    f"without {name}" if one is None else f"with {name} {one!s:.60}" for one in (value, other)
                )
                raise InputError(
                    f"store 1 was counted {first_with}, store {number} {other_with}; count them all in the same way"
                )
    return first


def _add_vocabularies(added: Sequence[Cooccurrence], subtracted: Sequence[Cooccurrence]) -> Vocabulary:
    total: Counter[str] = Counter()
    for store in added:
        total.update(_word_counts(store))
    known = set(total)
    for store in subtracted:
        total.subtract(_word_counts(store))
    for word, count in total.items():
        if count < 0 or word not in known:
            raise InputError(f"{_TOO_MUCH}: '{word}' would occur {count} times; check what is subtracted")
    return Vocabulary.from_counts(total)


def _word_counts(store: Cooccurrence) -> dict[str, int]:
    return dict(zip(store.vocabulary.words, store.vocabulary.counts.tolist(), strict=True))


class _Aligned:
    """A store seen through another vocabulary: rows and columns in its order."""

    def __init__(self, store: Cooccurrence, vocabulary: Vocabulary) -> None:
        ids, own = vocabulary.ids, store.vocabulary.words
        self.store, self.sums = store, list[int]()  # of all that was read
        self.columns = np.fromiter((ids[word] for word in own), np.int32, len(own))
        self.rows = np.full(len(vocabulary), -1, np.int64)
        self.rows[self.columns] = np.arange(len(own))
        self.sizes = np.where(self.rows >= 0, np.diff(store.indptr)[self.rows], 0)

    def read(self, wanted: Range) -> Rows:
        """Return rows of the other vocabulary."""
        store, part = self.store, slice(*wanted)
        sizes = self.sizes[part]
        columns, values, _ = room_for(int(sizes.sum()), 0)
        gather_rows(store.indptr, store.indices, store.values, self.rows[part], self.columns, columns, values)
        self.sums.append(exact_sum(values))
        return Rows(columns, values, sizes)


def _checked(
    blocks: Iterator[Rows],
    added: Sequence[_Aligned],
    union: Vocabulary,
    vocabulary: Vocabulary,
    progress: Progress,
) -> Iterator[Rows]:
    """Yield the rows of ``vocabulary``; raise :class:`InputError` if a count is negative or of a word that left.

    The same, if what is ``added`` is too much for 64 bits.
    """
    begin = 0
    with progress.stage("merging", total=len(union), unit="words") as stage:
        for rows in blocks:
            if sum(sum(part.sums) for part in added) > MOST:
                raise InputError(f"{TOO_MANY}; merge fewer of them")
            row_of_cell = np.repeat(np.arange(begin, begin + len(rows.sizes)), rows.sizes)
            n = len(vocabulary)
            wrong = np.flatnonzero((rows.values < 0) | (row_of_cell >= n) | (rows.columns >= n))
            if len(wrong):
                pair = f"'{union.words[row_of_cell[wrong[0]]]} {union.words[rows.columns[wrong[0]]]}'"
                raise InputError(f"{_TOO_MUCH}: the pair {pair} comes out wrong; check what is subtracted")
            yield Rows(rows.columns, rows.values, rows.sizes[: max(n - begin, 0)])
            begin += len(rows.sizes)
            stage.advance(len(rows.sizes))


def _add_sources(
    added: Iterable[Cooccurrence], subtracted: Iterable[Cooccurrence]
) -> list[Mapping[str, Any]]:
    """Return the files that were counted; a subtracted one is struck off, or listed as such if it is not there."""
    kept = [source for store in added for source in store.sources]
    for store in subtracted:
        for source in store.sources:
            if source in kept:
                kept.remove(source)
            else:
                kept.append({**source, "subtracted": True})
    return kept
