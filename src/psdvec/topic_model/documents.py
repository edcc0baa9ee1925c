"""Documents: texts cut into the words of some vectors, with what else is known of each.

:func:`read_documents` takes names of files and folders, texts, or tables, and returns :class:`Documents`. A line of a
text file is a document, so is a record of JSON lines, a row of Parquet, and each text file of a folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from psdvec.arrays import Float64s, Int32s, Int64s
from psdvec.errors import InputError, import_extra
from psdvec.progress import Progress
from psdvec.storage.json_text import parse_json
from psdvec.text.corpus import is_file, read_corpus
from psdvec.text.decompress import open_stream
from psdvec.text.lines import stream_lines
from psdvec.text.readers import is_json_name, is_parquet
from psdvec.vectors.embeddings import Embeddings


@dataclass(frozen=True)
class Files:
    """Names of files and folders, which the strings of a list might be or not: documents to read, not texts."""

    names: tuple[str, ...]


Source: TypeAlias = str | Path | Files | Iterable[Any]
Record: TypeAlias = tuple[str, Mapping[str, Any]]  # a name, and fields, of which one is the text
_ROWS = 1024
_LITTLE = 0.01  # the least that an occurrence counts: all documents may be about one thing
_PIECE = 1 << 20
_WHOLE = 1 << 26  # bytes of a file that is one document, at most


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as numbers of words.

    ``names``: what each is called. ``tokens`` (t,) int32: the words of all documents in their order, -1 for words
    without a vector; those of document i are ``tokens[starts[i] : starts[i + 1]]``. ``fields``: by the name of a
    field, its value for each document, None where there is none. ``weights``: how much an occurrence of each word
    counts; 1 if None.
    """

    names: tuple[str, ...]
    tokens: Int32s
    starts: Int64s
    fields: Mapping[str, tuple[str | None, ...]]
    weights: Float64s | None = None

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def counted(self) -> tuple[Int64s, Int32s, Float64s]:
        """How often each document has each of its words, by their weights: starts, words and counts, words rising."""
        owners = np.repeat(np.arange(len(self)), np.diff(self.starts))
        known = self.tokens >= 0
        words = int(self.tokens.max(initial=-1)) + 1
        pairs, counts = np.unique(owners[known] * max(words, 1) + self.tokens[known], return_counts=True)
        starts = np.searchsorted(pairs, np.arange(len(self) + 1) * max(words, 1))
        found = (pairs % max(words, 1)).astype(np.int32)
        weights = 1.0 if self.weights is None else self.weights[found]
        return starts, found, counts * weights

    @cached_property
    def lengths(self) -> Float64s:
        """How many known words each document has, (m,)."""
        starts, _, counts = self.counted
        return np.diff(np.concatenate([[0.0], np.cumsum(counts)])[starts])

    def renumbered(self, numbers: Int32s) -> Documents:
        """Return the documents with word i called ``numbers[i]``, which is -1 for words that are left out."""
        tokens = np.where(self.tokens >= 0, numbers[np.maximum(self.tokens, 0)], -1).astype(np.int32)
        return Documents(self.names, tokens, self.starts, self.fields)

    def weighed(self, weights: Float64s) -> Documents:
        """Return the documents with an occurrence of each word counted ``weights`` of its number."""
        return replace(self, weights=weights)

    def take(self, places: Int64s) -> Documents:
        """Return some of the documents."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        pieces = [self.tokens[self.starts[i] : self.starts[i + 1]] for i in places]
        return Documents(
            tuple(self.names[i] for i in places),
            np.concatenate([*pieces, np.zeros(0, np.int32)]),
            starts,
            {name: tuple(values[i] for i in places) for name, values in self.fields.items()},
            self.weights,
        )


def read_documents(
    source: Source,
    embeddings: Embeddings,
    *,
    text: str | None = None,
    by: Sequence[str] = (),
    progress: Progress,
) -> Documents:
    """Read documents and cut them into words as the text of ``embeddings`` was cut; lists of words are cut already.

    ``text`` names the field, or the column, that holds the text, ``"text"`` by default; ``by`` names further fields to
    keep.
    """
    ids, tokenize = embeddings.key_to_index, embeddings.tokenize
    names: list[str] = []
    pieces: list[Int32s] = []
    fields: dict[str, list[str | None]] = {name: [] for name in by}
    with progress.stage("reading", total=None, unit="documents") as stage:
        for name, record in _records(source, text=text or "text"):
            given = record[text or "text"]
            words = tokenize(given) if isinstance(given, str) else given
            names.append(as_written(name))
            pieces.append(np.fromiter((ids.get(word, -1) for word in words), np.int32, len(words)))
            for field, values in fields.items():
                values.append(_value(record.get(field)))
            if len(names) % _ROWS == 0:
                stage.advance(_ROWS)
    if not names:
        raise InputError("there are no documents; give a file with one document a line, or a folder of texts")
    for field, values in fields.items():
        if all(value is None for value in values):
            raise InputError(
                f"no document has a field '{field}'; check its name (plain text has no fields, but JSON lines, Parquet "
                "and tables do)"
            )
    starts = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    tokens = np.concatenate(pieces)
    kept = {as_written(name): tuple(values) for name, values in fields.items()}
    return Documents(tuple(names), tokens, starts, kept)


def as_written(text: str) -> str:
    r"""Return ``text`` as UTF-8 can write it: names of files, and JSON, may hold halves of characters.

    >>> as_written("caf\u00e9 \ud800")
    'café ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def _value(value: Any) -> str | None:
    """Return what a field says, as text; numbers such as years are written as they are."""
    return (
        None if value is None or isinstance(value, dict | list) or value != value else as_written(str(value))
    )


