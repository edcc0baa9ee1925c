"""Lines: the one place where bytes are cut into lines.

:func:`split_lines` cuts pieces of bytes as they arrive, :func:`stream_lines` decodes the lines of a long text one
by one, and :func:`read_lines` reads a short file whole and insists that it is UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from psdvec.errors import InputError
from psdvec.resources import format_size
from psdvec.text.decompress import ByteStream, open_stream

LONGEST = 1 << 26  # bytes of a line that is handled as a whole
_CHUNK = 1 << 20
_LINE_END = re.compile(r"\r\n?|\n")


def split_lines(pieces: Iterable[bytes], *, longest: int | None = None) -> Iterator[list[bytes]]:
    r"""Yield, piece by piece, the lines that end in it, without their newlines; a last line may lack its newline.

    A line that grows to ``longest`` bytes or more is yielded as far as it has been read, and is the last: whoever sets
    a limit refuses such a line, and nothing more of it is kept in memory.

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
        if longest is not None and size >= longest:
            break
    rest = b"".join(begun)
    if rest:
        yield [rest]


def stream_lines(stream: ByteStream) -> Iterator[str]:
    """Yield the lines of ``stream``, without their line ends; bytes that are not UTF-8 are replaced.

    A line that is longer than any that a program should hold in memory is refused.
    """
    pieces = iter(lambda: stream.read(_CHUNK), b"")
    for number, line in enumerate(chain.from_iterable(split_lines(pieces, longest=LONGEST)), 1):
        if len(line) >= LONGEST:
            raise InputError(
                f"line {number} of {stream.name} is longer than {format_size(LONGEST)}; end its lines sooner"
            )
        yield line.decode("utf-8", "replace").rstrip("\r")


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a UTF-8 file, plain or compressed, without their line ends and any byte order mark."""
    with open_stream(path) as stream:
        data = b"".join(iter(lambda: stream.read(_CHUNK), b""))
    try:
        return _LINE_END.split(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"'{path}' is not UTF-8 text (byte {error.start}); convert it, for example with iconv"
        ) from error
