"""A GPU as a device: torch, on CUDA or any other device that torch knows, its CPU included.

:class:`Gpu` has the methods of :class:`psdvec.solver.devices.Device`, to float32 accuracy those of the CPU.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from threading import Thread
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
from psdvec.solver.rounds import iterated_pairs
from psdvec.storage.artefact import release_memory
from psdvec.storage.workspace import Placed
from psdvec.vectors.model import Constants
from psdvec.vectors.regression import STEPS, Solve

# The seen pairs of a problem on a GPU, in torch, by strips of rows.

Result = TypeVar("Result")

SHARE = 0.8  # of the free memory that pairs and what comes and goes beside them may take
TALL = 8  # matrices as large as X's basis that are alive together in the rounds
UPLOADED = 1 << 23  # pairs that are brought to the device at a time
STRIP = 1 << 26  # directed pairs that are put together at a time, at most
PUT_TOGETHER = 200  # bytes that each of them takes meanwhile
PAIR = 12  # bytes of a pair that is kept


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
    """Return the bytes that are free on the device, those that torch holds for later among them."""
    if device.type == "cuda":
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + held)
    return resources.available_memory()


def directed_pairs(
    device: torch.device, counts: Cooccurrence, n: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Bring the directed pairs among the first n words to the device: rows, columns, counts, a part at a time.

    Threads copy what comes next, and the memory of mapped counts is given back.
    """
    size = int(counts.indptr[n])
    indptr = put_long(counts.indptr[: n + 1], device)

    def copied(begin: int) -> tuple[int, Array, Array]:
        end = min(begin + UPLOADED, size)
        columns, values = np.array(counts.indices[begin:end]), np.array(counts.values[begin:end])
        for array in (counts.indices, counts.values):
            release_memory(array, begin, end)
        return begin, columns, values

    with ThreadPoolExecutor(resources.thread_limit()) as pool:
        for begin, *copies in resources.map_ordered(pool, copied, range(0, size, UPLOADED), ahead=4):
            columns, values = (torch.from_numpy(copy).to(device) for copy in copies)
            rows = _rows_of(indptr, torch.arange(begin, begin + columns.numel(), device=device))
            H = (values.double() / UNIT).float()
            if n < len(counts.vocabulary):
                inside = columns < n
                rows, columns, H = rows[inside], columns[inside], H[inside]
            yield rows, columns.long(), H


def _rows_of(indptr: Tensor, places: Tensor) -> Tensor:
    """Return in which row each of ``places`` lies."""
    return torch.searchsorted(indptr, places, right=True) - 1


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


