"""The corpus: files of text, read as sentences of words.

:func:`read_corpus` returns a :class:`Corpus`, which records the files, how to read them and how to cut them into
words; it can be read any number of times, with the same result. Fast stages read its text in blocks of bytes
(:meth:`Corpus.blocks`), while Python code iterates over its sentences. Every line is a sentence.
"""

from __future__ import annotations

import codecs
import errno
import glob
import hashlib
import re
import threading
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from io import RawIOBase
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from psdvec.arrays import Bytes
from psdvec.errors import InputError, InputWarning, checked, old_names
from psdvec.options import ENCODING, ERRORS, NUMBERS, PUNCTUATION, TOKENIZER
from psdvec.progress import Progress, Shown, count_of
from psdvec.text.readers import (
    OTHER_SCRIPT,
    UTF8,
    Choice,
    Reader,
    Where,
    find_encoding,
    guess_encoding,
    line_of,
    make_where,
    mend,
)
from psdvec.text.streams import (
    STANDARD_INPUT,
    ByteRange,
    Span,
    expand_address,
    file_status,
    is_address,
    open_file,
    open_stream,
    shown,
)
from psdvec.text.tokenizers import (
    CHANGES,
    as_counted,
    choose_tokenizer,
    cut_lines,
    find_tokenizer,
    is_custom,
    is_document,
    is_text,
    split_spaced,
    words_of,
)

# Fixed, so that lines longer than this are cut at the same places whatever the memory and the workers.
BLOCK_BYTES = 1 << 23
_DIGESTED = 1 << 18  # bytes at a time, so few that they stay in the cache
_LOOKED_AT = 1 << 16  # bytes at the end of a block, among which a line end is looked for first
_held = threading.local()  # the room for what each thread reads
NO_WORDS = "the corpus holds no words; give a corpus with text in it"


@old_names(field="column")
@checked
def read_corpus(
    paths: str | Path | Iterable[str | Path],
    *,
    tokenizer: str | Callable[[str], Any] = TOKENIZER,
    case: str | None = None,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    numbers: str = NUMBERS,
    punctuation: str = PUNCTUATION,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    errors: str = ERRORS,
    encoding: str = ENCODING,
) -> Corpus:
    """Return the corpus in these files, folders (with their subfolders), globs or addresses; ``"-"`` is standard input.

    Parameters
    ----------
    paths
        Plain or compressed text (gzip, bzip2, xz, Zstandard), JSON lines, CSV and TSV (recognised by the file's name)
        or Parquet (recognised by its first bytes). Text of any other name is JSON lines or CSV if ``column`` or
        ``where`` is given. Addresses such as ``s3://bucket/*.txt`` are read through fsspec.
    tokenizer
        One of :data:`~psdvec.text.tokenizers.TOKENIZERS`: ``"unicode"``, ``"paper"`` or ``"whitespace"``; or a function
        of your own from a text to its words, such as ``jieba.lcut`` or a pipeline of spaCy or Stanza, which is given
        each line. Blanks inside its words become ``_``. It is recorded by its name as ``custom:NAME``; see
        :func:`psdvec.register_tokenizer`.
    case
        Whether *Essen* and *essen* are one word (``"fold"``) or two (``"keep"``); None: as the tokenizer does, and
        ``"unicode"`` folds. With ``"keep"``, that is the tokenizer ``"unicode-cased"``, and so it is recorded.
    stop_words
        Words to leave out, whatever their case: a list, the name of a file with one a line, or ``"en"`` for some 180
        English ones. They leave gaps as words outside the vocabulary do.
    lemmas
        What words are counted as: a mapping such as ``{"mice": "mouse"}``, or the name of a file with a word, a tab and
        its lemma a line. All of it is kept with counts and models.
    numbers
        What becomes of numbers such as 1999 or 3.5: ``"keep"`` them, ``"drop"`` them, or ``"merge"`` them into one
        word, ``#``.
    punctuation
        Whether to ``"keep"`` or ``"drop"`` words of nothing but punctuation, which only some tokenizers have.
    column
        Which field of JSON lines, or column of CSV, TSV and Parquet, holds the text; ``"text"`` by default. The first
        row of CSV and TSV names the columns.
    where
        Read only the records or rows with these values: ``{"party": "A"}``, or ``{"party": ["A", "B"], "year": 2000}``.
    errors
        What to do with bytes that are not text: ``"replace"`` replaces and counts them, ``"strict"`` raises an
        :class:`~psdvec.errors.InputError`.
    encoding
        The encoding of the text, by any name that Python knows, such as ``"latin-1"`` or ``"utf-16"``.

    Examples
    --------
    >>> len(read_corpus("text/*.txt", tokenizer="paper").files)
    2
    """
    if errors not in ("replace", "strict"):
        raise InputError(f"errors='{errors}' is unknown; choose 'replace' or 'strict'")
    if isinstance(paths, str | Path):
        paths = [paths]
    files = tuple(file for path in paths for file in _expand(str(path)))
    if not files:
        raise InputError("no corpus was given; name a file or a folder, or - for standard input")
    if files.count(STANDARD_INPUT) > 1:
        raise InputError("standard input was named more than once, but can be read only once; name it once")
    cutting = choose_tokenizer(
        tokenizer, case, stop_words=stop_words, lemmas=lemmas, numbers=numbers, punctuation=punctuation
    )
    return Corpus(files, cutting, column, errors, encoding=find_encoding(encoding), where=make_where(where))


