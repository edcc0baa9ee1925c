"""Backends: what the solver needs of a device, by name.

A backend is a module with the functions of :class:`Backend`; the iteration in :mod:`psdvec.solver.core` and
:mod:`psdvec.solver.eigen` is written once, over these. :mod:`psdvec.reference.rounds` says in dense NumPy what they
mean.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from psdvec.errors import InputError
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe

Tall = (
    Any  # an (n, k) float32 block on the backend's device: it adds, subtracts, and its columns can be sliced
)
Floats = npt.NDArray[np.float64]


class Pairs(Protocol):
    """The seen pairs of a problem, what they add to the background: weights W, targets T, and ``values``.

    ``values`` are those of the first matrix to factorise at the beginning, and after :meth:`renew` the residual
    T - W∘X. ``squares`` is Σ (s s)² R G² over all seen pairs less what the background holds of it.
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


class Backend(Protocol):
    """What a device must know to do."""

    def open_pairs(
        self, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
    ) -> Pairs:
        """Return the seen pairs of the first ``len(scales)`` words."""
        ...

    def available_memory(self) -> int:
        """Return the bytes that are free on the device."""
        ...

    def predicted_memory(self, counts: SparseCounts, n: int, *, columns: int) -> int:
        """Return the bytes that the pairs of ``n`` words and ``columns`` numbers a word will take."""
        ...

    def put(self, array: npt.NDArray[Any]) -> Tall:
        """Bring a float32 array to the device."""
        ...

    def get(self, block: Tall) -> npt.NDArray[np.float32]:
        """Bring a block back."""
        ...

    def zeros(self, n: int, k: int) -> Tall:
        """Return an (n, k) block of zeros."""
        ...

    def join(self, *blocks: Tall) -> Tall:
        """Return the columns of all blocks side by side."""
        ...

    def scaled(self, column: Tall, block: Tall) -> Tall:
        """Return the rows of ``block`` times the numbers of ``column`` (n,)."""
        ...

    def gram(self, left: Tall, right: Tall) -> Floats:
        """Return leftᵀ right in float64, here."""
        ...

    def combine(self, block: Tall, matrix: npt.NDArray[Any]) -> Tall:
        """Return block · matrix, where the matrix is small and here."""
        ...


def open_backend(device: str = "cpu") -> Backend:
    """Return the backend of a device: ``"cpu"``, ``"auto"`` for a GPU where there is one, or any that torch knows.

    ``"torch:cpu"`` is torch on the CPU, which is how the GPU backend is tested where there is none.
    """
    if device == "auto":
        device = "cuda" if _has_gpu() else "cpu"
    if device == "cpu":
        from psdvec.solver.devices import cpu

        return cast(Backend, cpu)
    try:
        from psdvec.solver.devices.gpu import GpuBackend
    except ModuleNotFoundError as error:
        raise InputError(
            f"the device '{device}' needs torch, which is not installed; pip install 'psdvec[gpu]', or take the cpu"
        ) from error
    return GpuBackend(device.removeprefix("torch:"))


def _has_gpu() -> bool:
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.cuda.is_available())
