"""The two formats of word2vec, text and binary, and the text format of GloVe, which has no first line.

Errors name the line, or the number of the word. A word read from text may hold spaces, since the numbers are counted
from the right; words with spaces are never written, because other readers would stumble over them.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import BinaryIO

import numpy as np

from psdvec.arrays import Float32s
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError
from psdvec.formats.collector import ReadingRules, RowCollector, Source
from psdvec.formats.decimals import format_rows
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size
from psdvec.text.readers import split_lines
from psdvec.vectors.embeddings import Embeddings

Line = tuple[int, bytes]

HEADER = re.compile(rb"(?:[ \t]*\r?\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,9})[ \t\r]*\n")
_CHUNK = 1 << 22
_ROWS = 1024
_BYTES = 1 << 26  # of rows that are read at a time, where they are so long that fewer do
_NUMBERS = 1 << 15
_SAMPLE = 100
_LONGEST_WORD = 1 << 16
_LONGEST_LINE = 1 << 23
_MOST_DIMENSIONS = 1 << 20  # so that a few bytes of a first line cannot ask for all memory


def read_text(source: Source, *, rules: ReadingRules, progress: Progress = LogProgress()) -> Embeddings:
    """Read ``word number number ...`` lines, with or without a first line ``words dimensions``."""
    with progress.stage("reading vectors", total=source.raw_size, unit="B") as stage:
        lines = _lines(source)
        sample = _take(lines, _SAMPLE)
        promised, dim = _read_shape(source.name, sample)
        collector = RowCollector(source.name, dim, unit="line", rules=rules)
        block = sample[promised is not None :] or _take(lines, _ROWS)
        position = 0
        while block and not collector.full:
            _add_lines(collector, block, dim)
            block = _take(lines, _ROWS)
            stage.advance(source.raw_position - position)
            position = source.raw_position
    return collector.finish(promised, progress)


def read_binary(source: Source, *, rules: ReadingRules, progress: Progress = LogProgress()) -> Embeddings:
    """Read a first line ``words dimensions``, then for each word its text, a space, and its float32 numbers."""
    buffer = _Buffer(source)
    promised, dim = _read_binary_header(buffer)
    collector = RowCollector(source.name, dim, unit="word", rules=rules)
    at_once = min(_ROWS, max(1, _BYTES // (4 * dim)))
    with progress.stage("reading vectors", total=promised, unit="words") as stage:
        for start in range(0, promised, at_once):
            places = range(start + 1, min(start + at_once, promised) + 1)
            rows = [_read_binary_row(buffer, place, promised, dim) for place in places]
            values = np.frombuffer(b"".join(numbers for _, numbers in rows), dtype="<f4")
            collector.add(places, [word for word, _ in rows], values.reshape(len(rows), dim))
            stage.advance(len(rows))
            if collector.full:
                break
    return collector.finish(promised, progress)


def write_text(embeddings: Embeddings, file: BinaryIO, *, header: bool = True) -> None:
    """Write text with nine significant digits, enough for float32 to be read back exactly; GloVe has no ``header``."""
    words = _encoded_words(embeddings)
    if header:
        file.write(b"%d %d\n" % (len(words), embeddings.dim))
    at_once = max(1, _NUMBERS // embeddings.dim)
    for start in range(0, len(words), at_once):
        rows = format_rows(embeddings.vectors[start : start + at_once])
        file.writelines(
            word + row + b"\n" for word, row in zip(words[start : start + at_once], rows, strict=True)
        )


def write_binary(embeddings: Embeddings, file: BinaryIO) -> None:
    """Write the binary format, with a line end after each row as word2vec does."""
    words = _encoded_words(embeddings)
    file.write(b"%d %d\n" % (len(words), embeddings.dim))
    for word, vector in zip(words, embeddings.vectors, strict=True):
        file.write(word + b" " + vector.astype("<f4").tobytes() + b"\n")


def looks_like_text(head: bytes) -> bool:
    """Say whether a file begins as text: with a word and numbers on one of its first lines.

    If the very first line promises a number of dimensions, one of the next lines must hold as many numbers, or all of
    them must hold some: the bytes of binary numbers may happen to read as a few.
    """
    header = HEADER.match(head)
    *lines, cut = head[header.end() if header else 0 :].split(b"\n")
    dim = int(header[2]) if header else 0
    found = [_columns(line)[1:][-dim:] for line in lines[:5] if line.strip()]
    if not found:
        begun = _columns(cut)[1:]
        return _all_numbers(begun) or _all_numbers(begun[:-1])
    rows = [numbers for numbers in found if _all_numbers(numbers)]
    return len(rows) == len(found) or any(not dim or len(numbers) == dim for numbers in rows)


# Text


def _lines(source: Source) -> Iterator[Line]:
    """Yield the lines that are not blank, each with its line number."""
    pieces = iter(lambda: source.read(_CHUNK), b"")
    for number, line in enumerate(chain.from_iterable(split_lines(pieces, longest=_LONGEST_LINE)), 1):
        if len(line) >= _LONGEST_LINE:
            raise InputError(
                f"line {number} of {source.name} is longer than {format_size(_LONGEST_LINE)}, and no vector is; "
                "give a file of word vectors"
            )
        line = line.rstrip(b" \t\r")
        if line:
            yield number, line


def _take(lines: Iterator[Line], most: int) -> list[Line]:
    """Return the next lines, ``most`` of them or fewer that are long."""
    taken, size = [], 0
    for line in islice(lines, most):
        taken.append(line)
        size += len(line[1])
        if size > _BYTES:
            break
    return taken


def _read_shape(name: str, sample: list[Line]) -> tuple[int | None, int]:
    """Return the number of words that the first line promises, or None, and the number of dimensions."""
    header = HEADER.fullmatch(sample[0][1] + b"\n") if sample else None
    widths = [len(_columns(line)) for _, line in sample]
    if header is not None and (len(widths) == 1 or widths[1] != 2 or int(header[2]) == 1):
        promised, dim = int(header[1]), int(header[2])
        _check_dimensions(name, dim)
        usual = Counter(widths[1:]).most_common(1)[0][0] - 1 if len(widths) > 1 else dim
        if dim == 0 or usual < dim or (usual > dim and _has_more_numbers(sample[1][1], dim)):
            raise InputError(
                f"the first line of {name} promises {dim} numbers per word, but the lines after it "
                f"hold {usual}; correct the first line"
            )
        return promised, dim
    dim = Counter(widths).most_common(1)[0][0] - 1 if widths else 0
    if dim < 1:
        raise InputError(f"{name} holds no vectors; give a file of word vectors")
    return None, dim


def _has_more_numbers(line: bytes, dim: int) -> bool:
    """Say whether the columns between the first and the last ``dim`` are numbers, not the rest of a word."""
    return _all_numbers(_columns(line)[1:-dim])


def _add_lines(collector: RowCollector, lines: list[Line], dim: int) -> None:
    rows = [row for number, line in lines if (row := _split_row(collector, number, line, dim))]
    text = b" ".join(numbers for _, _, numbers in rows)
    values = _parse(text)
    if len(values) != len(rows) * dim or b"\v" in text or b"\f" in text:
        rows = [row for row in rows if _check_row(collector, row, dim)]
        values = _parse(b" ".join(numbers for _, _, numbers in rows))
    places = [number for number, _, _ in rows]
    collector.add(places, [word for _, word, _ in rows], values.reshape(len(rows), dim))


def _split_row(
    collector: RowCollector, number: int, line: bytes, dim: int
) -> tuple[int, bytes, bytes] | None:
    """Return the number of a line, its word, and its numbers as one string."""
    word, _, numbers = line.partition(b" ")
    if numbers and numbers.count(b" ") == dim - 1 and b"\t" not in numbers:
        return number, word, numbers
    parts = line.rsplit(None, dim)
    if len(parts) == dim + 1:
        return number, parts[0], b" ".join(parts[1:])
    if len(parts) == dim and line[:1] in b" \t":
        collector.bad(number, "has no word")
    else:
        collector.bad(number, f"has {len(parts) - 1} numbers where {dim} are expected")
    return None


def _check_row(collector: RowCollector, row: tuple[int, bytes, bytes], dim: int) -> bool:
    if len(row[2].split()) == dim == len(_parse(row[2])):
        return True
    collector.bad(row[0], f"holds something that is not a number: {row[2][:40]!r}")
    return False


def _parse(numbers: bytes) -> Float32s:
    """Read numbers separated by spaces; fewer are returned if one of them is not a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.fromstring(numbers, dtype=np.float32, sep=" ")
        except ValueError:
            return np.empty(0, dtype=np.float32)