def _expand(path: str) -> list[str]:
    """Return the files that ``path`` stands for, sorted by name."""
    if path == STANDARD_INPUT or is_file(path):
        return [path]
    if is_address(path):
        return expand_address(path)
    if _is_folder(path):
        inside = (file for file in Path(path).rglob("*") if file.is_file())
        shown = (file for file in inside if not re.search(r"(^|/)\.", file.relative_to(path).as_posix()))
        below = [str(file) for file in sorted(shown, key=Path.as_posix)]  # in one order on every system
        if not below:
            raise InputError(f"the folder '{path}' contains no files; name one that does")
        return below
    found = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())
    if not found:
        raise InputError(f"there is no file '{path}'; check the name")
    return found


def is_file(name: Any) -> bool:
    """Tell whether ``name`` is a string that names an existing file."""
    try:
        return isinstance(name, str) and Path(name).is_file()
    except OSError:  # too long for a name, or out of reach
        return False


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


class Place(NamedTuple):
    """A place in a corpus: the number of the file, and how many bytes of its text come before the place."""

    file: int
    offset: int


@dataclass(frozen=True)
class Block:
    """A stretch of text of at most ``BLOCK_BYTES``, as it was read, or where it is to be read.

    ``joined``: whether it begins inside a sentence. ``closed``: whether its last sentence ends with it. ``marks``:
    where in ``data`` each file begins. ``end``: where the next block begins. ``raw_bytes``: how many bytes on disk
    it took up.
    """

    source: bytes | Span
    joined: bool
    closed: bool
    marks: tuple[tuple[int, Place], ...]
    end: Place
    raw_bytes: int

    @property
    def data(self) -> bytes | bytearray:
        """The text; if it lies in a plain file, it is read now, by the thread that asks."""
        return self.source if isinstance(self.source, bytes) else self.source.read()

    def read(self) -> bytes | bytearray:
        """Return the text, which is valid until this thread reads another block."""
        if isinstance(self.source, bytes):
            return self.source
        return self.source.read(_held.__dict__.setdefault("room", bytearray()))


