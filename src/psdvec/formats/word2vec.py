"""The two formats of word2vec, text and binary, and the text format of GloVe, which has no first line.

Errors name the line, or the number of the word. A word read from text may hold spaces, since the numbers are counted
from the right; words with spaces are never written, because other readers would stumble over them.
"""

from __future__ import annotations

import io
import re
import tempfile
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from psdvec.arrays import Bools, Float32s, Float64s, Int64s
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size
from psdvec.storage.files import check_file_output, disk_errors_explained
from psdvec.text.streams import ByteStream
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import rows_not_finite

# What the readers of foreign files share: collecting rows that arrive in blocks, and the rules for bad ones.

BadRows: TypeAlias = Literal["refuse", "skip"]


@dataclass(frozen=True)
class ReadingRules:
    """How foreign files are read.

    ``limit``: read only this many words. ``bad_rows``: refuse the first bad row, or skip them all. ``scratch``: a
    folder in which to keep the vectors, instead of in memory.
    """

    limit: int | None = None
    bad_rows: BadRows = "refuse"
    scratch: Path | None = None


Source: TypeAlias = "io.BufferedReader[ByteStream]"


@dataclass(frozen=True)
class VectorFormat:
    """A format of vectors, in a file or a folder: how it is recognised, read and written.

    ``endings`` are those of names that mean the format. ``recognises`` takes the first bytes of a file, or the path of
    a folder; ``read`` the open file or the path, and ``rules`` and ``progress`` by name; ``write`` embeddings, and the
    open file, or the path and ``overwrite`` by name. ``check_output`` refuses a path that must not be written to: a
    folder knows best what may be replaced by it.
    """

    name: str
    endings: tuple[str, ...]
    recognises: Callable[[Any], bool]
    read: Callable[..., Embeddings]
    write: Callable[..., None]
    check_output: Callable[..., None] = check_file_output
    is_folder: bool = False
    compressible: bool = False


class RowCollector:
    """Collects rows in memory or, where the ``rules`` name a folder for them, in a file there that has no name.

    The file is mapped into memory at the end, and disappears with the program. A ``place`` is the number of a line or
    of a word, whichever ``unit`` says.
    """

    def __init__(self, name: str, dim: int, *, unit: str, rules: ReadingRules) -> None:
        self.name, self.dim, self.unit, self.rules = name, dim, unit, rules
        self.words: list[str] = []
        self.seen: set[str] = set()
        self.skipped: list[str] = []
        self._file: IO[bytes] = io.BytesIO()
        if rules.scratch is not None:
            with disk_errors_explained(rules.scratch):
                self._file = tempfile.TemporaryFile(dir=rules.scratch)  # noqa: SIM115, closed as the next line says
            self._close = weakref.finalize(self, _close, self._file)

    @property
    def full(self) -> bool:
        """Whether the limit has been reached."""
        return self.rules.limit is not None and len(self.words) >= self.rules.limit

    def bad(self, place: int, what: str) -> None:
        """Refuse the row at ``place``, or note that it is skipped."""
        message = f"{self.unit} {place} of {self.name} {what}"
        if self.rules.bad_rows == "refuse":
            raise InputError(f'{message}; correct the file, or leave out such rows with bad_rows="skip"')
        self.skipped.append(message)

    def add(self, places: Sequence[int], words: Sequence[bytes], values: Float32s) -> None:
        """Add one row for each word; ``values``: (len(words), d) float32."""
        finite = np.asarray(np.isfinite(values).all(axis=1))
        kept = []
        for row, (place, word) in enumerate(zip(places, words, strict=True)):
            if self.full:
                break
            if not finite[row]:
                self.bad(place, "holds a number that is not finite")
            elif self._take(place, word):
                kept.append(row)
        rows = values if len(kept) == len(values) else values[kept]
        with disk_errors_explained(self.rules.scratch or Path()):
            self._file.write(np.ascontiguousarray(rows, dtype=np.float32).data)

    def _take(self, place: int, word: bytes) -> bool:
        """Add the word of a row, unless it is bad, and say whether it was added."""
        try:
            text = word.decode("utf-8")
        except UnicodeDecodeError:
            self.bad(place, f"holds a word that is not UTF-8: {word[:40]!r}")
            return False
        if not text or text in self.seen:
            self.bad(place, f"holds the word '{text}' a second time" if text else "has no word")
            return False
        self.seen.add(text)
        self.words.append(text)
        return True

    def finish(self, promised: int | None, progress: Progress) -> Embeddings:
        """Return what was collected, after comparing it with the number of rows ``promised``."""
        found = len(self.words) + len(self.skipped)
        if promised is not None and not self.full and promised != found:
            what = f"the first line of {self.name} promises {promised} words, but the file holds {found}"
            if self.rules.bad_rows == "refuse":
                raise InputError(f'{what}; get the whole file, or read what there is with bad_rows="skip"')
            progress.say(f"{what}; reading what there is")
        if not self.words:
            raise InputError(f"{self.name} holds no vectors; give a file of word vectors")
        if self.skipped:
            progress.say(f"rows left out: {len(self.skipped)}; the first: {self.skipped[0]}")
        return Embeddings(tuple(self.words), self._numbers().reshape(-1, self.dim))

    def _numbers(self) -> Float32s:
        if isinstance(self._file, io.BytesIO):
            return np.frombuffer(self._file.getbuffer(), dtype=np.float32)
        with disk_errors_explained(self.rules.scratch or Path()):
            self._file.flush()
        numbers = np.memmap(self._file, dtype=np.float32, mode="r")
        self._close()
        return np.asarray(numbers)


