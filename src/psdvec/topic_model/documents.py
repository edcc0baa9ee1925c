"""Documents: texts cut into the words of some vectors, with what else is known of each.

:func:`read_documents` takes names of files and folders, texts, or tables, and returns :class:`Documents`. A line of a
text file is a document, so is a record of JSON lines, a row of CSV, TSV or Parquet, and each text file of a folder.
:func:`choose_words` leaves rare words out, and weighs the others.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from psdvec.arrays import Float64s, Int32s, Int64s
from psdvec.errors import InputError
from psdvec.progress import Progress, count_of
from psdvec.text.corpus import are_files, columns_of, read_corpus, report_damage, table_rows
from psdvec.text.readers import (
    UTF8,
    Choice,
    Reader,
    as_written,
    check_text,
    find_encoding,
    make_where,
    written_value,
)
from psdvec.text.tokenizers import is_document, words_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import make_tokenizer


@dataclass(frozen=True)
class Files:
    """Names of files and folders, which the strings of a list might be or not: documents to read, not texts."""

    names: tuple[str, ...]


Source: TypeAlias = str | Path | Files | Iterable[Any]
# A name, where it is from, and fields, one of them the text.
Record: TypeAlias = tuple[str, str, Mapping[str, Any]]
_ROWS = 1024
_FEWEST, _THOUSANDTH = 5, 1000  # a word counts if five documents have it, or one in a thousand
_LITTLE = 0.01  # the least that an occurrence counts: all documents may be about one thing
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-\d\d.*)?)?")
_DAY = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_DIGITS = 10  # of a longer number, which is no time
# The field of a title; letters of a line; of a text, those with its subject.
TITLE, _LINE, _BEGIN = "title", 80, 1000
_SUBJECT = re.compile(r"^Subject: *(\S.*)$", re.MULTILINE)
_WHOLE = 1 << 26  # bytes of a file that is one document, at most


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as numbers of words.

    ``names``: what each is called. ``tokens`` (t,) int32: the words of all documents in their order, -1 for words
    without a vector; those of document i are ``tokens[starts[i] : starts[i + 1]]``. ``fields``: by the name of a
    field, its value for each document, None where there is none. ``weights``: how much an occurrence of each word
    counts; 1 if None. ``lines``: a line that tells people what each is, its title or its first words, if they are kept.
    """

    names: tuple[str, ...]
    tokens: Int32s
    starts: Int64s
    fields: Mapping[str, tuple[str | None, ...]]
    weights: Float64s | None = None
    lines: tuple[str, ...] | None = None

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

    def document_frequencies(self, words: int) -> Int64s:
        """Return how many documents have each word, (words,)."""
        return np.bincount(self.counted[1], minlength=words)

    def take(self, places: Int64s) -> Documents:
        """Return some of the documents."""
        pieces = [self.tokens[self.starts[i] : self.starts[i + 1]] for i in places]
        return Documents(
            tuple(self.names[i] for i in places),
            np.concatenate([*pieces, np.zeros(0, np.int32)]),
            np.concatenate([[0], np.cumsum(np.diff(self.starts)[places])]),
            {name: tuple(values[i] for i in places) for name, values in self.fields.items()},
            self.weights,
            None if self.lines is None else tuple(self.lines[i] for i in places),
        )


def read_documents(
    source: Source,
    embeddings: Embeddings,
    *,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    by: Sequence[str] = (),
    encoding: str = UTF8,
    tokenizer: str | Callable[[str], Any] | None = None,
    lines: bool = False,
    progress: Progress,
) -> Documents:
    """Read documents and cut them into words as the text of ``embeddings`` was cut; lists of words are cut already.

    With ``tokenizer``, they are cut by that.

    ``column`` names the field, or the column, that holds the text, ``"text"`` by default; ``where`` says which records
    to read, and ``by`` names further fields to keep. ``encoding`` is that of files. With
    ``lines``, a line of each is kept.
    """
    ids, tokenize = embeddings.key_to_index, make_tokenizer(embeddings, tokenizer)
    names: list[str] = []
    told: list[str] = []
    tokens = array("i")  # which grows in place; a piece for each document would take twice the memory
    lengths = array("q", [0])
    fields: dict[str, list[str | None]] = {name: [] for name in by}
    reader = Reader(column, Choice(make_where(where)), encoding=find_encoding(encoding))
    with progress.stage("reading", total=None, unit="documents") as stage:
        for name, given, record in read_texts(source, reader, by=[*by, TITLE] if lines else by):
            names.append(name)
            if lines:
                told.append(line_of_document(record.get(TITLE), given))
            words = tokenize(given) if isinstance(given, str) else given
            tokens.extend([ids.get(word, -1) for word in words])
            lengths.append(len(words))
            for field, values in fields.items():
                values.append(written_value(record.get(field)))
            if len(names) % _ROWS == 0:
                stage.advance(_ROWS)
    check_fields({name: set(values) - {None} for name, values in fields.items()})
    starts = np.cumsum(np.frombuffer(lengths, np.int64))
    report_damage(
        replaced=reader.replaced, words=len(tokens), files=reader.damaged, encoding=reader.encoding,
        progress=progress,
    )  # fmt: skip
    kept = {as_written(name): tuple(values) for name, values in fields.items()}
    return Documents(
        tuple(names), np.frombuffer(tokens, np.intc), starts, kept, lines=tuple(told) if lines else None
    )