@dataclass(frozen=True, repr=False)
class Corpus(Shown):
    """Files, how to read them, and how to cut them into words; made by :func:`read_corpus`.

    If ``byte_range`` is given, there is one file, and the corpus is those bytes of it, which begin and end at line
    ends.
    """

    files: tuple[str, ...]
    tokenizer: str
    column: str | None
    errors: str
    byte_range: ByteRange | None = None
    encoding: str = UTF8
    where: Where = ()

    def _facts(self) -> dict[str, str]:
        first = self.files[0] if len(self.files) == 1 else f"{self.files[0]} and others"
        return {
            "size": count_of(len(self.files), "file"),
            "from": first,
            "tokenizer": self.tokenizer,
            **{name: str(value) for name, value in self._how().items()},
        }

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the sentences as lists of words, leaving out empty ones."""
        unfinished: list[str] = []
        for block in self.blocks():
            sentences = self.space(block)[0].tobytes().decode("utf-8").split("\n")
            for i, sentence in enumerate(sentences):
                unfinished += as_counted(split_spaced(sentence), self.tokenizer)
                is_last = i == len(sentences) - 1
                if unfinished and (block.closed or not is_last):
                    yield unfinished
                    unfinished = []
        if unfinished:
            yield unfinished

    def space(self, block: Block) -> tuple[Bytes, int]:
        """Return a block as spaced text, and how many stretches of it were not UTF-8, and are U+FFFD now.

        In spaced text, spaces separate words and newlines separate sentences. It is valid until this thread asks for
        that of another block.
        """
        data, replaced = block.read(), 0
        try:
            if not is_text(data):
                data.decode("utf-8")
        except UnicodeDecodeError as error:
            if self.errors == "strict":
                offset, place = next(mark for mark in reversed(block.marks) if mark[0] <= error.start)
                after = self.byte_range.after if self.byte_range else ""
                raise InputError(
                    f"'{self.files[place.file]}' is not {self.encoding.upper()} at byte "
                    f"{place.offset + error.start - offset} of its text{after} ({error.reason}); name its encoding, as "
                    'with encoding="latin-1", or use errors="replace"'
                ) from error
            text, replaced = mend(data)
            data = text.encode("utf-8")
        if is_custom(self.tokenizer):
            spaced = cut_lines(data.decode("utf-8"), self.tokenizer, partial(self._line, block))
            return np.frombuffer(spaced.encode("utf-8", "replace"), np.uint8), replaced
        return find_tokenizer(self.tokenizer)(data), replaced

    def _line(self, block: Block, before: int) -> str:
        """Say which line of which file has ``before`` lines of a block before it."""
        data = block.data
        start = sum(len(line) + 1 for line in data.split(b"\n")[:before])
        offset, place = next(mark for mark in reversed(block.marks) if mark[0] <= start)
        number = 1 + data.count(b"\n", offset, start)
        after = f" after byte {place.offset} of the text" if place.offset else ""
        return f"line {number}{after} of {shown(self.files[place.file])}"

    @property
    def is_restartable(self) -> bool:
        """Whether the text can be read again, which is true of everything but standard input."""
        return STANDARD_INPUT not in self.files

    @cached_property
    def raw_size(self) -> int | None:
        """The bytes that all files take up on disk; None if standard input is among them."""
        if not self.is_restartable:
            return None
        if self.byte_range is not None:
            return self.byte_range.end - self.byte_range.begin
        return sum(file_status(file).bytes for file in self.files)

    @property
    def identity(self) -> Any:
        """What tells whether the text is still the same; text from a pipe never is."""
        if not self.is_restartable:
            return {"once": np.random.SeedSequence().entropy}
        return {
            "files": [[file, *file_status(file)] for file in self.files],
            "errors": self.errors, **self._how(),
        }  # fmt: skip

    def reader(self) -> Reader:
        """Return what reads the files."""
        return Reader(self.column, Choice(self.where), self.byte_range, self.encoding)

    def _how(self) -> dict[str, Any]:
        """Return how the files are to be read, where that is not as usual."""
        encoding = None if self.encoding == UTF8 else self.encoding
        return _recorded(column=self.column, where=self.where, encoding=encoding)

    def why_empty(self) -> str:
        """Say why there are no words; where some of the text was chosen, it is read again to see what there is."""
        reader = self.reader()
        if self.where and self.is_restartable:
            for file in self.files:
                deque(reader.rows(file), maxlen=0)
        return reader.choice.why_none() if self.where and not reader.choice.chosen else NO_WORDS

    def sources(self, digests: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the name, size and, if known, digest of each file, and how it was read, as recorded in the counts."""
        how, known = self._how(), digests or {}
        return [
            {"name": "standard input", **how} if file == STANDARD_INPUT else
            {"name": Path(file).name, "bytes": file_status(file).bytes, **how,
             **({"sha256": known[file]} if file in known else {})}
            for file in self.files
        ]  # fmt: skip

    def blocks(self, start: Place = Place(0, 0), *, joined: bool = False) -> Iterator[Block]:
        """Yield the text from ``start`` on; ``joined`` says that ``start`` lies inside a sentence."""
        yield from _cut_blocks(self._pieces(start), start, joined)

    def _pieces(self, start: Place) -> Iterator[_Piece]:
        reader = self.reader()
        for number in range(start.file, len(self.files)):
            file, skip = self.files[number], start.offset if number == start.file else 0
            span = reader.span(file, skip, least=BLOCK_BYTES)
            for text in reader.read(file, skip) if span is None else [span]:
                yield number, text, reader.raw_bytes
            yield number, None, reader.raw_bytes


