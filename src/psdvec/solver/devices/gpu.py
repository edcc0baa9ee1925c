"""A GPU as a device: torch, on CUDA or any other device that torch knows, its CPU included.

:class:`Gpu` has the methods of :class:`psdvec.solver.devices.Device`, to float32 accuracy those of the CPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from psdvec import resources
from psdvec.arrays import Array, Float32s, Float64s, Int64s
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.errors import InputError, ResourceError
from psdvec.options import Recipe
from psdvec.resources import format_size
from psdvec.solver.devices import Room, Size
from psdvec.solver.devices.cpu_pairs import TILE, lay_out
from psdvec.solver.pmi import PairTerms, WordScales, pair_terms, target_unit
from psdvec.solver.ridge import CALIBRATION, LEAST, SINGULAR, Setting, evidence
from psdvec.storage.workspace import Placed
from psdvec.vectors.model import Constants
from psdvec.vectors.subwords import STEPS, Solve

# The seen pairs of a problem on a GPU, in torch: whole matrices where the device has room for them, otherwise rows.

Result = TypeVar("Result")

SHARE = 0.8  # of the free memory that whole matrices may take
MATRICES = 4  # the three that are kept, and what comes and goes beside them
UPLOADED = 1 << 23  # numbers that are brought to the device at a time
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


def _symmetric_terms(
    device: torch.device, counts: Cooccurrence, scales: WordScales, constants: Constants, recipe: Recipe
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


def directed_pairs(device: torch.device, counts: Cooccurrence, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Bring the directed pairs among the first n words to the device: rows, columns, counts."""
    size = int(counts.indptr[n])
    lengths = torch.from_numpy(np.diff(counts.indptr[: n + 1])).to(device)
    rows = torch.repeat_interleave(torch.arange(n, device=device), lengths)
    columns = _uploaded(counts.indices[:size], device, lambda part: part.long())
    H = _uploaded(counts.values[:size], device, lambda part: (part.double() / UNIT).float())
    if n == len(counts.vocabulary):
        return rows, columns, H
    inside = columns < n
    return rows[inside], columns[inside], H[inside]


