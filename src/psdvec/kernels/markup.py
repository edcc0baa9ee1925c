"""Fast removal of wikitext markup from UTF-8 bytes.

The pages of a batch are joined by :data:`PAGE_END`, so that one call, without the interpreter lock, cleans them all;
no markup reaches across that byte. Each public function is one pass from ``source`` into ``target``, both uint8
arrays, and returns how many bytes it wrote, never more than it read. The function of the same name in
:mod:`psdvec.reference.wikitext` defines what a pass does.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel
from psdvec.kernels.characters import (
    APOSTROPHE,
    BAR,
    CLOSE_CURLY,
    CLOSE_SQUARE,
    COLON,
    EQUALS,
    GREATER,
    LESS,
    NEWLINE,
    NUMBER,
    OPEN_CURLY,
    OPEN_SQUARE,
    PAGE_END,
    QUOTE,
    REMOVED,
    SEMICOLON,
    SMALL_F,
    SMALL_H,
    SPACE,
    STAR,
    UNDERSCORE,
    begins,
    find,
    hash_bytes,
    is_alphanumeric,
    is_blank,
    lower,
    run_length,
)
from psdvec.kernels.elements import drop_elements

MAX_PREFIX = 100
MAX_DEPTH = 64


@kernel
def strip_markup(text, tags, kinds, namespaces, languages):
    """Run all passes over ``text``, uint8[n]; the tables are int64 hashes, ``kinds`` uint8[len(tags)]."""
    first, second = np.empty_like(text), np.empty_like(text)
    size = drop_elements(text, first, tags, kinds)
    size = drop_templates(first[:size], second)
    size = resolve_links(second[:size], first, namespaces, languages)
    size = drop_tables(first[:size], second)
    size = drop_addresses(second[:size], first)
    size = drop_line_markup(first[:size], second)
    return second[:size]


# source uint8[n], target uint8[>= n]
@kernel
def drop_templates(source, target):
    """Drop balanced ``{{...}}`` and ``{{{...}}}``; of unbalanced braces, drop only the braces."""
    starts = np.empty(len(source) // 2 + 1, np.int64)
    widths = np.empty(len(source) // 2 + 1, np.int64)
    size = position = depth = 0
    while position < len(source):
        byte = source[position]
        if byte == OPEN_CURLY and run_length(source, position, 4) >= 2:
            starts[depth] = size
            widths[depth] = 3 if run_length(source, position, 4) == 3 else 2
            position += widths[depth]
            depth += 1
        elif byte == CLOSE_CURLY and run_length(source, position, 4) >= 2:
            width = 2
            if depth:
                depth -= 1
                size = starts[depth]
                width = min(widths[depth], run_length(source, position, 4))
                target[size] = REMOVED
                size += 1
            position += width
        else:
            if byte == PAGE_END:
                depth = 0
            target[size] = byte
            size += 1
            position += 1
    return size


# source uint8[n], target uint8[>= n], namespaces int64[], languages int64[]
@kernel
def resolve_links(source, target, namespaces, languages):
    """Replace ``[[...]]`` by its text; drop links to files, categories and other languages entirely."""
    starts, bars = np.empty(MAX_DEPTH, np.int64), np.empty(MAX_DEPTH, np.int64)
    size = position = depth = 0
    while position < len(source):
        byte = source[position]
        if byte == OPEN_SQUARE and begins(source, position, b"[["):
            if depth < MAX_DEPTH:
                starts[depth], bars[depth] = size, -1
                depth += 1
            position += 2
        elif byte == CLOSE_SQUARE and begins(source, position, b"]]"):
            if depth:
                depth -= 1
                size = _close_link(target, starts[depth], bars[depth], size, namespaces, languages)
            position += 2
        else:
            if byte == BAR and depth and bars[depth - 1] < 0:
                bars[depth - 1] = size
            while byte == PAGE_END and depth:
                depth -= 1
                if _is_dropped(target[starts[depth] : size], namespaces, languages):
                    size = _drop_line(target, starts[depth], size)
            target[size] = byte
            size += 1
            position += 1
    return size


@kernel
def _close_link(target, start, bar, size, namespaces, languages):
    """Reduce the link written at ``target[start:size]``, whose first ``|`` is at ``bar``, to its text."""
    if _is_dropped(target[start:size], namespaces, languages):
        if find(target[:size], start, b"\n\n") >= 0:
            return _drop_line(target, start, size)
        target[start] = REMOVED
        return start + 1
    text, end = start, bar if bar >= 0 else size
    if find(target[:end], start, b"\n") >= 0:
        return size
    while text < end and (is_blank(target[text]) or target[text] == COLON):
        text += 1
    for place in range(bar + 1, size if bar >= 0 else 0):
        if not is_blank(target[place]):
            text, end = bar + 1, size
            break
    return _move(target, text, end, start)


@kernel
def _drop_line(target, start, size):
    """Remove what comes before the first newline from ``target[start:size]``."""
    return _move(target, _line_end(target[:size], start), size, start)


@kernel
def _move(target, start, end, place):
    """Move ``target[start:end]`` to ``place``, which is not after ``start``, and return where it then ends."""
    for offset in range(end - start):
        target[place + offset] = target[start + offset]
    return place + end - start


@kernel
def _is_dropped(link, namespaces, languages):
    """Tell whether a link, given without its brackets, leads to a file, a category or another language."""
    link = link[:MAX_PREFIX]
    start = 0
    while start < len(link) and is_blank(link[start]):
        start += 1
    end = find(link, start, b":")
    while end > start and (is_blank(link[end - 1]) or link[end - 1] == UNDERSCORE):
        end -= 1
    if end <= start:
        return False
    value = hash_bytes(link[start:end])
    if _contains(namespaces, value):
        return True
    for byte in link[start:end]:
        if byte != lower(byte):
            return False
    return _contains(languages, value)


# source uint8[n], target uint8[>= n]
@kernel
def drop_tables(source, target):
    """Drop balanced ``{|...|}``; of a table without an end or a beginning, drop the lines that begin with ``|``."""
    starts = np.empty(len(source) // 2 + 1, np.int64)
    size = position = depth = 0
    at_line_start = True
    while position < len(source):
        byte = source[position]
        if at_line_start:
            marker = _skip_indent(source, position)
            if begins(source, marker, b"{|"):
                starts[depth] = size
                depth += 1
                position = _line_end(source, marker)
                continue
            if begins(source, marker, b"|}"):
                if depth:
                    depth -= 1
                    size = starts[depth]
                position = marker + 2
                at_line_start = False
                continue
            if marker < len(source) and source[marker] == BAR:
                position = _line_end(source, marker)
                continue
        if byte == PAGE_END:
            depth = 0
        at_line_start = byte in (NEWLINE, PAGE_END)
        target[size] = byte
        size += 1
        position += 1
    return size


@kernel
def _skip_indent(source, position):
    """Return the first position from ``position`` on that is neither blank nor a colon."""
    while position < len(source):
        byte = source[position]
        if not is_blank(byte) and byte != COLON:
            break
        position += 1
    return position


# source uint8[n], target uint8[>= n]
@kernel
def drop_addresses(source, target):
    """Drop web addresses; of ``[address text]``, keep the text."""
    size = position = 0
    in_link = False
    while position < len(source):
        byte = source[position]
        end = position
        if byte in (OPEN_SQUARE, SMALL_F, SMALL_H):
            end = _address_end(source, position)
        if end > position:
            in_link = in_link or byte == OPEN_SQUARE
            target[size] = REMOVED
            size += 1
            position = end
            continue
        in_link = in_link and byte not in (NEWLINE, PAGE_END)
        if in_link and byte == CLOSE_SQUARE:
            in_link = False
        else:
            target[size] = byte
            size += 1
        position += 1
    return size


@kernel
def _address_end(source, position):
    """Return the position after the address at ``position``, or ``position`` if there is none."""
    place = position
    if source[position] == OPEN_SQUARE:
        place += 1
        if not (
            _begins_with_scheme(source, place)
            or begins(source, place, b"//")
            or begins(source, place, b"mailto:")
        ):
            return position
    elif (position and is_alphanumeric(source[position - 1])) or not _begins_with_scheme(source, position):
        return position
    while place < len(source):
        byte = source[place]
        if byte <= SPACE or byte in (OPEN_SQUARE, CLOSE_SQUARE, LESS, GREATER, QUOTE, BAR):
            break
        place += 1
    return place


@kernel
def _begins_with_scheme(source, position):
    return (
        begins(source, position, b"http://")
        or begins(source, position, b"https://")
        or begins(source, position, b"ftp://")
    )


# source uint8[n], target uint8[>= n]
@kernel
def drop_line_markup(source, target):
    """Drop the marks of lists, headings and rules, runs of apostrophes, and magic words."""
    size = position = 0
    heading_end = -1
    at_line_start = True
    while position < len(source):
        byte = source[position]
        if at_line_start:
            at_line_start = False
            text, heading_end = _skip_line_marks(source, position)
            if text > position:
                position = text
                continue
        if position == heading_end:
            while source[position] == EQUALS:
                position += 1
            heading_end = -1
            continue
        if byte == APOSTROPHE:
            length = run_length(source, position, len(source))
            if length in (1, 4):
                target[size] = APOSTROPHE
                size += 1
            position += length
            continue
        if byte == UNDERSCORE:
            end = _magic_word_end(source, position)
            if end > position:
                position = end
                target[size] = REMOVED
                size += 1
                continue
        at_line_start = byte in (NEWLINE, PAGE_END)
        target[size] = byte
        size += 1
        position += 1
    return size


@kernel
def _skip_line_marks(source, position):
    """Return where the text of a line begins, and where the marks after a heading begin, or -1."""
    if position < len(source) and source[position] == EQUALS:
        text = position + run_length(source, position, len(source))
        end = _line_end(source, text)
        while end > text and is_blank(source[end - 1]):
            end -= 1
        marks = end
        while marks > text and source[marks - 1] == EQUALS:
            marks -= 1
        if text == end:
            return text, -1
        return (text, marks) if marks < end else (position, -1)
    if begins(source, position, b"----"):
        return position + run_length(source, position, len(source)), -1
    text = position
    while text < len(source) and _is_list_mark(source[text]):
        text += 1
    return text, -1


@kernel
def _is_list_mark(byte):
    return byte in (STAR, NUMBER, COLON, SEMICOLON)


@kernel
def _magic_word_end(source, position):
    """Return the position after the ``__MAGIC__`` word at ``position``, or ``position`` if there is none."""
    if not begins(source, position, b"__"):
        return position
    place = position + 2
    while place < len(source) and (
        0x41 <= source[place] <= 0x5A or source[place] >= 0x80 or source[place] == UNDERSCORE
    ):
        if place > position + 2 and begins(source, place, b"__"):
            return place + 2
        place += 1
    return position


@kernel
def _line_end(source, position):
    while position < len(source) and source[position] != NEWLINE and source[position] != PAGE_END:
        position += 1
    return position


@kernel
def _contains(values, value):
    for candidate in values:  # noqa: SIM110  (no generators in a kernel)
        if candidate == value:
            return True
    return False