@contextmanager
def digested(text: Any) -> Iterator[Callable[[], dict[str, str]]]:
    """Take the SHA-256 of every file of a corpus beside other work; the function that is yielded waits for them.

    What is no file on this machine has none: it would have to be fetched once more.
    """
    files = text.files if isinstance(text, Corpus) else ()
    local = [file for file in files if file != STANDARD_INPUT and not is_address(file)]
    given_up = threading.Event()

    def digest(file: str) -> str:
        found, room = hashlib.sha256(), memoryview(bytearray(_DIGESTED))
        with cast(RawIOBase, open_file(file)) as source:
            while not given_up.is_set() and (count := source.readinto(room)):
                found.update(room[:count])
        return found.hexdigest()

    with ThreadPoolExecutor(1) as beside:
        found = [beside.submit(digest, file) for file in local]
        try:
            yield lambda: {file: one.result() for file, one in zip(local, found, strict=True)}
        finally:
            given_up.set()


# The number of a file, some of its text, or None where it ends, and how many bytes had been read from disk by then.
_Piece: TypeAlias = tuple[int, bytes | bytearray | Span | None, int]


def _cut_blocks(pieces: Iterable[_Piece], start: Place, joined: bool) -> Iterator[Block]:
    """Yield text that comes in pieces as blocks: cut at line ends if it can be, then at white space, then anywhere.

    Of a span, whole blocks are left to be read later; what comes before it makes a block of its own.
    """
    data = bytearray()
    marks = [(0, start)]  # (offset in data, the place it corresponds to), one per file in data
    raw = taken = 0  # how many bytes had been read from disk, now and when the last block was cut
    for piece in chain(pieces, [None]):  # None: what is left is the last block
        if piece is not None:
            file, text, raw = piece
            if isinstance(text, Span):
                place = start if start.file == file else Place(file, 0)
                if data:
                    before = raw - text.size
                    yield Block(bytes(data), joined, True, tuple(marks), place, before - taken)
                    taken, joined = before, False
                for here, closed in _whole_blocks(text):
                    text, begin = text.after(here.size), place
                    place, before = Place(file, begin.offset + here.size), raw - text.size
                    yield Block(here, joined, closed, ((0, begin),), place, before - taken)
                    taken, joined = before, not closed
                data, marks, text = bytearray(), [(0, place)], text.read()
            if text is None and not data.endswith(b"\n"):
                text = b"\n"  # so that no sentence continues into the next file
            if text and marks[-1][1].file != file:
                marks.append((len(data), Place(file, 0)))
            data += text or b""
        while len(data) >= BLOCK_BYTES or (data and piece is None):
            end, closed = _end_of_block(data) if len(data) >= BLOCK_BYTES else (len(data), True)
            offset, place = next(mark for mark in reversed(marks) if mark[0] <= end)
            place = Place(place.file, place.offset + end - offset)
            block = Block(bytes(memoryview(data)[:end]), joined, closed, tuple(marks), place, raw - taken)
            del data[:end]
            marks = [(0, place), *((at - end, there) for at, there in marks if at > end)]
            taken, joined = raw, not closed
            yield block


