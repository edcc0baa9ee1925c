"""Documents in and rows out: batches of documents, cut into numbered words, and tables in the format of their name.

A batch depends on nothing but the documents before it, so that threads may cut batches in any order. Rows are written
as they come: JSON lines, CSV, TSV or Parquet, complete or not at all.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import numpy as np

from psdvec.arrays import Array, Float32s, Int32s, Int64s
from psdvec.counts.segments import SENTENCE_END, number_words
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError, import_extra
from psdvec.progress import Progress
from psdvec.resources import map_ordered
from psdvec.storage.files import check_file_output, check_name, replaced_file
from psdvec.text.corpus import read_corpus, report_damage
from psdvec.text.readers import Reader, as_written
from psdvec.text.streams import STANDARD_INPUT, file_status
from psdvec.text.tokenizers import changes_words, find_tokenizer, is_custom, split_words
from psdvec.topic_model.documents import Files, Source, read_texts

Out = TypeVar("Out")
Text: TypeAlias = str | Sequence[str]  # as it is written, or cut into words

_ROWS, _LETTERS = 1024, 1 << 20  # of a batch at most: documents, and the letters after which it ends
_MARK = b" x\n"  # ends every document, so that an empty one leaves a trace


class Batch(NamedTuple):
    """Some documents: their names and texts."""

    names: list[str]
    texts: list[Text]


class Cut(NamedTuple):
    """Documents as numbers: ``ids`` int32[t] into ``words``, below 0 for words that are too long to be any.

    Those of document i are ``ids[starts[i] : starts[i + 1]]``.
    """

    words: WordList
    ids: Int32s
    starts: Int64s


def read_batches(source: Source, reader: Reader, *, id: str = "id") -> Iterator[Batch]:
    """Yield documents in batches; ``id`` is the field that names them."""
    batch, letters = Batch([], []), 0
    for name, text, _ in read_texts(source, reader, id=id):
        batch.names.append(name)
        batch.texts.append(text)
        letters += len(text)
        if len(batch.names) == _ROWS or letters >= _LETTERS:
            yield batch
            batch, letters = Batch([], []), 0
    if batch.names:
        yield batch


def worked(
    source: Source,
    reader: Reader,
    work: Callable[[Batch], Out],
    *,
    label: str,
    id: str = "id",
    threads: int,
    progress: Progress,
) -> Iterator[Out]:
    """Yield what ``work`` makes of each batch of documents, in their order, made by several threads."""
    position = 0
    size = _size_of(source)
    unit = "documents" if size is None else "B"
    with ThreadPoolExecutor(threads) as pool, progress.stage(label, total=size, unit=unit) as stage:
        batches = read_batches(source, reader, id=id)

        def both(batch: Batch) -> tuple[int, Out]:
            return len(batch.names), work(batch)

        for count, found in map_ordered(pool, both, batches, ahead=2 * threads):
            stage.advance(count if size is None else reader.raw_bytes - position, documents=count)
            position = reader.raw_bytes
            yield found


def _size_of(source: Source) -> int | None:
    """Return how many bytes the files of a source have; None where there are no files, or nobody knows."""
    if not isinstance(source, str | Path | Files):
        return None
    names = source.names if isinstance(source, Files) else (source,)
    files = [file for name in names for file in read_corpus(name).files]
    if STANDARD_INPUT in files:
        return None
    sizes = [file_status(file).bytes for file in files]
    return None if None in sizes else sum(size for size in sizes if size)


def make_cutter(
    tokenizer: str | Callable[[str], Sequence[str]],
) -> Callable[[Sequence[Text]], Cut]:
    """Return a function that cuts texts by a tokenizer, all at once if it is one of psdvec's own, or else one by one.

    Texts that are lists of words are cut already.
    """
    by_one = tokenizer if callable(tokenizer) else partial(split_words, tokenizer=tokenizer)

    def cut_by_one(texts: Sequence[Text]) -> Cut:
        return _numbered([by_one(one) if isinstance(one, str) else one for one in texts])

    if callable(tokenizer) or is_custom(tokenizer) or changes_words(tokenizer):
        return cut_by_one
    space = find_tokenizer(tokenizer)

    def cut(texts: Sequence[Text]) -> Cut:
        if not all(isinstance(text, str) for text in texts):
            return cut_by_one(texts)
        spaced = [
            space(str(text).encode("utf-8", "replace")).tobytes().replace(b"\n", b" ") for text in texts
        ]
        text = np.frombuffer(_MARK.join([*spaced, b""]), np.uint8)
        found = number_words(text, joined=False, closed=True)
        ends = np.flatnonzero(found.ids == SENTENCE_END)
        kept = np.ones(len(found.ids), bool)
        kept[ends] = kept[ends - 1] = False  # the end of each document, and the mark before it
        starts = np.concatenate([[0], ends + 1 - 2 * np.arange(1, len(ends) + 1)])
        return Cut(found.words, found.ids[kept], starts)

    return cut


def _numbered(documents: Sequence[Sequence[str]]) -> Cut:
    """Number the words of documents that are cut."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for words in documents for word in words]
    starts = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    return Cut(WordList.pack(numbers), np.array(ids, np.int32), starts)


