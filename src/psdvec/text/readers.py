"""Reads the text of a file in pieces of bytes, or its records one by one, whatever format the file has.

Formats are plain or compressed text, JSON lines, CSV, TSV and Parquet; every record of all but the first ends a line.
Files that are not text are refused before any of their content is used, and so is markup that would pass for words.
"""

from __future__ import annotations

import codecs
import csv
import dataclasses
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psdvec.errors import InputError, import_extra
from psdvec.resources import format_size
from psdvec.storage.artefact import parse_json
from psdvec.text.streams import (
    STANDARD_INPUT,
    ByteRange,
    ByteStream,
    Span,
    is_address,
    open_file,
    open_stream,
    shown,
)

# Lines: the one place where bytes are cut into lines.

LONGEST = 1 << 26  # bytes of a line that is handled as a whole
PIECE_BYTES = 1 << 20


def split_lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    r"""Yield, piece by piece, the lines that end in it, without their newlines; a last line may lack its newline.

    A line that grows to ``LONGEST`` bytes or more is yielded as far as it has been read, and is the last: callers
    refuse such a line, and nothing more of it is kept in memory.

    >>> list(split_lines([b"one\nt", b"wo\nthree"]))
    [[b'one'], [b'two'], [b'three']]
    """
    begun: list[bytes] = []  # the pieces of a line that has not ended; joined once, however many there are
    size = 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun, size = [others[-1]], 0
        size += len(begun[-1])
        if size >= LONGEST:
            break
    rest = b"".join(begun)
    if rest:
        yield [rest]


def _whole_lines(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of the file ``name``; one longer than any that a program should hold in memory is refused."""
    for number, line in enumerate(chain.from_iterable(split_lines(pieces)), 1):
        if len(line) >= LONGEST:
            raise InputError(
                f"line {number} of {name} is longer than {format_size(LONGEST)}; end its lines sooner"
            )
        yield line


def stream_lines(stream: ByteStream) -> Iterator[str]:
    """Yield the lines of ``stream``, without their line ends; bytes that are not UTF-8 are replaced."""
    for line in _whole_lines(iter(lambda: stream.read(PIECE_BYTES), b""), stream.name):
        yield line.decode("utf-8", "replace").rstrip("\r")


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 file, plain or compressed, without their line ends and any byte order mark."""
    with open_stream(path) as stream:
        data = stream.read()
    try:
        return re.split(r"\r\n?|\n", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"'{path}' is not UTF-8 text (byte {error.start}); convert it, for example with iconv"
        ) from error


UTF8 = "utf-8"
Kind: TypeAlias = Literal["text", "json", "table", "parquet"]

_SAMPLE_BYTES = 1 << 16
_ROWS = 4096
_VALUES = 12  # of a field, that are named
_JSON_NAMES = (".jsonl", ".ndjson", ".jsonlines", ".json")
_TAB_NAMES = (".tsv", ".tab")
_TABLE_NAMES = (".csv", *_TAB_NAMES)
RECORDS = (*_JSON_NAMES, *_TABLE_NAMES, ".parquet")  # how names of files end that hold records
_COMPRESSED_NAMES = (".gz", ".bz2", ".xz", ".zst")
_SNIFFED = 64  # bytes that tell how a file without a telling name is read
_BEFORE_JSON = codecs.BOM_UTF8 + b" \t\r\n"
_PARQUET_MAGIC = b"PAR1"
_FEW = 32  # this many strange bytes are tolerated even in a short file
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\x1b") + b"\x7f"
_MARKUP = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{,1000}?-->\s*)?<(!doctype\s+html|html|mediawiki)\b",
    re.IGNORECASE | re.DOTALL,
)
_JSON_ARRAY = re.compile(rb"\s*\[\s*(?:\{\s*\"|\[)")
OTHER_SCRIPT = (
    "it looks like an older encoding of a script that is not Latin; name it, such as "
    'encoding="cp1251" for Cyrillic'
)
_BAD = "\udcff"  # stands for bytes that are no text in another encoding; no text in UTF-8 either

