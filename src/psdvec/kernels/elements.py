"""The pass over wikitext that drops comments, HTML tags, and elements whose content is not prose.

An element ends at the next closing tag of its name; if another of the same name opens before that, or the page
ends, only the opening tag is dropped and the text after it stays. So an element that somebody forgot to close never
takes the rest of the article with it.
"""

from __future__ import annotations

from psdvec.kernels import kernel
from psdvec.kernels.characters import (
    BAR,
    CLOSE_CURLY,
    CLOSE_SQUARE,
    GREATER,
    LESS,
    OPEN_CURLY,
    OPEN_SQUARE,
    PAGE_END,
    REMOVED,
    SLASH,
    SPACE,
    begins,
    find,
    hash_bytes,
    is_alphanumeric,
    lower,
)

INLINE, BLOCK, OPAQUE, LITERAL = 1, 2, 3, 4


# source uint8[n], target uint8[>= n], tags int64[t], kinds uint8[t]
@kernel
def drop_elements(source, target, tags, kinds):
    """Drop comments, HTML tags, and elements whose content is not prose."""
    size = position = 0
    comments_until = len(source)
    while position < len(source):
        byte = source[position]
        if byte == PAGE_END:
            comments_until = len(source)
        if byte != LESS:
            target[size] = byte
            size += 1
            position += 1
        elif begins(source, position, b"<!--"):
            end = find(source, position + 4, b"-->") if position < comments_until else -1
            if end < 0:
                comments_until = position
            position = position + 4 if end < 0 else end + 3
        else:
            position, size = _drop_tag(source, position, target, size, tags, kinds)
    return size


@kernel
def _drop_tag(source, position, target, size, tags, kinds):
    """Drop the tag at ``position``, with its content if that is not prose; a mere ``<`` is copied."""
    closing = position + 1 < len(source) and source[position + 1] == SLASH
    name_start = position + 1 + closing
    name_end = name_start
    while name_end < len(source) and is_alphanumeric(source[name_end]):
        name_end += 1
    kind = _look_up(hash_bytes(source[name_start:name_end]), tags, kinds)
    if kind == 0:
        target[size] = LESS
        return position + 1, size + 1
    tag_end = _tag_end(source, name_end)
    if tag_end < 0:
        return position + 1, size
    if kind >= OPAQUE and not closing and source[tag_end - 2] != SLASH:
        content_end = _closing_tag(source, tag_end, source[name_start:name_end])
        if content_end >= 0:
            if kind == LITERAL:
                size = _copy_literally(source[tag_end:content_end], target, size)
            else:
                target[size] = REMOVED
                size += 1
            tag_end = max(_tag_end(source, content_end + 2), content_end + 2)
    if kind == BLOCK:
        target[size] = SPACE
        size += 1
    return tag_end, size


@kernel
def _tag_end(source, position):
    """Return the position after the next ``>``, or -1 if ``<`` or the end of the page comes first."""
    while position < len(source):
        byte = source[position]
        if byte == GREATER:
            return position + 1
        if byte in (LESS, PAGE_END):
            return -1
        position += 1
    return -1


@kernel
def _closing_tag(source, position, name):
    """Return the position of the next ``</name``, or -1 if ``<name`` or the end of the page comes first."""
    while position < len(source) and source[position] != PAGE_END:
        if source[position] == LESS:
            closing = position + 1 < len(source) and source[position + 1] == SLASH
            start = position + 1 + closing
            if _names_tag(source, start, name):
                return position if closing else -1
        position += 1
    return -1


@kernel
def _names_tag(source, start, name):
    """Tell whether the tag name at ``start`` is ``name``."""
    end = start + len(name)
    if end > len(source) or (end < len(source) and is_alphanumeric(source[end])):
        return False
    for offset in range(len(name)):  # noqa: SIM110  (no generators in a kernel)
        if lower(source[start + offset]) != lower(name[offset]):
            return False
    return True


@kernel
def _copy_literally(content, target, size):
    """Copy what ``nowiki`` protects, with spaces for the characters that later passes would take for markup."""
    for byte in content:
        is_markup = byte in (OPEN_CURLY, CLOSE_CURLY, BAR, OPEN_SQUARE, CLOSE_SQUARE)
        target[size] = SPACE if is_markup else byte
        size += 1
    return size


@kernel
def _look_up(value, keys, values):
    for place in range(len(keys)):
        if keys[place] == value:
            return values[place]
    return 0