def _close(file: IO[bytes]) -> None:
    """Close a file that has no name; what a full disk did not take is not missed any more."""
    with suppress(OSError):
        file.close()


def keep_good_rows(embeddings: Embeddings, name: str, bad_rows: BadRows, progress: Progress) -> Embeddings:
    """Return ``embeddings``, read in one piece, after the checks that :class:`RowCollector` makes of rows."""
    bad: dict[int, str] = {}
    seen: set[str] = set()
    for i, word in enumerate(embeddings.words):
        if not word:
            bad[i] = "is empty"
        elif word.encode("utf-8", "ignore").decode("utf-8") != word:
            bad[i] = f"is {word[:40]!r}, which cannot be written as UTF-8"
        elif word in seen:
            bad[i] = f"is '{word}' a second time"
        seen.add(word)
    for i in rows_not_finite(embeddings.vectors):
        bad.setdefault(i, f"is '{embeddings.words[i]}', whose vector holds a number that is not finite")
    if not bad:
        return embeddings
    first = f"word {min(bad) + 1} of {name} {bad[min(bad)]}"
    if bad_rows == "refuse":
        raise InputError(f'{first}; correct the file, or leave out such rows with bad_rows="skip"')
    progress.say(f"rows left out: {len(bad)}; the first: {first}")
    return embeddings.take(np.array([i for i in range(len(embeddings)) if i not in bad], dtype=np.int64))


# Numbers as text, thousands at a time: ``"%.9g" % x`` for every number of a float32 matrix.

_SMALLEST, _LARGEST = 1e-4, 10.0
_SCALES = 10.0 ** np.arange(8, 13)
_SHIFTS = 10 ** np.arange(4, -1, -1, dtype=np.int64)


def _table(texts: list[bytes]) -> npt.NDArray[np.uint32]:
    """Return texts of at most four bytes as numbers, padded with zero bytes."""
    return np.frombuffer(b"".join(text.ljust(4, b"\0") for text in texts), dtype=np.uint32)


# By 20 * (whole number) + 10 * (negative) + first digit: the space, the sign, the digit and the point.
_BEGIN = _table(
    [b" " + sign + b"%d" % i + point for point in (b".", b"") for sign in (b"", b"-") for i in range(10)]
)
# The next four digits: where more follow, and where only zeros do.
_MIDDLE = _table([b"%04d" % i for i in range(10_000)])
_LAST = _table([(b"%04d" % i).rstrip(b"0") for i in range(10_000)])


