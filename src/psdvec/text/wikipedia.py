"""Turns a Wikipedia dump into text, one article per line.

:func:`extract` reads the dump once, in constant memory, and cleans batches of pages in parallel; articles are
written in the order of the dump, with the same bytes for any number of workers. Articles are the pages of namespace 0
that are not redirects; :mod:`psdvec.text.wikitext` says what becomes of their markup.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, Literal

from psdvec.errors import InputError
from psdvec.progress import LogProgress, Progress
from psdvec.resources import format_size, map_ordered, resolve_workers
from psdvec.storage.files import check_file_output, replaced_file
from psdvec.system import rename_to_free
from psdvec.text.streams import ByteStream, open_stream

# Reads MediaWiki XML: a :class:`Dump` cuts a byte stream into batches of whole pages, :func:`read_pages` parses them.

MAX_PAGE = 1 << 26
MAX_HEADER = 1 << 20

_BATCH = 1 << 20
_HEAD = 1000  # bytes in which the first element begins
_START, _END = b"<page>", b"</page>"
_FILE, _MEDIA, _CATEGORY = 6, -2, 14

# None of these looks at a byte more than twice, whatever it is given: what may repeat always ends at the "<" at which
# the next match could begin, or is possessive. The first element comes after a mark, blanks, instructions and comments.
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?>(?:<(?=\?).*?\?>|<!(?=--).*?-->)\s*+)*+<mediawiki\b", re.DOTALL)
_DECLARATION = re.compile(rb"<!(?!--)")
_NAMESPACE = re.compile(rb'<namespace key="(-?\d{1,9})"[^<>/]*>([^<]+)</namespace>')
_PAGE_TAG = re.compile(rb"</?page>")
_PART_OF_PAGE = re.compile(rb"<(?:page|text|title|revision)\b")
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_NUMBER = re.compile(rb"<ns>(-?\d{1,9})</ns>")
_ID = re.compile(rb"<id>(\d{1,18})</id>")
_TEXT = re.compile(rb"<text\b[^<>]*(?:/>|>([^<]*)</text>)")
_REDIRECTION = re.compile(rb"\s*#redirect\b", re.IGNORECASE)


@dataclass(frozen=True)
class Batch:
    """Some whole pages as XML, and how much of the file has been read when they end."""

    xml: bytes
    raw_position: int


@dataclass(frozen=True)
class Page:
    """A page: its place in the wiki, and the wikitext of its last revision."""

    id: int
    title: str
    namespace: int
    is_redirect: bool
    text: bytes


class Dump:
    """A MediaWiki dump whose header has been read; :meth:`batches` reads the rest, once."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self._buffer = bytearray()
        self._offset = 0
        self.namespaces = self._read_header()

    def batches(self) -> Iterator[Batch]:
        """Yield the pages in batches of about a megabyte; an error is raised after the last good page."""
        more, fault = True, None
        while more and not fault:
            try:
                more = self._fill(len(self._buffer) + _BATCH)
            except InputError as error:
                fault = error
            xml, damage = self._take_pages()
            if xml:
                yield Batch(xml, self.stream.raw_position)
            fault = damage or fault
            if not fault and len(self._buffer) > MAX_PAGE:
                fault = InputError(
                    f"{self.stream.name} contains a page of more than {format_size(MAX_PAGE)}, at byte {self._offset} "
                    "of its XML, which no wiki allows; give a dump of current articles (pages-articles)"
                )
        if fault:
            raise fault
        if b"</mediawiki>" not in self._buffer:
            raise InputError(
                f"{self.stream.name} is truncated: its XML ends without </mediawiki> "
                f"at byte {self._offset + len(self._buffer)}; download the whole dump again"
            )
        if left := _PART_OF_PAGE.search(self._buffer):
            raise self._page_error(self._offset + left.start())

    def _read_header(self) -> dict[str, int]:
        """Read up to the first page, and return the number of each namespace by its name."""
        self._fill(_HEAD)
        if not self._buffer:
            raise InputError(f"{self.stream.name} is empty; give a MediaWiki dump (pages-articles.xml.bz2)")
        if not _ROOT.match(self._buffer):
            if declared := _DECLARATION.search(self._buffer):
                raise self._declaration_error(declared.start())
            raise InputError(
                f"{self.stream.name} is not a MediaWiki dump: it begins with {bytes(self._buffer[:40])!r} "
                "instead of <mediawiki; give a dump such as pages-articles.xml.bz2"
            )
        while (end := self._buffer.find(_START)) < 0 and len(self._buffer) < MAX_HEADER:
            if not self._fill(len(self._buffer) + _BATCH // 16):
                break
        header = bytes(self._buffer[: end if end >= 0 else len(self._buffer)])
        if declared := _DECLARATION.search(header):
            raise self._declaration_error(declared.start())
        return {
            html.unescape(name.decode("utf-8", "replace")): int(key)
            for key, name in _NAMESPACE.findall(header)
        }

    def _fill(self, size: int) -> bool:
        """Read until the buffer holds ``size`` bytes; return False at the end of the stream."""
        while len(self._buffer) < size:
            data = self.stream.read(size - len(self._buffer))
            if not data:
                return False
            self._buffer += data
        return True

    def _take_pages(self) -> tuple[bytes, InputError | None]:
        """Take all whole pages out of the buffer, and return those before the first fault in them, and the fault."""
        last, offset = self._buffer.rfind(_END), self._offset
        end = last + len(_END) if last >= 0 else 0
        xml = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._offset += end
        declared, position, start = _DECLARATION.search(xml), 0, None
        for tag in _PAGE_TAG.finditer(xml):
            opens = tag[0] == _START
            if opens != (start is None):
                return xml[:position], self._page_error(offset + (start or tag.start()))
            if opens and (outside := _PART_OF_PAGE.search(xml, position, tag.start())):
                return xml[:position], self._page_error(offset + outside.start())
            if declared and declared.start() < tag.end():
                return xml[:position], self._declaration_error(offset + declared.start())
            position, start = (position, tag.start()) if opens else (tag.end(), None)
        return xml[:position], None

    def _page_error(self, position: int) -> InputError:
        return InputError(
            f"{self.stream.name} is damaged: the page at byte {position} of its XML is not whole; download the dump "
            "again"
        )

    def _declaration_error(self, position: int) -> InputError:
        return InputError(
            f"{self.stream.name} contains a declaration (DOCTYPE, ENTITY or CDATA) at byte {position} "
            "of its XML, which no dump has and which may be malicious; give a dump made by MediaWiki"
        )


def read_pages(xml: bytes, namespaces: dict[str, int]) -> Iterator[Page]:
    """Yield the pages in ``xml``; in old dumps, which do not number namespaces, the title tells them."""
    position = 0
    while (start := xml.find(_START, position)) >= 0:
        position = xml.find(_END, start)
        if position < 0:
            return
        yield _read_page(xml, start, position, namespaces)


def _read_page(xml: bytes, start: int, end: int, namespaces: dict[str, int]) -> Page:
    text_start = xml.rfind(b"<text", start, end)
    head_end = xml.find(b"<revision", start, end)
    head = xml[start : head_end if head_end >= 0 else end]
    text = _TEXT.match(xml, text_start, end) if text_start >= 0 else None
    title, number, page_id = _TITLE.search(head), _NUMBER.search(head), _ID.search(head)
    name = html.unescape(title[1].decode("utf-8", "replace")) if title else ""
    for found, element in ((title, b"title"), (number, b"ns"), (page_id, b"id")):
        if found is None and b"<" + element in head:
            raise _element_error(name, head, element)
    stray = xml.find(b"</text>", text.end() if text else start, end)  # ends a text that has no beginning
    if stray >= 0 or (text is None and text_start >= 0):
        raise _element_error(name, xml[max(text_start, start) : end], b"text")
    wikitext = _unescape(text[1] or b"") if text else b""
    return Page(
        id=int(page_id[1]) if page_id else 0,
        title=name,
        namespace=int(number[1]) if number else namespaces.get(name.partition(":")[0], 0),
        is_redirect=b"<redirect" in head or bool(_REDIRECTION.match(wikitext)),
        text=wikitext,
    )


def _element_error(title: str, xml: bytes, element: bytes) -> InputError:
    begin = xml.find(b"<" + element)
    return InputError(
        f"the dump is damaged: the page '{title[:80]}' has {xml[begin : begin + 40]!r} where <{element.decode()}> "
        f"should be; download the dump again"
    )


def _unescape(text: bytes) -> bytes:
    """Undo the escapes that MediaWiki uses in XML; all others belong to the wikitext."""
    return text.replace(b"&lt;", b"<").replace(b"&gt;", b">").replace(b"&quot;", b'"').replace(b"&amp;", b"&")


STANDARD_OUTPUT = "-"

Form = Literal["text", "paper", "jsonl"]


@dataclass(frozen=True)
class Extraction:
    """How many pages were read, and what became of them."""

    pages: int = 0
    articles: int = 0
    words: int = 0
    redirects: int = 0
    other_namespaces: int = 0
    too_short: int = 0

    def __str__(self) -> str:
        return (
            f"{self.pages:,} pages read, {self.articles:,} articles kept with {self.words:,} words; skipped: "
            f"{self.redirects:,} redirects, {self.other_namespaces:,} pages in other namespaces, "
            f"{self.too_short:,} articles with too few words"
        )


def extract(
    dump: str | Path,
    output: str | Path,
    *,
    form: Form = "text",
    min_words: int = 1,
    limit: int | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress = LogProgress(),
) -> Extraction:
    """Write the articles of a Wikipedia ``dump`` to ``output``, one per line; ``"-"`` is standard input, or output.

    ``form``: ``"text"`` keeps the text as it stands, in any script; ``"jsonl"`` writes it as JSON, with ``id`` and
    ``title``; ``"paper"`` keeps only English words, in lower case and without punctuation. A dump that is damaged or
    truncated, or contains declarations or a page above 67 MB, is an :class:`InputError`; the articles before that place
    stay in ``output.partial``, or, if something has that name, ``output.partial-2``.

    >>> extract("pages-articles.xml.bz2", "corpus.txt").articles
    600
    """
    _check_output(output, dump, overwrite=overwrite)
    workers = resolve_workers(workers)
    with open_stream(dump, workers=workers) as stream:
        source = Dump(stream)
        clean = _cleaner(source, form=form, min_words=min_words)
        with (
            _open_output(output, overwrite=overwrite) as file,
            progress.stage("extracting", total=stream.raw_size, unit="B") as stage,
            ThreadPoolExecutor(workers) as pool,
        ):
            done: Counter[str] = Counter()  # by the names of the fields of Extraction
            position, last = 0, None
            try:
                for batch in map_ordered(pool, clean, source.batches(), ahead=2 * workers):
                    fates = batch.fates
                    articles = [place for place, fate in enumerate(fates) if fate.counted == "articles"]
                    if limit is not None and 0 < limit - done["articles"] <= len(articles):
                        fates = fates[: articles[limit - done["articles"] - 1] + 1]
                    lines = (f"{fate.line}\n" for fate in fates if fate.counted == "articles")
                    file.write("".join(lines).encode("utf-8", "replace"))
                    done.update(fate.counted for fate in fates)
                    done.update(pages=len(fates), words=sum(fate.words for fate in fates))
                    stage.advance(batch.raw_position - position, pages=len(fates))
                    position, last = batch.raw_position, batch.last or last
                    if done["articles"] == limit:
                        break
            except InputError as error:
                raise InputError(f"{error}; {_what_is_kept(done['articles'], last, output)}") from error
    return Extraction(**done)


@dataclass(frozen=True)
class _Fate:
    """What becomes of a page: the field of :class:`Extraction` that counts it, and the line and words of an article."""

    counted: Literal["articles", "redirects", "other_namespaces", "too_short"]
    line: str = ""
    words: int = 0


@dataclass(frozen=True)
class _CleanBatch:
    fates: list[_Fate]
    last: Page | None
    raw_position: int


def _cleaner(dump: Dump, *, form: Form, min_words: int) -> Callable[[Batch], _CleanBatch]:
    """Return the function that cleans a batch; the kernels are imported only here, when work begins."""
    from psdvec.text.wikitext import Stripper

    dropped = [name for name, key in dump.namespaces.items() if key in (_FILE, _MEDIA, _CATEGORY)]
    stripper = Stripper(dropped)
    strip = stripper.words if form == "paper" else stripper.texts

    def clean(batch: Batch) -> _CleanBatch:
        pages = list(read_pages(batch.xml, dump.namespaces))
        texts = iter(strip(page.text for page in pages if page.namespace == 0 and not page.is_redirect))
        fates = [_fate(page, texts, form=form, min_words=min_words) for page in pages]
        return _CleanBatch(fates, pages[-1] if pages else None, batch.raw_position)

    return clean


def _fate(page: Page, texts: Iterator[str], *, form: Form, min_words: int) -> _Fate:
    if page.namespace != 0:
        return _Fate("other_namespaces")
    if page.is_redirect:
        return _Fate("redirects")
    text = next(texts)
    words = text.count(" ") + 1 if text else 0
    if words < min_words:
        return _Fate("too_short")
    if form == "jsonl":
        text = json.dumps({"id": page.id, "title": page.title, "text": text}, ensure_ascii=False)
    return _Fate("articles", text, words)


def _what_is_kept(articles: int, last: Page | None, output: str | Path) -> str:
    if last is None:
        return "no page was read"
    where = "were written" if str(output) == STANDARD_OUTPUT else f"are kept in '{_partial(Path(output))}'"
    page = f"the last good page is '{last.title}' (id {last.id})"
    return f"{page}, and the {articles:,} articles up to it {where}"


def _partial(path: Path) -> Path:
    """Return a free name for what could be read of a broken dump."""
    names = (f"{path.name}.partial{f'-{n}' if n > 1 else ''}" for n in count(1))
    return next(each for each in map(path.with_name, names) if not os.path.lexists(each))


def _check_output(output: str | Path, dump: str | Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if ``output`` must not be written."""
    path = Path(output)
    if str(output) == STANDARD_OUTPUT:
        return
    if path.is_file() and Path(dump).exists() and path.samefile(dump):
        raise InputError(f"'{path}' is the dump itself; choose another output name")
    check_file_output(path, overwrite=overwrite)


@contextmanager
def _open_output(output: str | Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Write beside ``output`` and rename when all is well; after an input error the partial file stays."""
    if str(output) == STANDARD_OUTPUT:
        if sys.stdout is None:
            raise InputError("standard output is closed, and nothing can be written to it; give a file")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    with replaced_file(path, overwrite=overwrite) as file:
        try:
            yield file
        except InputError:
            rename_to_free(Path(file.name), _partial(path))
            raise