def _records(source: Source, *, text: str) -> Iterator[Record]:
    if isinstance(source, str | Path | Files):
        yield from _read_files(source.names if isinstance(source, Files) else [source], text=text)
        return
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError("documents are names of files, texts or a table; give a list of texts")
    table: Any = source
    rows: list[Any] = table.to_dict("records") if hasattr(table, "columns") else list(table)
    if rows and all(isinstance(row, Path) or is_file(row) for row in rows):
        yield from _read_files(rows, text=text)
        return
    for number, row in enumerate(rows):
        if isinstance(row, str) or _is_cut(row):
            yield str(number), {text: row}
        elif isinstance(row, Mapping):
            yield _checked(row, text, f"row {number}", str(number))
        else:
            raise InputError(f"row {number} of the documents is {row!r:.40}, not a text; leave such rows out")


def _is_cut(row: Any) -> bool:
    """Tell whether a document has been cut into words already."""
    return isinstance(row, list | tuple) and all(isinstance(word, str) for word in row)


def _checked(record: Mapping[str, Any], text: str, where: str, name: str) -> Record:
    if text not in record:
        has = ", ".join(map(str, record))
        raise InputError(
            f"{where} has no text in field '{text}' (it has: {has}); leave it out, or name the field that holds the "
            'text: text="NAME"'
        )
    if not isinstance(record[text], str):
        raise InputError(
            f"{where} has {record[text]!r:.40} in field '{text}', which is no text; leave it out"
        )
    given = record.get("id")
    return name if given is None else str(given), record


def _read_files(paths: Sequence[str | Path], *, text: str) -> Iterator[Record]:
    """Yield the documents of all files; where there are several files, names say from which a document is."""
    found = [(path, file) for path in paths for file in read_corpus(path).files]
    for path, file in found:
        origin = f"{Path(file).name} " if len(found) > 1 else ""
        if is_parquet(file):
            yield from _parquet(file, text, origin)
        elif is_json_name(file):
            yield from _json_lines(file, text, origin)
        elif Path(path).is_dir():
            yield str(Path(file).relative_to(path) if len(paths) == 1 else file), {text: _whole(file)}
        else:
            yield from _lines(file, text, origin)


def _whole(file: str) -> str:
    pieces: list[bytes] = []
    size = 0
    with open_stream(file) as stream:
        while piece := stream.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > _WHOLE:  # before it is all in memory: a small file may hold very much
                raise InputError(
                    f"'{file}' is too long for one document; cut it, or give it by itself, a line a document"
                )
    return b"".join(pieces).decode("utf-8", "replace")


def _lines(file: str, text: str, origin: str) -> Iterator[Record]:
    with open_stream(file) as stream:
        for number, line in enumerate(stream_lines(stream), 1):
            yield f"{origin}{number}", {text: line.removeprefix("\ufeff") if number == 1 else line}


def _json_lines(file: str, text: str, origin: str) -> Iterator[Record]:
    with open_stream(file) as stream:
        for number, line in enumerate(stream_lines(stream), 1):
            if not line.strip():
                continue
            where = f"'{file}' line {number}"
            try:
                record = parse_json(line)
            except ValueError as error:
                raise InputError(f"{where} is not JSON ({error}); correct the line or remove it") from error
            if not isinstance(record, dict):
                raise InputError(
                    f"{where} is not a record; write each document as an object with its text in it"
                )
            yield _checked(record, text, where, f"{origin}{number}")


def _parquet(file: str, text: str, origin: str) -> Iterator[Record]:
    parquet: Any = import_extra("pyarrow.parquet", extra="parquet", purpose=f"reading '{file}' (Parquet)")
    pyarrow: Any = import_extra("pyarrow", extra="parquet", purpose=f"reading '{file}' (Parquet)")
    number = 0
    try:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_ROWS):
            for row in batch.to_pylist():
                number += 1
                yield _checked(row, text, f"'{file}' row {number}", f"{origin}{number}")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise InputError(
            f"'{file}' is a damaged Parquet file ({error}); download or copy it again"
        ) from error


def word_weights(documents: Documents, *, words: int) -> Float64s:
    """Return how much an occurrence of each word tells, ``min(1, idf / log 10)``: (20) of ``docs/topic-model.md``.

    A word that at most one in ten documents has counts in full, one that all of them have, hardly at all.
    """
    _, found, _ = documents.counted
    spread = np.bincount(found, minlength=words)
    idf = np.log(len(documents) / np.maximum(spread, 1))
    return np.asarray(np.clip(idf / np.log(10.0), _LITTLE, 1.0))


def frequent_words(documents: Documents, *, words: int, least: int) -> Int64s:
    """Return the numbers, rising, of the words that at least ``least`` documents have."""
    _, found, _ = documents.counted
    return np.flatnonzero(np.bincount(found, minlength=words) >= least)
