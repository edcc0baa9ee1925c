"""Half-precision numbers in kernels: the 16 bits of IEEE 754, kept as uint16, to float32 and back.

Numba knows no float16 on a CPU; NumPy's ``array.view(np.float16)`` reads the same bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LARGEST = 65504.0
_GROW = np.float32(2.0**112)  # the exponents of the two formats differ by so much
_SHRINK = np.float32(2.0**-112)


@njit(nogil=True, cache=True, inline="always")
def from_half(half):
    """Return the float32 whose value the uint16 ``half`` stands for; it must be finite."""
    bits = (np.uint32(half) & np.uint32(0x7FFF)) << np.uint32(13)
    bits |= (np.uint32(half) & np.uint32(0x8000)) << np.uint32(16)
    return np.uint32(bits).view(np.float32) * _GROW


@njit(nogil=True, cache=True, inline="always")
def to_half(number):
    """Return the nearest half of a float32, as uint16; what is too large becomes the largest."""
    bits = np.float32(np.float32(number) * _SHRINK).view(np.uint32)
    size = bits & np.uint32(0x7FFFFFFF)
    size = (size + np.uint32(0xFFF) + ((size >> np.uint32(13)) & np.uint32(1))) >> np.uint32(13)
    return np.uint16(min(size, np.uint32(0x7BFF)) | ((bits >> np.uint32(16)) & np.uint32(0x8000)))
