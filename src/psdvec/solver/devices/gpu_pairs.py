"""The seen pairs of a problem on a GPU, in torch: whole matrices where the device has room for them, otherwise rows.

Takes a count store and returns :class:`DensePairs` or :class:`SparsePairs`, to float32 accuracy those of
:mod:`psdvec.reference.rounds`. Arrays are brought to the device here, and work is cut to the room that it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from psdvec import resources
from psdvec.arrays import Array, Float64s, Int64s
from psdvec.counts.matrix import UNIT
from psdvec.errors import ResourceError
from psdvec.options import Recipe
from psdvec.resources import format_size
from psdvec.solver.pmi import Constants, PairTerms, SparseCounts, WordScales, pair_terms, target_unit
from psdvec.solver.problem import TILE, lay_out

Found = TypeVar("Found")

SHARE = 0.8  # of the free memory that whole matrices may take
MATRICES = 4  # the three that are kept, and what comes and goes beside them
SMALLEST = 1 << 14  # numbers of a chunk below which it is not cut again


def put(array: Array, device: torch.device) -> Tensor:
    """Bring an array to the device as float32."""
    return torch.from_numpy(np.array(array, dtype=np.float32)).to(device)


def put_long(array: Array, device: torch.device) -> Tensor:
    """Bring an array to the device as int64."""
    return torch.from_numpy(np.array(array, dtype=np.int64)).to(device)


def put_scales(scales: WordScales, device: torch.device) -> WordScales:
    """Bring the scales of words to the device, as float32 tensors."""
    tensors: dict[str, Any] = {name: put(value, device) for name, value in vars(scales).items()}
    return WordScales(**tensors)


def available_memory(device: torch.device) -> int:
    """Return the bytes that are free on the device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return resources.available_memory()


def build_pairs(
    device: torch.device,
    counts: SparseCounts,
    scales: WordScales,
    constants: Constants,
    *,
    recipe: Recipe,
    room: float,
) -> DensePairs | SparsePairs:
    """Return the seen pairs of the first ``len(scales)`` words of ``counts``, as matrices if ``room`` bytes suffice."""
    n = len(scales)
    found = if_there_is_room(lambda: _symmetric_terms(device, counts, scales, constants, recipe))
    pairs: DensePairs | SparsePairs | None = None
    if found is not None and MATRICES * 4 * n * n < min(SHARE * available_memory(device), room):
        pairs = if_there_is_room(lambda: _dense_pairs(n, *found))
    if found is not None and pairs is None:
        pairs = if_there_is_room(lambda: _sparse_pairs(n, *found))
    if pairs is None:
        raise ResourceError(
            f"the device has no room for the pairs of {n:,} words; fit fewer words together, or use "
            'device="cpu"'
        )
    return pairs


