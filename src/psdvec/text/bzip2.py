"""Splits a bzip2 file into blocks that can be decoded independently of each other.

A bzip2 stream consists of a header, blocks that each begin with a magic number at any bit, and a trailer. No block
depends on another, so :class:`Splitter` cuts the compressed bytes, chunk by chunk, into pieces, each of which can be
wrapped as a stream of its own and decoded in parallel with the others.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK, _TRAILER = 0x314159265359, 0x177245385090
_MAGIC_BITS, _CHECKSUM_BITS = 48, 32
_HEADERS = {int.from_bytes(b"BZh%d" % level, "big") for level in range(1, 10)}


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
    def is_cut_short(self) -> bool:
        """Whether the file ends within this trailer."""
        return self.bits < _MAGIC_BITS + _CHECKSUM_BITS

    @property
    def begins_a_stream(self) -> bool:
        """Whether the header of another stream follows this trailer, perhaps after zeros."""
        return self._after_trailer >> 32 == 0 and self._after_trailer & 0xFFFFFFFF in _HEADERS

    @property
    def ends_the_file(self) -> bool:
        """Whether nothing but zeros follows this trailer."""
        return self._after_trailer == 0

    @property
    def _after_trailer(self) -> int:
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


class Splitter:
    """Cuts a bzip2 file into pieces at everything that looks like a magic number."""

    def __init__(self) -> None:
        self._buffer = b""
        self._offset = 0
        self._start: int | None = None

    def feed(self, data: bytes) -> Iterator[Piece]:
        """Take the next bytes of the file, and yield the pieces that end in them."""
        searched = max(len(self._buffer) - 7, 0) if self._start is not None else 0
        self._buffer += data
        for bit in self._magic_numbers(searched):
            if self._start is not None and bit > self._start:
                yield self._piece(self._start, bit)
            self._start = bit
        done = len(self._buffer) - 7 if self._start is None else self._start // 8
        if done > 0:
            self._buffer = self._buffer[done:]
            self._offset += done
            self._start = None if self._start is None else self._start - 8 * done

    @property
    def pending(self) -> int:
        """How many bytes are waiting for the end of their piece."""
        return len(self._buffer)

    def finish(self) -> Piece | None:
        """Return what follows the last magic number."""
        return None if self._start is None else self._piece(self._start, 8 * len(self._buffer))

    def _piece(self, start: int, end: int) -> Piece:
        first, last = start // 8, -(-end // 8)
        number = int.from_bytes(self._buffer[first:last], "big") >> (8 * last - end)
        bits = end - start
        return Piece(number & ((1 << bits) - 1), bits, self._offset + first)

    def _magic_numbers(self, searched: int) -> list[int]:
        """Return the bits at which magic numbers begin, searching from byte ``searched``."""
        return sorted(
            bit for needle, shift in _NEEDLES for bit in _find_shifted(self._buffer, needle, shift, searched)
        )


def _find_shifted(data: bytes, magic: int, shift: int, start: int) -> Iterator[int]:
    """Yield the bits of ``data`` at which ``magic`` begins, if that is ``shift`` bits into a byte."""
    padded = (magic << (8 - shift)).to_bytes(7, "big") if shift else magic.to_bytes(6, "big")
    inner = padded[1:6]
    place = start
    while (place := data.find(inner, place + 1)) >= 0:
        window = int.from_bytes(data[place - 1 : place + 6].ljust(7, b"\0"), "big")
        if (window >> (8 - shift)) & ((1 << _MAGIC_BITS) - 1) == magic:
            yield 8 * (place - 1) + shift


_NEEDLES = [(magic, shift) for magic in (_BLOCK, _TRAILER) for shift in range(8)]
