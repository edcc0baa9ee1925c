"""Turns wikitext without markup into lines of a corpus: the text, or the English words in it.

Both kernels take UTF-8 bytes in which ``PAGE_END`` ends every page, write into ``target``, and return how many bytes
they wrote. Whatever the source contains, the result is free of markup.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel
from psdvec.kernels.characters import (
    APOSTROPHE,
    BAR,
    CLOSE_CURLY,
    CLOSE_ROUND,
    CLOSE_SQUARE,
    COLON,
    COMMA,
    DELETE,
    EXCLAMATION,
    FULL_STOP,
    LESS,
    OPEN_CURLY,
    OPEN_ROUND,
    OPEN_SQUARE,
    PAGE_END,
    REMOVED,
    SEMICOLON,
    SLASH,
    SPACE,
    is_alphanumeric,
)

SEPARATOR, FOREIGN, IGNORED = 0, 1, 2


# source uint8[n], target uint8[>= 1.5 n]
@kernel
def tidy_text(source, target):
    """Put single spaces between words, and remove the empty brackets that removed markup left."""
    size = position = 0
    last = PAGE_END
    space = removed = removed_in_brackets = False
    while position < len(source):
        byte = source[position]
        width = 0 if is_alphanumeric(byte) else _space_width(source, position)
        position += max(width, 1)
        if byte == REMOVED:
            removed = removed_in_brackets = True
        elif width:
            space = True
        elif byte == CLOSE_ROUND and last == OPEN_ROUND and removed_in_brackets:
            size = _before_brackets(target, size)
            last = target[size - 1] if size else PAGE_END
            space = removed = True
            removed_in_brackets = False
        elif not _is_unwanted(byte, last, removed_in_brackets):
            if (space or removed or last == LESS) and _needs_space(last, byte, space, removed):
                target[size] = SPACE
                size += 1
            space = removed = False
            removed_in_brackets = removed_in_brackets and byte != OPEN_ROUND
            target[size] = last = byte
            size += 1
    return size


@kernel
def _before_brackets(target, size):
    """Return the size of ``target`` without its last byte, an opening bracket, and the space before it."""
    size -= 1
    return size - 1 if size and target[size - 1] == SPACE else size


@kernel
def _is_unwanted(byte, last, removed_in_brackets):
    """Tell whether ``byte`` after ``last`` would make a double bracket, or begin a bracket with a comma."""
    if last == OPEN_ROUND and removed_in_brackets:
        return byte in (COMMA, SEMICOLON)
    return byte == last and byte in (OPEN_CURLY, CLOSE_CURLY, OPEN_SQUARE, CLOSE_SQUARE)


@kernel
def _needs_space(last, byte, space, removed):
    """Tell whether a space belongs between ``last`` and ``byte``."""
    if last == PAGE_END or byte == PAGE_END:
        return False
    if last == LESS and (byte in (SLASH, EXCLAMATION) or is_alphanumeric(byte)):
        return True
    if removed and (last == OPEN_ROUND or _is_closing_mark(byte)):
        return False
    if removed and not space:
        return (is_alphanumeric(last) or last >= 0x80) and (is_alphanumeric(byte) or byte >= 0x80)
    return space


@kernel
def _is_closing_mark(byte):
    return byte in (CLOSE_ROUND, COMMA, SEMICOLON, FULL_STOP, COLON)


@kernel
def _space_width(source, position):
    """Return the width in bytes of the white space, or what becomes white space, at ``position``, or 0."""
    byte = source[position]
    if byte < 0x80:
        return 1 if REMOVED < byte <= SPACE or byte in (BAR, DELETE) else 0
    if byte == 0xC2 and position + 1 < len(source):
        follower = source[position + 1]
        return 2 if follower == 0xA0 or follower == 0x85 else 0
    if position + 2 < len(source):
        second, third = source[position + 1], source[position + 2]
        if byte == 0xE2 and second == 0x80 and (0x80 <= third <= 0x8B or 0xA8 <= third <= 0xAF):
            return 3
        if byte == 0xE3 and second == 0x80 and third == 0x80:
            return 3
    return 0


# source uint8[n], target uint8[>= n], classes uint8[65536]
@kernel
def english_words(source, target, classes):
    """Write the words made of a to z and inner apostrophes, in lower case and separated by single spaces."""
    size = position = 0
    page_start = word_start = 0
    foreign = False
    while position < len(source):
        character, width = _character(source, position)
        position += width
        kind = classes[character] if character < 65536 else FOREIGN
        if kind == FOREIGN:
            foreign = True
        elif kind > IGNORED:
            if kind != APOSTROPHE or size > word_start:
                target[size] = kind
                size += 1
        elif kind == SEPARATOR:
            size = _finish_word(target, word_start, size, foreign)
            if character == PAGE_END:
                size -= size > page_start
                target[size] = PAGE_END
                size += 1
                page_start = size
            word_start = size
            foreign = False
    return size


@kernel
def _finish_word(target, word_start, size, foreign):
    """End the word at ``target[word_start:size]`` with a space, or remove it."""
    if foreign:
        return word_start
    while size > word_start and target[size - 1] == APOSTROPHE:
        size -= 1
    if size > word_start:
        target[size] = SPACE
        size += 1
    return size


@kernel
def _character(source, position):
    """Return the code point at ``position`` and its width in bytes; broken UTF-8 counts as a space."""
    byte = source[position]
    if byte < 0x80:
        return np.int64(byte), 1
    width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    code = np.int64(byte & (0x7F >> width))
    for place in range(position + 1, position + width):
        if place >= len(source) or source[place] & 0xC0 != 0x80:
            return np.int64(SPACE), 1
        code = code << 6 | (source[place] & 0x3F)
    return code, width