def report_read(reader: Reader, words: int, progress: Progress) -> None:
    """Say what of the text was damaged."""
    report_damage(
        replaced=reader.replaced,
        words=words,
        files=reader.damaged,
        encoding=reader.encoding,
        progress=progress,
    )


# Rows out. A column is a list of values, or an array; one with two dimensions holds vectors, of which those without any
# finite number are left empty.

Columns: TypeAlias = Mapping[str, Sequence[Any] | Array]
FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def check_rows_output(path: Path, *, overwrite: bool, besides: Sequence[str] = ()) -> None:
    """Refuse a name that says no format of rows, before any work."""
    check_name(path)
    allowed = (*besides, *FORMATS)
    if path.suffix.lower() not in allowed:
        listed = ", ".join(allowed[:-1])
        raise InputError(
            f"'{path}' does not say what to write; give a name that ends in {listed} or {allowed[-1]}"
        )
    if path.suffix.lower() == ".parquet":
        import_extra("pyarrow.parquet", extra="parquet", purpose=f"writing '{path}' (Parquet)")
    check_file_output(path, overwrite=overwrite)


@contextmanager
def written_rows(path: Path, *, overwrite: bool) -> Iterator[Callable[[Columns], None]]:
    """Yield what writes columns as further rows of the file ``path``, which is there when the block ends."""
    with replaced_file(path, overwrite=overwrite) as file:
        if path.suffix.lower() == ".parquet":
            with _parquet(file, path) as write:
                yield write
        elif path.suffix.lower() in (".csv", ".tsv"):
            yield _Table(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        else:
            yield lambda columns: _write_json(file, columns)


def _write_json(file: BinaryIO, columns: Columns) -> None:
    lists = [_plain(values) for values in columns.values()]
    names = list(columns)
    for row in zip(*lists, strict=True):
        text = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        file.write(as_written(text).encode() + b"\n")


class _Table:
    def __init__(self, file: BinaryIO, *, delimiter: str) -> None:
        self.file, self.delimiter, self.begun = file, delimiter, False

    def __call__(self, columns: Columns) -> None:
        text = io.StringIO()
        rows = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        wide = {
            name: values.shape[1]
            for name, values in columns.items()
            if isinstance(values, np.ndarray) and values.ndim == 2
        }
        if not self.begun:
            rows.writerow(
                part
                for name in columns
                for part in ([f"{name}{k}" for k in range(wide[name])] if name in wide else [name])
            )
            self.begun = True
        lists = {name: _plain(values) for name, values in columns.items()}
        for row in zip(*lists.values(), strict=True):
            cells: list[Any] = []
            for name, value in zip(lists, row, strict=True):
                cells += (value or [None] * wide[name]) if name in wide else [value]
            rows.writerow(cells)
        self.file.write(as_written(text.getvalue()).encode())


@contextmanager
def _parquet(file: BinaryIO, path: Path) -> Iterator[Callable[[Columns], None]]:
    pyarrow: Any = import_extra("pyarrow", extra="parquet", purpose=f"writing '{path}' (Parquet)")
    parquet: Any = import_extra("pyarrow.parquet", extra="parquet", purpose=f"writing '{path}' (Parquet)")
    writers: list[Any] = []

    def column(values: Sequence[Any] | Array) -> Any:
        if not isinstance(values, np.ndarray):
            return pyarrow.array(values, None if any(one is not None for one in values) else pyarrow.string())
        if values.ndim == 1:
            return pyarrow.array(values, from_pandas=True)  # what is no number is null
        empty = ~np.isfinite(values).any(axis=1)
        flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
        return pyarrow.FixedSizeListArray.from_arrays(
            flat, values.shape[1], mask=pyarrow.array(empty) if empty.any() else None
        )

    def write(columns: Columns) -> None:
        table = pyarrow.table({name: column(values) for name, values in columns.items()})
        if not writers:
            writers.append(parquet.ParquetWriter(file, table.schema))
        writers[0].write_table(table)

    try:
        yield write
    finally:
        for writer in writers:
            writer.close()


def _plain(values: Sequence[Any] | Array) -> list[Any]:
    """Return a column as values that JSON knows; what is no number, and a vector of nothing else, is None."""
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind != "f":
        found: list[Any] = values.tolist()
        return found
    exact = _shortened(values) if values.dtype == np.float32 else values
    if values.ndim == 1:
        return [one if one == one else None for one in exact.tolist()]
    return [row if row and row[0] == row[0] else None for row in exact.tolist()]


def _shortened(values: Float32s) -> Array:
    """Return float32 as float64 with nine digits, which is as much as it takes to read the same float32 again.

    >>> _shortened(np.float32([0.1, -3e-7])).tolist()
    [0.100000001, -3.00000011e-07]
    """
    wide = values.astype(np.float64)
    sizes = np.abs(wide)
    powers = 8 - np.floor(np.log10(np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)))
    scales = 10.0**powers
    return np.asarray(np.rint(wide * scales) / scales)
