"""Baskets of items: orders, playlists, sessions and whatever else stands together without being text.

:func:`read_baskets` takes lists of items, tables or files and returns :class:`Baskets`; :func:`number_baskets` numbers
them as :mod:`psdvec.counts.segments` numbers text, and from there on they are counted as text is. Items are keys
(:func:`psdvec.counts.vocabulary.as_key`). A basket is counted whole: every two different items of it are a pair, in
both directions, whatever their order, and an item that is there twice counts once. Where order matters, a window makes
sentences of baskets.
"""

from __future__ import annotations

import csv
import marshal
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.counts.segments import (
    BATCH_TOKENS,
    SENTENCE_END,
    NumberedText,
    Segment,
    read_numbered,
    segment_of,
    write_segments,
)
from psdvec.counts.vocabulary import KEY_TYPES, ONE_KIND, TEXT_KEYS, Key, as_key, key_text, kind_of
from psdvec.errors import InputError
from psdvec.progress import Progress
from psdvec.storage.files import discard_folder
from psdvec.text.corpus import Corpus, Input, are_files, read_corpus
from psdvec.text.readers import Reader
from psdvec.text.streams import STANDARD_INPUT, shown

NOUN = "item"  # what counts and models of baskets call their words
MOST_ITEMS = 10_000  # of a basket that is counted whole: a hundred million pairs
_PARTS = 256  # files that the rows of a table are spread over, each of which fits into memory
_ROWS = 1 << 18  # of a table that are held at a time
_LOOKED_AT = 1000  # lines, to see what separates items
_NO_ITEMS = "the baskets hold no items (a generator can be read only once); give lists of items"


