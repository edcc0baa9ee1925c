"""Byte streams: the bytes of a file, an address or standard input, decompressed if they are compressed.

The compression (bzip2, gzip, xz, Zstandard or none) is recognised by the first bytes, never by the name, and files of
several members, streams or frames are read to their end. Truncated or damaged input raises an
:class:`~psdvec.errors.InputError` that names the file and the byte. Addresses such as ``s3://bucket/text.txt`` are read
through fsspec: they need the extra ``distributed``, and the package for their kind of storage (s3fs, gcsfs, ...).
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from psdvec.errors import InputError, import_extra
from psdvec.text.bzip2 import Piece, Splitter

# Opens files by name, whether a path on this machine or an address such as ``s3://bucket/text.txt``.

_READ_AHEAD = 1 << 22


class ByteRange(NamedTuple):
    """The bytes of a file from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int

    @property
    def after(self) -> str:
        """What an error message adds to a position that is counted from ``begin``."""
        return f" after byte {self.begin}" if self.begin else ""


class Status(NamedTuple):
    """A file's size, and a value that changes whenever the file does."""

    bytes: int
    version: int | str


def is_address(name: str | Path) -> bool:
    """Tell whether ``name`` is an address for fsspec rather than a path.

    >>> is_address("s3://bucket/text.txt"), is_address("text.txt")
    (True, False)
    """
    return "://" in str(name)


def expand_address(address: str) -> list[str]:
    """Return the addresses of the files that the address of a file, a folder or a glob stands for, sorted by name."""
    system, path = _reach(address)
    try:
        if system.isfile(path):
            return [address]
        found = system.find(path) if system.isdir(path) else system.glob(path)
        names = sorted(name for name in found if system.isfile(name))
    except OSError as error:
        raise _unreadable(address, error) from error
    if not names:
        raise InputError(f"there is no file at '{address}'; check the address")
    return [str(system.unstrip_protocol(name)) for name in names]


def file_status(name: str) -> Status:
    """Return the size and the version of a file."""
    try:
        if is_address(name):
            system, path = _reach(name)
            return Status(int(system.size(path)), str(system.ukey(path)))
        found = Path(name).stat()
        return Status(found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise _unreadable(name, error) from error


def open_file(name: str | Path) -> BinaryIO:
    """Open a file for reading bytes."""
    try:
        if is_address(name):
            system, path = _reach(str(name))
            remote: BinaryIO = system.open(path, "rb", block_size=_READ_AHEAD)
            return remote
        return Path(name).open("rb", buffering=0)
    except OSError as error:
        raise _unreadable(name, error) from error


def _reach(address: str) -> tuple[Any, str]:
    fsspec: Any = import_extra("fsspec", extra="distributed", purpose=f"reading '{address}'")
    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError) as error:
        raise InputError(
            f"'{address}' cannot be reached ({error}); check the address, or install the package it needs"
        ) from error
    return system, str(path)


def _unreadable(name: str | Path, error: OSError) -> InputError:
    return InputError(f"cannot read '{name}' ({error.strerror or error}); check the name")


# Byte streams: the bytes of a file or of standard input, decompressed if they are compressed.

STANDARD_INPUT = "-"

_CHUNK = 1 << 18
_ZSTD_PIECE = 1 << 12
_LONGEST_BLOCK = 1 << 22


class ByteStream(io.RawIOBase):
    """Bytes that are read once, in order; :class:`io.BufferedReader` looks ahead in them, and cuts them into lines.

    ``name``: that of the file as error messages show it. ``compression``: ``"bzip2"``, ``"gzip"``, ``"xz"``,
    ``"zstd"``, or None for plain bytes. ``raw_size``: the size of the file, or None if it is unknown (a pipe).
    ``raw_position``: how many bytes of the file have been read so far, counted before decompression. ``path``: that of
    an ordinary file with just these bytes, which could be mapped instead.
    """

    name: str
    path: Path | None = None
    compression: str | None = None
    raw_size: int | None
    raw_position = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return between 1 and ``size`` bytes, or ``b""`` at the end; all of them if no ``size`` is given."""
        return self.readall() if size < 0 else self._read(size)

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` as far as there are bytes, and return how many; whoever looks ahead sees enough of them."""
        filled = 0
        while filled < len(buffer) and (data := self._read(len(buffer) - filled)):
            buffer[filled : filled + len(data)] = data
            filled += len(data)
        return filled

    def _read(self, size: int) -> bytes:
        raise NotImplementedError


