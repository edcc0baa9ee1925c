"""What processors do and numba has no word for: numbers of half precision, and fetching memory ahead of its use.

Half-precision numbers are the 16 bits of IEEE 754, kept as uint16; NumPy's ``array.view(np.float16)`` reads the same
bits. A kernel that jumps about in a large array need not wait for what it has fetched ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from psdvec.kernels import kernel

LARGEST = 65504.0
_GROW = np.float32(2.0**112)  # the exponents of the two formats differ by so much
_SHRINK = np.float32(2.0**-112)

_TO_READ, _INTO_ALL_CACHES, _DATA = 0, 3, 1  # arguments of LLVM's instruction


@kernel(inline="always")
def from_half(half):
    """Return the float32 whose value the uint16 ``half`` stands for; it must be finite."""
    bits = (np.uint32(half) & np.uint32(0x7FFF)) << np.uint32(13)
    bits |= (np.uint32(half) & np.uint32(0x8000)) << np.uint32(16)
    return np.uint32(bits).view(np.float32) * _GROW


@kernel(inline="always")
def to_half(number):
    """Return the nearest half of a float32, as uint16; what is too large becomes the largest."""
    bits = np.float32(np.float32(number) * _SHRINK).view(np.uint32)
    size = bits & np.uint32(0x7FFFFFFF)
    size = (size + np.uint32(0xFFF) + ((size >> np.uint32(13)) & np.uint32(1))) >> np.uint32(13)
    return np.uint16(min(size, np.uint32(0x7BFF)) | ((bits >> np.uint32(16)) & np.uint32(0x8000)))


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Fetch ``array[index]`` into the cache without waiting for it; an index outside the array does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(instruction, [place, number(_TO_READ), number(_INTO_ALL_CACHES), number(_DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)  # kernels call it without the context