@dataclass(frozen=True)
class Baskets:
    """Baskets to count: ``read`` yields them, and is given a folder for what has no room in memory.

    ``keys`` is the kind of their items, ``ordered`` says whether their order matters. ``corpus`` are the files that
    they are read from by ``reader``, if any, and ``how`` names the columns.
    """

    read: Callable[[Path], Iterator[Iterable[Any]]]
    keys: str
    ordered: bool
    corpus: Corpus | None = None
    reader: Reader | None = None
    how: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> Any:
        """What tells whether the baskets are still the same; those from Python never are."""
        if self.corpus is None:
            return {"once": np.random.SeedSequence().entropy}
        return {**self.corpus.identity, **self.how}

    def sources(self, digests: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the name and size of each file, and how it was to be read, as recorded in the counts."""
        found = [{"name": "baskets from Python"}] if self.corpus is None else self.corpus.sources(digests)
        return [{**source, **self.how} for source in found]


def read_baskets(
    source: Input,
    *,
    basket: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    ordered: bool = False,
    **options: Any,
) -> Baskets:
    """Return ``source`` as baskets to count; ``options`` are those of :func:`psdvec.read_corpus` that fit baskets.

    - Lists, sets or other iterables of items, in an iterable: each is a basket.
    - A column of a DataFrame that is grouped, ``frame.groupby("order")["sku"]``.
    - A table (a DataFrame of pandas or Polars, a table of Arrow, a dataset of Hugging Face), with the columns
      ``basket`` and ``item``; the rows of a basket need not stand together. Without ``basket``, each cell of ``item``
      holds the list of a basket's items.
    - Files: tables (CSV, TSV, Parquet) and JSON lines with these columns, or else text, of which each line is a basket.
      Its items stand between tabs, or else commas, or else blanks, or whatever ``separator`` says.

    >>> read_baskets([["red wine", "cheese"], {"cheese", "bread"}]).keys
    'str'
    """
    columns = {"basket": basket, "item": item}
    given = {name: value for name, value in options.items() if value is not None}
    how = {name: value for name, value in {**columns, "separator": separator}.items() if value is not None}
    if basket is not None and item is None:
        raise InputError(
            f'basket="{basket}" names the column of the baskets; name that of the items too: item="NAME"'
        )
    if isinstance(source, str | Path) or (isinstance(source, list | tuple) and are_files(source)):
        source = read_corpus(source, **given)
        given = {}
    unused = next(iter(given if separator is None or isinstance(source, Corpus) else ("separator",)), None)
    if unused is not None:
        raise InputError(f"{unused} was given, but no file is read; leave it out")
    if isinstance(source, Corpus):
        return _from_files(source, basket, item, separator, how, ordered)
    if hasattr(source, "ngroup"):
        return _from_rows(_groups_of(source), {}, ordered)
    if hasattr(source, "__getitem__") and (hasattr(source, "columns") or hasattr(source, "column_names")):
        return _from_table(source, basket, item, how, ordered)
    if how:
        raise InputError(f"no table is read, of which {next(iter(how))} would be a column; leave it out")
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        values = "the values() of the dictionary" if isinstance(source, Mapping) else "a list of lists"
        raise InputError(
            f"an object of type {type(source).__name__} is not an iterable of baskets; give {values}"
        )
    return _from_rows(iter(source), {}, ordered)


def number_baskets(baskets: Baskets, folder: Path, *, progress: Progress) -> NumberedText:
    """Number baskets into segments of ``folder``; what holds no items is refused."""
    scratch = folder.with_name("baskets")
    if scratch.exists():  # what an interruption has left
        discard_folder(scratch)
    write_segments(_segments(baskets, scratch), folder, unit="baskets", progress=progress)
    if scratch.exists():
        discard_folder(scratch)
    text = read_numbered(folder)
    if not text.tally.tokens:
        discard_folder(folder)
        choice = None if baskets.reader is None else baskets.reader.choice
        raise InputError(choice.why_none() if choice and choice.where and not choice.chosen else _NO_ITEMS)
    return text


def _segments(baskets: Baskets, scratch: Path) -> Iterator[Segment]:
    local: dict[Key, int] = {}
    ids: list[int] = []
    kind = KEY_TYPES[baskets.keys]
    for number, basket in enumerate(baskets.read(scratch)):
        items = items_of(basket, number, ordered=baskets.ordered)
        for item in items:
            if type(item) is not kind or kind is tuple or (not item and kind is str):
                item = _key_of(item, kind, number)
            ids.append(local.setdefault(item, len(local)))
        if items:
            ids.append(SENTENCE_END)
        if len(ids) >= BATCH_TOKENS:
            yield segment_of([key_text(key) for key in local], ids, whole="the baskets")
            local, ids = {}, []
    replaced = 0 if baskets.reader is None else baskets.reader.replaced
    yield segment_of([key_text(key) for key in local], ids, whole="the baskets")._replace(replaced=replaced)


def items_of(basket: Any, number: int, *, ordered: bool) -> Collection[Any]:
    """Return the items of a basket; each once, if their order says nothing."""
    if isinstance(basket, str | bytes | Mapping) or not isinstance(basket, Iterable):
        raise InputError(f"basket {number} is {basket!r:.40}, not a list of items; put its items into a list")
    if ordered:
        if isinstance(basket, set | frozenset):
            raise InputError(f"basket {number} is a set, which has no order; leave window out, or give lists")
        return _as_list(basket)
    try:
        items = dict.fromkeys(_as_list(basket))
    except TypeError as error:
        raise InputError(
            f"basket {number} holds a value that cannot be a key ({error}); give strings, numbers or tuples"
        ) from error
    if len(items) > MOST_ITEMS:
        raise InputError(
            f"basket {number} has {len(items):,} items, of which each two would be a pair; give a window, so that only "
            f"near ones are, or cut baskets of more than {MOST_ITEMS:,} items"
        )
    return items


def _key_of(item: Any, kind: type, number: int) -> Key:
    try:
        key = as_key(item)
    except InputError as error:
        raise InputError(f"in basket {number}, {error}") from error
    if type(key) is not kind:
        raise InputError(
            f"the keys are of several kinds: {item!r:.40} in basket {number} is no {kind.__name__}, as the first one "
            f"was; {ONE_KIND}"
        )
    return key


def _as_list(values: Any) -> list[Any]:
    """Return the values of a column or a list as a list of Python's own."""
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, name):
            found: list[Any] = getattr(values, name)()
            return found
    return list(values)


# Baskets from Python.