def format_rows(block: Float32s) -> list[bytes]:
    """Return each row as text, with a space before each number.

    >>> format_rows(np.array([[1 / 3, -2], [0, 1e-7]], dtype=np.float32))
    [b' 0.333333343 -2', b' 0 1.00000001e-07']
    """
    values = np.asarray(block, dtype=np.float64).ravel()
    sizes = np.abs(values)
    unusual = np.flatnonzero(~((sizes >= _SMALLEST) & (sizes < _LARGEST) | (sizes == 0)))
    sizes[unusual] = 0
    cells = _format_usual(np.signbit(values), sizes)
    for i in unusual.tolist():
        cells[i] = np.frombuffer((b" %.9g" % values[i]).ljust(16, b"\0"), dtype=np.uint32)
    return [row.tobytes().translate(None, b"\0") for row in cells.reshape(len(block), -1)]


def _format_usual(negative: Bools, sizes: Float64s) -> npt.NDArray[np.uint32]:
    """Return (n, 4) cells with the text of each number, padded with zero bytes."""
    k = np.zeros(len(sizes), dtype=np.intp)
    for border in (1.0, 0.1, 0.01, 0.001):
        k += sizes < border
    fixed = np.rint(sizes * _SCALES[k]).astype(np.int64) * _SHIFTS[k]  # in units of 1e-12
    head, after = _split(fixed, 10**8)
    whole, first = _split(head, 10**4)
    second, third = _split(after, 10**4)
    ends = after == 0
    cells = np.empty((len(sizes), 4), dtype=np.uint32)
    cells[:, 0] = _BEGIN[whole + 10 * negative + 20 * (ends & (first == 0))]
    cells[:, 1] = np.where(ends, _LAST[first], _MIDDLE[first])
    cells[:, 2] = np.where(third == 0, _LAST[second], _MIDDLE[second])
    cells[:, 3] = _LAST[third]
    return cells


def _split(numbers: Int64s, unit: int) -> tuple[Int64s, Int64s]:
    quotient = numbers // unit
    return quotient, numbers - unit * quotient


Line = tuple[int, bytes]

HEADER = re.compile(rb"(?:[ \t]*\r?\n)*[ \t]*(\d{1,18})[ \t]+(\d{1,9})[ \t\r]*\n")
_CHUNK = 1 << 22
_ROWS = 1024
_BYTES = 1 << 26  # of rows that are read at a time, where they are so long that fewer do
_NUMBERS = 1 << 15
_SAMPLE = 100
_LONGEST_HEADER = 100
_LONGEST_WORD = 1 << 16
_LONGEST_LINE = 1 << 23
_MOST_DIMENSIONS = 1 << 20  # so that a few bytes of a first line cannot ask for all memory


def read_text(source: Source, *, rules: ReadingRules, progress: Progress = LogProgress()) -> Embeddings:
    """Read ``word number number ...`` lines, with or without a first line ``words dimensions``."""
    with progress.stage("reading vectors", total=source.raw.raw_size, unit="B") as stage:
        lines = _lines(source)
        sample = _take(lines, _SAMPLE)
        promised, dim = _read_shape(source.name, sample)
        collector = RowCollector(source.name, dim, unit="line", rules=rules)
        block = sample[promised is not None :] or _take(lines, _ROWS)
        position = 0
        while block and not collector.full:
            _add_lines(collector, block, dim)
            block = _take(lines, _ROWS)
            stage.advance(source.raw.raw_position - position)
            position = source.raw.raw_position
    return collector.finish(promised, progress)


