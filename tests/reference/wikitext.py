"""Defines what the passes over wikitext do, in slow Python and one page at a time.

Each function is the twin of the kernel of the same name in :mod:`psdvec.text.wikitext`,
:mod:`psdvec.text.wikitext` or :mod:`psdvec.text.wikitext`, and tests check that the two agree. Of unbalanced markup
only the marks are dropped; the text around them stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set

from psdvec.text.wikitext import APOSTROPHE, BLOCK, IGNORED, LITERAL, MAX_DEPTH, MAX_PREFIX, OPAQUE, SEPARATOR

REMOVED = b"\x01"

_BLANKS = b" \t" + REMOVED
_INNER_BAR = b"\x02"
_TAG_NAME = re.compile(rb"</?([A-Za-z0-9]+)")
_TAG_REST = re.compile(rb"[^<>]*>")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_GAP = re.compile(r"[\x01-\x20\x7f|\x85\xa0\u2000-\u200b\u2028-\u202f\u3000]+")
_GAP_OR_CHARACTER = re.compile(_GAP.pattern + r"|[^\0]")
_SCHEME = rb"https?://|ftp://"
_ADDRESS = re.compile(
    rb"(\[(?:" + _SCHEME + rb"|//|mailto:)|(?<![A-Za-z0-9])(?:" + _SCHEME + rb"))[^\0- \[\]<>\"|]*|[\]\n]"
)


def strip_markup(
    text: bytes, tags: Mapping[str, int], namespaces: Set[bytes], languages: Set[bytes]
) -> bytes:
    """Run all passes over a page; ``namespaces`` and ``languages`` are given in lower case."""
    text = drop_templates(drop_elements(text, tags))
    text = drop_tables(resolve_links(text, namespaces, languages))
    return drop_line_markup(drop_addresses(text))


def drop_elements(text: bytes, tags: Mapping[str, int]) -> bytes:
    """Drop comments, HTML tags, and elements whose content is not prose."""
    written, position = b"", 0
    while (start := text.find(b"<", position)) >= 0:
        replacement, end = _element(text, start, tags)
        written += text[position:start] + replacement
        position = end
    return written + text[position:]


def _element(text: bytes, start: int, tags: Mapping[str, int]) -> tuple[bytes, int]:
    """Return what replaces the element at ``start``, and where it ends."""
    if text.startswith(b"<!--", start):
        end = text.find(b"-->", start + 4)
        return b"", end + 3 if end >= 0 else start + 4
    name = _TAG_NAME.match(text, start)
    kind = tags.get(name[1].decode().lower()) if name else None
    if name is None or kind is None:
        return b"<", start + 1
    tag = _TAG_REST.match(text, name.end())
    if tag is None:
        return b"", start + 1
    if kind >= OPAQUE and not tag[0].endswith(b"/>") and not name[0].startswith(b"</"):
        partner = re.compile(rb"<(/?)" + name[1] + rb"(?![A-Za-z0-9])", re.IGNORECASE).search(text, tag.end())
        if partner and partner[1]:
            content = text[tag.end() : partner.start()]
            closing = _TAG_REST.match(text, partner.start() + 2)
            end = closing.end() if closing else partner.start() + 2
            return re.sub(rb"[{}\[\]|]", b" ", content) if kind == LITERAL else REMOVED, end
    return b" " if kind == BLOCK else b"", tag.end()


def drop_templates(text: bytes) -> bytes:
    """Drop balanced ``{{...}}`` and ``{{{...}}}``; of unbalanced braces, drop only the braces."""
    open_texts, widths = [b""], [0]
    for run in re.findall(rb"\{+|\}+|[^{}]+", text):
        length = len(run)
        while run[:1] in b"{}" and length >= 2:
            width = 3 if length == 3 else 2
            if run[:1] == b"{":
                open_texts.append(b"")
                widths.append(width)
            elif len(open_texts) > 1:
                open_texts.pop()
                width = min(widths.pop(), length)
                open_texts[-1] += REMOVED
            else:
                width = 2
            length -= width
        open_texts[-1] += run[:length]
    return b"".join(open_texts)


def resolve_links(text: bytes, namespaces: Set[bytes], languages: Set[bytes]) -> bytes:
    """Replace ``[[...]]`` by its text; drop links to files, categories and other languages entirely."""

    def is_dropped(link: bytes) -> bool:
        name, colon, _ = link[:MAX_PREFIX].lstrip(_BLANKS).partition(b":")
        name = name.rstrip(_BLANKS + b"_")
        folded = name.lower().replace(b"_", b" ")
        return bool(colon and name) and (
            folded in namespaces or (folded in languages and name == name.lower())
        )

    open_texts = [b""]
    for token in re.split(rb"(\[\[|\]\])", text):
        if token == b"[[":
            if len(open_texts) <= MAX_DEPTH:
                open_texts.append(b"")
        elif token != b"]]":
            open_texts[-1] += token
        elif len(open_texts) > 1:
            link = open_texts.pop()
            open_texts[-1] += _link_text(link, is_dropped).replace(b"|", _INNER_BAR)
    while len(open_texts) > 1:
        unclosed = open_texts.pop()
        open_texts[-1] += _without_first_line(unclosed) if is_dropped(unclosed) else unclosed
    return open_texts[0].replace(_INNER_BAR, b"|")


def _link_text(link: bytes, is_dropped: Callable[[bytes], bool]) -> bytes:
    name, _, label = link.partition(b"|")
    if is_dropped(link):
        return _without_first_line(link) if b"\n\n" in link else REMOVED
    if b"\n" in name:
        return link
    return label if label.strip(_BLANKS) else name.lstrip(_BLANKS + b":")


def _without_first_line(text: bytes) -> bytes:
    return text[text.find(b"\n") :] if b"\n" in text else b""


def drop_tables(text: bytes) -> bytes:
    """Drop balanced ``{|...|}``; of a table without an end or a beginning, drop the lines that begin with ``|``."""
    open_texts = [b""]
    for line in _LINE.findall(text):
        content = line.lstrip(_BLANKS + b":")
        if content.startswith(b"{|"):
            open_texts.append(b"")
        elif content.startswith(b"|}"):
            if len(open_texts) > 1:
                open_texts.pop()
            open_texts[-1] += content[2:]
            continue
        if content.startswith((b"{|", b"|")):
            line = b"\n" if line.endswith(b"\n") else b""
        open_texts[-1] += line
    return b"".join(open_texts)


def drop_addresses(text: bytes) -> bytes:
    """Drop web addresses; of ``[address text]``, keep the text."""
    in_link = False

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal in_link
        if match[1]:
            in_link = in_link or match[1].startswith(b"[")
            return REMOVED
        was_in_link, in_link = in_link, False
        return b"" if was_in_link and match[0] == b"]" else match[0]

    return _ADDRESS.sub(replace, text)


def drop_line_markup(text: bytes) -> bytes:
    """Drop the marks of lists, headings and rules, runs of apostrophes, and magic words."""
    text = b"".join(_without_line_marks(line) for line in _LINE.findall(text))
    text = re.sub(rb"__[A-Z\x80-\xff_]+?__", REMOVED, text)
    return re.sub(rb"'{2,}", lambda run: b"'" if len(run[0]) == 4 else b"", text)


def _without_line_marks(line: bytes) -> bytes:
    if line.startswith(b"----"):
        return line.lstrip(b"-")
    if not line.startswith(b"="):
        return line.lstrip(b"*#:;")
    text = line.lstrip(b"=")
    content = text.rstrip(b"\n").rstrip(_BLANKS)
    heading = content.rstrip(b"=")
    if heading == content != b"":
        return line
    return heading + text[len(content) :]


def tidy_text(text: str) -> str:
    """Put single spaces between words, and remove the empty brackets that removed markup left."""
    written = ""
    space = removed = removed_in_brackets = False
    for token in _GAP_OR_CHARACTER.findall(text):
        last = written[-1:]
        if _GAP.match(token):
            space = space or token.strip("\1") != ""
            removed = removed or "\1" in token
            removed_in_brackets = removed_in_brackets or removed
        elif token == ")" and last == "(" and removed_in_brackets:
            written = written[:-1].removesuffix(" ")
            space, removed, removed_in_brackets = True, True, False
        elif last == "(" and removed_in_brackets and token in ",;":
            continue
        elif token != last or token not in "{}[]":
            written += " " * _needs_space(last, token, space, removed) + token
            space, removed = False, False
            removed_in_brackets = removed_in_brackets and token != "("
    return written


def _needs_space(last: str, character: str, space: bool, removed: bool) -> bool:
    if last == "<" and re.match(r"[/!A-Za-z0-9]", character):
        return True
    if removed and (last == "(" or character in "),;.:"):
        return False
    if removed and not space:
        return bool(re.fullmatch(r"[A-Za-z0-9\x80-\U0010ffff]{2}", last + character))
    return space and last != ""


def english_words(text: str, character_class: Callable[[int], int]) -> str:
    """Return the words made of a to z and inner apostrophes, in lower case and separated by single spaces."""
    classes = [(character, character_class(ord(character))) for character in text]
    marked = ((character, kind) for character, kind in classes if kind != IGNORED)
    runs = "".join(
        " " if kind == SEPARATOR else "'" if kind == APOSTROPHE else character for character, kind in marked
    ).split()
    words = (run.strip("'").lower() for run in runs if re.fullmatch("[A-Za-z']+", run))
    return " ".join(word for word in words if word)