def _from_rows(rows: Iterator[Any], how: Mapping[str, str], ordered: bool) -> Baskets:
    """Return baskets that come from Python, and can be read once; the first item tells what their keys are."""
    begin: list[Any] = []
    for number, row in enumerate(rows):
        items = list(items_of(row, number, ordered=ordered))
        begin.append(items)
        if items:
            break
    first = next((item for items in begin for item in items), "")
    keys = TEXT_KEYS if not first and isinstance(first, str) else kind_of(first)
    return Baskets(lambda folder: chain(begin, rows), keys, ordered, how=how)


def _groups_of(groups: Any) -> Iterator[list[Any]]:
    """Yield the groups of a column that pandas has grouped; rows without a group are left out, as pandas does."""
    if hasattr(groups.obj, "columns"):
        raise InputError(
            'a DataFrame was grouped, and which column holds the items is not said; give one: frame.groupby(...)["sku"]'
        )
    numbers, items = np.asarray(groups.ngroup()), _as_list(groups.obj)
    order = np.argsort(numbers, kind="stable")
    order = order[np.searchsorted(numbers[order], 0) :]
    for group in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        yield [items[row] for row in group.tolist()]


def _from_table(
    table: Any, basket: str | None, item: str | None, how: Mapping[str, str], ordered: bool
) -> Baskets:
    names = list(map(str, table.column_names if hasattr(table, "column_names") else table.columns))
    wanted = [name for name in (basket, item) if name is not None]
    missing = next((name for name in wanted if name not in names), None)
    if item is None or missing is not None:
        lacks = "which columns hold the baskets and the items is not said" if item is None else ""
        raise InputError(
            f"{lacks or f'the table has no column {missing!r}'} (it has: {', '.join(names)}); name them: "
            'basket="NAME", item="NAME"'
        )
    cells = _as_list(table[item])
    if basket is None:
        return _from_rows(iter(cells), how, ordered)
    pairs = enumerate(zip(_as_list(table[basket]), cells, strict=True))
    checked = (_checked_pair(pair, "the table", row, basket, item) for row, pair in pairs)
    first = next(checked, None)
    rows = chain([] if first is None else [first], checked)
    keys = TEXT_KEYS if first is None else kind_of(first[1])
    return Baskets(lambda folder: _grouped(rows, folder), keys, ordered, how=how)


def _checked_pair(
    pair: tuple[Any, Any], where: str, row: int, basket: str, item: str
) -> tuple[str | int, Key]:
    """Return a basket and an item of a row of a table; whatever is missing is refused."""
    if type(pair[0]) is type(pair[1]) is str and pair[0] and pair[1]:  # as most are
        return pair
    for name, value in zip((basket, item), pair, strict=True):
        if value is None or value == "" or value != value:
            raise InputError(f"row {row} of {where} has nothing in column '{name}'; leave such rows out")
    key, value = pair
    try:
        return key if type(key) in (str, int) else repr(key), as_key(value)
    except InputError as error:
        raise InputError(f"in row {row} of {where}, {error}") from error


def _grouped(pairs: Iterable[tuple[str | int, Key]], folder: Path) -> Iterator[list[Key]]:
    """Yield the items of each basket in the order in which they came; the rows of a basket may stand anywhere.

    Rows are spread over files of ``folder`` by their baskets, so that each file fits into memory, if there are more
    than are held at a time.
    """
    rows = iter(pairs)
    files = [folder / f"{part:03d}" for part in range(_PARTS)]
    held = list(islice(rows, _ROWS))
    if len(held) < _ROWS:
        yield from _groups([held])
        return
    folder.mkdir()
    while held:
        parts: list[list[tuple[str | int, Key]]] = [[] for _ in files]
        for pair in held:
            parts[zlib.crc32(str(pair[0]).encode("utf-8", "surrogatepass")) % _PARTS].append(pair)
        for file, part in zip(files, parts, strict=True):
            with file.open("ab") as stream:
                marshal.dump(part, stream)
        held = list(islice(rows, _ROWS))
    for file in files:
        yield from _groups(_read_batches(file))
        file.unlink()


def _read_batches(file: Path) -> Iterator[list[tuple[str | int, Key]]]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        while stream.tell() < size:
            yield marshal.load(stream)


