"""A GPU as a device: torch, on CUDA or any other device that torch knows, its CPU included.

:class:`Gpu` has the methods of :class:`psdvec.solver.devices.Device`, to float32 accuracy those of the CPU. Needs
torch and NumPy, not numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from psdvec.arrays import Array, Float32s, Float64s
from psdvec.errors import InputError
from psdvec.options import Recipe
from psdvec.solver.devices import AMPLE, Room
from psdvec.solver.devices.gpu_pairs import DensePairs, SparsePairs, available_memory, build_pairs, put
from psdvec.solver.devices.gpu_ridge import solve_words
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.setting import Placed, Setting

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

ROWS = 4096  # rows whose products are summed in float32 before they are added up in float64


class Gpu:
    """A device of torch; see :class:`psdvec.solver.devices.Device`."""

    def __init__(self, name: str) -> None:
        try:
            self.device = torch.device(name)
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(
                f"torch cannot use the device '{name}' ({str(error).splitlines()[0]}); use device=\"cpu\", or install "
                "a torch that fits your graphics card"
            ) from error

    def open_pairs(
        self,
        counts: SparseCounts,
        scales: WordScales,
        constants: Constants,
        *,
        recipe: Recipe,
        room: Room = AMPLE,
    ) -> DensePairs | SparsePairs:
        """Return the seen pairs of the first ``len(scales)`` words; nothing is put into a folder."""
        return build_pairs(self.device, counts, scales, constants, recipe=recipe, room=room.bytes)

    def solve_words(
        self,
        setting: Setting,
        counts: Cooccurrence,
        *,
        workers: int | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> list[Placed | None]:
        """Solve the words of ``setting`` in batches; the device has no ``workers`` to choose."""
        return solve_words(self.device, setting, counts, advance=advance)

    def available_memory(self) -> int:
        """Return the bytes that are free on the device."""
        return available_memory(self.device)

    def put(self, array: Array) -> Tensor:
        """Bring an array to the device as float32."""
        return put(array, self.device)

    def get(self, block: Tensor) -> Float32s:
        """Bring a block back."""
        found: Float32s = block.cpu().numpy()
        return found

    def zeros(self, n: int, k: int) -> Tensor:
        """Return an (n, k) block of zeros."""
        return torch.zeros(n, k, device=self.device)

    def join(self, *blocks: Tensor) -> Tensor:
        """Return the columns of all blocks side by side."""
        return torch.cat(blocks, dim=1)

    def gram(self, left: Tensor, right: Tensor, *, weights: Tensor | None = None) -> Float64s:
        """Return leftᵀ diag(weights) right, some rows at a time, summed in float64."""
        total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=self.device)
        for start in range(0, left.shape[0], ROWS):
            rows = slice(start, start + ROWS)
            one = left[rows] if weights is None else left[rows] * weights[rows, None]
            total += one.T @ right[rows]
        found: Float64s = total.cpu().numpy()
        return found

    def combine(self, block: Tensor, matrix: Array) -> Tensor:
        """Return block · matrix in float32."""
        return block @ self.put(matrix)

    def add_products(
        self,
        target: Tensor,
        parts: Sequence[tuple[Tensor, Array]],
        *,
        weights: Tensor | None = None,
        keep: float = 1.0,
    ) -> None:
        """Set target = keep · target + diag(weights) Σ block · matrix; a matrix of one dimension is a diagonal."""
        target *= keep
        for block, matrix in parts:
            small = self.put(matrix)
            product = block * small if small.ndim == 1 else block @ small
            target += product if weights is None else weights[:, None] * product
