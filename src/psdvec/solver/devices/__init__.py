"""Devices: what the solver needs of a processor, by name.

A device is a class with the methods of :class:`Device`: :class:`psdvec.solver.devices.cpu.Cpu` or
:class:`psdvec.solver.devices.gpu.Gpu`. The rounds in :mod:`psdvec.solver.rounds` are written once, over these methods;
:mod:`tests.reference.rounds` says in dense NumPy what they must compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Protocol

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.options import Recipe
from psdvec.resources import card_named, format_size
from psdvec.solver.pmi import WordScales
from psdvec.solver.ridge import Setting
from psdvec.storage.workspace import Placed
from psdvec.vectors.model import Constants
from psdvec.vectors.regression import Solve

Tall = Any  # an (n, k) float32 block on a device; blocks can be added and subtracted, their columns sliced


@dataclass(frozen=True)
class Size:
    """What the memory that a fit needs depends on.

    ``words`` n, the directed ``pairs`` among them, and how many words, the ``head``, are solved before the others
    (0: all); ``halves`` are the bytes that halves of the counts take, where these choose the dimensions. ``exact`` is
    whether every round makes a Krylov space, and not the first alone.
    """

    words: int
    pairs: int
    rank: int
    dim: int
    head: int
    halves: int = 0
    exact: bool = False


@dataclass(frozen=True)
class Room:
    """What the seen pairs may take: ``bytes`` of the device's memory, and a ``folder`` for what has no room there.

    While they are built, columns of the counts may take ``building`` bytes besides. Where it is known, ``pairs`` is
    what the pairs take at most, and ``besides`` all else that a fit holds.
    """

    bytes: float = inf
    folder: Path | None = None
    building: int = 1 << 28
    pairs: int = 0
    besides: int = 0

    @property
    def on_disk(self) -> float:
        """How many bytes of the pairs have no room in memory, at most."""
        return max(self.pairs - self.bytes, 0)

    @property
    def peak(self) -> float:
        """The most that is in memory at a time."""
        return self.besides + min(self.pairs, self.bytes)

    def describe(self) -> str:
        """Say in a few words what is held where."""
        text = f"peak memory about {format_size(self.peak)} of {format_size(self.besides + self.bytes)}"
        if not self.on_disk:
            return f"{text}, all pairs in memory"
        return (
            f"{text}; up to {format_size(self.on_disk)} of the pairs go to disk and are read in every round"
        )


AMPLE = Room()


class DevicePairs(Protocol):
    """The seen pairs of a problem, what they add to the background: weights W, targets T, and ``values``.

    ``values`` are at first those of the first matrix to factorise, and after :meth:`renew` the residual T - W∘X.
    ``squares`` is Σ (s s)² R G² over all seen pairs, less the background's share of it.
    """

    squares: float

    def times(self, block: Tall) -> Tall:
        """Return values · block; a block of m rows is multiplied with the first m rows and columns."""
        ...

    def renew(
        self, Q: Tall, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Tall | None, float, float]:
        """Set the values to T - W∘X, where X = Q diag(values) Qᵀ.

        Returns the image ((1 + θ) new - θ old) · Q, if it is wanted, Σ T x and Σ W x².
        """
        ...


class Device(Protocol):
    """What every device can do.

    ``words_at_once`` are solved before they are written to disk. ``others`` is what workers of a cluster that are not
    like this process computed with.
    """

    words_at_once: int
    others: Sequence[Mapping[str, str]]

    def limits(self) -> AbstractContextManager[Any]:
        """Return what keeps threads and BLAS to what the device may use, while a fit is made on it."""
        ...

    def find_room(self, size: Size, *, limit: int | None, folder: Path | None) -> Room:
        """Return what the pairs of a fit may take, of ``limit`` bytes or of all that are free.

        Raises :class:`ResourceError` where it is known beforehand that this is too little.
        """
        ...

    def open_pairs(
        self, counts: Cooccurrence, scales: WordScales, constants: Constants, *, recipe: Recipe, room: Room
    ) -> DevicePairs:
        """Return the seen pairs of the first ``len(scales)`` words."""
        ...

    def solve_words(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None] = lambda _: None
    ) -> list[Placed]:
        """Solve each word of ``setting``; those with too few contexts get no vector.

        ``advance`` is told how many words are done.
        """
        ...

    def regression(self) -> Solve | None:
        """Return what solves the regression of spelling on the device; None where threads of the CPU do."""
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

    def gram(self, left: Tall, right: Tall, *, weights: Tall | None = None) -> Float64s:
        """Return leftᵀ diag(weights) right in float64, as a NumPy array."""
        ...

    def combine(self, block: Tall, matrix: Array) -> Tall:
        """Return block · matrix, where the matrix is small and a NumPy array."""
        ...

    def add_products(
        self,
        target: Tall,
        parts: Sequence[tuple[Tall, Array]],
        *,
        weights: Tall | None = None,
        keep: float = 1.0,
    ) -> None:
        """Set target = keep · target + diag(weights) Σ block · matrix; a matrix of one dimension is a diagonal."""
        ...

    def eigh(self, matrix: Float64s) -> tuple[Float64s, Float64s]:
        """Return the eigenvalues, rising, and the eigenvectors of a small symmetric matrix, as NumPy arrays."""
        ...


# Opening a device by its name; torch is loaded only where it is asked for.


def open_device(name: str = "cpu", *, workers: int | None = None) -> Device:
    """Return a device by name, as :func:`psdvec.resources.card_named` takes it; ``workers`` are threads of the CPU."""
    card = card_named(name)
    if card is None:
        from psdvec.solver.devices.cpu import Cpu

        return Cpu(workers)
    from psdvec.solver.devices.gpu import Gpu

    return Gpu(card)