def _uploaded(array: Array, device: torch.device, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Bring an array to the device and ``change`` it there, a part at a time; threads copy what comes next."""
    parts = [array[begin : begin + UPLOADED] for begin in range(0, max(array.size, 1), UPLOADED)]
    with ThreadPoolExecutor(resources.thread_limit()) as pool:
        copies = resources.map_ordered(pool, np.array, parts, ahead=4)
        return torch.cat([change(torch.from_numpy(copy).to(device)) for copy in copies])


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
    """Pairs as whole matrices, (n, n) float32 each; see :class:`psdvec.solver.devices.DevicePairs`."""

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
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
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
    """Pairs as sparse rows; see :class:`psdvec.solver.devices.DevicePairs`.

    ``rows``, ``columns``: (m,) int64, others float32. ``head`` holds the values of the first rows and columns
    while they are multiplied again and again.
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
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
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


def _csr(indptr: Tensor, columns: Tensor, values: Tensor, *, width: int | None = None) -> Tensor:
    n = indptr.numel() - 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(indptr, columns, values, size=(n, width or n), check_invariants=False)


def if_there_is_room(work: Callable[[], Result]) -> Result | None:
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


# The regression of spelling: that of psdvec.vectors.subwords, all columns at once.


def _regress(
    device: torch.device, Z: Any, certain: Float32s, targets: Float32s, ridge: float
) -> tuple[Float32s, Float32s]:
    """Return B and Z B of equation (14) for all columns of U, the ``targets``."""
    here, transposed = (_sparse(matrix.tocsr(), device) for matrix in (Z, Z.T))
    C, U = put(certain, device)[:, None], put(targets, device)
    squares = Z.T.multiply(Z.T) @ certain
    inverse = put(1 / (squares + ridge), device)[:, None]
    R = transposed @ (C * U)
    B, P = torch.zeros_like(R), inverse * R
    size = (R * P).sum(dim=0)
    for _ in range(STEPS):
        image = transposed @ (C * (here @ P)) + ridge * P
        step = size / (P * image).sum(dim=0).clamp(min=1e-30)
        B += step * P
        R -= step * image
        Y = inverse * R
        before, size = size, (R * Y).sum(dim=0)
        P = Y + size / before.clamp(min=1e-30) * P
    return B.cpu().numpy(), (here @ B).cpu().numpy()


def _sparse(matrix: Any, device: torch.device) -> Tensor:
    indptr, columns = put_long(matrix.indptr, device), put_long(matrix.indices, device)
    return _csr(indptr, columns, put(matrix.data, device), width=matrix.shape[1])


# Ridge solves of many words at once on a GPU: the cells of all words together, inverse factors in batches.

NUMBERS = 1 << 30  # float32 numbers that the features of a batch may take
BATCH_SHARE = 1 / 8  # of the free memory that they may take
LEAF = 64  # rows up to which torch's own factorisation is used; measured on an H200 with 500 rows


class _Solver:
    """The regressors and all cells on the device: ``rows``, ``weights``, ``targets`` (m,), two of a core word summed.

    By word, ``lengths`` counts these sums, and ``seen`` the cells themselves.
    """

    def __init__(self, device: torch.device, setting: Setting, counts: Cooccurrence) -> None:
        self.device, self.setting = device, setting
        regressors = setting.regressors
        self.features = put(regressors.features, device)
        self.gram = torch.from_numpy(regressors.gram).to(device)
        self.total = torch.from_numpy(regressors.total).to(device)
        self.damping = torch.from_numpy(regressors.damping).to(device)
        self.damped = torch.from_numpy(regressors.damped).to(device)
        self.log_kappa = float(np.log(setting.constants.smoothing))
        self.scales, self.old = put_scales(setting.scales, device), put_scales(setting.old, device)
        self.rho = put(setting.scales.rho, device).double()
        means = setting.means(slice(None))
        self.means = None if means is None else torch.from_numpy(means).to(device)
        word, self.rows, self.weights, self.targets, self.squares, self.seen = self._cells(counts)
        self.lengths = torch.bincount(word, minlength=setting.ids.size)
        self.starts = torch.cumsum(self.lengths, 0) - self.lengths

    def _cells(self, counts: Cooccurrence) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return word, core row, weight and target of the cells, by word and row; squares and cells by word."""
        device, ids, core = self.device, self.setting.ids, len(self.setting.old)
        place = np.full(len(counts.vocabulary), -1)
        place[ids] = np.arange(ids.size)
        new_of, row_of = put_long(place, device), put_long(self.setting.core_of, device)
        first, second, H = directed_pairs(device, counts, len(counts.vocabulary))
        parts = []
        for mine, other, after in ((first, second, True), (second, first, False)):
            kept = (new_of[mine] >= 0) & (row_of[other] >= 0) & (first != second)
            word, row = new_of[mine[kept]], row_of[other[kept]]
            terms = self._terms(word, row, H[kept], after=after)
            parts.append((word * core + row, 2 * terms.weights, 2 * terms.targets, terms.squares))
        keys, w, t, square = (torch.cat([part[k] for part in parts]) for k in range(4))
        squares = torch.zeros(ids.size, dtype=torch.float64, device=device)
        squares.index_add_(0, keys // core, square.double())
        seen = torch.bincount(keys // core, minlength=ids.size)
        unique, where = torch.unique(keys, return_inverse=True)
        sums = torch.zeros(unique.numel(), 2, device=device)
        sums.index_add_(0, where, torch.stack([w, t], dim=1))
        return unique // core, unique % core, sums[:, 0], sums[:, 1], squares, seen

    def _terms(self, word: Tensor, row: Tensor, H: Tensor, *, after: bool) -> PairTerms:
        """Return the terms of directed cells, of which the core word comes ``after`` the new one or before it."""
        new, old = self.scales, self.old
        r = new.row_sums[word] if after else old.row_sums[row]
        u = old.unigrams[row] if after else new.unigrams[word]
        return pair_terms(
            H, r, u, new.frequencies[word] * old.frequencies[row], new.majorisers[word] * old.majorisers[row],
            old.emphases[row], new.rho[word] * old.rho[row], constants=self.setting.constants, xp=torch,
        )  # fmt: skip

    def batches(self) -> Iterator[Int64s]:
        """Deal words with about as many contexts together, as many as there is room for."""
        lengths, k = self.lengths.cpu().numpy(), self.features.shape[1]
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] >= max(self.setting.min_contexts, 1)]
        most = min(NUMBERS, int(BATCH_SHARE * available_memory(self.device)) // 4)
        start = 0
        while start < order.size:
            stop = start + 1
            while stop < order.size and (stop + 1 - start) * k * (lengths[order[stop]] + 4 * k) <= most:
                stop += 1
            yield order[start:stop]
            start = stop

    def solve(self, chosen: Int64s, ridges: list[tuple[float, ...]]) -> tuple[Float32s, Float64s]:
        """Return the vectors of the words ``chosen`` and the posterior's deviations, each at its best ridge."""
        words = torch.from_numpy(chosen).to(self.device)
        cells = self.seen[words].clamp(min=self.setting.regressors.cells).double()
        A, b, square = self._equations(words)
        means = None if self.means is None else self.means[words]
        if means is not None:
            image = (A @ means[:, :, None])[:, :, 0]
            square = square + ((image - 2 * b) * means).sum(dim=1)
            b = b - image
        equations = _Equations(A + self.damping, b, square, cells, self.damped)
        best = equations.best(torch.tensor(ridges, dtype=torch.float64, device=words.device))
        x = best.x if means is None else best.x + means
        traces = self._usual_traces(A, ridges)
        variance = best.variance if traces is None else best.variance * traces / best.trace
        return x.float().cpu().numpy(), variance.sqrt().cpu().numpy()

    def _usual_traces(self, A: Tensor, ridges: list[tuple[float, ...]]) -> Tensor | None:
        """Return what :func:`psdvec.solver.ridge.solve_word` takes for the traces of (A + P)⁻¹.

        Where there is one ridge, its preconditioner has it; where there are several, None, for the traces themselves.
        """
        regressors = self.setting.regressors
        traces = []
        for trace, few in zip(A.diagonal(dim1=1, dim2=2).sum(dim=1).tolist(), ridges, strict=True):
            known = regressors.preconditioner(few[0]) if len(few) == 1 else None
            if known is None:
                return None
            usual = trace / float(np.trace(regressors.gram))
            traces.append(float(known.squares @ (1 / (usual * known.values + 1))))
        return torch.tensor(traces, dtype=torch.float64, device=A.device)

    def _equations(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return both sides of equation (10) and Σ R s² g², all float64."""
        lengths = self.lengths[words]
        steps = torch.arange(int(lengths.max()), device=words.device)
        inside = steps < lengths[:, None]
        place = torch.where(inside, self.starts[words][:, None] + steps, 0)
        F = self.features[self.rows[place]]
        w, t = (torch.where(inside, column[place], 0.0) for column in (self.weights, self.targets))
        rho = self.rho[words]
        A = torch.bmm((F * w[:, :, None]).transpose(1, 2), F).double() + rho[:, None, None] * self.gram
        b = torch.bmm(t[:, None], F)[:, 0].double() + (self.log_kappa * rho)[:, None] * self.total
        return A, b, self.squares[words] + rho * (self.log_kappa**2 * self.setting.regressors.square)


class _Solution(NamedTuple):
    """The solution (w, k), the mean variance of its numbers, and the trace in that.

    And what :func:`evidence` says of it (w,).
    """

    x: Tensor
    variance: Tensor
    trace: Tensor
    evidence: Tensor
    ceiling: Tensor


@dataclass
class _Equations:
    """A + η Σ f fᵀ (w, k, k) and b (w, k) of equation (10), Σ R s² g² and the number of cells (w,); all float64.

    ``damped`` (k,) are the eigenvalues of η Σ f fᵀ.
    """

    A: Tensor
    b: Tensor
    square: Tensor
    m: Tensor
    damped: Tensor

    def take(self, words: Tensor) -> _Equations:
        return _Equations(self.A[words], self.b[words], self.square[words], self.m[words], self.damped)

    def best(self, ridges: Tensor) -> _Solution:
        """Return each word's solution at that of its rising ``ridges`` (w, r) with the greatest evidence."""
        best = self.solve(ridges[:, 0])
        left = torch.arange(len(ridges), device=ridges.device)
        ceiling = best.ceiling
        for step in range(1, ridges.shape[1]):
            left = left[best.evidence[left] < ceiling]
            if not left.numel():
                break
            found = self.take(left).solve(ridges[left, step])
            better = found.evidence > best.evidence[left]
            for kept, new in zip(best, found, strict=True):
                kept[left[better]] = new[better]
            ceiling = found.ceiling
        return best

    def solve(self, mu: Tensor) -> _Solution:
        """Solve at the ridges ``mu`` (w,): A + P is factorised in float32, the solution corrected in float64."""
        least = 0.0 if self.damped.any() else LEAST * self.A.diagonal(dim1=1, dim2=2).sum(dim=1)
        ridge = torch.where(mu > 0, mu, least)
        whole = self.A + torch.diag_embed(ridge[:, None].expand_as(self.b))
        X = _inverse_factor(whole.float())
        failed = ~X[:, -1, -1].isfinite()
        if failed.any():
            X[failed] = _inverse_factor(whole[failed]).float()
            if not X[:, -1, -1].isfinite().all():
                raise InputError(SINGULAR)
        x = torch.zeros_like(self.b)
        for _ in range(3):
            rest = (self.b - (whole @ x[:, :, None])[:, :, 0]).float()
            x += (X.mT @ (X @ rest[:, :, None]))[:, :, 0]
        loss = (self.square - (self.b * x).sum(dim=1)).clamp(min=1e-12)
        trace = X.square().sum(dim=(1, 2)).double()
        log_whole = -2 * X.diagonal(dim1=1, dim2=2).double().log().sum(dim=1)
        log_prior = (self.damped + mu[:, None]).clamp(min=1e-12).log().sum(dim=1)
        variance = loss / self.m * trace / x.shape[1]
        return _Solution(x, variance, trace, *evidence(log_prior, log_whole, self.m, loss, xp=torch))


def _inverse_factor(A: Tensor) -> Tensor:
    """Return lower triangular X with XᵀX = A⁻¹ for each of A (w, k, k); NaN to the end where A is not definite.

    By halves: with X₁ of the upper left block and B = A₂₁X₁ᵀ, X₂ is that of A₂₂ - BBᵀ and X₂₁ = -X₂BX₁. Nearly all of
    it is batched products, which take a third of the time of torch's Cholesky factors and triangular solves.
    """
    k = A.shape[1]
    if k <= LEAF:
        L, failed = torch.linalg.cholesky_ex(A)
        L = torch.where(failed[:, None, None] > 0, torch.nan, L)
        X: Tensor = torch.linalg.solve_triangular(L, torch.eye(k).to(L).expand_as(L), upper=False)
        return X
    half = -(-k // (2 * LEAF)) * LEAF  # products of whole leaves are quick
    upper, lower = slice(0, half), slice(half, k)
    X = torch.zeros_like(A)
    X[:, upper, upper] = _inverse_factor(A[:, upper, upper])
    B = A[:, lower, upper] @ X[:, upper, upper].mT
    X[:, lower, lower] = _inverse_factor(torch.baddbmm(A[:, lower, lower], B, B.mT, alpha=-1))
    X[:, lower, upper] = -X[:, lower, lower] @ (B @ X[:, upper, upper])
    return X


ROWS = 4096  # rows whose products are summed in float32 before they are added up in float64


class Gpu:
    """A device of torch; see :class:`psdvec.solver.devices.Device`."""

    words_at_once = 32_768
    others: Sequence[Mapping[str, str]] = ()

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def limits(self) -> AbstractContextManager[None]:
        """Limit nothing: the device computes."""
        return nullcontext()

    def find_room(self, size: Size, *, limit: int | None, folder: Path | None) -> Room:
        """Return the ``limit``; how much there is will show while the pairs are built."""
        return Room(inf if limit is None else limit, folder)

    def open_pairs(
        self, counts: Cooccurrence, scales: WordScales, constants: Constants, *, recipe: Recipe, room: Room
    ) -> DensePairs | SparsePairs:
        """Return the seen pairs of the first ``len(scales)`` words, as matrices if there is room for them.

        Nothing is put into a folder.
        """
        n = len(scales)
        found = if_there_is_room(lambda: _symmetric_terms(self.device, counts, scales, constants, recipe))
        pairs: DensePairs | SparsePairs | None = None
        most = min(SHARE * available_memory(self.device), room.bytes)
        if found is not None and MATRICES * 4 * n * n < most:
            pairs = if_there_is_room(lambda: _dense_pairs(n, *found))
        if found is not None and pairs is None:
            pairs = if_there_is_room(lambda: _sparse_pairs(n, *found))
        if pairs is None:
            raise ResourceError(
                f"the device has no room for the pairs of {n:,} words; fit fewer words together, or use "
                'device="cpu"'
            )
        return pairs

    def solve_words(
        self, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None] = lambda _: None
    ) -> list[Placed]:
        """Solve the words of ``setting`` in batches; those with too few contexts get no vector.

        Where the device has no room for the pairs of all words, or for a batch of equations, halves of them are tried.
        """
        ids = setting.ids
        solver = if_there_is_room(lambda: _Solver(self.device, setting, counts))
        if solver is None:
            if ids.size == 1:
                raise ResourceError('the device has no room for the pairs of a word; use device="cpu"')
            halves = (setting.take(part) for part in (slice(ids.size // 2), slice(ids.size // 2, ids.size)))
            return [one for half in halves for one in self.solve_words(half, counts, advance=advance)]
        results = [Placed(None, np.nan, contexts) for contexts in solver.lengths.tolist()]
        waiting = list(solver.batches())[::-1]
        while waiting:
            chosen = waiting.pop()
            ridges = [setting.choose(int(ids[place]) + 1) for place in chosen]
            found = if_there_is_room(partial(solver.solve, chosen, ridges))
            if found is not None:
                for place, vector, spread in zip(chosen.tolist(), *found, strict=True):
                    results[place] = Placed(vector, CALIBRATION * float(spread), results[place].contexts)
                advance(chosen.size)
            elif chosen.size > 1:
                waiting += [chosen[chosen.size // 2 :], chosen[: chosen.size // 2]]
            else:
                raise ResourceError(
                    f"the device has no room for the equations of a word in {solver.features.shape[1]} dimensions; use "
                    'device="cpu"'
                )
        return results

    def regression(self) -> Solve:
        """Return what solves the regression of spelling on the device."""
        return partial(_regress, self.device)

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

    def eigh(self, matrix: Float64s) -> tuple[Float64s, Float64s]:
        """Return the eigenvalues, rising, and the eigenvectors of a small symmetric matrix."""
        values, vectors = torch.linalg.eigh(torch.from_numpy(matrix).to(self.device))
        return values.cpu().numpy(), vectors.cpu().numpy()