codecs.register_error("psdvec.bad", lambda error: (_BAD, getattr(error, "end", 0)))


@dataclasses.dataclass
class Reader:
    """Reads files one after the other, or the ``byte_range`` of one; ``raw_bytes`` says how much it has read so far.

    ``column`` names what holds the text in JSON lines and in tables, ``"text"`` by default; of their records, those of
    ``choice`` are read. ``replaced`` counts the stretches of bytes that :meth:`rows` and :meth:`whole` had to
    replace, and ``damaged`` are the files that hold them.
    """

    column: str | None = None
    choice: Choice = dataclasses.field(default_factory=lambda: Choice())
    byte_range: ByteRange | None = None
    encoding: str = UTF8
    raw_bytes: int = 0
    replaced: int = 0
    damaged: list[str] = dataclasses.field(default_factory=list)

    def kind(self, path: str) -> Kind:
        """Return how ``path`` is read: by its name or, where fields are asked for, by how it begins."""
        if path != STANDARD_INPUT:
            with open_stream(path) as stream:
                if stream.compression is None and stream.read(4) == _PARQUET_MAGIC:
                    return "parquet"
        name = _bare(path)
        if name.endswith(_TABLE_NAMES):
            return "table"
        if name.endswith(_JSON_NAMES):
            return "json"
        if self.column is None and not self.choice.where:
            return "text"
        return "json" if _head(path).lstrip(_BEFORE_JSON).startswith((b"{", b"[")) else "table"

    @property
    def name_of_text(self) -> str:
        """The field or column that holds the text."""
        return self.column or "text"

    def can_be_cut(self, path: str) -> bool:
        """Tell whether part of ``path`` can be read without the rest, as is true of uncompressed text and JSON lines.

        Cells of a table may hold line ends, and other encodings other bytes for them.
        """
        if self.encoding != UTF8 or self.kind(path) in ("parquet", "table"):
            return False
        with open_stream(path) as stream:
            return stream.compression is None

    def span(self, path: str, skip: int, *, least: int) -> Span | None:
        """Return the text of a plain file, without its first ``skip`` bytes, for whoever reads it later, in parts.

        None where it must be read from its beginning, or has fewer bytes than ``least``.
        """
        # What can be read once is not looked into.
        if path == STANDARD_INPUT or is_address(path) or not Path(path).is_file():
            return None
        if self.encoding != UTF8 or self.byte_range is not None or self.kind(path) != "text":
            return None
        with open_stream(path) as stream:
            if stream.path is None or stream.compression is not None or (stream.raw_size or 0) < skip + least:
                return None
            head = stream.read(_SAMPLE_BYTES)
            check_is_text(head, stream.name)
            self.raw_bytes += stream.raw_size or 0
            mark = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
            return Span(stream.path, mark + skip, stream.raw_size or 0)

    def read(self, path: str, skip: int) -> Iterator[bytes]:
        """Yield the text of ``path`` in pieces, without its first ``skip`` bytes."""
        read = {
            "text": self._read_text, "json": self._read_json_lines,
            "table": self._read_table, "parquet": self._read_parquet,
        }  # fmt: skip
        for piece in read[self.kind(path)](path):
            if skip < len(piece):
                yield piece[skip:] if skip else piece
            skip = max(skip - len(piece), 0)

    def rows(self, path: str, fields: Collection[str] = ()) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the number of each line, record or row, counted from 1, and its fields, of which one is the text.

        ``fields`` are those to read besides; whoever asks checks that they are there.
        """
        for number, record in self._all_rows(path, fields):
            if self.choice.wants(record):
                yield number, record

    def _all_rows(self, path: str, fields: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        kind, name = self.kind(path), self.name_of_text
        if kind == "parquet":
            numbers = count(1)
            for batch in self._parquet_batches(path, (name, *fields)):
                for values in zip(*batch.values(), strict=True):
                    yield next(numbers), dict(zip(batch, values, strict=True))
        elif kind == "table":
            rows = self._table(path, partial(self._mended, path))
            header = next(rows)
            for number, row in enumerate(rows, 1):
                cells = zip(header, row, strict=False)
                yield number, {key: cell if cell or key == name else None for key, cell in cells}
        else:
            for number, line in enumerate(_whole_lines(self._read_text(path), shown(path)), 1):
                text = self._mended(path, line)
                if kind == "text":
                    yield number, {name: text.rstrip("\r")}
                elif text.strip():
                    yield number, self._record(text, path, number)

    def lines(self, path: str) -> Iterator[str]:
        """Yield the lines of a file as text, whatever its name, without their line ends."""
        for line in _whole_lines(self._read_text(path), shown(path)):
            yield self._mended(path, line).rstrip("\r")

    def texts(self, path: str) -> Iterator[str]:
        """Yield the text of each line, record or row."""
        for number, record in self.rows(path):
            check_text(record, self.name_of_text, f"{shown(path)} record {number}")
            yield record[self.name_of_text]

    def whole(self, path: str, *, most: int) -> str:
        """Return all of a text file, which must have at most ``most`` bytes."""
        data = bytearray()
        for piece in self._read_text(path):
            data += piece
            if len(data) > most:  # before it is all in memory: a small file may hold very much
                raise InputError(
                    f"'{path}' is too long for one document; cut it, or give it by itself, a line a document"
                )
        return self._mended(path, bytes(data))

    def _mended(self, path: str, data: bytes) -> str:
        text, replaced = mend(data)
        if replaced:
            self.replaced += replaced
            if path not in self.damaged[-1:]:
                self.damaged.append(path)
        return text

    def _read_text(self, path: str) -> Iterator[bytes]:
        with open_stream(path, byte_range=self.byte_range) as stream:
            before, is_first = self.raw_bytes, self.byte_range is None or self.byte_range.begin == 0
            pieces = iter(lambda: stream.read(PIECE_BYTES), b"")
            for piece in pieces if self.encoding == UTF8 else _as_utf8(pieces, self.encoding, stream.name):
                self.raw_bytes = before + stream.raw_position
                if is_first:
                    check_is_text(piece[:_SAMPLE_BYTES], stream.name)
                yield piece.removeprefix(codecs.BOM_UTF8) if is_first else piece
                is_first = False

    def _read_json_lines(self, path: str) -> Iterator[bytes]:
        field, before = self.name_of_text, 0
        for lines in split_lines(self._read_text(path)):
            texts = []
            for number, line in enumerate(lines, before + 1):
                if not line.strip():
                    continue
                record = self._record(line, path, number)
                if not self.choice.wants(record):
                    continue
                if not isinstance(record.get(field), str):
                    raise InputError(
                        f"{self._place(path, number)} has no text in field '{field}' (it has: "
                        f'{", ".join(map(str, record))}); name the field that holds the text: column="NAME"'
                    )
                texts.append(line_of(record[field]))
            yield b"".join(texts)
            before += len(lines)

    def _record(self, line: bytes | str, path: str, number: int) -> Mapping[str, Any]:
        """Return one record of JSON lines."""
        where = self._place(path, number)
        if len(line) >= LONGEST:
            raise InputError(
                f"{where} is longer than {format_size(LONGEST)}; cut its text into several records"
            )
        if number == 1 and line[:64].lstrip()[:1] in (b"[", "["):
            raise _is_array(shown(path))
        try:
            record = parse_json(line)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); correct the line or remove it") from error
        if not isinstance(record, dict):
            raise InputError(
                f"{where} is not a record, but {type(record).__name__}; write each text as an object on one line"
            )
        return record

    def _place(self, path: str, number: int) -> str:
        return f"{shown(path)} line {number}{self.byte_range.after if self.byte_range else ''}"

    def _read_table(self, path: str) -> Iterator[bytes]:
        rows = self._table(path, lambda line: line.decode("utf-8", "surrogateescape"))
        header = next(rows)
        place = header.index(self.name_of_text)
        if self.choice.where:
            rows = (row for row in rows if self.choice.wants(dict(zip(header, row, strict=False))))
        while batch := list(islice(rows, _ROWS)):
            yield b"".join(line_of(row[place], "surrogateescape") for row in batch if row[place])

    def _table(self, path: str, decode: Callable[[bytes], str]) -> Iterator[list[str]]:
        """Yield the header of a table, in which the text has a column, and then its rows, none of them ragged."""
        # The limit is the whole process's, so it is only raised.
        csv.field_size_limit(max(LONGEST, csv.field_size_limit()))
        lines = (decode(line) + "\n" for line in _whole_lines(self._read_text(path), shown(path)))
        first = next(lines, "")
        column = self.name_of_text
        reader = csv.reader(chain([first], lines), delimiter=_delimiter(first, column, path), strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            if header.count(column) != 1:
                has = ", ".join(name[:40] for name in header)
                raise InputError(
                    f"{shown(path)} has {'several columns' if column in header else 'no column'} '{column}' in its "
                    f'first row (it has: {has}); name the column that holds the text: column="NAME"'
                )
            self.choice.check(header, shown(path))
            yield header
            for row in reader:
                if row and (len(row) < len(header) or any(row[len(header) :])):
                    raise InputError(
                        f"{shown(path)} has {len(row)} cells in the row that ends in line {reader.line_num}, but "
                        f"{len(header)} columns; put quotation marks around cells that hold a separator or a line end"
                    )
                if row:
                    yield row
        except csv.Error as error:
            raise InputError(
                f"{shown(path)} is not a table at line {reader.line_num} ({error}); put quotation marks around cells "
                "that hold some, and double these"
            ) from error

    def _read_parquet(self, path: str) -> Iterator[bytes]:
        column = self.name_of_text
        for batch in self._parquet_batches(path, (column,)):
            texts = batch[column]
            if self.choice.where:
                rows = (dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True))
                texts = [row[column] for row in rows if self.choice.wants(row)]
            if any(not isinstance(text, str | None) for text in texts):
                raise InputError(
                    f"column '{column}' of '{path}' does not hold text; name the column that does: column=\"NAME\""
                )
            yield b"".join(line_of(text) for text in texts if text)

    def _parquet_batches(self, path: str, columns: Collection[str]) -> Iterator[dict[str, list[Any]]]:
        """Yield the columns that the file has of these, of which the first must be there, and those to choose by."""
        parquet: Any = import_extra("pyarrow.parquet", extra="parquet", purpose=f"reading '{path}' (Parquet)")
        pyarrow: Any = import_extra("pyarrow", extra="parquet", purpose=f"reading '{path}' (Parquet)")
        before = self.raw_bytes
        try:
            with open_file(path) as source:
                size = source.seek(0, os.SEEK_END)
                file = parquet.ParquetFile(source)
                names = file.schema_arrow.names
                column = next(iter(columns))
                if column not in names:
                    raise InputError(
                        f"'{path}' has no column '{column}' (it has: {', '.join(names)}); "
                        'name the column that holds the text: column="NAME"'
                    )
                self.choice.check(names, f"'{path}'")
                rows = 0
                wanted = dict.fromkeys((*columns, *(name for name, _ in self.choice.where)))
                read = [name for name in wanted if name in names]
                for batch in file.iter_batches(columns=read, batch_size=_ROWS):
                    rows += len(batch)
                    self.raw_bytes = before + size * rows // max(file.metadata.num_rows, 1)
                    yield batch.to_pydict()
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(
                f"'{path}' is a damaged Parquet file ({error}); download or copy it again"
            ) from error


# Which records are read: by field, the values of which one must stand there, all as they are written.
Where: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def make_where(given: Mapping[str, Any] | None) -> Where:
    """Return what ``given`` asks of a record: by the name of a field, its value or several of which one will do.

    >>> make_where({"party": ["B", "A"], "year": 2000})
    (('party', ('A', 'B')), ('year', ('2000',)))
    """
    found = []
    for name, asked in sorted((given or {}).items()):
        values = asked if isinstance(asked, list | tuple | set | frozenset | range) else [asked]
        written = sorted({text for text in map(written_value, values) if text is not None})
        if not written:
            raise InputError(f"where has no value for '{name}'; give one, or a list of them")
        found.append((str(name), tuple(written)))
    return tuple(found)


def written_value(value: Any) -> str | None:
    """Return the value of a field as text, and None where there is none; years that became 2000.0 are whole again.

    >>> written_value(2000.0), written_value("A"), written_value(float("nan"))
    ('2000', 'A', None)
    """
    if value is None or isinstance(value, dict | list) or value != value:
        return None
    is_whole = isinstance(value, float) and value.is_integer()
    return as_written(str(int(value) if is_whole else value))


def as_written(text: str) -> str:
    r"""Return ``text`` as UTF-8 can write it: names of files, and JSON, may hold halves of characters.

    >>> as_written("caf\u00e9 \ud800")
    'café ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclasses.dataclass
