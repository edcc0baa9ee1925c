"""Whatever text a caller holds, as something that can be counted: the one place that decides what is what.

:func:`read_input` takes names of files, texts, lists of words, a column or a table, and returns a
:class:`~psdvec.text.corpus.Corpus` (files), :class:`Texts` (strings, cut into words as the lines of a file would be),
or an iterable of sentences (lists of words). What can be read only once is read only once. :func:`report_damage` is
the one place that says what of a text was replaced or left out.
"""

from __future__ import annotations

import glob
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from psdvec.arrays import Bytes
from psdvec.errors import InputError, InputWarning
from psdvec.progress import Progress
from psdvec.text.corpus import Block, Corpus, Place, cut_blocks, is_file, read_corpus
from psdvec.text.decompress import STANDARD_INPUT, open_stream
from psdvec.text.readers import OTHER_SCRIPT, UTF8, guess_encoding, line_of, mend, without_mark
from psdvec.text.tokenizers import find_tokenizer

Sentences: TypeAlias = Iterable[Iterable[str]]
_TOKENIZER: str = inspect.signature(read_corpus).parameters["tokenizer"].default
_COLUMN = "text"
_ONE_IN = 1000  # words: with more damage than this, a remark becomes a warning
_GUESS_BYTES = 1 << 20  # of each file, among which damage is looked for
_DROP = "leave such rows out, with pandas by column.dropna()"
_NAME_COLUMN = 'name the column that holds the text: column="NAME"'


@dataclass(frozen=True)
class Texts:
    """Strings from Python, read once; each is a line of text, or several if it holds newlines."""

    texts: Iterable[Any]
    tokenizer: str
    raw_size: int | None = None  # nobody knows before they are read

    def __post_init__(self) -> None:
        find_tokenizer(self.tokenizer)  # refuses an unknown one before any work

    def blocks(self, start: Place = Place(0, 0), *, joined: bool = False) -> Iterator[Block]:
        """Yield the text as a file that holds it would be read; there is no other place to start at."""
        yield from cut_blocks(self._lines())

    def _lines(self) -> Iterator[bytes]:
        for row, text in enumerate(self.texts):
            if not isinstance(text, str):
                raise InputError(f"row {row} is {_name(text)}, not a text as the rows before it; {_DROP}")
            yield line_of(text) if row else without_mark(line_of(text))

    def space(self, block: Block) -> tuple[Bytes, int]:
        """See :meth:`psdvec.text.corpus.Corpus.space`; a string has no bytes that need replacing."""
        return find_tokenizer(self.tokenizer)(block.data), 0


Input: TypeAlias = Corpus | Texts | str | Path | Iterable[Any]


def read_input(
    source: Input,
    *,
    tokenizer: str | None = None,
    field: str | None = None,
    column: str | None = None,
    errors: str | None = None,
    encoding: str | None = None,
) -> Corpus | Texts | Sentences:
    """Return ``source`` as something to count; the options are those of :func:`psdvec.read_corpus`, None its defaults.

    - A string or a ``Path`` is the name of a file or folder, a glob or an address.
    - In a list or another iterable, ``Path`` objects are files, and strings are texts: see :func:`are_files`.
    - Texts are cut into words by the tokenizer as if each were a line of a file.
    - Lists of strings in an iterable are sentences that are cut into words already.
    - Of a table (a DataFrame, a dataset of Hugging Face, rows that are mappings), the column ``column`` is taken,
      ``"text"`` by default.

    >>> read_input(["To be, or not to be."]).tokenizer
    'unicode'
    >>> list(read_input([["to", "be"]]))
    [['to', 'be']]
    """
    options = {
        "tokenizer": tokenizer,
        "field": field,
        "column": column,
        "errors": errors,
        "encoding": encoding,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, Corpus | Texts):
        _refuse(given, (), "the corpus was made with options of its own; give it to read_corpus")
        return source
    if isinstance(source, str | Path):
        _check_name(str(source))
        return read_corpus(source, **given)
    if hasattr(source, "__getitem__") and (hasattr(source, "column_names") or hasattr(source, "columns")):
        return _read_rows(_column_of(source, given.pop("column", _COLUMN)), given)
    return _read_rows(source, given)


