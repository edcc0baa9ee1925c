"""How loops are compiled; each stands beside what it serves, and has a slow twin in :mod:`tests.reference`.

Every loop is compiled through :func:`kernel`. None starts threads of its own: OpenMP, which numba would use, ends the
forked children of a process that has used it. Callers give stretches to threads
(:func:`psdvec.resources.in_stretches`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.event import Listener, register
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from psdvec.progress import logger
from psdvec.resources import compilations

UNKEPT = (
    "what numba compiles cannot be kept here, so that every process compiles anew, for up to a minute; "
    "set NUMBA_CACHE_DIR to a folder that can be written"
)


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function by numba when it is first called, without the GIL, and keep the result where that is possible.

    ``options`` are those of ``numba.njit``.
    """
    if function is None:
        return lambda function: kernel(function, **options)
    compiled = njit(nogil=True, **options)(function)
    # As compiled.enable_caching() does, which fails where nothing can be kept.
    compiled._cache = _Cache(function)
    return compiled


class _Listener(Listener):
    """Hears when numba compiles; it says nothing of what it has in its cache."""

    def on_start(self, event: Any) -> None:
        compilations.change(1)

    def on_end(self, event: Any) -> None:
        compilations.change(-1)


register("numba:compile", _Listener())


class _Cache:
    """Where numba keeps what it compiled of one function, looked for when that is first asked about.

    A folder that cannot be written, a full disk or a damaged file cost the time to compile again, and nothing else.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _cache(self) -> Any:
        try:
            return FunctionCache(self._function)
        except (RuntimeError, OSError):  # numba found no place that can be written
            _say_unkept()
            return NullCache()

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
            _say_unkept()

    def flush(self) -> None:
        """Forget what was kept."""
        try:
            self._cache.flush()
        except Exception:
            _say_unkept()


@cache  # once per process
def _say_unkept() -> None:
    logger.warning("%s", UNKEPT)


# What processors do and numba has no word for: fetching memory ahead of its use.

_TO_READ, _INTO_ALL_CACHES, _DATA = 0, 3, 1  # arguments of LLVM's instruction


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
