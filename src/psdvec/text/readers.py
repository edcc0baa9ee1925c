"""Reads the text of a file in pieces of bytes, whatever format the file has.

Formats are plain or compressed text, JSON lines and Parquet; every record of the last two
ends a line. Files that are not text are refused before any of their content is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psdvec.errors import InputError, import_extra
from psdvec.resources import format_size
from psdvec.storage.json_text import parse_json
from psdvec.text.decompress import STANDARD_INPUT, open_stream
from psdvec.text.files import ByteRange, file_status, open_file
from psdvec.text.lines import LONGEST, split_lines

PIECE_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 16
_JSON_NAMES = (".jsonl", ".ndjson", ".jsonlines")
_COMPRESSED_NAMES = (".gz", ".bz2", ".xz", ".zst")
_PARQUET_MAGIC = b"PAR1"
_BOM = b"\xef\xbb\xbf"
_FEW = 32  # this many strange bytes are tolerated even in a short file
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\x1b") + b"\x7f"


class Reader:
    """Reads files one after the other, or the ``byte_range`` of one; ``raw_bytes`` says how much it has read so far."""

    def __init__(self, field: str | None, column: str | None, byte_range: ByteRange | None = None) -> None:
        self.field, self.column, self.byte_range = field, column, byte_range
        self.raw_bytes = 0

    def read(self, path: str, skip: int) -> Iterator[bytes]:
        """Yield the text of ``path`` in pieces, without its first ``skip`` bytes."""
        for piece in self._read_whole(path):
            if skip < len(piece):
                yield piece[skip:] if skip else piece
            skip = max(skip - len(piece), 0)

    def _read_whole(self, path: str) -> Iterator[bytes]:
        is_json = self.field is not None or is_json_name(path)
        if is_parquet(path):
            return self._read_parquet(path)
        return self._read_json_lines(path) if is_json else self._read_text(path)

    def _read_text(self, path: str) -> Iterator[bytes]:
        with open_stream(path, byte_range=self.byte_range) as stream:
            before, is_first = self.raw_bytes, self.byte_range is None or self.byte_range.begin == 0
            while piece := stream.read(PIECE_BYTES):
                self.raw_bytes = before + stream.raw_position
                if is_first:
                    check_is_text(piece[:_SAMPLE_BYTES], stream.name)
                    piece = without_mark(piece)
                    is_first = False
                yield piece

    def _read_json_lines(self, path: str) -> Iterator[bytes]:
        before = 0
        for lines in split_lines(self._read_text(path), longest=LONGEST):
            yield b"".join(self._text_of(line, path, number) for number, line in enumerate(lines, before + 1))
            before += len(lines)

    def _text_of(self, line: bytes, path: str, number: int) -> bytes:
        """Return the text of one JSON record, ended by a newline; nothing for an empty line."""
        if not line.strip():
            return b""
        field = self.field or "text"
        where = f"'{path}' line {number}{self.byte_range.after if self.byte_range else ''}"
        if len(line) >= LONGEST:
            raise InputError(
                f"{where} is longer than {format_size(LONGEST)}; cut its text into several records"
            )
        try:
            record = parse_json(line)
        except ValueError as error:
            raise InputError(f"{where} is not JSON ({error}); correct the line or remove it") from error
        if not isinstance(record, dict) or not isinstance(record.get(field), str):
            has = ", ".join(map(str, record)) if isinstance(record, dict) else type(record).__name__
            raise InputError(
                f"{where} has no text in field '{field}' (it has: {has}); "
                'name the field that holds the text: field="NAME"'
            )
        return line_of(record[field])

    def _read_parquet(self, path: str) -> Iterator[bytes]:
        parquet: Any = import_extra("pyarrow.parquet", extra="parquet", purpose=f"reading '{path}' (Parquet)")
        pyarrow: Any = import_extra("pyarrow", extra="parquet", purpose=f"reading '{path}' (Parquet)")
        column, before, size = self.column or "text", self.raw_bytes, file_status(path).bytes
        try:
            with open_file(path) as source:
                file = parquet.ParquetFile(source)
                if column not in file.schema_arrow.names:
                    has = ", ".join(file.schema_arrow.names)
                    raise InputError(
                        f"'{path}' has no column '{column}' (it has: {has}); "
                        'name the column that holds the text: column="NAME"'
                    )
                rows = 0
                for batch in file.iter_batches(columns=[column], batch_size=4096):
                    texts = batch.column(0).to_pylist()
                    if any(not isinstance(text, str | None) for text in texts):
                        raise InputError(
                            f"column '{column}' of '{path}' does not hold text; "
                            'name the column that does: column="NAME"'
                        )
                    rows += len(texts)
                    self.raw_bytes = before + size * rows // max(file.metadata.num_rows, 1)
                    yield b"".join(line_of(text) for text in texts if text)
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(
                f"'{path}' is a damaged Parquet file ({error}); download or copy it again"
            ) from error


def can_be_cut(path: str) -> bool:
    """Tell whether part of ``path`` can be read without the rest, as is true of uncompressed text and JSON lines."""
    if is_parquet(path):
        return False
    with open_stream(path) as stream:
        return stream.compression is None


def is_parquet(path: str) -> bool:
    """Tell whether ``path`` begins as Parquet files do."""
    if path == STANDARD_INPUT:
        return False
    with open_file(path) as file:
        return file.read(4) == _PARQUET_MAGIC


def line_of(text: str) -> bytes:
    """Return a record's text as a line of a file, or as several if it holds newlines."""
    return text.encode("utf-8", "replace").rstrip(b"\n") + b"\n"


def without_mark(beginning: bytes) -> bytes:
    """Return the beginning of a text without its byte order mark."""
    return beginning.removeprefix(_BOM)


def is_json_name(path: str) -> bool:
    """Tell whether ``path`` is named as JSON lines are, compressed or not."""
    name = path.lower()
    for ending in _COMPRESSED_NAMES:
        name = name.removesuffix(ending)
    return name.endswith(_JSON_NAMES)


def check_is_text(sample: bytes, name: str) -> None:
    """Raise :class:`InputError` if ``sample``, the beginning of a file, does not look like text."""
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(
            f"{name} is UTF-16, not UTF-8; convert it, for example with: iconv -f UTF-16 -t UTF-8"
        )
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    bad = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    if controls > max(len(sample) // 10, _FEW) or bad > max(len(sample) // 4, _FEW):
        raise InputError(
            f"{name} contains binary data, not text; give plain or compressed text, JSON lines or Parquet"
        )