class _Directed:
    """The directed pairs among the first n words on the device, as they are counted.

    ``indptr`` (n + 1,) int64, ``columns`` (m,) int32 and ``H`` (m,) float32; ``squares`` are how many pairs each square
    of words has.
    """

    def __init__(self, device: torch.device, counts: Cooccurrence, n: int) -> None:
        size, tiles = int(counts.indptr[n]), -(-n // TILE)
        self.columns = torch.empty(size, dtype=torch.int32, device=device)
        self.H = torch.empty(size, device=device)
        lengths, squares = (torch.zeros(k, dtype=torch.int64, device=device) for k in (n + 1, tiles * tiles))
        end = 0
        for rows, columns, H in directed_pairs(device, counts, n):
            begin, end = end, end + H.numel()
            self.columns[begin:end], self.H[begin:end] = columns, H
            lengths += torch.bincount(rows + 1, minlength=n + 1)
            squares += torch.bincount(rows // TILE * tiles + columns // TILE, minlength=tiles * tiles)
        self.columns, self.H = self.columns[:end], self.H[:end]
        self.indptr = lengths.cumsum(0)
        self.squares: Int64s = squares.cpu().numpy().reshape(tiles, tiles)

    def strips(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that have at most so many pairs with their columns, each of one row at least."""
        n = self.indptr.numel() - 1
        of_columns = torch.zeros(n, dtype=torch.int64, device=self.columns.device)
        for part in self.columns.split(STRIP):
            of_columns += torch.bincount(part, minlength=n)
        ends = (self.indptr[1:] + of_columns.cumsum(0)).cpu().numpy()
        first = before = 0
        while first < n:
            last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
            yield first, last
            first, before = last, int(ends[last - 1])

    def both_directions(self, lo: int, hi: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Return the pairs of rows ``lo`` to ``hi`` and those of these columns: rows, columns and counts of each."""
        begin, end = self.indptr[[lo, hi]].tolist()
        places = torch.arange(begin, end, device=self.H.device)
        yield _rows_of(self.indptr, places), self.columns[begin:end].long(), self.H[begin:end]
        found = [
            torch.nonzero((part >= lo) & (part < hi))[:, 0] + number * STRIP
            for number, part in enumerate(self.columns.split(STRIP))
        ]
        places = torch.cat(found)
        yield _rows_of(self.indptr, places), self.columns[places].long(), self.H[places]


@dataclass
class Strip:
    """The pairs of rows ``lo`` to ``hi``, by row, both directions put together.

    ``indptr`` and ``columns`` are int32, ``weights`` and ``targets`` float16 as on the CPU, ``values`` float32.
    """

    lo: int
    hi: int
    indptr: Tensor
    columns: Tensor
    weights: Tensor
    targets: Tensor
    values: Tensor

    def to(self, device: torch.device) -> Strip:
        """Return the strip in the memory of ``device``, itself if it is there."""
        names = ("indptr", "columns", "weights", "targets", "values")
        return Strip(self.lo, self.hi, *(getattr(self, name).to(device) for name in names))

    def matrix(self, values: Tensor, n: int) -> Tensor:
        """Return ``values`` of the pairs as a sparse matrix of n columns."""
        return _csr(self.indptr, self.columns, values, width=n)


class GpuPairs:
    """Pairs as sparse strips; see :class:`psdvec.solver.devices.DevicePairs`.

    Those that ``room`` bytes of the device hold are kept there, the others in the machine's memory.
    """

    def __init__(
        self,
        device: torch.device,
        counts: Cooccurrence,
        scales: WordScales,
        constants: Constants,
        *,
        recipe: Recipe,
        room: float,
    ) -> None:
        self._device, self._n, self._head = device, len(scales), Tensor()
        self._unit = target_unit(scales, constants)
        self.squares, self._strips = 0.0, list[Strip]()
        directed, here = _Directed(device, counts, self._n), put_scales(scales, device)
        widths = put_long(lay_out(directed.squares, self._n), device)
        room -= 8 * directed.H.numel()
        for lo, hi in directed.strips(min(STRIP, int(SHARE * available_memory(device)) // PUT_TOGETHER)):
            strip, squares = self._put_together(directed, lo, hi, here, widths, constants, recipe)
            room -= PAIR * strip.values.numel()
            self._strips.append(strip if room >= 0 else strip.to(torch.device("cpu")))
            self.squares += squares

    def _put_together(
        self,
        directed: _Directed,
        lo: int,
        hi: int,
        scales: WordScales,
        widths: Tensor,
        constants: Constants,
        recipe: Recipe,
    ) -> tuple[Strip, float]:
        """Return the pairs of some rows, with weights, targets and first values, and Σ R G² of them.

        They are rounded to half precision as they are on the CPU, so that the problem is the same.
        """
        n, half = self._n, recipe.start == "half"
        after, before = directed.both_directions(lo, hi)
        one, other = (directed_terms(*pairs, scales, constants) for pairs in (after, before))
        keys = torch.cat([(after[0] - lo) * n + after[1], (before[1] - lo) * n + before[0]])
        keys, place = torch.unique(keys, return_inverse=True)
        names = ("weights", "targets", "shifts") if half else ("weights", "targets")
        terms = torch.zeros(keys.numel(), len(names), device=keys.device)
        directions = [torch.cat([getattr(one, name), getattr(other, name)]) for name in names]
        terms.index_add_(0, place, torch.stack(directions, dim=1))
        squares = torch.zeros(keys.numel(), device=keys.device, dtype=torch.float64)
        squares.index_add_(0, place[: after[2].numel()], one.squares.double())
        rows, columns = keys // n, keys % n
        kept = (terms[:, 1].abs() >= recipe.negligible) | (columns < widths[rows + lo])
        rows, columns, terms = rows[kept], columns[kept], terms[kept]
        first = terms[:, 1]
        if half:
            first = _half_start(rows + lo, columns, terms, scales, constants, recipe.relaxation)
        strip = Strip(
            lo, hi,
            indptr=torch.cat([rows.new_zeros(1), torch.bincount(rows, minlength=hi - lo).cumsum(0)]).int(),
            columns=columns.int(),
            weights=terms[:, 0].half(),
            targets=(terms[:, 1] / self._unit).half(),
            values=(first / self._unit).half().float() * self._unit,
        )  # fmt: skip
        return strip, float(squares[kept].sum())

    def times(self, block: Tensor) -> Tensor:
        """Return values · block."""
        m = int(block.shape[0])
        if m < self._n:
            if self._head.shape[:1] != (m,):
                self._head = self._first(m)
            return self._head @ block
        product = torch.empty_like(block)
        for strip in self._strips:
            here = strip.to(self._device)
            product[strip.lo : strip.hi] = here.matrix(here.values, m) @ block
        return product

    def _first(self, m: int) -> Tensor:
        """Return the values of the first m rows and columns, which are multiplied again and again."""
        lengths, parts = [], []
        for strip in self._strips:
            if strip.lo < m:
                here = strip.to(self._device)
                places = torch.arange(int(here.indptr[min(m, strip.hi) - strip.lo]), device=self._device)
                rows, columns = _rows_of(here.indptr.long(), places), here.columns[places]
                inside = columns < m
                lengths.append(torch.bincount(rows[inside], minlength=min(m, strip.hi) - strip.lo))
                parts.append((columns[inside], here.values[places][inside]))
        columns, values = (torch.cat(column) for column in zip(*parts, strict=True))
        indptr = torch.cat([lengths[0].new_zeros(1), torch.cat(lengths).cumsum(0)])
        return _csr(indptr.int(), columns, values)

    def renew(
        self, Q: Tensor, values: Float64s, *, momentum: float, with_image: bool
    ) -> tuple[Tensor | None, float, float]:
        """Set the values to T - W∘X; see :meth:`psdvec.solver.devices.DevicePairs.renew`."""
        n, P, self._head = self._n, Q * put(values, Q.device), Tensor()
        image = torch.empty_like(Q) if with_image else None
        sums = torch.zeros(2, dtype=torch.float64, device=Q.device)
        for strip in self._strips:
            rows, here = slice(strip.lo, strip.hi), strip.to(self._device)
            x = torch.sparse.sampled_addmm(here.matrix(here.values, n), P[rows], Q.T, beta=0.0).values()
            w, t = here.weights, here.targets.float() * self._unit
            sums[0] += (t * x).sum(dtype=torch.float64)
            sums[1] += (w * x * x).sum(dtype=torch.float64)
            new = t - w * x
            if image is not None:
                image[rows] = here.matrix(torch.lerp(here.values, new, 1 + momentum), n) @ Q
            strip.values.copy_(new)
        return image, float(sums[0]), float(sums[1])


def _half_start(
    rows: Tensor, columns: Tensor, terms: Tensor, scales: WordScales, constants: Constants, step: float
) -> Tensor:
    """Return the pairs' values in the paper's first matrix, X + ω R∘(G - X) at X = G/2, less the background's."""
    s, rho = scales.emphases, scales.rho
    w, t, g = terms.T
    level = 0.5 * float(np.log(constants.smoothing)) * s[rows] * s[columns]
    values: Tensor = 0.5 * g * (1 - step * (w + rho[rows] * rho[columns])) + step * (t - level * w)
    return values


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


# The regression of spelling: that of psdvec.vectors.regression, all columns at once.


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
        parts = []
        for first, second, H in directed_pairs(device, counts, len(counts.vocabulary)):
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
        regressors, device = self.setting.regressors, A.device
        if any(len(few) > 1 for few in ridges):
            return None
        usual = A.diagonal(dim1=1, dim2=2).sum(dim=1) / float(np.trace(regressors.gram))
        traces, mu = torch.empty_like(usual), np.array(ridges)[:, 0]
        for ridge in np.unique(mu).tolist():
            known = regressors.preconditioner(ridge)
            if known is None:
                return None
            own = torch.from_numpy(mu == ridge).to(device)
            values, squares = (
                torch.from_numpy(numbers).to(device) for numbers in (known.values, known.squares)
            )
            traces[own] = (1 / (usual[own, None] * values + 1)) @ squares
        return traces

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


def _load_libraries(device: torch.device) -> None:
    """Do a little of all that a fit does: CUDA takes half a second to load it, in which others read the counts."""
    with suppress(RuntimeError):  # what cannot be loaded will be missed where it is needed
        for size in (64, 512, 1024):  # each has its own kernels
            ones = torch.ones(size, size, device=device)
            torch.linalg.eigh((ones.T @ ones).double())
        places = torch.arange(size + 1, dtype=torch.int32, device=device)
        matrix = _csr(places, places[:size], ones[0])
        torch.sparse.sampled_addmm(matrix, matrix @ ones, ones, beta=0.0)
        torch.unique(torch.bincount(torch.arange(2, device=device)), return_inverse=True)


class Gpu:
    """A device of torch; see :class:`psdvec.solver.devices.Device`."""

    words_at_once = 32_768
    others: Sequence[Mapping[str, str]] = ()

    def __init__(self, device: torch.device) -> None:
        self.device = device
        if device.type == "cuda":
            Thread(target=_load_libraries, args=(device,), daemon=True).start()

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Limit no threads, since the device computes; say what helps where it has no room for what comes and goes."""
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise ResourceError(
                "the device has no room for what a fit takes beside the pairs; let these take less of its memory, such "
                'as memory="4G", fit fewer words together, or use device="cpu"'
            ) from error

    def find_room(self, size: Size, *, limit: int | None, folder: Path | None) -> Room:
        """Return what the pairs of a fit may take of the device's memory; the others stay in the machine's."""
        besides = TALL * 4 * size.words * iterated_pairs(size.rank, size.words)
        free = int(SHARE * available_memory(self.device))
        if besides > free:
            raise ResourceError(
                f"fitting {size.words:,} words in {size.dim} dimensions needs {format_size(besides)} of the device's "
                f"memory even without the pairs, and {format_size(free)} is free; fit fewer words together, or use "
                'device="cpu"'
            )
        return Room(min(free - besides, inf if limit is None else limit), folder)

    def open_pairs(
        self, counts: Cooccurrence, scales: WordScales, constants: Constants, *, recipe: Recipe, room: Room
    ) -> GpuPairs:
        """Return the seen pairs of the first ``len(scales)`` words. Nothing is put into a folder."""
        build = partial(GpuPairs, self.device, counts, scales, constants, recipe=recipe, room=room.bytes)
        pairs = if_there_is_room(build)
        if pairs is None:
            raise ResourceError(
                f"the device has no room for the pairs of {len(scales):,} words; fit fewer words together, or use "
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