class Choice:
    """Chooses the records that ``where`` asks for, and can say why it has ``chosen`` none."""

    where: Where = ()
    chosen: int = 0
    there: dict[str, dict[str, None]] = dataclasses.field(default_factory=dict)

    def wants(self, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is one of those asked for."""
        if all(written_value(record.get(name)) in values for name, values in self.where):
            self.chosen += 1
            return True
        for name, _ in self.where if not self.chosen else ():
            value, found = written_value(record.get(name)), self.there.setdefault(name, {})
            if value is not None and len(found) < _VALUES:
                found[value] = None
        return False

    def check(self, names: Collection[Any], table: str) -> None:
        """Raise :class:`InputError` if a column is asked for that a table does not have."""
        for name, _ in self.where:
            if name not in names:
                has = ", ".join(str(one)[:40] for one in names)
                raise InputError(
                    f"{table} has no column '{name}' to choose rows by (it has: {has}); check where"
                )

    def why_none(self) -> str:
        """Say that no record was as it was asked for, and which values there are."""
        asked = " and ".join(f"{name}={','.join(values)}" for name, values in self.where)
        found = "; ".join(
            f"'{name}' is {', '.join(sorted(values)[: _VALUES - 1])}{' and more' if len(values) == _VALUES else ''}"
            if values
            else f"nothing has a field '{name}'"
            for name, values in self.there.items()
        )
        return f"nothing has {asked} ({found or 'there is nothing'}); check where"


def check_text(record: Mapping[str, Any], name: str, where: str) -> None:
    """Raise :class:`InputError` unless a record has text in the field ``name``."""
    if name not in record:
        raise InputError(
            f"{where} has no text in field '{name}' (it has: {', '.join(map(str, record))}); leave it out, or name the "
            'field that holds the text: column="NAME"'
        )
    if not isinstance(record[name], str):
        raise InputError(
            f"{where} has {record[name]!r:.40} in field '{name}', which is no text; leave it out"
        )


def line_of(text: str, errors: str = "replace") -> bytes:
    """Return a record's text as a line of a file, or as several if it holds newlines."""
    return text.encode("utf-8", errors).rstrip(b"\n") + b"\n"


def mend(data: bytes | bytearray) -> tuple[str, int]:
    r"""Return bytes as text, and how many stretches of them were not UTF-8 and are U+FFFD now.

    >>> mend(b"caf\xe9")
    ('caf\ufffd', 1)
    """
    try:
        return data.decode("utf-8"), 0
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        mark = "\N{REPLACEMENT CHARACTER}"
        return text, text.count(mark) - data.count(mark.encode())


def find_encoding(name: str) -> str:
    """Return the name by which Python knows an encoding of text.

    >>> find_encoding("UTF8"), find_encoding("Latin-1")
    ('utf-8', 'iso8859-1')
    """
    try:
        bytes(4).decode(name, "replace")  # refuses what is no encoding of text
        found = codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"there is no encoding {name!r}; give one that Python knows, such as utf-8, latin-1, cp1252 or utf-16"
        ) from error
    return UTF8 if found == "utf-8-sig" else found  # a byte order mark is left out in any case