def open_stream(path: str | Path, *, workers: int = 1, byte_range: ByteRange | None = None) -> ByteStream:
    """Open ``path``, or standard input for ``"-"``, and decompress it if it is compressed.

    With several ``workers``, bzip2 is decompressed by that many threads; the bytes are the same.
    With a ``byte_range``, only those bytes of the file are read, and as they are unless they begin the file.

    Raises
    ------
    InputError
        If ``path`` cannot be opened; reading raises it if the data are truncated or damaged.
    MissingExtraError
        If the file is compressed with Zstandard and the extra ``zstd`` is not installed.

    Examples
    --------
    >>> with open_stream("pages-articles.xml.bz2") as stream:
    ...     stream.read(10)
    b'<mediawiki'
    """
    raw = _RawFile(path, byte_range)
    try:
        head = raw.peek(10) if byte_range is None or byte_range.begin == 0 else b""
        for compression, magic, make_decoder in _FORMATS:
            if magic.match(head) and compression == "bzip2" and workers > 1:
                return _ParallelBzip2Stream(raw, workers)
            if magic.match(head):
                return _CompressedStream(raw, compression, make_decoder)
        return raw
    except BaseException:
        raw.close()
        raise


class _RawFile(ByteStream):
    """The file as it is on disk, with errors of one sentence."""

    def __init__(self, path: str | Path, byte_range: ByteRange | None = None) -> None:
        self._is_standard_input = str(path) == STANDARD_INPUT
        self.name = "standard input" if self._is_standard_input else f"'{path}'"
        self._file: BinaryIO = _standard_input() if self._is_standard_input else open_file(path)
        self.raw_size = self._size(path) if byte_range is None else byte_range.end - byte_range.begin
        if byte_range is None and not self._is_standard_input and Path(path).is_file():
            self.path = Path(path)
        self._pending = b""
        self._left = None if byte_range is None else self.raw_size
        if byte_range is not None:
            self._file.seek(byte_range.begin)

    def _size(self, path: str | Path) -> int | None:
        if is_address(path):
            return file_status(str(path)).bytes
        status = os.fstat(self._file.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def peek(self, size: int) -> bytes:
        """Return the first ``size`` bytes, or fewer if the file is shorter, without consuming them."""
        while len(self._pending) < size and (data := self._read_file(size - len(self._pending))):
            self._pending += data
        return self._pending

    def _read(self, size: int) -> bytes:
        data, self._pending = self._pending[:size], self._pending[size:]
        if len(data) < size:
            data += self._read_file(size - len(data))
        self.raw_position += len(data)
        return data

    def _read_file(self, size: int) -> bytes:
        try:
            data = self._file.read(size if self._left is None else min(size, self._left))
        except OSError as error:
            raise InputError(
                f"reading {self.name} failed at byte {self.raw_position} ({error.strerror or error}); "
                "check the disk or the connection and try again"
            ) from error
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if not self.closed and not self._is_standard_input:
            self._file.close()
        super().close()


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise InputError(
            "standard input is closed, and nothing can be read from it; give a file, or pipe text in"
        )
    return sys.stdin.buffer


class _Decompressed(ByteStream):
    """What is common to streams that decompress a file."""

    def __init__(self, raw: _RawFile, compression: str) -> None:
        self._raw, self.compression = raw, compression
        self.name, self.raw_size = raw.name, raw.raw_size

    def close(self) -> None:
        self._raw.close()
        super().close()

    def _truncated(self) -> InputError:
        return InputError(
            f"{self.name} is truncated: its {self.compression} data end at byte {self._raw.raw_position}; "
            "download or copy the whole file again"
        )

    def _damaged(self, where: str) -> InputError:
        return InputError(
            f"{self.name} is damaged: its {self.compression} data are invalid {where}; download or copy the file again"
        )


class _Decoder(Protocol):
    """Decompresses one member, with the interface of :class:`bz2.BZ2Decompressor`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


class _CompressedStream(_Decompressed):
    """Decodes one member after the other; zeros between and after members are padding."""

    def __init__(self, raw: _RawFile, compression: str, make_decoder: Callable[[], _Decoder]) -> None:
        super().__init__(raw, compression)
        self._make_decoder = make_decoder
        self._decoder = make_decoder()

    def _read(self, size: int) -> bytes:
        while True:
            data = b""
            if self._decoder.eof:
                data = self._next_member()
                if not data:
                    return b""
            elif self._decoder.needs_input:
                data = self._next_bytes()
                if not data:
                    raise self._truncated()
            decoded = self._decode(data, size)
            if decoded:
                return decoded

    def _next_member(self) -> bytes:
        """Start a new decoder and return its first bytes, or nothing at the end of the file."""
        data = self._decoder.unused_data.lstrip(b"\0")
        while not data and (chunk := self._next_bytes()):
            data = chunk.lstrip(b"\0")
        if data:
            self._decoder = self._make_decoder()
        return data

    def _next_bytes(self) -> bytes:
        data = self._raw.read(_CHUNK)
        self.raw_position = self._raw.raw_position
        return data

    def _decode(self, data: bytes, size: int) -> bytes:
        try:
            return self._decoder.decompress(data, size)
        except (OSError, EOFError, lzma.LZMAError, zlib.error, _ZstdError) as error:
            raise self._damaged(f"shortly before byte {self.raw_position} ({error})") from error


class _ParallelBzip2Stream(_Decompressed):
    """Decodes the blocks of a bzip2 file in several threads, and returns them in order."""

    def __init__(self, raw: _RawFile, workers: int) -> None:
        super().__init__(raw, "bzip2")
        self._ahead = 2 * workers
        self._pool = ThreadPoolExecutor(workers)
        self._splitter = Splitter()
        self._waiting: deque[tuple[Piece, Future[bytes] | None]] = deque()
        self._finished = False
        self._decoded = memoryview(b"")
        self._checksum = 0

    def _read(self, size: int) -> bytes:
        while not self._decoded:
            self._fill()
            if not self._waiting:
                self.raw_position = self._raw.raw_position
                return b""
            piece, decoding = self._waiting.popleft()
            self.raw_position = piece.offset
            if decoding is None:
                self._check_trailer(piece)
            else:
                self._decoded = memoryview(self._block(piece, decoding))
        data, self._decoded = self._decoded[:size], self._decoded[size:]
        return bytes(data)

    def _fill(self) -> None:
        """Read until enough blocks are being decoded."""
        while not self._finished and len(self._waiting) < self._ahead:
            data = self._raw.read(_CHUNK)
            pieces = list(self._splitter.feed(data))
            if self._splitter.pending > _LONGEST_BLOCK:
                raise self._damaged(f"shortly before byte {self._raw.raw_position}")
            if not data:
                self._finished = True
                last = self._splitter.finish()
                pieces = [last] if last else []
            for piece in pieces:
                self._waiting.append((piece, self._pool.submit(piece.decode) if piece.is_block else None))

    def _block(self, piece: Piece, decoding: Future[bytes]) -> bytes:
        """Return the bytes of a block, which may go on past what only looked like a magic number."""
        if self._finished and not self._waiting:
            raise self._truncated()
        try:
            decoded = decoding.result()
        except (OSError, ValueError) as error:
            try:
                decoded = (piece + self._waiting[0][0]).decode()
            except (OSError, ValueError):
                raise self._damaged(f"in the block at byte {piece.offset} ({error})") from error
            self._waiting.popleft()
        self._checksum = (self._checksum << 1 & 0xFFFFFFFF | self._checksum >> 31) ^ piece.checksum
        return decoded

    def _check_trailer(self, piece: Piece) -> None:
        """Check that no block of the stream was missing, and that what follows it is valid."""
        is_last = self._finished and not self._waiting
        if piece.is_cut_short:
            raise self._truncated()
        if piece.checksum != self._checksum:
            raise self._damaged(f"before byte {piece.offset} (the stream has another checksum)")
        if not (piece.ends_the_file if is_last else piece.begins_a_stream):
            raise self._damaged(f"after byte {piece.offset} (no bzip2 stream begins there)")
        self._checksum = 0

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


class _GzipDecoder:
    """One member of a gzip file."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max(max_length, 0))


class _ZstdError(Exception):
    """Stands in for ``zstandard.ZstdError``, which cannot be named before the extra is imported."""


class _ZstdDecoder:
    """One frame of a Zstandard file, fed in small pieces because nothing else limits its output."""

    def __init__(self) -> None:
        zstandard = import_extra(
            "zstandard", extra="zstd", purpose="reading a file compressed with Zstandard"
        )
        self._error = zstandard.ZstdError
        self._inner = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = memoryview(b"")
        self._decoded = memoryview(b"")

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof) and not self._decoded

    @property
    def needs_input(self) -> bool:
        return not self._decoded and not self._waiting

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data) + bytes(self._waiting)

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        if data:
            self._waiting = memoryview(data)
        while not self._decoded and self._waiting and not self._inner.eof:
            self._decoded = memoryview(self._decode_piece())
        decoded, self._decoded = self._decoded[:max_length], self._decoded[max_length:]
        return bytes(decoded)

    def _decode_piece(self) -> bytes:
        piece, self._waiting = self._waiting[:_ZSTD_PIECE], self._waiting[_ZSTD_PIECE:]
        try:
            return bytes(self._inner.decompress(bytes(piece)))
        except self._error as error:
            raise _ZstdError(str(error)) from error


_FORMATS: tuple[tuple[str, re.Pattern[bytes], Callable[[], _Decoder]], ...] = (
    ("bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),
    ("gzip", re.compile(rb"\x1f\x8b\x08"), _GzipDecoder),
    ("xz", re.compile(rb"\xfd7zXZ\0"), lzma.LZMADecompressor),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL), _ZstdDecoder),
)