def _whole_blocks(text: Span) -> Iterator[tuple[Span, bool]]:
    """Yield as much of ``text`` as makes full blocks, each with whether its last sentence ends with it.

    They end where :func:`_end_of_block` says; where a line ends shortly before, the rest need not be read for that.
    """
    tail = max(BLOCK_BYTES - _LOOKED_AT, 0)
    while text.size >= BLOCK_BYTES:
        end, closed = tail + text.first(BLOCK_BYTES).after(tail).read().rfind(b"\n") + 1, True
        if end == tail:
            end, closed = _end_of_block(bytearray(text.first(min(BLOCK_BYTES + 1, text.size)).read()))
        yield text.first(end), closed
        text = text.after(end)


def _end_of_block(data: bytearray) -> tuple[int, bool]:
    """Return how many bytes of ``data`` make a full block, and whether its last sentence ends with it."""
    if end := data.rfind(b"\n", 0, BLOCK_BYTES) + 1:
        return end, True
    blanks = (b" ", b"\t", b"\r", b"\v", b"\f", b"\0")
    if end := max(data.rfind(blank, 0, BLOCK_BYTES) for blank in blanks) + 1:
        return end, False
    end = BLOCK_BYTES
    while end > BLOCK_BYTES - 4 and end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end, False


# Whatever text a caller holds, as something that can be counted: the one place that decides what is what.

Sentences: TypeAlias = Iterable[Iterable[str]]
_ONE_IN = 1000  # words: with more damage than this, a remark becomes a warning
_GUESS_BYTES = 1 << 20  # of each file, among which damage is looked for
_DROP = "leave such rows out, with pandas by column.dropna()"


@dataclass(frozen=True)
class Texts:
    """Strings from Python, read once; each is a line of text, or several if it holds newlines.

    ``how`` says of which column they are, and where, as recorded in the counts. ``digest`` is fed while they are read.
    """

    texts: Iterable[Any]
    tokenizer: str
    how: Mapping[str, Any] = field(default_factory=dict)
    digest: Any = field(default_factory=hashlib.sha256, compare=False)
    raw_size: int | None = None  # nobody knows before they are read

    def __post_init__(self) -> None:
        find_tokenizer(self.tokenizer)  # refuses an unknown one before any work

    def blocks(self, start: Place = Place(0, 0), *, joined: bool = False) -> Iterator[Block]:
        """Yield the text as a file that holds it would be read; there is no other place to start at."""
        return _cut_blocks(self._pieces(), Place(0, 0), False)

    def sources(self, digests: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return what the counts record of the texts; their digest is that of a file that holds them."""
        known = {} if digests is None else {"sha256": self.digest.hexdigest()}
        return [{"name": "texts from Python", **self.how, **known}]

    def _pieces(self) -> Iterator[_Piece]:
        read = 0
        for row, text in enumerate(self.texts):
            if not isinstance(text, str):
                raise InputError(f"row {row} is {_name(text)}, not a text as the rows before it; {_DROP}")
            line = line_of(text) if row else line_of(text).removeprefix(codecs.BOM_UTF8)
            read += len(line)
            self.digest.update(line)
            if is_custom(self.tokenizer):  # here, where the row is known
                line = line_of(cut_lines(line.decode().rstrip("\n"), self.tokenizer, partial(_row, row)))
            yield 0, line, read

    def space(self, block: Block) -> tuple[Bytes, int]:
        """See :meth:`psdvec.text.corpus.Corpus.space`; a string has no bytes that need replacing."""
        cut = find_tokenizer("whitespace" if is_custom(self.tokenizer) else self.tokenizer)
        return cut(block.data), 0


def _row(row: int, before: int) -> str:
    return f"row {row}"


Input: TypeAlias = Corpus | Texts | str | Path | Iterable[Any]


def read_input(source: Input, **options: Any) -> Corpus | Texts | Sentences:
    """Return ``source`` as something to count; ``options`` are those of :func:`read_corpus`, None its defaults.

    - A string or a ``Path`` is the name of a file or folder, a glob or an address.
    - In a list or another iterable, ``Path`` objects are files, and strings are texts: see :func:`are_files`.
    - Texts are cut into words by the tokenizer as if each were a line of a file.
    - Lists of strings in an iterable are sentences that are cut into words already.
    - Of a table (a DataFrame of pandas or Polars, a table of Arrow, a dataset of Hugging Face, rows that are mappings),
      the column ``column`` is taken, ``"text"`` by default, of the rows that ``where`` asks for.

    >>> read_input(["To be, or not to be."]).tokenizer
    'unicode'
    >>> list(read_input([["to", "be"]]))
    [['to', 'be']]
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, Corpus | Texts):
        _refuse(given, (), "the corpus was made with options of its own; give it to read_corpus")
        return source
    if isinstance(source, str | Path):
        name = str(source)
        is_text = re.search(r"\s", name.partition("://")[0]) is not None
        if not name or (is_text and not is_file(name) and not glob.glob(name, recursive=True)):
            raise InputError(
                f"there is no file {name[:40]!r}; check the name, or give a text itself in a list: [text]"
            )
        return read_corpus(source, **given)
    names = columns_of(source)
    if names is None:
        return _read_rows(source, given)
    fields = [given.get("column", "text"), *given.get("where", ())]
    _check_column(fields[0], names, "the table")
    Choice(make_where(given.get("where"))).check(names, "the table")
    return _read_part(table_rows(source, fields), given)


