"""Vectors of documents, in memory or from files of any size to files: means of their words' vectors, plain or weighted.

``mean`` is plain. ``sif`` weighs a word by ``a / (a + p)`` and removes the direction that all documents have in common
(:mod:`psdvec.vectors.sentences`). ``tfidf`` weighs it by ``1 + log((1 + N) / (1 + n))`` where n of N documents have it.
The last two read the documents twice, so that no more than a few batches of them are ever in memory.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from psdvec.arrays import Float32s, Int64s
from psdvec.counts.segments import WordTable
from psdvec.documents.rows import (
    Batch,
    Cut,
    check_rows_output,
    make_cutter,
    report_read,
    worked,
    written_rows,
)
from psdvec.errors import InputError, checked, import_extra
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.storage.files import check_file_output, replaced_file
from psdvec.text.readers import Choice, Reader, find_encoding, make_where
from psdvec.text.streams import STANDARD_INPUT
from psdvec.topic_model.documents import Files, Source, again_and_again
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import (
    DocumentWeighting,
    Tokenizer,
    average_numbered,
    common_direction,
    make_tokenizer,
    sif_weights,
    without_direction,
)
from psdvec.vectors.subwords import UnseenInText, need_subwords, wants_spelling

WEIGHTINGS = get_args(DocumentWeighting)
MATRIX = ".npy"
_HEADER = 128
_NAMED = 3  # documents that a message names


@dataclass(frozen=True, eq=False, repr=False)
class DocumentVectors(Shown):
    """The ``vectors`` (m, d) of documents and their ``ids``; ``words`` (m,) of each, of them ``known`` and ``spelled``.

    ``deviations`` (m,): the standard deviation of each coordinate of a vector that comes of those of its words; None
    where the model has none. A document without a known or spelled word has a vector of zeros, and is ``empty``.
    """

    ids: tuple[str, ...]
    vectors: Float32s
    deviations: Float32s | None
    words: Int64s
    known: Int64s
    spelled: Int64s

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def empty(self) -> tuple[str, ...]:
        """The ids of documents without a vector."""
        return tuple(self.ids[i] for i in np.flatnonzero(self.known + self.spelled == 0).tolist())

    def _facts(self) -> dict[str, str]:
        return {
            "size": f"{count_of(len(self), 'document')}, {self.vectors.shape[1]} dimensions",
            "known": f"{int(self.known.sum()):,} of {count_of(int(self.words.sum()), 'word')}",
            "without a vector": f"{len(self.empty):,}",
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame by id: words, known, deviation, then the coordinates, nan where there is none."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        columns = _columns(self)
        vectors = pandas.DataFrame(
            columns.pop("vector"), columns=[f"v{k}" for k in range(self.vectors.shape[1])]
        )
        return pandas.concat([pandas.DataFrame(columns), vectors], axis=1).set_index("id")


@dataclass(frozen=True)
class Summary:
    """What was vectorised: documents, words, known words, documents without a vector (``empty``) and some of their ids.

    ``spelled`` are the words beside the known ones that had a vector by their spelling.
    """

    documents: int = 0
    words: int = 0
    known: int = 0
    empty: int = 0
    spelled: int = 0
    named: tuple[str, ...] = ()

    def with_part(self, part: DocumentVectors) -> Summary:
        """Return this and further documents together."""
        sums = (int(getattr(part, name).sum()) for name in ("words", "known", "spelled"))
        words, known, spelled = sums
        return Summary(
            self.documents + len(part), self.words + words, self.known + known, self.empty + len(part.empty),
            self.spelled + spelled, (self.named + part.empty)[:_NAMED],
        )  # fmt: skip


@checked
def vectorize(
    model: Embeddings | str | Path,
    documents: Source,
    *,
    weighting: DocumentWeighting = "mean",
    column: str | None = None,
    id: str = "id",
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Tokenizer | None = None,
    unseen: UnseenInText = "ignore",
    workers: int | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> DocumentVectors:
    """Return a vector for each document, and how uncertain it is; :func:`vectorize_file` writes them to a file instead.

    Parameters
    ----------
    model
        Vectors of words, or the path of some.
    documents
        Texts, lists of words, records, a table, or the names of files or folders, as for :func:`psdvec.topics`.
    weighting
        ``"mean"``, ``"sif"`` or ``"tfidf"``, which learn from the documents what they have in common, or which words
        few of them have; vectors of documents that are compared must come from one call.
    column, id
        The fields with the text and with the id of each document; of plain text, lines are numbered.
    where, encoding
        Which records to read, by field, and the encoding of files.
    tokenizer
        How to cut texts into words; as the text of the vectors was, if None.
    unseen
        ``"ignore"`` leaves words without a vector out, ``"spelling"`` gives them one by their spelling.
    workers
        Threads; the result is the same for any number.

    Examples
    --------
    >>> e = Embeddings(("cat", "dog"), np.eye(2, dtype=np.float32), deviations=np.float32([0.3, 0.4]))
    >>> found = vectorize(e, ["cat dog", "dog", "what?"], quiet=True)
    >>> found.vectors.tolist(), found.deviations.round(2).tolist(), found.empty
    ([[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]], [0.25, 0.4000000059604645, 0.0], ('2',))
    """
    progress = SilentProgress() if quiet else progress
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    how = make_where(where), find_encoding(encoding)
    reading = _Reading(again_and_again(documents), column, id, *how, resolve_workers(workers), progress)
    with limit_blas(1):  # so that the last bits are the same for any number of threads
        found = _joined(list(_vectors(embeddings, reading, weighting, tokenizer, unseen)))
    _say_empty(Summary().with_part(found), progress, "their vectors are zeros")
    return found


@checked
def vectorize_file(
    model: Embeddings | str | Path,
    documents: Source,
    target: str | Path,
    *,
    weighting: DocumentWeighting = "mean",
    column: str | None = None,
    id: str = "id",
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Tokenizer | None = None,
    unseen: UnseenInText = "ignore",
    workers: int | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Summary:
    """Write a vector for each document to a file, however many there are; as :func:`vectorize`.

    ``target`` ends in ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet`` for rows with ``id``, ``words``, ``known``,
    ``deviation`` and ``vector``, where a document without a known word has no vector; or in ``.npy`` for the matrix
    alone, in which its row is zeros. The file is there when it is complete.
    """
    progress = SilentProgress() if quiet else progress
    path = Path(target)
    is_matrix = path.suffix.lower() == MATRIX
    if is_matrix:
        check_file_output(path, overwrite=overwrite)
    else:
        check_rows_output(path, overwrite=overwrite, besides=(MATRIX,))
    threads = resolve_workers(workers)
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    open_output = _written_matrix if is_matrix else written_rows
    summary = Summary()
    with ExitStack() as stack:
        stack.enter_context(limit_blas(1))
        source = stack.enter_context(_readable_again(documents, weighting))
        how = make_where(where), find_encoding(encoding)
        reading = _Reading(source, column, id, *how, threads, progress)
        write = stack.enter_context(open_output(path, overwrite=overwrite))
        for part in _vectors(embeddings, reading, weighting, tokenizer, unseen):
            write(_columns(part))
            summary = summary.with_part(part)
    _say_empty(summary, progress, "their rows are zeros" if is_matrix else "they have no vector in the file")
    return summary


def _vectors(
    embeddings: Embeddings,
    reading: _Reading,
    weighting: DocumentWeighting,
    tokenizer: str | Tokenizer | None,
    unseen: UnseenInText,
) -> Iterator[DocumentVectors]:
    """Yield the vectors of documents by batches, after another look at all of them where the weighting wants that."""
    if weighting not in WEIGHTINGS:
        raise InputError(f"weighting is {weighting!r:.40}; choose one of {', '.join(WEIGHTINGS)}")
    if wants_spelling(unseen, otherwise="ignore"):
        need_subwords(embeddings.subwords)
    own = _Averaging(
        embeddings, _cutter(embeddings, tokenizer), WordTable.of(embeddings.index_to_key), unseen
    )
    before, direction = None, None
    if weighting == "tfidf":
        before, own.weights = _tfidf_weights(own, reading)
    if weighting == "sif":
        own.weights = sif_weights(embeddings)
        before, direction = _shared_direction(own, reading)
    read = words = 0
    for part in reading.batches(own.vectors_of, label="vectorizing"):
        if direction is not None:
            part = replace(part, vectors=without_direction(part.vectors, direction))
        read, words = read + len(part), words + int(part.words.sum())
        yield part
    if before not in (None, read):
        raise InputError(
            f"the documents were {before:,} and then {read:,}; leave them alone while they are read twice"
        )
    report_read(reading.last, words, reading.progress)


def _tfidf_weights(own: _Averaging, reading: _Reading) -> tuple[int, Float32s]:
    """Return how many documents there are, and the weight of each word."""
    read, counts = 0, np.zeros(len(own.embeddings), np.int64)
    for size, part in reading.batches(own.documents_of, label="counting documents of words"):
        read += size
        counts += part
    return read, (1 + np.log((1 + read) / (1 + counts))).astype(np.float32)


def _shared_direction(own: _Averaging, reading: _Reading) -> tuple[int, Float32s]:
    """Return how many documents there are, and the direction that their vectors have in common."""
    read, moment = 0, np.zeros((own.embeddings.dim, own.embeddings.dim))
    for part in reading.batches(own.vectors_of, label="finding what documents share"):
        wide = part.vectors.astype(np.float64)
        moment += wide.T @ wide
        read += len(part)
    return read, common_direction(moment)


@dataclass
class _Averaging:
    """What makes vectors of a batch; threads may do so with several at a time."""

    embeddings: Embeddings
    cut: Callable[[Any], Cut]
    table: WordTable
    unseen: UnseenInText
    weights: Float32s | None = None

    def vectors_of(self, batch: Batch) -> DocumentVectors:
        """Return the vectors of a batch."""
        found = self.cut(batch.texts)

        def spell(missing: Int64s) -> list[str]:
            words = found.words.encoded()
            return [words[i].decode("utf-8", "replace") for i in missing.tolist()]

        ids = found.ids.astype(np.int64)
        done = average_numbered(
            self.embeddings, ids, found.starts, self._places(found), spell, weights=self.weights, unseen=self.unseen
        )  # fmt: skip
        lengths = np.diff(found.starts)
        return DocumentVectors(
            tuple(batch.names), done.vectors, done.deviations, lengths, done.known, done.spelled
        )

    def documents_of(self, batch: Batch) -> tuple[int, Int64s]:
        """Return how many documents a batch has, and how many of them have each word of the vocabulary."""
        found, n = self.cut(batch.texts), len(self.embeddings)
        is_word = found.ids >= 0
        owners = np.repeat(np.arange(len(batch.names)), np.diff(found.starts))[is_word]
        own = self._places(found)[found.ids[is_word]]
        pairs = np.unique(owners[own >= 0] * n + own[own >= 0])
        return len(batch.names), np.bincount(pairs % n, minlength=n)

    def _places(self, found: Cut) -> Int64s:
        return np.maximum(self.table.find(found.words), -1).astype(np.int64)


def _cutter(embeddings: Embeddings, tokenizer: str | Tokenizer | None) -> Callable[[Any], Cut]:
    """Return what cuts texts as :func:`psdvec.vectors.sentences.make_tokenizer` does, all at once where it can."""
    one_by_one = make_tokenizer(embeddings, tokenizer)
    if isinstance(tokenizer, str):
        return make_cutter(tokenizer)
    if tokenizer is None and embeddings.phrases is None and embeddings.tokenizer is not None:
        return make_cutter(embeddings.tokenizer)
    return make_cutter(one_by_one)


@dataclass
class _Reading:
    """Documents that can be read more than once; ``last`` is the reader of the last time."""

    source: Source
    column: str | None
    id: str
    where: Any
    encoding: str
    threads: int
    progress: Progress
    last: Reader = field(default_factory=Reader)

    def batches(self, work: Callable[[Batch], Any], *, label: str) -> Iterator[Any]:
        self.last = Reader(self.column, Choice(self.where), encoding=self.encoding)
        return worked(
            self.source,
            self.last,
            work,
            label=label,
            id=self.id,
            threads=self.threads,
            progress=self.progress,
        )


@contextmanager
def _readable_again(documents: Source, weighting: str) -> Iterator[Source]:
    """Yield documents that can be read as often as the weighting wants; standard input is kept in a file meanwhile."""
    names = documents.names if isinstance(documents, Files) else (documents,)
    if weighting == "mean" or STANDARD_INPUT not in names:
        yield documents if weighting == "mean" else again_and_again(documents)
        return
    with tempfile.TemporaryDirectory(prefix="psdvec-") as folder:
        kept = Path(folder) / "input"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield Files(tuple(str(kept if name == STANDARD_INPUT else name) for name in names))


@contextmanager
def _written_matrix(path: Path, *, overwrite: bool) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yield what writes the column ``vector`` as further rows of a ``.npy`` file."""
    shape = [0, 0]
    with replaced_file(path, overwrite=overwrite) as file:

        def write(columns: Mapping[str, Any]) -> None:
            rows = np.nan_to_num(columns["vector"])
            file.write(np.ascontiguousarray(rows, np.float32).data)
            shape[:] = shape[0] + len(rows), rows.shape[1]

        file.write(b"\0" * _HEADER)
        yield write
        file.seek(0)
        header = {"descr": "<f4", "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)


def _columns(part: DocumentVectors) -> dict[str, Any]:
    """Return what is written of documents; vectors that are none, and their deviations, are nan."""
    is_empty = part.known + part.spelled == 0
    columns: dict[str, Any] = {"id": list(part.ids), "words": part.words, "known": part.known}
    if part.deviations is not None:
        columns["deviation"] = np.where(is_empty, np.nan, part.deviations).astype(np.float32)
    return {**columns, "vector": np.where(is_empty[:, None], np.nan, part.vectors).astype(np.float32)}


def _joined(parts: Sequence[DocumentVectors]) -> DocumentVectors:
    deviations = [part.deviations for part in parts if part.deviations is not None]
    return DocumentVectors(
        tuple(name for part in parts for name in part.ids),
        np.concatenate([part.vectors for part in parts]),
        np.concatenate(deviations) if deviations else None,
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "known", "spelled")),
    )


def _say_empty(summary: Summary, progress: Progress, written: str) -> None:
    if summary.empty:
        named = ", ".join(summary.named) + (", ..." if summary.empty > len(summary.named) else "")
        progress.say(
            f"without a known word: {summary.empty:,} of {count_of(summary.documents, 'document')} ({named}); {written}"
        )