def _check_name(name: str) -> None:
    """Raise :class:`InputError` if what was given as the name of a file is plainly a text, or nothing."""
    is_text = re.search(r"\s", name.partition("://")[0]) is not None
    if not name or (is_text and not is_file(name) and not glob.glob(name, recursive=True)):
        raise InputError(
            f"there is no file {name[:40]!r}; check the name, or give a text itself in a list: [text]"
        )


def _read_rows(source: Any, given: dict[str, str]) -> Corpus | Texts | Sentences:
    """Return what an iterable holds, which its first row tells."""
    if isinstance(source, bytes | bytearray | Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"{_name(source)} is nothing that can be counted; give the name of a file, a list of texts, "
            "or lists of words"
        )
    rows = iter(source)
    begin = list(_take_one(rows))
    first = begin[0] if begin else []
    rows = chain(begin, rows)
    if isinstance(first, Path) or isinstance(source, list | tuple):
        held = source if isinstance(source, list | tuple) else list(rows)
        if are_files(held):
            return read_corpus(held, **given)
    if isinstance(first, Mapping):
        return _read_rows(_column_of_rows(rows, given.pop("column", _COLUMN)), given)
    _refuse(given, ("tokenizer",), "no file is read and no table; leave it out")
    if isinstance(first, str):
        return Texts(rows, given.get("tokenizer", _TOKENIZER))
    if not isinstance(first, Iterable):
        raise InputError(f"row 0 is {_name(first)}, not a text; {_DROP}")
    _refuse(given, (), "the sentences are cut into words already; leave it out, or give texts")
    return rows


def _take_one(rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        yield row
        return


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
    if overlong:
        _say_or_warn(f"words longer than 1024 bytes left out: {overlong:,}", overlong, words, progress)
    if replaced:
        said = f"sequences of bytes that were not {encoding.upper()} replaced: {replaced:,}"
        if replaced * _ONE_IN > words:
            said += f"; {_advice(files) if encoding == UTF8 else 'name another encoding'}"
        _say_or_warn(said, replaced, words, progress)


def _say_or_warn(text: str, damage: int, words: int, progress: Progress) -> None:
    if damage * _ONE_IN > words:
        warnings.warn(text, InputWarning, stacklevel=5)
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


def _column_of(table: Any, column: str) -> Any:
    """Return the rows of one column of a table."""
    names = table.column_names if hasattr(table, "column_names") else table.columns
    if isinstance(names, Mapping):
        raise InputError(
            f"there are several tables here ({', '.join(map(str, names))}); give one of them, such as "
            f"data[{next(iter(names), 'NAME')!r}]"
        )
    if names is not None:  # a dataset that is being streamed may not know
        _check_column(column, names, "the table")
    return table[column]


def _column_of_rows(rows: Iterable[Mapping[Any, Any]], column: str) -> Iterator[Any]:
    """Yield one column of rows that are mappings."""
    for number, row in enumerate(rows):
        _check_column(column, row, f"row {number}")
        yield row[column]


def _check_column(column: str, names: Iterable[Any], where: str) -> None:
    found = list(names)
    if column not in found:
        has = ", ".join(map(str, found))
        raise InputError(f"{where} has no column '{column}' (it has: {has}); {_NAME_COLUMN}")


def _refuse(given: Mapping[str, str], allowed: tuple[str, ...], why: str) -> None:
    """Raise :class:`InputError` if an option was given that has no effect here."""
    for name, value in given.items():
        if name not in allowed:
            raise InputError(f"{name}={value!r} was given, but {why}")


def _name(value: Any) -> str:
    """Return a value as it can stand in a sentence."""
    written = repr(value)
    return written if len(written) <= 40 else f"an object of type {type(value).__name__}"