def check_fields(values: Mapping[str, Collection[Any]]) -> None:
    """Raise :class:`InputError` for a field of which there are no values."""
    for field, found in values.items():
        if not found:
            raise InputError(
                f"no document has a field '{field}'; check its name (plain text has no fields, but JSON lines and "
                "tables do), and that it holds no lists"
            )


def line_of_document(title: Any, text: str | Sequence[str]) -> str:
    r"""Return what tells people which document it is: its title, the subject of a letter, or else its first words.

    >>> line_of_document(None, "From: a\nSubject: Re: Cats\n\nI like them."), line_of_document("Dogs", "...")
    ('Re: Cats', 'Dogs')
    """
    if isinstance(text, str):
        subject = _SUBJECT.search(text, 0, _BEGIN)
        text = text[: _LINE * 8] if subject is None else subject[1]
    words = text.split() if isinstance(text, str) else text
    line = written_value(title) or as_written(" ".join(words[:_LINE]))
    return line if len(line) <= _LINE else f"{line[:_LINE].rstrip()}…"


def again_and_again(source: Source) -> Source:
    """Return documents that can be read more than once."""
    return list(source) if isinstance(source, Iterator) else source


def all_texts(
    sources: Sequence[Source], *, column: str | None, where: Mapping[str, Any] | None, encoding: str
) -> Iterator[Any]:
    """Yield what is written in the documents of all sources: texts, or lists of words."""
    reader = Reader(column, Choice(make_where(where)), encoding=find_encoding(encoding))
    for source in sources:
        for _, text, _ in read_texts(source, reader):
            yield text


def texts_at(sources: Sequence[Source], places: Int64s, **how: Any) -> list[Any]:
    """Return what is written in some documents, by their ``places`` among those of all sources."""
    wanted, last = set(places.tolist()), int(places.max(initial=-1))
    texts = zip(range(last + 1), all_texts(sources, **how), strict=False)
    found = {place: text for place, text in texts if place in wanted}
    return [found[place] for place in places.tolist()]


def read_texts(
    source: Source, reader: Reader, *, by: Sequence[str] = (), id: str = "id"
) -> Iterator[tuple[str, str | Sequence[str], Mapping[str, Any]]]:
    """Yield documents one at a time: the name, the text or the words that it was cut into, and the fields ``by``.

    The field ``id`` names a record, or else ``id``, or where it stands; a field of ids that no document has is refused,
    and so are no documents at all.
    """
    text, is_named, number = reader.name_of_text, id == "id", 0
    for number, (name, place, record) in enumerate(_records(source, reader, by=(id, *by)), 1):
        if place:
            check_text(record, text, place)
        is_named = is_named or record.get(id) is not None
        if not is_named and number == _ROWS:  # soon enough
            break
        yield _name_in(record, id) or as_written(name), record[text], record
    if not number and reader.choice.where:
        raise InputError(reader.choice.why_none())
    if not number:
        raise InputError("there are no documents; give a file with one document a line, or a folder of texts")
    if not is_named:
        raise InputError(f"no document has a field '{id}' with its id; check the name, or leave it out")


def _name_in(record: Mapping[str, Any], id: str) -> str:
    """Return what the field ``id``, or else ``id``, calls a document; nothing if it has neither.

    >>> _name_in({"id": 7.0}, "key"), _name_in({"key": "a/b", "id": 7}, "key"), _name_in({"id": float("nan")}, "id")
    ('7', 'a/b', '')
    """
    for value in (record.get(id), record.get("id")):
        name = as_written(str(value)) if isinstance(value, list | dict) else written_value(value)
        if name:
            return name
    return ""


def _records(source: Source, reader: Reader, *, by: Sequence[str]) -> Iterator[Record]:
    """Yield documents; those that are no records surely have a text, and do not say where they are from."""
    if isinstance(source, str | Path | Files):
        names = source.names if isinstance(source, Files) else [source]
        yield from _read_files(names, reader, by=by)
        return
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError("documents are names of files, texts or a table; give a list of texts")
    text, columns = reader.name_of_text, columns_of(source)
    fields = (text, "id", *by, *(name for name, _ in reader.choice.where))
    reader.choice.check(columns or fields, "the table")
    rows: list[Any] = list(source if columns is None else table_rows(source, fields))
    is_list = isinstance(source, list | tuple) or (rows and isinstance(rows[0], Path))
    if is_list and are_files(rows):
        yield from _read_files(rows, reader, by=by)
        return
    for number, one in enumerate(rows):
        row = words_of(one, "documents") if is_document(one) else one
        is_cut = isinstance(row, list | tuple) and all(isinstance(word, str) for word in row)
        if isinstance(row, str) or is_cut:
            if reader.choice.where:
                raise InputError(
                    f"row {number} has no fields to choose it by; leave out where, or give a table"
                )
            yield str(number), "", {text: row}
        elif isinstance(row, Mapping):
            if reader.choice.wants(row):
                yield str(number), f"row {number}", row
        else:
            raise InputError(f"row {number} of the documents is {row!r:.40}, not a text; leave such rows out")


