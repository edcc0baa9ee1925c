"""The GPU backend: torch, on CUDA or any other device that torch knows, its CPU included.

Goes in: a count store, and tall float32 blocks on the device. Comes out: :class:`DensePairs` or :class:`SparsePairs`
and the products of :class:`psdvec.solver.devices.Backend`, to float32 accuracy those of :mod:`psdvec.reference.rounds`.
Needs torch and NumPy, not numba. Pairs are kept as whole matrices where the device has room for them, else as rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError, ResourceError
from psdvec.resources import available_memory, format_size
from psdvec.solver.devices.layout import TILE, lay_out
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe

Floats = npt.NDArray[np.float64]
Found = TypeVar("Found")

ROWS = 4096  # rows whose products are summed in float32 before they are added up in float64
SHARE = 0.8  # of the free memory that whole matrices may take
MATRICES = 4  # the three that are kept, and what comes and goes beside them
SMALLEST = 1 << 14  # numbers of a chunk below which it is not cut again


class GpuBackend:
    """See :class:`psdvec.solver.devices.Backend`."""

    def __init__(self, device: str) -> None:
        try:
            self.device = torch.device("cuda" if device == "cuda" else device)
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(
                f"torch cannot use the device '{device}' ({str(error).splitlines()[0]}); give --device cpu, or install "
                "a torch that fits your graphics card"
            ) from error

    def available_memory(self) -> int:
        """Return the bytes that are free on the device."""
        if self.device.type == "cuda":
            return int(torch.cuda.mem_get_info(self.device)[0])
        return available_memory()

    def predicted_memory(self, counts: SparseCounts, n: int, *, columns: int) -> int:
        """Return the bytes that sparse pairs, both directions put together, and the blocks take at most."""
        return 60 * int(counts.indptr[n]) + 4 * n * columns

    def open_pairs(
        self, counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe
    ) -> DensePairs | SparsePairs:
        """Return the seen pairs of the first ``len(scales)`` words of ``counts``."""
        n = len(scales)
        found = if_there_is_room(lambda: self._symmetric_terms(counts, scales, constants, recipe))
        pairs: DensePairs | SparsePairs | None = None
        if found is not None and MATRICES * 4 * n * n < SHARE * self.available_memory():
            pairs = if_there_is_room(lambda: _dense_pairs(n, *found))
        if found is not None and pairs is None:
            pairs = if_there_is_room(lambda: _sparse_pairs(n, *found))
        if pairs is None:
            raise ResourceError(
                f"the device has no room for the pairs of {n:,} words; fit fewer at once, --core N, or use --device cpu"
            )
        return pairs

    def _symmetric_terms(
        self, counts: SparseCounts, scales: WordScales, constants: Constants, recipe: Recipe
    ) -> tuple[Tensor, Tensor, float]:
        """Return the places i n + j of all seen pairs, rising, their weight, target and first value, and Σ R G²."""
        n, half = len(scales), recipe.start == "half"
        rows, columns, H = self.directed(counts, n)
        numbers = self._numbers(scales, constants)
        w, t, g, square = _pair_terms(rows, columns, H, numbers, constants)
        both = torch.cat([rows * n + columns, columns * n + rows])
        keys, place = torch.unique(both, return_inverse=True)
        terms = torch.zeros(keys.numel(), 3 if half else 2, device=self.device)
        directed = torch.stack([w, t, g] if half else [w, t], dim=1)
        terms.index_add_(0, place, directed.repeat(2, 1))
        sums = torch.zeros(keys.numel(), device=self.device, dtype=torch.float64)
        sums.index_add_(0, place[: square.numel()], square.double())
        widths = self.put_long(lay_out(self._tiles(rows, columns, n), n))
        kept = (terms[:, 1].abs() >= recipe.negligible) | (keys % n < widths[keys // n])
        keys, terms = keys[kept], terms[kept]
        first = terms[:, 1]
        if half:
            first = _half_start(keys, terms, numbers, constants, recipe.relaxation)
        return keys, torch.stack([terms[:, 0], terms[:, 1], first], dim=1), float(sums[kept].sum())

    def directed(self, counts: SparseCounts, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """Bring the directed pairs among the first n words to the device: rows, columns, counts."""
        size = int(counts.indptr[n])
        lengths = torch.from_numpy(np.diff(counts.indptr[: n + 1])).to(self.device)
        rows = torch.repeat_interleave(torch.arange(n, device=self.device), lengths)
        columns = torch.from_numpy(np.array(counts.indices[:size])).to(self.device).long()
        H = (torch.from_numpy(np.array(counts.values[:size])).to(self.device).double() / UNIT).float()
        inside = columns < n
        return rows[inside], columns[inside], H[inside]

    def _tiles(self, rows: Tensor, columns: Tensor, n: int) -> npt.NDArray[np.int64]:
        size = -(-n // TILE)
        tiles = torch.bincount((rows // TILE) * size + columns // TILE, minlength=size * size)
        found: npt.NDArray[np.int64] = tiles.cpu().numpy().reshape(size, size)
        return found

    def _numbers(self, scales: WordScales, constants: Constants) -> tuple[Tensor, ...]:
        s = scales
        shares = s.frequencies / np.sqrt(constants.total)
        return tuple(self.put(x) for x in (s.row_sums, s.unigrams, shares, s.majorisers, s.emphases, s.rho))

    def put(self, array: npt.NDArray[Any]) -> Tensor:
        """Bring an array to the device as float32."""
        return torch.from_numpy(np.array(array, dtype=np.float32)).to(self.device)

    def put_long(self, array: npt.NDArray[Any]) -> Tensor:
        """Bring an array to the device as int64."""
        return torch.from_numpy(np.array(array, dtype=np.int64)).to(self.device)

    def get(self, block: Tensor) -> npt.NDArray[np.float32]:
        """Bring a block back."""
        found: npt.NDArray[np.float32] = block.cpu().numpy()
        return found

    def zeros(self, n: int, k: int) -> Tensor:
        """Return an (n, k) block of zeros."""
        return torch.zeros(n, k, device=self.device)

    def join(self, *blocks: Tensor) -> Tensor:
        """Return the columns of all blocks side by side."""
        return torch.cat(blocks, dim=1)

    def scaled(self, column: Tensor, block: Tensor) -> Tensor:
        """Return the rows of ``block`` times ``column``."""
        return column[:, None] * block

    def gram(self, left: Tensor, right: Tensor) -> Floats:
        """Return leftᵀ right, some rows at a time, summed in float64."""
        total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.float64, device=self.device)
        for start in range(0, left.shape[0], ROWS):
            total += left[start : start + ROWS].T @ right[start : start + ROWS]
        found: Floats = total.cpu().numpy()
        return found

    def combine(self, block: Tensor, matrix: npt.NDArray[Any]) -> Tensor:
        """Return block · matrix in float32."""
        return block @ self.put(matrix)


def _pair_terms(
    rows: Tensor, columns: Tensor, H: Tensor, numbers: tuple[Tensor, ...], constants: Constants
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return (R - B) / 2, m (R G - B log κ) / 2, m (G - log κ) / 2 and m² (R G² - B log² κ) of directed pairs."""
    r, u, f, a, s, rho = numbers
    kappa, beta, log_kappa = constants.smoothing, constants.background, float(np.log(constants.smoothing))
    G = torch.log((1 - kappa) * H / (r[rows] * u[columns]) + kappa)
    smooth = (1 - beta) * H + beta * f[rows] * f[columns]
    R = (smooth**constants.exponent / (constants.cap * a[rows] * a[columns])).clamp(max=1)
    if not constants.diagonal:
        R = torch.where(rows == columns, torch.zeros_like(R), R)
    B, m = rho[rows] * rho[columns], s[rows] * s[columns]
    square = m * m * (R * G * G - B * log_kappa**2)
    return 0.5 * (R - B), 0.5 * m * (R * G - B * log_kappa), 0.5 * m * (G - log_kappa), square