def read_binary(source: Source, *, rules: ReadingRules, progress: Progress = LogProgress()) -> Embeddings:
    """Read a first line ``words dimensions``, then for each word its text, a space, and its float32 numbers."""
    line = source.readline(_LONGEST_HEADER)
    header = HEADER.fullmatch(line)
    if header is None or int(header[2]) == 0:
        raise InputError(
            f"{source.name} does not begin with the number of words and dimensions, "
            f"but with {line[:40]!r}; give a file in word2vec's format"
        )
    promised, dim = int(header[1]), _checked_dimensions(source.name, int(header[2]))
    collector = RowCollector(source.name, dim, unit="word", rules=rules)
    at_once = min(_ROWS, max(1, _BYTES // (4 * dim)))
    left = _binary_rows(source, promised, dim)
    with progress.stage("reading vectors", total=promised, unit="words") as stage:
        for start in range(0, promised, at_once):
            rows = list(islice(left, at_once))
            places = range(start + 1, start + len(rows) + 1)
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
    for number, line in enumerate(iter(lambda: source.readline(_LONGEST_LINE), b""), 1):
        if len(line) >= _LONGEST_LINE:
            raise InputError(
                f"line {number} of {source.name} is longer than {format_size(_LONGEST_LINE)}, and no vector is; "
                "give a file of word vectors"
            )
        line = line.rstrip(b" \t\r\n")
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
        promised, dim = int(header[1]), _checked_dimensions(name, int(header[2]))
        usual = Counter(widths[1:]).most_common(1)[0][0] - 1 if len(widths) > 1 else dim
        # More columns than numbers that were promised may be the rest of a word.
        if dim == 0 or usual < dim or (usual > dim and _all_numbers(_columns(sample[1][1])[1:-dim])):
            raise InputError(
                f"the first line of {name} promises {dim} numbers per word, but the lines after it "
                f"hold {usual}; correct the first line"
            )
        return promised, dim
    dim = Counter(widths).most_common(1)[0][0] - 1 if widths else 0
    if dim < 1:
        raise InputError(f"{name} holds no vectors; give a file of word vectors")
    return None, dim


def _checked_dimensions(name: str, dim: int) -> int:
    if dim > _MOST_DIMENSIONS:
        raise InputError(
            f"the first line of {name} promises {dim:,} numbers per word, but at most {_MOST_DIMENSIONS:,} are read; "
            "correct the first line"
        )
    return dim


def _add_lines(collector: RowCollector, lines: list[Line], dim: int) -> None:
    rows = [row for number, line in lines if (row := _split_row(collector, number, line, dim))]
    text = b" ".join(numbers for _, _, numbers in rows)
    values = _parse(text)
    if len(values) != len(rows) * dim or b"\v" in text or b"\f" in text:
        asked, rows = rows, []
        for number, word, numbers in asked:
            if len(numbers.split()) == dim == len(_parse(numbers)):
                rows.append((number, word, numbers))
            else:
                collector.bad(number, f"holds something that is not a number: {numbers[:40]!r}")
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


def _binary_rows(source: Source, promised: int, dim: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield each word, which a space ends, and the bytes of its numbers."""
    data, start = b"", 0
    for place in range(1, promised + 1):
        while (end := data.find(b" ", start)) < 0 or len(data) <= end + 4 * dim:
            if end < 0 and len(data) - start > _LONGEST_WORD:
                raise InputError(
                    f"word {place} of {source.name} is longer than {format_size(_LONGEST_WORD)}; get the file again"
                )
            more = source.read1(_CHUNK)
            if not more:
                raise InputError(
                    f"{source.name} is truncated: it ends within word {place} of {promised}; get the whole file"
                )
            data, start = data[start:] + more, 0
        word, start = data[start:end].removeprefix(b"\n"), end + 1 + 4 * dim
        yield word, data[end + 1 : start]


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


TEXT = VectorFormat("text", (".txt", ".vec"), looks_like_text, read_text, write_text, compressible=True)
GLOVE = replace(TEXT, name="glove", endings=(), write=partial(write_text, header=False))
BINARY = VectorFormat(
    "binary", (".bin",), lambda head: HEADER.match(head) is not None and not looks_like_text(head),
    read_binary, write_binary, compressible=True,
)  # fmt: skip