def _read_files(paths: Sequence[str | Path], reader: Reader, *, by: Sequence[str]) -> Iterator[Record]:
    """Yield the documents of all files; where there are several files, names say from which a document is."""
    found = [(path, file) for path in paths for file in read_corpus(path).files]
    for path, file in found:
        kind = reader.kind(file)
        if kind == "text" and Path(path).is_dir():
            name = (Path(file).relative_to(path) if len(paths) == 1 else Path(file)).as_posix()
            yield name, "", {reader.name_of_text: reader.whole(file, most=_WHOLE)}
            continue
        origin = f"{Path(file).name} " if len(found) > 1 else ""
        what = "row" if kind in ("parquet", "table") else "line"
        for number, record in reader.rows(file, fields=("id", *by)):
            yield f"{origin}{number}", f"'{file}' {what} {number}", record


def bin_dates(values: Collection[str], *, most: int) -> tuple[str, dict[str, str]]:
    """Put dates into years or, if these are too many, decades or centuries; those of one year into months.

    Return by what they were put together, and the bin of each; by nothing if they are no dates, or of too many
    centuries.

    >>> bin_dates(["1990-05-01", "1990-06-02", "1991-01-01"], most=2)
    ('year', {'1990-05-01': '1990', '1990-06-02': '1990', '1991-01-01': '1991'})
    >>> bin_dates(["19900501", "19900602"], most=1)
    ('', {})
    """
    dates = {value: found for value in values if (found := _DATE.fullmatch(value))}
    ways = {
        "year": {value: date[1] for value, date in dates.items()},
        "decade": {value: f"{date[1][:3]}0" for value, date in dates.items()},
        "century": {value: f"{date[1][:2]}00" for value, date in dates.items()},
        "month": {value: f"{date[1]}-{date[2] or '01'}" for value, date in dates.items()},
    }
    if len(dates) == len(values):
        for way, binned in ways.items():
            if 2 <= len(set(binned.values())) <= most:
                return way, binned
    return "", {}


def times_of(values: Collection[str]) -> dict[int, str]:
    """Return values by their place in time, if all are different whole numbers, such as years, months or days.

    >>> times_of(["1991", "1990"]), times_of(["1990-12", "1991-01"]), times_of(["1990", "old"])
    ({1991: '1991', 1990: '1990'}, {23891: '1990-12', 23892: '1991-01'}, {})
    """
    if all(value.isdecimal() and len(value) < _DIGITS for value in values):
        places = [int(value) for value in values]
    else:
        dates = [date for value in values if (date := _DAY.fullmatch(value))]
        with_days = sum(date[3] is not None for date in dates)
        if len(dates) < len(values) or with_days not in (0, len(dates)):
            return {}
        months = [12 * int(date[1]) + int(date[2]) - 1 for date in dates]
        days = [32 * month + int(date[3] or 0) for month, date in zip(months, dates, strict=True)]
        places = days if with_days else months
    found = dict(zip(places, values, strict=True))
    return found if len(found) == len(values) > 1 else {}


def choose_words(read: Documents, embeddings: Embeddings, least: int | None) -> tuple[Documents, Int64s]:
    """Return the documents in numbers of the words that ``least`` of them have, and the ids of these words.

    If it is None, 5 documents are enough, or one in a thousand.
    """
    least = least or max(_FEWEST, len(read) // _THOUSANDTH)
    if read.tokens.max(initial=-1) < 0:
        raise InputError("no document has a word with a vector; give vectors of the same language")
    lengths = embeddings.lengths
    ids: Int64s = np.flatnonzero((read.document_frequencies(len(lengths)) >= least) & (lengths > 0))
    if len(ids) < 2:
        raise InputError(
            f"fewer than two words with a vector are in {count_of(least, 'document')} or more; give vectors of the "
            f"same language, or {'ask for fewer documents: min_documents=N' if least > 1 else 'more documents'}"
        )
    numbers = np.full(len(lengths), -1, np.int32)
    numbers[ids] = np.arange(len(ids))
    tokens = np.where(read.tokens >= 0, numbers[np.maximum(read.tokens, 0)], -1).astype(np.int32)
    kept = Documents(read.names, tokens, read.starts, read.fields, lines=read.lines)
    return replace(kept, weights=word_weights(kept, words=len(ids))), ids


def word_weights(documents: Documents, *, words: int) -> Float64s:
    """Return how much an occurrence of each word tells, ``min(1, idf / log 10)``: (20) of ``docs/topic-model.md``.

    A word that at most one in ten documents has counts in full, one that all of them have, hardly at all.
    """
    idf = np.log(len(documents) / np.maximum(documents.document_frequencies(words), 1))
    return np.asarray(np.clip(idf / np.log(10.0), _LITTLE, 1.0))