def guess_encoding(sample: bytes) -> str | None:
    """Return which encoding text that is not UTF-8 looks like; None if its script is hardly Latin, or none can be told.

    >>> guess_encoding("naïve".encode("latin-1")), guess_encoding("a “naïve” reader".encode("cp1252"))
    ('latin-1', 'windows-1252')
    >>> guess_encoding("привет, мир".encode("cp1251"))
    """
    high = len(sample) - len(sample.translate(None, bytes(range(128, 256))))
    if 3 * high > len(sample):
        return None
    controls = {byte for byte in sample if 0x80 <= byte < 0xA0}
    if controls & set(b"\x81\x8d\x8f\x90\x9d"):  # not in windows-1252
        return None
    return "windows-1252" if controls else "latin-1"


def check_is_text(sample: bytes, name: str) -> None:
    """Raise :class:`InputError` if ``sample``, the beginning of a file, does not look like text that can be counted."""
    wide = _wide_encoding(sample)
    if wide is not None:
        raise InputError(f'{name} is {wide.upper()}, not UTF-8; read it with encoding="{wide}"')
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    bad = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    is_foreign = bad > max(len(sample) // 4, _FEW)
    if controls > max(len(sample) // 10, _FEW) or (is_foreign and 100 * controls > bad):
        raise InputError(
            f"{name} contains binary data, not text; give plain or compressed text, JSON lines, CSV, TSV or Parquet"
        )
    if is_foreign:
        raise InputError(f"{name} is not UTF-8; {OTHER_SCRIPT}")
    beginning = sample.removeprefix(codecs.BOM_UTF8)
    markup = _MARKUP.match(beginning)
    if markup is not None and markup[1] == b"mediawiki":
        raise InputError(f"{name} is a MediaWiki dump; make text of it first, with: psdvec extract")
    if markup is not None:
        raise InputError(
            f"{name} is HTML, whose markup would be counted as words; make text of it first, for example with: "
            "pandoc -f html -t plain"
        )
    if _JSON_ARRAY.match(beginning):
        raise _is_array(name)


def _is_array(name: str) -> InputError:
    return InputError(
        f"{name} is a JSON array, not JSON lines; write one object per line, for example with: jq -c '.[]'"
    )


def _wide_encoding(sample: bytes) -> str | None:
    """Return the encoding of text whose characters have two or four bytes, by its byte order mark or its NULs."""
    if sample.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    # Which of four bytes are NUL more often than not.
    nuls = "".join("0" if sample[place::4].count(0) * 8 > len(sample) else "x" for place in range(4))
    found = {"x000": "utf-32-le", "000x": "utf-32-be", "x0x0": "utf-16-le", "0x0x": "utf-16-be"}.get(nuls)
    text = "" if found is None else sample.decode(found, "replace")
    return found if 2 * sum(map(str.isprintable, text)) > len(text) else None  # numbers have such NULs, too


def _as_utf8(pieces: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield text of another encoding as UTF-8, with a byte that is none for each stretch that makes no sense."""
    decoder = codecs.getincrementaldecoder(encoding)("psdvec.bad")
    try:
        for piece in chain(pieces, [b""]):
            if found := decoder.decode(piece, not piece):
                yield found.encode("utf-8", "surrogateescape")
    except UnicodeError as error:
        raise InputError(f"{name} cannot be read as {encoding} ({error}); name another encoding") from error


def _delimiter(first: str, column: str, path: str) -> str:
    """Return what separates cells: that of three for which the first line names the column of the text."""
    tabs = _bare(path).endswith(_TAB_NAMES)
    for delimiter in ("\t", ",", ";") if tabs else (",", ";", "\t"):
        if column in (cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])):
            return delimiter
    return "\t" if tabs else max(",;\t", key=first.count)


def _head(path: str) -> bytes:
    """Return how a file begins, decompressed; nothing of standard input is lost by it."""
    if path == STANDARD_INPUT:
        source: Any = None if sys.stdin is None else sys.stdin.buffer
        return b"" if source is None else bytes(source.peek(1)[:_SNIFFED])
    with open_stream(path) as stream:
        return stream.read(_SNIFFED)


def _bare(path: str) -> str:
    """Return a name without the ending that says how the file is compressed, in lower case."""
    name = path.lower()
    for ending in _COMPRESSED_NAMES:
        name = name.removesuffix(ending)
    return name