def _groups(batches: Iterable[list[tuple[str | int, Key]]]) -> Iterator[list[Key]]:
    groups: dict[str | int, list[Key]] = {}
    for batch in batches:
        for basket, item in batch:
            groups.setdefault(basket, []).append(item)
    yield from groups.values()


# Baskets from files.


def _from_files(
    corpus: Corpus,
    basket: str | None,
    item: str | None,
    separator: str | None,
    how: Mapping[str, str],
    ordered: bool,
) -> Baskets:
    if corpus.column is not None:
        raise InputError('name the columns by basket="NAME" and item="NAME"; leave column out')
    if item is None and corpus.where:
        raise InputError(
            'where names a column, but a line of items has none; name the items\' too: item="NAME"'
        )
    if item is None:
        _check_separator(separator)
        for file in corpus.files:
            if corpus.reader().kind(file) in ("json", "parquet"):
                raise InputError(
                    f"{shown(file)} is a table, and which columns hold the baskets and the items is not said; name "
                    'them: basket="NAME", item="NAME"'
                )
        reader = corpus.reader()
        return Baskets(
            lambda folder: _lines(corpus, reader, separator), TEXT_KEYS, ordered, corpus, reader, how
        )
    if separator is not None:
        raise InputError("a table has its own separator; leave separator out, or item")

    reader = replace(corpus.reader(), column=item)

    def read(folder: Path) -> Iterator[Iterable[Any]]:
        cells = _cells(corpus, reader, basket, item)
        return _grouped(cells, folder) if basket is not None else (items for _, items in cells)

    keys = TEXT_KEYS
    if STANDARD_INPUT not in corpus.files:
        _, first = next(_cells(corpus, replace(reader), basket, item), (None, ""))
        first = first if basket is not None else next(iter(first), "")
        keys = kind_of(first) if first != "" else TEXT_KEYS
    return Baskets(read, keys, ordered, corpus, reader, how)


def _cells(corpus: Corpus, reader: Reader, basket: str | None, item: str) -> Iterator[tuple[Any, Any]]:
    """Yield the basket and the item of each row of all files or, without ``basket``, None and a list of items."""
    for file in corpus.files:
        where = shown(file)
        for number, record in reader.rows(file, () if basket is None else (basket,)):
            try:
                pair = None if basket is None else record[basket], record[item]
            except KeyError as error:
                raise InputError(
                    f"row {number} of {where} has no column {error} (it has: {', '.join(record)}); name the columns of "
                    'baskets and items: basket="NAME", item="NAME"'
                ) from error
            if basket is None and not isinstance(pair[1], list):
                raise InputError(
                    f"row {number} of {where} has no list of items in column '{item}'; name the column of the baskets "
                    'too: basket="NAME"'
                )
            yield pair if basket is None else _checked_pair(pair, where, number, basket, item)
        _check_damage(reader, corpus)


def _check_damage(reader: Reader, corpus: Corpus) -> None:
    if reader.replaced and corpus.errors == "strict":
        raise InputError(
            f"{shown(reader.damaged[0])} is not {corpus.encoding.upper()}; name its encoding, as with "
            'encoding="latin-1", or use errors="replace"'
        )


def _check_separator(separator: str | None) -> None:
    if separator is not None and len(separator) != 1:
        raise InputError(f"separator is {separator!r:.20}; give one character, such as a comma")


def _lines(corpus: Corpus, reader: Reader, separator: str | None) -> Iterator[list[str]]:
    """Yield the items of each line of text files."""
    for file in corpus.files:
        lines = reader.lines(file)
        if separator is None:
            begin = list(islice(lines, _LOOKED_AT))
            separator = next((mark for mark in "\t," if any(mark in line for line in begin)), " ")
            lines = chain(begin, lines)
        for number, line in enumerate(lines, 1):
            yield [item for item in _cut(line, separator, file, number) if item]
        _check_damage(reader, corpus)


def _cut(line: str, separator: str, file: str, number: int) -> Iterable[str]:
    if separator == " ":
        return line.split()
    if '"' not in line:
        return map(str.strip, line.split(separator))
    try:
        cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise InputError(
            f"line {number} of {shown(file)} cannot be cut into items ({error}); put quotation marks around items that "
            "hold some, and double these"
        ) from error
    return map(str.strip, cells)
