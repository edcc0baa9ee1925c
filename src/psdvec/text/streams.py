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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from psdvec.errors import InputError, import_extra

STANDARD_INPUT = "-"

_READ_AHEAD = 1 << 22
_CHUNK = 1 << 18
_ZSTD_PIECE = 1 << 12


class ByteRange(NamedTuple):
    """The bytes of a file from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int

    @property
    def after(self) -> str:
        """What an error message adds to a position that is counted from ``begin``."""
        return f" after byte {self.begin}" if self.begin else ""


class Span(NamedTuple):
    """Bytes of a plain file on this machine, from ``begin`` up to ``end``, to be read by whoever wants them."""

    path: Path
    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.end - self.begin

    def first(self, size: int) -> Span:
        """Return the first ``size`` bytes."""
        return self._replace(end=self.begin + size)

    def after(self, size: int) -> Span:
        """Return what follows the first ``size`` bytes."""
        return self._replace(begin=self.begin + size)

    def read(self, room: bytearray | None = None) -> bytearray:
        """Return the bytes, in the place of what is in ``room``: new memory would cost as much as reading them."""
        room, filled = bytearray() if room is None else room, 0
        try:
            del room[self.size :]
            room += bytes(self.size - len(room))
        except BufferError:  # what was stopped meanwhile may still look at it
            room = bytearray(self.size)
        try:
            with self.path.open("rb", buffering=0) as file, memoryview(room) as view:
                file.seek(self.begin)
                while filled < self.size and (count := file.readinto(view[filled:])):
                    filled += count
        except OSError as error:
            raise _unreadable(self.path, error) from error
        if filled < self.size:
            raise InputError(
                f"'{self.path}' became shorter while it was read; run the same command again when it is whole"
            )
        return room


class Status(NamedTuple):
    """A file's size, and a value that changes whenever the file does."""

    bytes: int
    version: int | str


def shown(path: str | Path) -> str:
    """Return the name of a file as error messages show it."""
    return "standard input" if str(path) == STANDARD_INPUT else f"'{path}'"


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
    raw_size: int | None = None
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
    Opening and reading raise :class:`InputError`, and opening Zstandard without its extra, ``MissingExtraError``.

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

    _is_ours = False  # to close; nothing is, until it is open

    def __init__(self, path: str | Path, byte_range: ByteRange | None = None) -> None:
        self._is_standard_input = str(path) == STANDARD_INPUT
        self.name = shown(path)
        if self._is_standard_input and sys.stdin is None:
            raise InputError(
                "standard input is closed, and nothing can be read from it; give a file, or pipe text in"
            )
        self._file: BinaryIO = sys.stdin.buffer if self._is_standard_input else open_file(path)
        self._is_ours = not self._is_standard_input
        self._pending = b""
        self._left: int | None = None  # how many bytes of the range have not been read
        if byte_range is not None:
            self.raw_size = self._left = byte_range.end - byte_range.begin
            self._file.seek(byte_range.begin)
        elif is_address(path):
            self.raw_size = file_status(str(path)).bytes
        elif stat.S_ISREG((status := os.fstat(self._file.fileno())).st_mode):
            self.raw_size = status.st_size
            self.path = None if self._is_standard_input else Path(path)

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
        if self._is_ours:
            self._file.close()
        super().close()


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


class _CompressedStream(_Decompressed):
    """Decodes one member after the other; zeros between and after members are padding."""

    def __init__(self, raw: _RawFile, compression: str, make_decoder: Callable[[], Any]) -> None:
        super().__init__(raw, compression)
        self._make_decoder = make_decoder
        self._decoder = make_decoder()

    def _read(self, size: int) -> bytes:
        decoded = b""
        while not decoded:
            data = b""
            if self._decoder.eof:
                data = self._next_member()
                if not data:
                    return b""
            elif self._decoder.needs_input:
                data = self._next_bytes()
                if not data:
                    raise self._truncated()
            try:
                decoded = self._decoder.decompress(data, size)
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
                raise self._damaged(f"shortly before byte {self.raw_position} ({error})") from error
        return decoded

    def _next_member(self) -> bytes:
        """Start a new decoder and return its first bytes, or nothing at the end of the file."""
        data: bytes = self._decoder.unused_data.lstrip(b"\0")
        while not data and (chunk := self._next_bytes()):
            data = chunk.lstrip(b"\0")
        if data:
            self._decoder = self._make_decoder()
        return data

    def _next_bytes(self) -> bytes:
        data = self._raw.read(_CHUNK)
        self.raw_position = self._raw.raw_position
        return data


