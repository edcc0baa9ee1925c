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

from psdvec.arrays import Bytes, Int64s
from psdvec.kernels import kernel

_NEWLINE, _SPACE, _APOSTROPHE = np.uint8(10), np.uint8(32), np.uint8(39)
_QUOTE = tuple(np.frombuffer("\N{RIGHT SINGLE QUOTATION MARK}".encode(), np.uint8))  # counts as an apostrophe
_A, _Z, _UPPER_A, _UPPER_Z, _TO_LOWER = np.uint8(97), np.uint8(122), np.uint8(65), np.uint8(90), np.uint8(32)

# The role of a code point at word boundaries; word_break.npy lists the role of each.
SEPARATOR, LINE_END, TRANSPARENT = 0, 1, 2
ALONE, LETTER, HEBREW, NUMBER, KATAKANA, CONNECTOR = 3, 4, 5, 6, 7, 8
MID_LETTER, MID_NUMBER, MID_BOTH, SINGLE_QUOTE, DOUBLE_QUOTE = 9, 10, 11, 12, 13


# text uint8[m]
@kernel
def is_utf8(text):
    """Tell whether Python would decode ``text`` as UTF-8, which it would do while all other threads wait."""
    i = 0
    while i < len(text):
        first = text[i]
        if first < 0x80:
            i += 1
            continue
        width = 2 + (first >= 0xE0) + (first >= 0xF0)
        if first < 0xC2 or first > 0xF4 or i + width > len(text):
            return False
        # What is longer than it need be, half a character of UTF-16, and beyond the last character.
        lowest = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        highest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if text[i + 1] < lowest or text[i + 1] > highest:
            return False
        for k in range(i + 2, i + width):
            if text[k] & 0xC0 != 0x80:
                return False
        i += width
    return True


# text uint8[m]; out uint8[m]; returns the bytes written
@kernel
def space_paper(text, out):
    """Lower-case a-z, keep newlines and apostrophes between letters, turn everything else into spaces."""
    n, i = 0, 0
    inside = False  # the last byte written is a letter
    while i < len(text):
        byte = text[i]
        if _UPPER_A <= byte <= _UPPER_Z:
            byte += _TO_LOWER
        i += 1
        if _A <= byte <= _Z:
            out[n], inside = byte, True
            n += 1
            continue
        if byte == _QUOTE[0] and i + 1 < len(text) and text[i] == _QUOTE[1] and text[i + 1] == _QUOTE[2]:
            byte = _APOSTROPHE
            i += 2
        follows = i < len(text) and _A <= (text[i] | _TO_LOWER) <= _Z
        if byte == _APOSTROPHE and inside and follows:
            out[n] = byte
        else:
            out[n] = _NEWLINE if byte == _NEWLINE else _SPACE
        n += 1
        inside = False
    return n


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


@cache
def foldings() -> tuple[Bytes, Int64s]:
    """Return what Python makes of each character below U+20000 when it folds case, end to end, and where each begins.

    No character from there on has a case.
    """
    characters = "\n".join(map(chr, range(0x80, 0x20000)))
    folded = [*map(chr, range(0x80)), *characters.casefold().split("\n")]
    encoded = [character.encode("utf-8", "surrogatepass") for character in folded]
    starts = np.cumsum([0, *map(len, encoded)])
    return np.frombuffer(b"".join(encoded), np.uint8), starts


# text uint8[m], valid UTF-8; folded uint8, starts int64[0x20001]: those of foldings(); out uint8[3m]; returns the bytes
# written
@kernel
def fold_case(text, folded, starts, out):
    """Fold the case of ``text`` as ``str.casefold`` does, but for whole blocks and while other threads go on."""
    n, i = 0, 0
    while i < len(text):
        byte = text[i]
        if byte < 0x80:
            out[n] = byte + _TO_LOWER if _UPPER_A <= byte <= _UPPER_Z else byte
            n += 1
            i += 1
            continue
        point, width = decode_character(text, i)
        if point < len(starts) - 1:
            for k in range(starts[point], starts[point + 1]):
                out[n] = folded[k]
                n += 1
        else:
            out[n : n + width] = text[i : i + width]
            n += width
        i += width
    return n


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
