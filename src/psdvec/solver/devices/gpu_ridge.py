"""Ridge solves of many words at once on a GPU: the cells of all words together, inverse factors in batches.

Takes a :class:`psdvec.solver.setting.Setting` and a count store, and gives each word what
:func:`psdvec.solver.ridge.solve_word` gives it, to float32 accuracy. Words are dealt into batches by the number of
their contexts; the device's matrix products may round differently for other batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.errors import InputError, ResourceError
from psdvec.solver.devices.gpu_pairs import (
    available_memory,
    directed_pairs,
    if_there_is_room,
    put,
    put_long,
    put_scales,
)
from psdvec.solver.pmi import PairTerms, pair_terms
from psdvec.solver.ridge import CALIBRATION, LEAST, SINGULAR, evidence
from psdvec.solver.setting import Placed, Setting

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

NUMBERS = 1 << 30  # float32 numbers that the features of a batch may take
SHARE = 1 / 8  # of the free memory that they may take
LEAF = 64  # rows up to which torch's own factorisation is used; measured on an H200 with 500 rows


def solve_words(
    device: torch.device, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None]
) -> list[Placed | None]:
    """Solve the words of ``setting`` in batches; None for those with too few contexts.

    Where the device has no room for the pairs of all words, or for a batch of equations, halves of them are tried.
    """
    ids = setting.ids
    solver = if_there_is_room(lambda: _Solver(device, setting, counts))
    if solver is None:
        if ids.size == 1:
            raise ResourceError('the device has no room for the pairs of a word; use device="cpu"')
        halves = (setting.take(part) for part in (slice(ids.size // 2), slice(ids.size // 2, ids.size)))
        return [one for half in halves for one in solve_words(device, half, counts, advance=advance)]
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
                f"the device has no room for the equations of a word in {solver.features.shape[1]} dimensions; use "
                'device="cpu"'
            )
    return results


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
        most = min(NUMBERS, int(SHARE * available_memory(self.device)) // 4)
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