class _GzipDecoder:
    """One member of a gzip file, with the interface of :class:`bz2.BZ2Decompressor`."""

    eof, needs_input, unused_data = False, True, b""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        decoded = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.eof, self.unused_data = self._inner.eof, self._inner.unused_data
        self.needs_input = not self._inner.unconsumed_tail
        return decoded


class _ZstdDecoder:
    """One frame of a Zstandard file, as above; fed in small pieces because nothing else limits its output."""

    eof, needs_input, unused_data = False, True, b""

    def __init__(self) -> None:
        zstandard = import_extra(
            "zstandard", extra="zstd", purpose="reading a file compressed with Zstandard"
        )
        self._error = zstandard.ZstdError
        self._inner = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = self._decoded = memoryview(b"")

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:
            self._waiting = memoryview(data)
        while not self._decoded and self._waiting and not self._inner.eof:
            piece, self._waiting = self._waiting[:_ZSTD_PIECE], self._waiting[_ZSTD_PIECE:]
            try:
                self._decoded = memoryview(self._inner.decompress(bytes(piece)))
            except self._error as error:
                raise OSError(str(error)) from error
        decoded, self._decoded = self._decoded[:max_length], self._decoded[max_length:]
        self.needs_input = not self._decoded and not self._waiting
        if self._inner.eof and not self._decoded:
            self.eof, self.unused_data = True, bytes(self._inner.unused_data) + bytes(self._waiting)
        return bytes(decoded)