def _half_start(
    keys: Tensor, terms: Tensor, numbers: tuple[Tensor, ...], constants: Constants, step: float
) -> Tensor:
    """Return the pairs' values in the paper's first matrix, X + ω R∘(G - X) at X = G/2, less the background's."""
    s, rho = numbers[4], numbers[5]
    rows, columns = keys // s.numel(), keys % s.numel()
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
        self, P: Tensor, Q: Tensor, *, momentum: float, with_image: bool
    ) -> tuple[Tensor, float, float]:
        """Set the values to T - W∘(P Qᵀ); see :meth:`psdvec.solver.devices.Pairs.renew`."""
        n = Q.shape[0]
        image = torch.zeros_like(Q) if with_image else Q[:, :0]
        sums = torch.zeros(2, dtype=torch.float64, device=Q.device)

        def part(lo: int, hi: int) -> None:
            x, w, t, old = P[lo:hi] @ Q.T, self.weights[lo:hi], self.targets[lo:hi], self.values[lo:hi]
            sums[0] += (t * x).sum(dtype=torch.float64)
            sums[1] += (w * x * x).sum(dtype=torch.float64)
            new = t - w * x
            if with_image:
                image[lo:hi] = torch.lerp(old, new, 1 + momentum) @ Q
            old.copy_(new)

        for_chunks(part, n, width=n)
        return image, float(sums[0]), float(sums[1])

    def rescale(self, factor: float) -> None:
        """Set the values to T - factor · W∘X."""
        self.values.sub_(self.targets).mul_(factor).add_(self.targets)


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
        self, P: Tensor, Q: Tensor, *, momentum: float, with_image: bool
    ) -> tuple[Tensor, float, float]:
        """Set the values to T - W∘(P Qᵀ); see :meth:`psdvec.solver.devices.Pairs.renew`."""
        x = torch.empty_like(self.values)

        def part(lo: int, hi: int) -> None:
            x[lo:hi] = (P[self.rows[lo:hi]] * Q[self.columns[lo:hi]]).sum(dim=1)

        for_chunks(part, x.numel(), width=2 * Q.shape[1])
        tx = float((self.targets * x).sum(dtype=torch.float64))
        wxx = float((self.weights * x * x).sum(dtype=torch.float64))
        new = self.targets - self.weights * x
        ahead = torch.lerp(self.values, new, 1 + momentum) if with_image else new
        self.values, self.head = new, None
        return (_csr(self.indptr, self.columns, ahead) @ Q if with_image else Q[:, :0]), tx, wxx

    def rescale(self, factor: float) -> None:
        """Set the values to T - factor · W∘X."""
        self.head = None
        self.values = self.targets - factor * (self.targets - self.values)


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
    """Return what ``work`` does, None if the device has no room; what it took is free again afterwards."""
    try:
        return work()
    except torch.OutOfMemoryError:
        pass
    torch.cuda.empty_cache()
    return None


def for_chunks(work: Callable[[int, int], None], size: int, *, width: int) -> None:
    """Call ``work`` on ranges of ``size`` things, each of which takes ``width`` float32 numbers for a while.

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
                    f"the device has no room for {format_size(4 * chunk * width)} beside the pairs; fit fewer words at "
                    "once, --core N, or with --device cpu"
                ) from error
            chunk = max(chunk // 4, 1)
