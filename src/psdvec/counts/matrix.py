"""Cooccurrence: counts of ordered pairs of words, in memory or as an artefact on disk.

Goes in: rows of counts with their vocabulary, or a folder. Comes out: a :class:`Cooccurrence`, mapped into memory
where it comes from a folder. Reading and writing need no compiler; :mod:`psdvec.counts.count` makes the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from psdvec.counts.vocabulary import Vocabulary, read_vocabulary, write_vocabulary
from psdvec.counts.weighting import UNIT
from psdvec.errors import StoreError
from psdvec.storage.artefact import Artefact, create_artefact, open_artefact

KIND = "cooccurrence"
VERSION = 1

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """Consecutive rows: ``columns`` int32 and ``values`` int64 end to end, ``sizes`` int64, cells of each row."""

    columns: Int32s
    values: Int64s
    sizes: Int64s


@dataclass(frozen=True)
class Tally:
    """What was read: totals that are added up over segments, files and merged stores."""

    tokens: int = 0
    sentences: int = 0
    overlong_words: int = 0
    replaced_bytes: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __neg__(self) -> Tally:
        return Tally(*(-getattr(self, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of ordered pairs, a sparse matrix by rows: rows are contexts, columns the words after them.

    ``indptr`` int64[n + 1], ``indices`` int32[cells], rising within a row, ``values`` int64[cells], all above 0:
    the count of a cell is ``values / 720720``. ``parameters`` say how it was counted, ``tally`` what was read.
    """

    vocabulary: Vocabulary
    indptr: Int64s
    indices: Int32s
    values: Int64s
    parameters: Mapping[str, Any]
    tally: Tally
    sources: tuple[Mapping[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.vocabulary)

    def row(self, word: str) -> dict[str, float]:
        """Return the words that follow ``word``, with their counts, for a look."""
        i = self.vocabulary.ids[word]
        cells = slice(self.indptr[i], self.indptr[i + 1])
        counts = (self.values[cells] / UNIT).tolist()
        return {
            self.vocabulary.words[j]: count
            for j, count in zip(self.indices[cells].tolist(), counts, strict=True)
        }

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the counts as an artefact."""
        rows = Rows(self.indices, self.values, np.diff(self.indptr))
        write_counts(
            path, [rows], self.vocabulary, cells=self.indices.size,
            parameters=self.parameters, tally=self.tally, sources=self.sources, overwrite=overwrite,
        )  # fmt: skip


def load_counts(path: str | Path | Artefact) -> Cooccurrence:
    """Open counts on disk; the arrays are mapped, not read."""
    artefact = path if isinstance(path, Artefact) else open_artefact(path, kind=KIND, version=VERSION)
    parameters = dict(artefact.parameters)
    try:
        tally = Tally(**parameters.pop("tally"))
    except (KeyError, TypeError) as error:
        raise StoreError(f"'{artefact.path}' does not say what was counted ({error}); count again") from error
    return Cooccurrence(
        read_vocabulary(artefact),
        artefact.array("indptr"), artefact.array("indices"), artefact.array("values"),
        parameters, tally, artefact.sources,
    )  # fmt: skip


def open_counts(path: str | Path) -> tuple[Cooccurrence, dict[str, Any]]:
    """Open counts on disk, checked so that kernels may trust them; return them, and their name as a source."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    counts = load_counts(artefact)
    check_counts(counts, artefact.path)
    return counts, {"counts": artefact.path.name, "digest": artefact.digest}


def check_counts(counts: Cooccurrence, path: Path) -> None:
    """Raise :class:`StoreError` where the arrays of counts at ``path`` do not belong together.

    Kernels trust them: a column outside the vocabulary would be read from anywhere. All pairs are looked at once.
    """
    n, pairs = len(counts), counts.indices.size
    starts = counts.indptr
    whole = (
        starts.shape == (n + 1,)
        and counts.vocabulary.counts.shape == (n,)
        and counts.values.shape == (pairs,)
        and (starts[0], starts[-1]) == (0, pairs)
        and bool((np.diff(starts) >= 0).all())
    )
    if whole and pairs:
        whole = counts.indices.min() >= 0 and counts.indices.max() < n and counts.values.min() >= 0
    if not whole:
        raise StoreError(f"'{path}' is damaged: its pairs do not fit its words; count again")


def in_memory(counts: Cooccurrence) -> Cooccurrence:
    """Return the same counts with no array on disk."""
    return replace(
        counts,
        vocabulary=Vocabulary(counts.vocabulary.words, np.array(counts.vocabulary.counts)),
        indptr=np.array(counts.indptr),
        indices=np.array(counts.indices),
        values=np.array(counts.values),
    )


def write_counts(
    path: str | Path,
    blocks: Iterable[Rows],
    vocabulary: Vocabulary,
    *,
    parameters: Mapping[str, Any],
    tally: Tally,
    sources: Sequence[Mapping[str, Any]],
    overwrite: bool,
    cells: int | None = None,
) -> None:
    """Write blocks of rows as an artefact, holding one block in memory at a time; quicker if ``cells`` is known."""
    in_order = sorted(
        (dict(source) for source in sources), key=lambda source: sorted(map(str, source.items()))
    )
    with (
        create_artefact(
            path, kind=KIND, version=VERSION, parameters={**parameters, "tally": asdict(tally)},
            sources=in_order, overwrite=overwrite,
        ) as writer,
        writer.stream_array("indices", np.int32, length=cells) as indices,
        writer.stream_array("values", np.int64, length=cells) as values,
        ThreadPoolExecutor(1) as beside,
    ):  # fmt: skip
        sizes = [np.zeros(1, np.int64)]
        for block in blocks:
            written = beside.submit(values.write, block.values)
            indices.write(block.columns)
            written.result()
            sizes.append(block.sizes)
        writer.add_array("indptr", np.cumsum(np.concatenate(sizes)))
        write_vocabulary(writer, vocabulary)
