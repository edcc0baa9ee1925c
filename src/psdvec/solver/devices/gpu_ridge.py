"""Ridge solves of many words at once on a GPU: the cells of all words in one go, inverse factors in batches.

Goes in: a :class:`psdvec.solver.noncore.Setting` and a count store. Comes out: for each word what
:func:`psdvec.solver.ridge.solve_word` gives, to float32 accuracy. Words are dealt into batches by the number of their
contexts; the device's matrix products may round otherwise for other batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from psdvec.errors import InputError, ResourceError
from psdvec.solver.devices.gpu import GpuBackend, if_there_is_room
from psdvec.solver.noncore import Placed, Setting
from psdvec.solver.ridge import CALIBRATION, LEAST, SINGULAR

Ints = npt.NDArray[np.int64]

NUMBERS = 1 << 30  # float32 numbers that a batch's features may take
SHARE = 1 / 8  # of the free memory that they may take
LEAF = 64  # rows up to which torch's own factorisation is used; measured on an H200 with 500 rows


def solve_words(
    backend: GpuBackend, setting: Setting, counts: Any, *, advance: Callable[[int], None]
) -> list[Placed | None]:
    """Solve the words of ``setting`` in batches; None for those with too few contexts.

    Where the device has no room for the pairs of all words, or for a batch of equations, halves of them are tried.
    """
    ids = setting.ids
    solver = if_there_is_room(lambda: _Solver(backend, setting, counts))
    if solver is None:
        if ids.size == 1:
            raise ResourceError("the device has no room for the pairs of a word; take --device cpu")
        halves = (setting.take(part) for part in (slice(ids.size // 2), slice(ids.size // 2, ids.size)))
        return [one for half in halves for one in solve_words(backend, half, counts, advance=advance)]
    results: list[Placed | None] = [None] * ids.size
    waiting = list(solver.batches())[::-1]
    while waiting:
        chosen = waiting.pop()
        ridges = [setting.choose(int(ids[place]) + 1) for place in chosen]
        found = if_there_is_room(partial(solver.solve, chosen, ridges))
        if found is not None:
            for place, vector, spread in zip(chosen.tolist(), *found, strict=True):
                results[place] = vector, CALIBRATION * float(spread)
            advance(chosen.size)
        elif chosen.size > 1:
            waiting += [chosen[chosen.size // 2 :], chosen[: chosen.size // 2]]
        else:
            raise ResourceError(
                f"the device has no room for the equations of a word of {solver.features.shape[1]} numbers; take "
                "--device cpu"
            )
    return results


class _Solver:
    """The regressors and all cells on the device: ``rows``, ``weights``, ``targets`` (m,), ``lengths`` a word."""

    def __init__(self, backend: GpuBackend, setting: Setting, counts: Any) -> None:
        self.backend, self.setting = backend, setting
        regressors = setting.regressors
        self.features = backend.put(regressors.features)
        self.gram = torch.from_numpy(regressors.gram).to(backend.device)
        self.total = torch.from_numpy(regressors.total).to(backend.device)
        self.damping = torch.from_numpy(regressors.damping).to(backend.device)
        self.log_kappa = float(np.log(setting.constants.smoothing))
        self.rho = backend.put(setting.scales.rho).double()
        word, self.rows, self.weights, self.targets, self.squares = self._cells(counts)
        self.lengths = torch.bincount(word, minlength=setting.ids.size)
        self.starts = torch.cumsum(self.lengths, 0) - self.lengths

    def _cells(self, counts: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return word, core row, weight and target of every cell, by word and row, and Σ of squares by word."""
        backend, ids, core = self.backend, self.setting.ids, len(self.setting.old)
        place = np.full(len(counts.vocabulary), -1)
        place[ids] = np.arange(ids.size)
        new_of, row_of = backend.put_long(place), backend.put_long(self.setting.core_of)
        first, second, H = backend.directed(counts, len(counts.vocabulary))
        parts = []
        for mine, other, after in ((first, second, True), (second, first, False)):
            kept = (new_of[mine] >= 0) & (row_of[other] >= 0) & (first != second)
            word, row = new_of[mine[kept]], row_of[other[kept]]
            parts.append((word * core + row, *self._terms(word, row, H[kept], after=after)))
        keys, w, t, square = (torch.cat([part[k] for part in parts]) for k in range(4))
        squares = torch.zeros(ids.size, dtype=torch.float64, device=backend.device)
        squares.index_add_(0, keys // core, square.double())
        unique, where = torch.unique(keys, return_inverse=True)
        sums = torch.zeros(unique.numel(), 2, device=backend.device)
        sums.index_add_(0, where, torch.stack([w, t], dim=1))
        return unique // core, unique % core, sums[:, 0], sums[:, 1], squares

    def _terms(self, word: Tensor, row: Tensor, H: Tensor, *, after: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Return what directed cells add to the background, as :func:`psdvec.solver.ridge.word_cells` has it."""
        k, put, scales, old = self.setting.constants, self.backend.put, self.setting.scales, self.setting.old
        r = put(scales.row_sums)[word] if after else put(old.row_sums)[row]
        u = put(old.unigrams)[row] if after else put(scales.unigrams)[word]
        f = put(scales.frequencies)[word] * (put(old.frequencies)[row] / k.total)
        a = put(scales.majorisers)[word] * put(old.majorisers)[row]
        B, s = put(scales.rho)[word] * put(old.rho)[row], put(old.emphases)[row]
        G = torch.log((1 - k.smoothing) * H / (r * u) + k.smoothing)
        R = (((1 - k.background) * H + k.background * f) ** k.exponent / (k.cap * a)).clamp(max=1)
        square = 0.5 * s**2 * (R * G**2 - B * self.log_kappa**2)
        return 0.5 * (R - B), 0.5 * s * (R * G - B * self.log_kappa), square

    def batches(self) -> Iterator[Ints]:
        """Deal words of like many contexts together, as many as there is room for."""
        lengths, k = self.lengths.cpu().numpy(), self.features.shape[1]
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] >= max(self.setting.min_contexts, 1)]
        most = min(NUMBERS, int(SHARE * self.backend.available_memory()) // 4)
        start = 0
        while start < order.size:
            stop = start + 1
            while stop < order.size and (stop + 1 - start) * k * (lengths[order[stop]] + 4 * k) <= most:
                stop += 1
            yield order[start:stop]
            start = stop

    def solve(
        self, chosen: Ints, ridges: list[tuple[float, ...]]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
        """Return the vectors of the words ``chosen`` and the posterior's deviations, each at its best ridge."""
        words = torch.from_numpy(chosen).to(self.backend.device)
        cells = self.lengths[words].clamp(min=self.setting.regressors.cells).double()
        equations = _Equations(*self._equations(words), cells, self.damping)
        tried = torch.tensor(ridges, dtype=torch.float64, device=words.device)
        found = _uphill(equations, tried)
        return found.x.float().cpu().numpy(), found.variance.sqrt().cpu().numpy()

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
    """The solution (w, k), the mean variance of its numbers and equation (11), twice, but for its constant (w,)."""

    x: Tensor
    variance: Tensor
    evidence: Tensor


@dataclass
class _Equations:
    """A (w, k, k) and b (w, k) of equation (10), Σ R s² g² and the number of cells (w,), η D (k,): all float64."""

    A: Tensor
    b: Tensor
    square: Tensor
    m: Tensor
    damping: Tensor

    def take(self, words: Tensor) -> _Equations:
        return _Equations(self.A[words], self.b[words], self.square[words], self.m[words], self.damping)

    def solve(self, mu: Tensor) -> _Solution:
        """Solve at the ridges ``mu`` (w,): A + P is factorised in float32, the solution corrected in float64."""
        prior = self.damping + mu[:, None]
        least = LEAST * self.A.diagonal(dim1=1, dim2=2).sum(dim=1, keepdim=True)
        whole = self.A + torch.diag_embed(torch.where(prior.any(dim=1, keepdim=True), prior, least))
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
        determinant = X.diagonal(dim1=1, dim2=2).double().log().sum(dim=1)
        evidence = prior.clamp(min=1e-12).log().sum(dim=1) + 2 * determinant - self.m * loss.log()
        return _Solution(x, loss / self.m * trace / x.shape[1], evidence)


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


def _uphill(equations: _Equations, ridges: Tensor) -> _Solution:
    """Return each word's solution at its best ridge, found as in :mod:`psdvec.solver.ridge`; ``ridges`` rise."""
    climbing = torch.arange(len(ridges), device=ridges.device)
    best = equations.solve(ridges[:, 0])
    for step in range(1, ridges.shape[1]):
        found = equations.take(climbing).solve(ridges[climbing, step])
        better = found.evidence > best.evidence[climbing]
        climbing = climbing[better]
        if not climbing.numel():
            break
        for kept, new in zip(best, found, strict=True):
            kept[climbing] = new[better]
    return best