def _read_part(rows: Iterable[Mapping[Any, Any]], given: dict[str, Any]) -> Corpus | Texts | Sentences:
    """Return what one column of some rows holds."""
    column, where = given.pop("column", None), make_where(given.pop("where", None))
    texts = _column_of_rows(rows, column or "text", Choice(where))
    return _read_rows(texts, given, _recorded(column=column, where=where))


def _read_rows(
    source: Any, given: dict[str, Any], how: Mapping[str, Any] | None = None
) -> Corpus | Texts | Sentences:
    """Return what an iterable holds, which its first row tells; ``how`` says which part of a table it is."""
    if isinstance(source, bytes | bytearray | Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"{_name(source)} is nothing that can be counted; give the name of a file, a list of texts, "
            "or lists of words"
        )
    rows = iter(source)
    begin = list(islice(rows, 1))
    first = begin[0] if begin else []
    rows = chain(begin, rows)
    if isinstance(first, Path) or isinstance(source, list | tuple):
        held = source if isinstance(source, list | tuple) else list(rows)
        if are_files(held):
            return read_corpus(held, **given)
    if isinstance(first, Mapping):
        return _read_part(rows, given)
    cutting = ("tokenizer", "case", *CHANGES)
    _refuse(given, cutting, "no file is read and no table; leave it out")
    if isinstance(first, str):
        return Texts(rows, choose_tokenizer(**{"tokenizer": TOKENIZER, **given}), how or {})
    if not isinstance(first, Iterable) and not is_document(first):
        raise InputError(f"row 0 is {_name(first)}, not a text; {_DROP}")
    _refuse(given, (), "the sentences are cut into words already; leave it out, or give texts")
    return (words_of(row, "documents") for row in rows) if is_document(first) else rows


def are_files(rows: Sequence[Any]) -> bool:
    """Tell whether the rows of a list are files, which is so if they are ``Path`` objects: strings in a list are texts.

    Strings that all look like names, and are names of existing files, are refused: whoever gives them means the files.

    >>> are_files([Path("a.txt")]), are_files(["to be", "or not"])
    (True, False)
    """
    if rows and isinstance(rows[0], Path):
        for row in rows:
            if not isinstance(row, Path):
                raise InputError(
                    f"the list begins with a Path, but goes on with {_name(row)}; give Paths only"
                )
        return True
    if rows and all(
        isinstance(row, str) and re.search(r"^\S*[./]\S*$", row) and is_file(row) for row in rows
    ):
        raise InputError(
            f"strings in a list are texts, but '{rows[0]}' is the name of a file; for files, give Path objects: "
            "[Path(name), ...], or a glob"
        )
    return False


