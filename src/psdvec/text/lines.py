"""Lines: the one place where bytes are cut into lines.

:func:`split_lines` cuts pieces of bytes as they arrive, :func:`stream_lines` decodes the lines of a long text one
by one, and :func:`read_lines` reads a short file whole and insists that it is UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from psdvec.errors import InputError
from psdvec.text.decompress import ByteStream, open_stream

_CHUNK = 1 << 20
_LINE_END = re.compile(r"\r\n?|\n")


def split_lines(pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
    r"""Yield, for each piece, the lines that end in it, without their newlines; a last line may lack its newline.

    >>> list(split_lines([b"one\nt", b"wo\nthree"]))
    [[b'one'], [b'two'], [b'three']]
    """
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield lines
    if rest:
        yield [rest]


def stream_lines(stream: ByteStream) -> Iterator[str]:
    """Yield the lines of ``stream``, without their line ends; bytes that are not UTF-8 are replaced."""
    for lines in split_lines(iter(lambda: stream.read(_CHUNK), b"")):
        for line in lines:
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
