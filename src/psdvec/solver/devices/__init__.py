"""Devices: what the solver needs of a processor, by name.

A device is a class with the methods of :class:`Device`: :class:`psdvec.solver.devices.cpu.Cpu` or
:class:`psdvec.solver.devices.gpu.Gpu`. The rounds in :mod:`psdvec.solver.core`, :mod:`psdvec.solver.problem` and
:mod:`psdvec.solver.eigen` are written once, over these methods; :mod:`psdvec.reference.rounds` says in dense NumPy
what they must compute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe
from psdvec.solver.setting import Placed, Setting

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

Tall = Any  # an (n, k) float32 block on a device; blocks can be added and subtracted, their columns sliced


class Pairs(Protocol):
    """The seen pairs of a problem, what they add to the background: weights W, targets T, and ``values``.

    ``values`` are at first those of the first matrix to factorise, and after :meth:`renew` the residual T - W∘X.
    ``squares`` is Σ (s s)² R G² over all seen pairs, less the background's share of it.
    """

    squares: float

    def times(self, block: Tall) -> Tall:
        """Return values · block; a block of m rows is multiplied with the first m rows and columns."""
        ...

    def renew(self, P: Tall, Q: Tall, *, momentum: float, with_image: bool) -> tuple[Tall, float, float]:
        """Set the values to T - W∘(P Qᵀ) and return ((1 + θ) new - θ old) · Q, Σ T x and Σ W x²."""
        ...

    def rescale(self, factor: float) -> None:
        """Set the values, T - W∘X now, to T - factor · W∘X."""
        ...


class Device(Protocol):
    """What every device can do."""

    def open_pairs(
        self, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
    ) -> Pairs:
        """Return the seen pairs of the first ``len(scales)`` words."""
        ...

    def solve_words(
        self,
        setting: Setting,
        counts: Cooccurrence,
        *,
        workers: int | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[Placed | None]:
        """Solve each word of ``setting``; None for those with too few contexts.

        ``workers`` are threads, where the device has any to choose; ``advance`` is told how many words are done.
        """
        ...

    def available_memory(self) -> int:
        """Return the bytes that are free on the device."""
        ...

    def predicted_memory(self, counts: SparseCounts, n: int, *, columns: int) -> int:
        """Return the bytes that the pairs of ``n`` words and blocks of ``columns`` columns in all will take."""
        ...

    def put(self, array: Array) -> Tall:
        """Bring a float32 array to the device."""
        ...

    def get(self, block: Tall) -> Float32s:
        """Bring a block back."""
        ...

    def zeros(self, n: int, k: int) -> Tall:
        """Return an (n, k) block of zeros."""
        ...

    def join(self, *blocks: Tall) -> Tall:
        """Return the columns of all blocks side by side."""
        ...

    def scaled(self, column: Tall, block: Tall) -> Tall:
        """Return each row of ``block`` times its number in ``column`` (n,)."""
        ...

    def gram(self, left: Tall, right: Tall) -> Float64s:
        """Return leftᵀ right in float64, as a NumPy array."""
        ...

    def combine(self, block: Tall, matrix: Array) -> Tall:
        """Return block · matrix, where the matrix is small and a NumPy array."""
        ...