def report_damage(
    *,
    replaced: int,
    words: int,
    overlong: int = 0,
    files: Iterable[str] = (),
    encoding: str = UTF8,
    progress: Progress,
) -> None:
    """Say how many stretches of bytes of a text were replaced, and how many overlong words left out.

    It is a remark, and a :class:`~psdvec.errors.InputWarning` if there is more than one for a thousand ``words``. That
    names the likely encoding, for which it looks at the beginning of ``files``.
    """
    said = []
    if overlong:
        said.append((overlong, f"words longer than 1024 bytes left out: {overlong:,}"))
    if replaced:
        text = f"sequences of bytes that were not {encoding.upper()} replaced: {replaced:,}"
        if replaced * _ONE_IN > words:
            text += f"; {_advice(files) if encoding == UTF8 else 'name another encoding'}"
        said.append((replaced, text))
    for damage, text in said:
        if damage * _ONE_IN > words:
            warnings.warn(text, InputWarning, stacklevel=4)
        else:
            progress.say(text)


def _advice(files: Iterable[str]) -> str:
    """Say which encoding it is that the first of ``files`` with something that is not UTF-8 looks like."""
    for file in files:
        if file == STANDARD_INPUT:
            break
        with open_stream(file) as stream:
            sample = stream.read(_GUESS_BYTES)
        if mend(sample)[1]:
            likely = guess_encoding(sample)
            if likely is None:
                return f"as for '{file}', {OTHER_SCRIPT}"
            return f"'{file}' looks like {likely}; if it is, give encoding=\"{likely}\""
    return 'name the encoding, such as encoding="latin-1"'


def columns_of(source: Any) -> Collection[Any] | None:
    """Return the names of the columns of a table, or None if ``source`` is none, or does not know them."""
    if not hasattr(source, "__getitem__"):
        return None
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # of Polars
        raise InputError("this table is lazy and holds no rows yet; give table.collect()")
    names = source.column_names if hasattr(source, "column_names") else getattr(source, "columns", None)
    if isinstance(names, Mapping):
        raise InputError(
            f"there are several tables here ({', '.join(map(str, names))}); give one of them, such as "
            f"data[{next(iter(names), 'NAME')!r}]"
        )
    return None if names is None else list(names)


def table_rows(table: Any, columns: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with those of ``columns`` that it has: of pandas, Polars, Arrow or Hugging Face."""
    there = columns_of(table) or ()
    names = [name for name in dict.fromkeys(columns) if name in there]
    for values in zip(*(_values(table[name]) for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def _values(column: Any) -> Iterable[Any]:
    """Return the values of a column; those of Arrow are no strings before they are asked to be."""
    if hasattr(column, "iterchunks"):
        return chain.from_iterable(chunk.to_pylist() for chunk in column.iterchunks())
    values: Iterable[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column
    return values


def _column_of_rows(rows: Iterable[Mapping[Any, Any]], column: str, choice: Choice) -> Iterator[Any]:
    """Yield one column of those rows that are chosen."""
    for number, row in enumerate(rows):
        if choice.wants(row):
            _check_column(column, row, f"row {number}")
            yield row[column]
    if not choice.chosen and choice.where:
        raise InputError(choice.why_none())


def _recorded(**how: Any) -> dict[str, Any]:
    """Return what the counts record of how a text was read; what is as usual is left out.

    >>> _recorded(column=None, where=(("party", ("A", "B")),))
    {'where': {'party': ['A', 'B']}}
    """
    told = {name: value for name, value in how.items() if value}
    return told | ({"where": {name: list(v) for name, v in told["where"]}} if "where" in told else {})


def _check_column(column: str, names: Collection[Any], where: str) -> None:
    if column not in names:
        has = ", ".join(map(str, names))
        raise InputError(
            f"{where} has no column '{column}' (it has: {has}); name the column that holds the text: column=\"NAME\""
        )


def _refuse(given: Mapping[str, Any], allowed: tuple[str, ...], why: str) -> None:
    """Raise :class:`InputError` if an option was given that has no effect here."""
    for name, value in given.items():
        if name not in allowed:
            raise InputError(f"{name}={value!r} was given, but {why}")


def _name(value: Any) -> str:
    """Return a value as it can stand in a sentence."""
    written = repr(value)
    return written if len(written) <= 40 else f"an object of type {type(value).__name__}"