def _symmetric_terms(
    device: torch.device, counts: SparseCounts, scales: WordScales, constants: Constants, recipe: Recipe
) -> tuple[Tensor, Tensor, float]:
    """Return the places i n + j of all seen pairs, rising, their weight, target and first value, and Σ R G².

    The numbers are rounded to half precision as they are on the CPU, so that the problem is the same.
    """
    n, half = len(scales), recipe.start == "half"
    rows, columns, H = directed_pairs(device, counts, n)
    here = put_scales(scales, device)
    one = directed_terms(rows, columns, H, here, constants)
    both = torch.cat([rows * n + columns, columns * n + rows])
    keys, place = torch.unique(both, return_inverse=True)
    terms = torch.zeros(keys.numel(), 3 if half else 2, device=device)
    directed = torch.stack([one.weights, one.targets, *([one.shifts] if half else [])], dim=1)
    terms.index_add_(0, place, directed.repeat(2, 1))
    sums = torch.zeros(keys.numel(), device=device, dtype=torch.float64)
    sums.index_add_(0, place[: H.numel()], one.squares.double())
    widths = put_long(lay_out(_squares(rows, columns, n), n), device)
    kept = (terms[:, 1].abs() >= recipe.negligible) | (keys % n < widths[keys // n])
    keys, terms = keys[kept], terms[kept]
    first = _half_start(keys, terms, here, constants, recipe.relaxation) if half else terms[:, 1]
    unit = target_unit(scales, constants)
    numbers = [
        terms[:, 0].half(),
        (terms[:, 1] / unit).half().float() * unit,
        (first / unit).half().float() * unit,
    ]
    return keys, torch.stack([number.float() for number in numbers], dim=1), float(sums[kept].sum())


def directed_pairs(device: torch.device, counts: SparseCounts, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Bring the directed pairs among the first n words to the device: rows, columns, counts."""
    size = int(counts.indptr[n])
    lengths = torch.from_numpy(np.diff(counts.indptr[: n + 1])).to(device)
    rows = torch.repeat_interleave(torch.arange(n, device=device), lengths)
    columns = torch.from_numpy(np.array(counts.indices[:size])).to(device).long()
    H = (torch.from_numpy(np.array(counts.values[:size])).to(device).double() / UNIT).float()
    inside = columns < n
    return rows[inside], columns[inside], H[inside]


def directed_terms(
    rows: Tensor, columns: Tensor, H: Tensor, scales: WordScales, constants: Constants
) -> PairTerms:
    """Return the terms of directed pairs; ``scales`` are on the device."""
    f, a, m, B = (
        x[rows] * x[columns] for x in (scales.frequencies, scales.majorisers, scales.emphases, scales.rho)
    )
    return pair_terms(
        H, scales.row_sums[rows], scales.unigrams[columns], f, a, m, B, constants=constants,
        itself=rows == columns, xp=torch,
    )  # fmt: skip


def _squares(rows: Tensor, columns: Tensor, n: int) -> Int64s:
    """Return how many pairs each square of words has."""
    size = -(-n // TILE)
    tiles = torch.bincount((rows // TILE) * size + columns // TILE, minlength=size * size)
    found: Int64s = tiles.cpu().numpy().reshape(size, size)
    return found


def _half_start(keys: Tensor, terms: Tensor, scales: WordScales, constants: Constants, step: float) -> Tensor:
    """Return the pairs' values in the paper's first matrix, X + ω R∘(G - X) at X = G/2, less the background's."""
    s, rho = scales.emphases, scales.rho
    rows, columns = keys // s.shape[0], keys % s.shape[0]
    w, t, g = terms.T
    level = 0.5 * float(np.log(constants.smoothing)) * s[rows] * s[columns]
    values: Tensor = 0.5 * g * (1 - step * (w + rho[rows] * rho[columns])) + step * (t - level * w)
    return values


@dataclass
class DensePairs:
    """Pairs as whole matrices, (n, n) float32 each; see :class:`psdvec.solver.devices.Pairs`."""

    squares: float
    weights: Tensor
    targets: Tensor
    values: Tensor

    def times(self, block: Tensor) -> Tensor:
        """Return values · block."""
        m = block.shape[0]
        return self.values[:m, :m] @ block

    def renew(
        self, Q: Tensor, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Tensor | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.Pairs.renew`."""
        n, P = Q.shape[0], Q * put(values, Q.device)
        image = torch.zeros_like(Q) if with_image else None
        sums = torch.zeros(2, dtype=torch.float64, device=Q.device)

        def part(lo: int, hi: int) -> None:
            x, w, t, old = P[lo:hi] @ Q.T, self.weights[lo:hi], self.targets[lo:hi], self.values[lo:hi]
            sums[0] += (t * x).sum(dtype=torch.float64)
            sums[1] += (w * x * x).sum(dtype=torch.float64)
            new = t - w * x
            if image is not None:
                image[lo:hi] = torch.lerp(old, new, 1 + momentum) @ Q
            old.copy_(new)

        for_chunks(part, n, width=n)
        return image, float(sums[0]), float(sums[1])


@dataclass
class SparsePairs:
    """Pairs as sparse rows; see :class:`psdvec.solver.devices.Pairs`. ``rows``, ``columns`` (m,) int64, others float32.

    ``head`` holds the values of the first rows and columns while they are multiplied again and again.
    """

    squares: float
    indptr: Tensor
    rows: Tensor
    columns: Tensor
    weights: Tensor
    targets: Tensor
    values: Tensor
    head: Tensor | None = None

    def times(self, block: Tensor) -> Tensor:
        """Return values · block."""
        m = int(block.shape[0])
        if m + 1 == self.indptr.numel():
            return _csr(self.indptr, self.columns, self.values) @ block
        if self.head is None or self.head.shape[0] != m:
            inside = (self.rows < m) & (self.columns < m)
            lengths = torch.bincount(self.rows[inside], minlength=m)
            indptr = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
            self.head = _csr(indptr, self.columns[inside], self.values[inside])
        return self.head @ block

    def renew(
        self, Q: Tensor, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Tensor | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.Pairs.renew`."""
        P = Q * put(values, Q.device)
        x = torch.empty_like(self.values)

        def part(lo: int, hi: int) -> None:
            x[lo:hi] = (P[self.rows[lo:hi]] * Q[self.columns[lo:hi]]).sum(dim=1)

        for_chunks(part, x.numel(), width=2 * Q.shape[1])
        tx = float((self.targets * x).sum(dtype=torch.float64))
        wxx = float((self.weights * x * x).sum(dtype=torch.float64))
        new = self.targets - self.weights * x
        ahead = torch.lerp(self.values, new, 1 + momentum) if with_image else new
        self.values, self.head = new, None
        return (_csr(self.indptr, self.columns, ahead) @ Q if with_image else None), tx, wxx


def _dense_pairs(n: int, keys: Tensor, terms: Tensor, squares: float) -> DensePairs:
    matrices = []
    for column in terms.T:
        matrix = torch.zeros(n * n, device=terms.device)
        matrix[keys] = column
        matrices.append(matrix.view(n, n))
    return DensePairs(squares, *matrices)


def _sparse_pairs(n: int, keys: Tensor, terms: Tensor, squares: float) -> SparsePairs:
    rows, columns = keys // n, keys % n
    indptr = torch.cat([rows.new_zeros(1), torch.bincount(rows, minlength=n).cumsum(0)])
    return SparsePairs(squares, indptr, rows, columns, *(column.contiguous() for column in terms.T))


def _csr(indptr: Tensor, columns: Tensor, values: Tensor) -> Tensor:
    n = indptr.numel() - 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(indptr, columns, values, size=(n, n), check_invariants=False)


def if_there_is_room(work: Callable[[], Found]) -> Found | None:
    """Return what ``work`` returns, None if the device has no room; what it took is free again afterwards."""
    try:
        return work()
    except torch.OutOfMemoryError:
        pass
    torch.cuda.empty_cache()
    return None


def for_chunks(work: Callable[[int, int], None], size: int, *, width: int) -> None:
    """Call ``work`` on ranges of ``size`` items, each of which takes ``width`` float32 numbers for a while.

    Where the device has no room for a range, smaller ones are tried.
    """
    chunk = max((1 << 28) // max(width, 1), 1)
    start = 0
    while start < size:
        try:
            work(start, min(start + chunk, size))
            start += chunk
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            if chunk * width <= SMALLEST:
                raise ResourceError(
                    f"the device has no room for {format_size(4 * chunk * width)} beside the pairs; fit fewer words "
                    'together, or use device="cpu"'
                ) from error
            chunk = max(chunk // 4, 1)
