"""The kernels of the tokenizers: they turn UTF-8 text into spaced text.

In spaced text, spaces separate words and newlines separate sentences. ``paper`` keeps a to z with inner apostrophes;
``unicode``, and ``unicode-cased`` without folding case first, follow the word boundaries of Unicode Standard Annex 29
and keep whatever contains a letter or a digit (docs/theory.md, section 1). :mod:`tests.reference.counting` holds
their twins.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from psdvec.arrays import Bytes
from psdvec.kernels import kernel

_NEWLINE, _SPACE, _APOSTROPHE = np.uint8(10), np.uint8(32), np.uint8(39)
_A, _Z, _UPPER_A, _UPPER_Z, _TO_LOWER = np.uint8(97), np.uint8(122), np.uint8(65), np.uint8(90), np.uint8(32)

# The role of a code point at word boundaries; word_break.npy lists the role of each.
SEPARATOR, LINE_END, TRANSPARENT = 0, 1, 2
ALONE, LETTER, HEBREW, NUMBER, KATAKANA, CONNECTOR = 3, 4, 5, 6, 7, 8
MID_LETTER, MID_NUMBER, MID_BOTH, SINGLE_QUOTE, DOUBLE_QUOTE = 9, 10, 11, 12, 13


# text uint8[m]; out uint8[m]
@kernel
def space_paper(text, out):
    """Lower-case a-z, keep newlines and apostrophes between letters, turn everything else into spaces."""
    inside = False  # the last byte written is a letter
    for i in range(len(text)):
        byte = text[i]
        if _UPPER_A <= byte <= _UPPER_Z:
            byte += _TO_LOWER
        if _A <= byte <= _Z:
            out[i], inside = byte, True
            continue
        follows = i + 1 < len(text) and _A <= (text[i + 1] | _TO_LOWER) <= _Z
        if byte == _APOSTROPHE and inside and follows:
            out[i] = byte
        else:
            out[i] = _NEWLINE if byte == _NEWLINE else _SPACE
        inside = False


@cache
def word_break_roles() -> Bytes:
    """Return uint8[0x110000]: the role of every code point."""
    with files("psdvec.text").joinpath("word_break.npy").open("rb") as file:
        ranges = np.load(file, allow_pickle=False)
    lengths = np.diff(ranges[:, 0].astype(np.int64), append=0x110000)
    return np.repeat(ranges[:, 1].astype(np.uint8), lengths)


@kernel(inline="always")
def decode_character(text, i):
    """Return the code point at ``text[i]`` of valid UTF-8, and its length in bytes."""
    first = np.uint32(text[i])
    if first < 0x80:
        return first, 1
    second = np.uint32(text[i + 1]) & np.uint32(0x3F)
    if first < 0xE0:
        return ((first & np.uint32(0x1F)) << np.uint32(6)) | second, 2
    third = np.uint32(text[i + 2]) & np.uint32(0x3F)
    if first < 0xF0:
        return ((first & np.uint32(0x0F)) << np.uint32(12)) | (second << np.uint32(6)) | third, 3
    fourth = np.uint32(text[i + 3]) & np.uint32(0x3F)
    high = (first & np.uint32(0x07)) << np.uint32(18)
    return high | (second << np.uint32(12)) | (third << np.uint32(6)) | fourth, 4


@kernel(inline="always")
def _joins(before, role):
    """Tell whether there is no boundary between two neighbouring roles: rules WB5, 8 to 10, 13, 13a and 13b."""
    if before == LETTER or before == HEBREW or before == NUMBER:
        return role == LETTER or role == HEBREW or role == NUMBER or role == CONNECTOR
    if before == KATAKANA:
        return role == KATAKANA or role == CONNECTOR
    return before == CONNECTOR and LETTER <= role <= CONNECTOR


@kernel(inline="always")
def _bridges(before, middle, role):
    """Tell whether ``middle`` joins what is on its two sides: rules WB6 and 7, 7b and 7c, 11 and 12."""
    if middle == DOUBLE_QUOTE:
        return before == HEBREW and role == HEBREW
    if before == NUMBER:
        return role == NUMBER and middle != MID_LETTER
    return (
        (before == LETTER or before == HEBREW) and (role == LETTER or role == HEBREW) and middle != MID_NUMBER
    )


# text uint8[m], valid UTF-8; roles uint8[0x110000]; out uint8[2m + 1]; returns the bytes written
@kernel
def space_unicode(text, roles, out):
    """Write the words of ``text``, each followed by a space, and its newlines."""
    n, i = 0, 0
    begin = end = 0  # the word so far is text[begin:end]; empty if equal
    before, middle, is_word = SEPARATOR, SEPARATOR, False
    while i <= len(text):
        if i < len(text):
            point, width = decode_character(text, i)
            role = roles[point]
        else:
            role, width = np.uint8(LINE_END), 1
        if role == TRANSPARENT:
            if end == i:  # it belongs to the character before it, if that belongs to the word
                end = i + width
            i += width
            continue
        if end > begin and middle == SEPARATOR and role >= MID_LETTER:
            middle = role
            if before == HEBREW and role == SINGLE_QUOTE:
                end = i + width
            i += width
            continue
        if end > begin and (_joins(before, role) if middle == SEPARATOR else _bridges(before, middle, role)):
            end, before, middle = i + width, role, SEPARATOR
            is_word = is_word or role != CONNECTOR
            i += width
            continue
        if is_word:
            out[n : n + end - begin] = text[begin:end]
            n += end - begin
            out[n] = _SPACE
            n += 1
        if role == LINE_END and i < len(text):
            out[n] = _NEWLINE
            n += 1
        starts = ALONE <= role <= CONNECTOR
        begin, end = i, i + width if starts else i
        before, middle, is_word = role if starts else SEPARATOR, SEPARATOR, starts and role != CONNECTOR
        i += width
    return n
