"""Words as numbers: their bytes are read eight at a time, and a key of 64 bits stands for each word.

The key of a word of at most seven bytes holds these bytes and their number, so that equal keys mean equal words. That
of a longer word is a hash with :data:`HASHED` in place of the number; such words are to be compared with
:func:`same_bytes`. No key is 0. Texts are uint8 arrays in which bytes up to 32 separate words.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel

HASHED = np.uint64(0xFF << 56)
PADDING = 8  # separators after a text: eight bytes to read wherever a word begins or goes on
_ONE, _SEVEN = np.uint64(1), np.uint64(7)
_NUMBER_BITS = np.uint64(56)  # in a key, the number of bytes lies above them
_HASH_FACTOR, _HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_EACH_BYTE = np.uint64(0x0101010101010101)
_TOP_OF_EACH = np.uint64(0x8080808080808080)
_ABOVE_SPACE = np.uint64(0x2121212121212121)  # in each byte, the lowest value that belongs to a word


# text uint8[m]; i + 8 <= m; the compiler makes one load of it
@kernel(inline="always")
def eight_bytes(text, i):
    """Return the eight bytes from ``i`` on as a number, the first byte lowest."""
    at = np.uint64(i)
    return (
        np.uint64(text[at])
        | np.uint64(text[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(text[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(text[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(text[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(text[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(text[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(text[at + np.uint64(7)]) << np.uint64(56)
    )


@kernel(inline="always")
def before_separator(bytes_):
    """Return a mask of the bytes before the first separator, all bytes up to 32 being such; all if there is none."""
    ends = (bytes_ - _ABOVE_SPACE) & ~bytes_ & _TOP_OF_EACH  # the lowest bit set is right, others need not be
    return ((ends & (~ends + _ONE)) >> _SEVEN) - _ONE


@kernel(inline="always")
def length_of(mask):
    """Return how many bytes a mask of the lowest bytes covers."""
    return np.int64(((mask & _EACH_BYTE) * _EACH_BYTE) >> _NUMBER_BITS)


# text uint8[m + PADDING]
@kernel
def word_length(text, start):
    """Return how many bytes the word from ``start`` on has, given that they are eight or more."""
    length = more = 8
    while more == 8:
        more = length_of(before_separator(eight_bytes(text, start + length)))
        length += more
    return length


@kernel(inline="always")
def mixed(h):
    """Return a hash in which all bits depend on those below them, and the lower half on the upper half."""
    h *= _HASH_FACTOR
    return h ^ (h >> _HASH_SHIFT)


@kernel(inline="always")
def short_key(bytes_, length):
    """Return the key of a word of at most seven ``bytes_``."""
    return bytes_ | np.uint64(length + 1) << _NUMBER_BITS


# word = text[start : start + length], of eight bytes or more; the last piece may overlap the one before
@kernel(inline="always")
def long_key(text, start, length):
    """Return the key of a word of eight bytes or more."""
    h = np.uint64(length)
    for k in range(start, start + length - 8, 8):
        h = mixed(h ^ eight_bytes(text, k))
    return mixed(h ^ eight_bytes(text, start + length - 8)) | HASHED


# word = text[start : start + length]; text uint8[m], of any length
@kernel(inline="always")
def key_of(text, start, length):
    """Return the key of a word of known length."""
    if length >= 8:
        return long_key(text, start, length)
    if start + 8 <= len(text):
        return short_key(eight_bytes(text, start) & ((_ONE << np.uint64(8 * length)) - _ONE), length)
    bytes_ = np.uint64(0)
    for k in range(length - 1, -1, -1):
        bytes_ = bytes_ << np.uint64(8) | np.uint64(text[start + k])
    return short_key(bytes_, length)


# words text[start : start + length] and blob[other : other + length], of eight bytes or more
@kernel(inline="always")
def same_bytes(text, start, blob, other, length):
    """Tell whether two long words are the same."""
    for k in range(0, length - 8, 8):
        if eight_bytes(text, start + k) != eight_bytes(blob, other + k):
            return False
    return eight_bytes(text, start + length - 8) == eight_bytes(blob, other + length - 8)
