"""Reads MediaWiki XML: a :class:`Dump` cuts a byte stream into batches of whole pages, :func:`read_pages` parses them.

Pages are found by searching for their tags rather than with an XML parser; dumps are regular enough for that, and it
is far faster. A file that is not a dump is refused at its first bytes. Declarations, pages of more than
:data:`MAX_PAGE` bytes and pages without an end are refused where they occur, after all pages before them have been
returned.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from psdvec.errors import InputError
from psdvec.resources import format_size
from psdvec.text.decompress import ByteStream

MAX_PAGE = 1 << 26
MAX_HEADER = 1 << 20

_BATCH = 1 << 20
_HEAD = 1000  # bytes in which the first element begins
_START, _END = b"<page>", b"</page>"
_MARK, _ASIDES = b"\xef\xbb\xbf", ((b"<?", b"?>"), (b"<!--", b"-->"))
_FILE, _MEDIA, _CATEGORY = 6, -2, 14

# None of these looks at a byte more than twice, whatever it is given: what may repeat always ends at the "<" at which
# the next match could begin.
_ROOT = re.compile(rb"<mediawiki\b")
_DECLARATION = re.compile(rb"<!(?!--)")
_NAMESPACE = re.compile(rb'<namespace key="(-?\d{1,9})"[^<>/]*>([^<]+)</namespace>')
_NOT_BLANK = re.compile(rb"\S")
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

    @property
    def dropped_prefixes(self) -> list[str]:
        """The prefixes that the names of files and categories have in this wiki."""
        return [name for name, key in self.namespaces.items() if key in (_FILE, _MEDIA, _CATEGORY)]

    def batches(self) -> Iterator[Batch]:
        """Yield the pages in batches of about a megabyte; an error is raised after the last good page."""
        more, fault = True, None
        while more and not fault:
            try:
                more = self._fill(len(self._buffer) + _BATCH)
            except InputError as error:
                fault = error
            xml = self._take_pages()
            good, damage = self._good_length(xml)
            if good:
                yield Batch(xml[:good], self.stream.raw_position)
            fault = damage or fault or self._oversize()
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
        if not _ROOT.match(self._buffer, _root_place(bytes(self._buffer))):
            declared = _DECLARATION.search(self._buffer)
            raise self._declaration_error(declared.start()) if declared else self._no_dump_error()
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

    def _take_pages(self) -> bytes:
        """Take everything up to the end of the last whole page out of the buffer."""
        last = self._buffer.rfind(_END)
        end = last + len(_END) if last >= 0 else 0
        xml = bytes(self._buffer[:end])
        del self._buffer[:end]
        self._offset += end
        return xml

    def _good_length(self, xml: bytes) -> tuple[int, InputError | None]:
        """Return how many bytes of ``xml``, just taken, come before the first fault, and the fault."""
        declared = _DECLARATION.search(xml)
        offset, position, start = self._offset - len(xml), 0, None
        for tag in _PAGE_TAG.finditer(xml):
            opens = tag[0] == _START
            if opens != (start is None):
                return position, self._page_error(offset + (start or tag.start()))
            if opens and (outside := _PART_OF_PAGE.search(xml, position, tag.start())):
                return position, self._page_error(offset + outside.start())
            if declared and declared.start() < tag.end():
                return position, self._declaration_error(offset + declared.start())
            position, start = (position, tag.start()) if opens else (tag.end(), None)
        return position, None

    def _oversize(self) -> InputError | None:
        if len(self._buffer) <= MAX_PAGE:
            return None
        return InputError(
            f"{self.stream.name} contains a page of more than {format_size(MAX_PAGE)}, at byte {self._offset} "
            "of its XML, which no wiki allows; give a dump of current articles (pages-articles)"
        )

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

    def _no_dump_error(self) -> InputError:
        if not self._buffer:
            return InputError(f"{self.stream.name} is empty; give a MediaWiki dump (pages-articles.xml.bz2)")
        return InputError(
            f"{self.stream.name} is not a MediaWiki dump: it begins with {bytes(self._buffer[:40])!r} "
            "instead of <mediawiki; give a dump such as pages-articles.xml.bz2"
        )


def _root_place(data: bytes) -> int:
    """Return where the first element of an XML text begins: after its mark, blanks, instructions and comments."""
    place = _after_blanks(data, len(_MARK) if data.startswith(_MARK) else 0)
    while closing := next((end for begin, end in _ASIDES if data.startswith(begin, place)), None):
        end = data.find(closing, place)
        if end < 0:
            return len(data)
        place = _after_blanks(data, end + len(closing))
    return place


def _after_blanks(data: bytes, place: int) -> int:
    found = _NOT_BLANK.search(data, place)
    return found.start() if found else len(data)


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