_FORMATS: tuple[tuple[str, re.Pattern[bytes], Callable[[], Any]], ...] = (
    ("bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),
    ("gzip", re.compile(rb"\x1f\x8b\x08"), _GzipDecoder),
    ("xz", re.compile(rb"\xfd7zXZ\0"), lzma.LZMADecompressor),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", re.DOTALL), _ZstdDecoder),
)

# Parallel bzip2: a stream consists of a header, blocks that each begin with a magic number at any bit, and a trailer.
# No block depends on another, so each can be wrapped as a stream of its own and decoded in parallel with the others.

_BLOCK, _TRAILER = 0x314159265359, 0x177245385090
_MAGIC_BITS, _CHECKSUM_BITS = 48, 32
_HEADERS = {int.from_bytes(b"BZh%d" % level, "big") for level in range(1, 10)}
_LONGEST_BLOCK = 1 << 22


class _ParallelBzip2Stream(_Decompressed):
    """Decodes the blocks of a bzip2 file in several threads, and returns them in order."""

    def __init__(self, raw: _RawFile, workers: int) -> None:
        super().__init__(raw, "bzip2")
        self._ahead = 2 * workers
        self._pool = ThreadPoolExecutor(workers)
        self._pieces = split_bzip2(iter(lambda: raw.read(_CHUNK), b""))
        self._waiting: deque[tuple[Piece, Future[bytes] | None]] = deque()
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
        """Read until enough blocks are being decoded; whenever fewer than two are waiting, the file has ended."""
        try:
            for piece in islice(self._pieces, self._ahead - len(self._waiting)):
                self._waiting.append((piece, self._pool.submit(piece.decode) if piece.is_block else None))
        except OverflowError:
            raise self._damaged(f"shortly before byte {self._raw.raw_position}") from None

    def _block(self, piece: Piece, decoding: Future[bytes]) -> bytes:
        """Return the bytes of a block, which may go on past what only looked like a magic number."""
        if not self._waiting:
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
        """Check that no block of the stream was missing, and that zeros and a header, or the end, follow it."""
        if piece.bits < _MAGIC_BITS + _CHECKSUM_BITS:
            raise self._truncated()
        if piece.checksum != self._checksum:
            raise self._damaged(f"before byte {piece.offset} (the stream has another checksum)")
        if piece.after_trailer not in (_HEADERS if self._waiting else {0}):
            raise self._damaged(f"after byte {piece.offset} (no bzip2 stream begins there)")
        self._checksum = 0

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


@dataclass(frozen=True)
class Piece:
    """What lies between two magic numbers: ``bits`` bits as one integer, and the byte in which they begin."""

    number: int
    bits: int
    offset: int

    @property
    def is_block(self) -> bool:
        """Whether this is a block, and not a trailer followed by the header of the next stream."""
        return self.bits >= _MAGIC_BITS and self.number >> (self.bits - _MAGIC_BITS) == _BLOCK

    @property
    def checksum(self) -> int:
        """The checksum that follows the magic number: of the block, or of the stream."""
        return (self.number >> max(self.bits - _MAGIC_BITS - _CHECKSUM_BITS, 0)) & 0xFFFFFFFF

    @property
    def after_trailer(self) -> int:
        """What follows the trailer, without the bits that fill its last byte, which mean nothing."""
        follow = max(self.bits - _MAGIC_BITS - _CHECKSUM_BITS, 0)
        return self.number & ((1 << follow - follow % 8) - 1)

    def __add__(self, other: Piece) -> Piece:
        return Piece(self.number << other.bits | other.number, self.bits + other.bits, self.offset)

    def decode(self) -> bytes:
        """Return the decoded bytes of a block; raise :class:`OSError` or :class:`ValueError` if it is damaged."""
        trailer = _TRAILER << _CHECKSUM_BITS | self.checksum
        number = self.number << (_MAGIC_BITS + _CHECKSUM_BITS) | trailer
        bits = self.bits + _MAGIC_BITS + _CHECKSUM_BITS
        padding = -bits % 8
        return bz2.decompress(b"BZh9" + (number << padding).to_bytes((bits + padding) // 8, "big"))


def split_bzip2(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """Cut a bzip2 file into pieces at everything that looks like a magic number; OverflowError if one has no end."""
    data, offset = b"", 0  # what has been read from byte `offset` of the file on
    start: int | None = None  # the bit of `data` at which a piece begins
    for chunk in chunks:
        searched = 0 if start is None else max(len(data) - 7, 0)
        data += chunk
        for bit in sorted(_magic_numbers(data, searched)):
            if start is not None and bit > start:
                yield _cut_piece(data, offset, start, bit)
            start = bit
        done = max(len(data) - 7, 0) if start is None else start // 8
        data, offset = data[done:], offset + done
        start = None if start is None else start - 8 * done
        if len(data) > _LONGEST_BLOCK:
            raise OverflowError
    if start is not None:
        yield _cut_piece(data, offset, start, 8 * len(data))


def _cut_piece(data: bytes, offset: int, start: int, end: int) -> Piece:
    """Return the bits from ``start`` to ``end`` of ``data``, which begins at byte ``offset`` of the file."""
    first, last = start // 8, -(-end // 8)
    number = int.from_bytes(data[first:last], "big") >> (8 * last - end)
    return Piece(number & ((1 << end - start) - 1), end - start, offset + first)


def _magic_numbers(data: bytes, searched: int) -> Iterator[int]:
    """Yield the bits of ``data`` at which magic numbers begin, in no order, searching from byte ``searched``."""
    for magic in (_BLOCK, _TRAILER):
        for shift in range(8):  # bits into a byte
            inner, place = (magic << (8 - shift)).to_bytes(7, "big")[1:6], searched
            while (place := data.find(inner, place + 1)) >= 0:
                window = int.from_bytes(data[place - 1 : place + 6].ljust(7, b"\0"), "big")
                if (window >> (8 - shift)) & ((1 << _MAGIC_BITS) - 1) == magic:
                    yield 8 * (place - 1) + shift
