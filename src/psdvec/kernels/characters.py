"""Names for bytes, and small functions on them that the kernels for wikitext share.

All functions take uint8 arrays of UTF-8 text and positions in them. The byte :data:`PAGE_END` ends every page, and
no function looks beyond it; the byte :data:`REMOVED` marks where markup was removed.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel

PAGE_END, REMOVED = 0x00, 0x01
TAB, NEWLINE, SPACE = 0x09, 0x0A, 0x20
EXCLAMATION, QUOTE, NUMBER, APOSTROPHE = 0x21, 0x22, 0x23, 0x27
OPEN_ROUND, CLOSE_ROUND, STAR = 0x28, 0x29, 0x2A
COMMA, FULL_STOP, SLASH = 0x2C, 0x2E, 0x2F
COLON, SEMICOLON, LESS, EQUALS, GREATER = 0x3A, 0x3B, 0x3C, 0x3D, 0x3E
OPEN_SQUARE, CLOSE_SQUARE, UNDERSCORE = 0x5B, 0x5D, 0x5F
SMALL_F, SMALL_H = 0x66, 0x68
OPEN_CURLY, BAR, CLOSE_CURLY, DELETE = 0x7B, 0x7C, 0x7D, 0x7F


@kernel
def hash_bytes(text):
    """Return a hash of 40 bits for ``text``, which is taken in lower case and with ``_`` as a space."""
    value = np.int64(len(text))
    for byte in text:
        letter = np.int64(SPACE if byte == UNDERSCORE else lower(byte))
        value = (value * 1_000_003 + letter) & 0xFFFFFFFFFF
    return value


@kernel
def lower(byte):
    """Return an ASCII letter in lower case, any other byte as it is."""
    return byte + 0x20 if 0x41 <= byte <= 0x5A else byte


@kernel
def is_alphanumeric(byte):
    """Tell whether ``byte`` is an ASCII letter or digit."""
    return 0x61 <= byte <= 0x7A or 0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A


@kernel
def is_blank(byte):
    """Tell whether ``byte`` is a space, a tab or the mark of something removed."""
    return byte in (SPACE, TAB, REMOVED)


@kernel
def begins(text, position, token):
    """Tell whether ``text`` has the bytes ``token`` at ``position``."""
    if position + len(token) > len(text):
        return False
    for offset in range(len(token)):  # noqa: SIM110  (no generators in a kernel)
        if text[position + offset] != token[offset]:
            return False
    return True


@kernel
def find(text, position, token):
    """Return the first position of ``token`` from ``position`` on, or -1 if the page ends before it."""
    while position < len(text) and text[position] != PAGE_END:
        if text[position] == token[0] and begins(text, position, token):
            return position
        position += 1
    return -1


@kernel
def run_length(text, position, longest):
    """Return how often the byte at ``position`` is repeated there, counting up to ``longest``."""
    end = position + 1
    while end < len(text) and end < position + longest and text[end] == text[position]:
        end += 1
    return end - position
