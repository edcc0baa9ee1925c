"""How loops are compiled; each stands beside what it serves, and has a slow twin in :mod:`tests.reference`.

Every loop is compiled through :func:`kernel`. None starts threads of its own: OpenMP, which numba would use, ends the
forked children of a process that has used it. Callers give stretches to threads (:func:`psdvec.parallel.in_stretches`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from psdvec.progress import hear_numba, logger

UNKEPT = (
    "what numba compiles cannot be kept here, so that every process compiles anew, for up to a minute; "
    "set NUMBA_CACHE_DIR to a folder that can be written"
)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function by numba when it is first called, without the GIL, and keep the result where that is possible.

    ``options`` are those of ``numba.njit``.
    """
    import numba

    if function is None:
        return lambda function: kernel(function, **options)
    hear_numba()
    compiled = numba.njit(nogil=True, **options)(function)
    compiled._cache = _Cache(
        function
    )  # as compiled.enable_caching() does, which fails where nothing can be kept
    return compiled


class _Cache:
    """Where numba keeps what it compiled of one function, looked for when that is first asked about.

    A folder that cannot be written, a full disk or a damaged file cost the time to compile again, and nothing else.
    """

    _is_said = False  # once per process

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._found: Any = None

    @property
    def _cache(self) -> Any:
        from numba.core.caching import FunctionCache, NullCache

        if self._found is None:
            try:
                self._found = FunctionCache(self._function)
            except (RuntimeError, OSError):  # numba found no place that can be written
                self._found = NullCache()
                _Cache.say_once()
        return self._found

    @property
    def cache_path(self) -> str | None:
        """The folder, or None if there is none."""
        path: str | None = self._cache.cache_path
        return path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was kept for a signature, or None."""
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # damaged files are not numba's to expect: anything may come of them
            self.flush()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled for a signature."""
        try:
            self._cache.save_overload(signature, result)
        except Exception:
            _Cache.say_once()

    def flush(self) -> None:
        """Forget what was kept."""
        try:
            self._cache.flush()
        except Exception:
            _Cache.say_once()

    def enable(self) -> None:
        """Use the cache, as is the case from the beginning."""
        self._cache.enable()

    def disable(self) -> None:
        """Neither use nor change the cache."""
        self._cache.disable()

    @classmethod
    def say_once(cls) -> None:
        """Say that compiled code is not kept, unless that was said."""
        if not cls._is_said:
            cls._is_said = True
            logger.warning("%s", UNKEPT)


# What processors do and numba has no word for: numbers of half precision, and fetching memory ahead of its use.

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
