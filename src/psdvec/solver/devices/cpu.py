"""The CPU backend: numba for the ragged loops, BLAS for the rest.

Goes in: a count store, and tall float32 arrays. Comes out: :class:`CpuPairs` and the products of
:class:`psdvec.solver.devices.Backend`. Frequent words meet nearly all others, so the rows' first columns are dense
panels, a matrix product each, and only the tail is sparse: at a density of a third both cost the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psdvec import resources
from psdvec.counts.weighting import UNIT
from psdvec.kernels import rounds
from psdvec.solver.devices import layout
from psdvec.solver.pmi import Constants, SparseCounts, WordScales
from psdvec.solver.recipe import Recipe

Block = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHUNK = 4096  # rows whose products are summed in float32 before they are added up in float64


@dataclass(frozen=True)
class Layout:
    """Which pairs are dense: the first ``widths[i]`` columns of row i, at ``starts[i]`` of the cells; (n,) int64 each.

    ``room`` is the number of pairs that row i of the tail may need, (n,) int64.
    """

    widths: Ints
    starts: Ints
    room: Ints

    @property
    def cells(self) -> int:
        """How many pairs the panels have, seen or not."""
        return int(self.widths.sum())


def panel_layout(counts: SparseCounts, n: int) -> Layout:
    """Return where the pairs of the first n words go."""
    squares, column_lengths = rounds.tile_pairs(counts.indptr, counts.indices, n, layout.TILE)
    widths = layout.lay_out(squares, n)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    lengths = np.diff(counts.indptr[: n + 1]) + column_lengths
    return Layout(widths, starts, np.minimum(lengths, n - widths))


@dataclass
class CpuPairs:
    """Pairs of a problem: dense panels and a sparse tail; see :class:`psdvec.solver.devices.Pairs`.

    ``indptr`` (n + 1,) int64, ``indices`` (m,) int32, ``terms`` (m, 2) float32 weight and target, ``values`` (m,)
    float32. ``panels``: for each the first and last row, and its weights, targets and values, (rows, width) float32.
    """

    squares: float
    indptr: Ints
    indices: npt.NDArray[np.int32]
    terms: Block
    values: Block
    panels: list[tuple[int, int, Block, Block, Block]]

    def times(self, block: Block) -> Block:
        """Return values · block."""
        m = block.shape[0]
        product = np.zeros_like(block)
        for lo, hi, _, _, values in self.panels:
            if lo < m:
                part = values[: m - lo, :m]
                np.matmul(part, block[: part.shape[1]], out=product[lo : min(hi, m)])
        rounds.product_into(self.indptr, self.indices, self.values, block, product)
        return product

    def renew(self, P: Block, Q: Block, *, momentum: float, with_image: bool) -> tuple[Block, float, float]:
        """Set the values to T - W∘(P Qᵀ); see :meth:`psdvec.solver.devices.Pairs.renew`."""
        n = Q.shape[0]
        theta = np.float32(momentum)
        image = np.zeros_like(Q) if with_image else np.zeros((n, 0), np.float32)
        sums = np.zeros((n, 2))
        for lo, hi, weights, targets, values in self.panels:
            X = P[lo:hi] @ Q[: weights.shape[1]].T
            rounds.panel_residual_into(X, weights, targets, values, theta, sums[lo:hi])
            if with_image:
                np.matmul(X, Q[: X.shape[1]], out=image[lo:hi])
        rounds.residual_into(self.indptr, self.indices, self.terms, P, Q, self.values, theta, image, sums)
        return image, float(sums[:, 0].sum()), float(sums[:, 1].sum())

    def rescale(self, factor: float) -> None:
        """Set the values to T - factor · W∘X."""
        rounds.rescale_into(self.terms[:, 1], self.values, np.float32(factor))
        for _, _, _, targets, values in self.panels:
            rounds.rescale_into(targets.reshape(-1), values.reshape(-1), np.float32(factor))


def open_pairs(counts: SparseCounts, scales: WordScales, constants: Constants, *, recipe: Recipe) -> CpuPairs:
    """Return the seen pairs of the first ``len(scales)`` words of ``counts``."""
    n = len(scales)
    places = panel_layout(counts, n)
    indptr = np.concatenate([[0], np.cumsum(places.room)])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    terms = np.empty((indptr[-1], 2), np.float32)
    cells = [np.zeros(places.cells, np.float32) for _ in range(3)]
    level = np.sqrt(-0.5 * np.log(constants.smoothing)) * scales.emphases
    kept, squares = rounds.symmetric_terms_into(
        counts.indptr, counts.indices, _directed_terms(counts, scales, constants, half=recipe.start == "half"),
        scales.rho.astype(np.float32), level.astype(np.float32), np.float32(recipe.relaxation),
        np.float32(recipe.negligible), (indptr, indices, terms, values), (places.starts, places.widths, *cells),
    )  # fmt: skip
    rounds.close_gaps_into(indptr, kept, indices, terms, values)
    for array in (indices, values):
        array.resize(indptr[-1], refcheck=False)
    terms.resize((indptr[-1], 2), refcheck=False)
    return CpuPairs(float(squares.sum()), indptr, indices, terms, values, _panels(places, cells))


def _directed_terms(counts: SparseCounts, scales: WordScales, constants: Constants, *, half: bool) -> Block:
    s, k = scales, constants
    terms = np.empty((int(counts.indptr[len(s)]), 4 if half else 3), np.float32)
    numbers = (s.row_sums, s.unigrams, s.frequencies / np.sqrt(k.total), s.majorisers, s.emphases, s.rho)
    rounds.directed_terms_into(
        counts.indptr, counts.indices, counts.values, 1 / UNIT,
        tuple(x.astype(np.float32) for x in numbers),
        tuple(np.float32(x) for x in (k.smoothing, k.background, k.exponent, k.cap, k.diagonal)), terms,
    )  # fmt: skip
    return terms


def _panels(places: Layout, cells: list[Block]) -> list[tuple[int, int, Block, Block, Block]]:
    panels, n = [], places.widths.size
    for lo in range(0, n, layout.TILE):
        hi, width = min(lo + layout.TILE, n), int(places.widths[lo])
        if width:
            cut = slice(places.starts[lo], places.starts[lo] + (hi - lo) * width)
            weights, targets, values = (array[cut].reshape(hi - lo, width) for array in cells)
            panels.append((lo, hi, weights, targets, values))
    return panels


def available_memory() -> int:
    """Return the bytes that are free."""
    return resources.available_memory()


def predicted_memory(counts: SparseCounts, n: int, *, columns: int) -> int:
    """Return the bytes of ``n`` words' pairs, 16 for a sparse one and 12 for a dense one, and of the blocks.

    While the pairs are made, each directed one takes 16 bytes more, and the blocks are not there yet.
    """
    places = panel_layout(counts, n)
    making = 16 * int(counts.indptr[n])
    return 16 * int(places.room.sum()) + 12 * places.cells + max(making, 4 * n * columns)


def put(array: npt.NDArray[Any]) -> Block:
    """Return ``array`` as contiguous float32."""
    return np.ascontiguousarray(array, np.float32)


def get(block: Block) -> Block:
    """Return ``block`` itself."""
    return block


def zeros(n: int, k: int) -> Block:
    """Return an (n, k) block of zeros."""
    return np.zeros((n, k), np.float32)


def join(*blocks: Block) -> Block:
    """Return the columns of all blocks side by side."""
    return np.concatenate(blocks, axis=1)


def scaled(column: Block, block: Block) -> Block:
    """Return the rows of ``block`` times ``column``."""
    return column[:, None] * block


def gram(left: Block, right: Block) -> Floats:
    """Return leftᵀ right, a chunk of rows at a time, summed in float64."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for start in range(0, left.shape[0], CHUNK):
        rows = slice(start, start + CHUNK)
        total += left[rows].T @ right[rows]
    return total


def combine(block: Block, matrix: npt.NDArray[Any]) -> Block:
    """Return block · matrix in float32."""
    return block @ matrix.astype(np.float32)