def _columns(line: bytes) -> list[bytes]:
    return re.split(rb"[ \t]+", line.lstrip(b" \t").rstrip(b" \t\r"))


def _all_numbers(parts: list[bytes]) -> bool:
    return bool(parts) and len(_parse(b" ".join(parts))) == len(parts)


# Binary


class _Buffer:
    """Bytes of a source, taken up to a separator or by count."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._data, self._start = b"", 0

    def until(self, separator: bytes, *, longest: int) -> bytes:
        """Return the bytes before ``separator`` and skip it; return all that is buffered if there is none nearby."""
        while (end := self._data.find(separator, self._start)) < 0:
            if len(self._data) - self._start > longest or not self._fill():
                end = len(self._data)
                break
        taken = self._data[self._start : end]
        self._start = end + len(separator)
        return taken

    def take(self, size: int) -> bytes:
        """Take ``size`` bytes, or fewer at the end."""
        taken = [self._data[self._start : self._start + size]]
        self._start += len(taken[0])
        size -= len(taken[0])
        while size and self._fill():
            taken.append(self._data[:size])
            self._start = len(taken[-1])
            size -= len(taken[-1])
        return b"".join(taken)

    def _fill(self) -> bool:
        """Read more, behind what is left, of which there is never much."""
        more = self.source.read(_CHUNK)
        self._data, self._start = self._data[self._start :] + more, 0
        return bool(more)


def _read_binary_header(buffer: _Buffer) -> tuple[int, int]:
    line = buffer.until(b"\n", longest=100)
    header = HEADER.fullmatch(line + b"\n")
    if header is None or int(header[2]) == 0:
        raise InputError(
            f"{buffer.source.name} does not begin with the number of words and dimensions, "
            f"but with {line[:40]!r}; give a file in word2vec's format"
        )
    _check_dimensions(buffer.source.name, int(header[2]))
    return int(header[1]), int(header[2])


def _check_dimensions(name: str, dim: int) -> None:
    if dim > _MOST_DIMENSIONS:
        raise InputError(
            f"the first line of {name} promises {dim:,} numbers per word, but at most {_MOST_DIMENSIONS:,} are read; "
            "correct the first line"
        )


def _read_binary_row(buffer: _Buffer, place: int, promised: int, dim: int) -> tuple[bytes, bytes]:
    word = buffer.until(b" ", longest=_LONGEST_WORD)
    numbers = buffer.take(4 * dim)
    if len(numbers) < 4 * dim:
        raise InputError(
            f"{buffer.source.name} is truncated: it ends within word {place} of {promised}; get the whole file"
        )
    return word.removeprefix(b"\n"), numbers


# Writing


def _encoded_words(embeddings: Embeddings) -> list[bytes]:
    """Return the words as UTF-8; refuse one that could not be read back."""
    for i, word in enumerate(embeddings.words):
        if not word or any(space in word for space in " \t\n"):
            raise InputError(
                f"the word {word!r} (number {i + 1}) is empty or holds a space, which word2vec's formats "
                'cannot hold; write a model folder or .npz, or another character instead, as with spaces="_"'
            )
    return WordList.pack(embeddings.words).encoded()
