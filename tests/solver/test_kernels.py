"""Every kernel of the rounds beside what it means in dense NumPy: empty rows, zero weights, read-only arrays."""

import numpy as np
import pytest

from psdvec.counts.weighting import UNIT
from psdvec.reference.rounds import dense_rows, directed_terms, weights_and_targets
from psdvec.solver import problem
from psdvec.solver.devices import cpu, cpu_pairs
from psdvec.solver.recipe import make_recipe
from tests.toy import drawn_counts, measured

MOMENTUM = np.float32(0.5)


@pytest.fixture
def sparse():
    """A sparse matrix of which two rows are empty and some weights 0, as the kernels take it, read-only."""
    indptr = np.array([0, 0, 2, 3, 3, 8], dtype=np.int64)
    indices = np.array([0, 2, 1, 0, 1, 2, 3, 4], dtype=np.int32)
    terms = np.random.default_rng(0).standard_normal((8, 2)).astype(np.float32)
    terms[[0, 2], 0], terms[[1, 2], 1] = 0, 0
    Q = np.arange(10, dtype=np.float32).reshape(5, 2) / 10
    for array in (indptr, indices, terms, Q):
        array.setflags(write=False)
    return indptr, indices, terms, Q


def dense(indptr, indices, values):
    return dense_rows(indptr, indices, values, indptr.size - 1)


@pytest.mark.parametrize("rows", [5, 3, 1])
def test_product_into_adds_the_first_rows_and_columns_times_a_block(sparse, rows):
    indptr, indices, terms, Q = sparse
    Y = np.ones((rows, 2), np.float32)
    cpu.product_into(indptr, indices, terms[:, 1].copy(), Q[:rows], Y)
    matrix = dense(indptr, indices, terms[:, 1])[:rows, :rows]
    np.testing.assert_allclose(Y, 1 + matrix @ Q[:rows], rtol=1e-5, atol=1e-6)


def renewed(W, T, X, old):
    """Return what a residual's kernels mean: the new values, those looked at ahead, and the two sums by row."""
    new = T - W * X
    sums = np.stack([(T * X).sum(axis=1), (W * X * X).sum(axis=1)], axis=1)
    return new, new + MOMENTUM * (new - old), sums


def test_residual_into_renews_values_sums_and_image(sparse):
    indptr, indices, terms, Q = sparse
    P = (Q[::-1] - 1).copy()
    W, T, seen = (dense(indptr, indices, column) for column in (*terms.T, np.ones(8)))
    values, Y, sums = np.full(8, 0.3, np.float32), np.zeros((5, 2), np.float32), np.zeros((5, 2))
    cpu.residual_into(indptr, indices, terms, P, Q, values, MOMENTUM, Y, sums)
    new, ahead, added = renewed(W, T, P @ Q.T, 0.3 * seen)
    np.testing.assert_allclose(dense(indptr, indices, values), new, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(Y, ahead @ Q, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums, added, rtol=1e-5, atol=1e-6)


def test_panel_residual_into_is_the_same_for_a_dense_panel():
    rng = np.random.default_rng(1)
    X, W, T, old = (rng.standard_normal((3, 4)).astype(np.float32) for _ in range(4))
    ahead, values, sums = X.copy(), old.copy(), np.zeros((3, 2))
    cpu.panel_residual_into(ahead, W, T, values, MOMENTUM, sums)
    for found, wanted in zip((values, ahead, sums), renewed(W, T, X, old), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_rescale_into_scales_what_was_taken_from_the_targets():
    targets, WX = np.arange(5, dtype=np.float32), np.linspace(-1, 1, 5, dtype=np.float32)
    values = targets - WX
    cpu.rescale_into(targets, values, np.float32(3))
    np.testing.assert_allclose(values, targets - 3 * WX, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [60, 37, 1])
def test_tile_pairs_counts_the_pairs_of_squares_and_columns(n):
    counts, tile = drawn_counts(), 16
    seen = dense(counts.indptr, counts.indices, counts.values)[:n, :n] > 0
    squares, lengths = cpu_pairs.tile_pairs(counts.indptr, counts.indices, n, tile)
    assert lengths.tolist() == seen.sum(axis=0).tolist()
    for i, j in np.ndindex(squares.shape):
        assert squares[i, j] == seen[i * tile : (i + 1) * tile, j * tile : (j + 1) * tile].sum()


def test_deal_rows_gives_every_row_to_one_block():
    for indptr in (np.zeros(4, np.int64), np.array([0, 5, 5, 9]), drawn_counts().indptr):
        bounds = cpu_pairs.deal_rows(np.asarray(indptr, np.int64), indptr.size - 1)
        assert (bounds[0], bounds[-1]) == (0, indptr.size - 1)
        assert (np.diff(bounds) >= 0).all()


def test_close_gaps_into_leaves_the_rows_as_they_are():
    indptr, lengths = np.array([0, 3, 5, 9], np.int64), np.array([2, 0, 3], np.int64)
    indices = np.arange(9, dtype=np.int32)
    terms, values = np.stack([indices, -indices], 1).astype(np.float32), indices.astype(np.float32) / 2
    cpu_pairs.close_gaps_into(indptr, lengths, indices, terms, values)
    kept = [0, 1, 5, 6, 7]
    assert indptr.tolist() == [0, 2, 2, 5]
    assert indices[:5].tolist() == kept
    assert terms[:5].tolist() == [[k, -k] for k in kept]
    assert values[:5].tolist() == [k / 2 for k in kept]


@pytest.mark.parametrize("name", ["default", "paper"])
@pytest.mark.parametrize("density", [0.0, 0.5, 2.0])
def test_symmetric_terms_into_puts_both_directions_together(name, density, monkeypatch):
    monkeypatch.setattr(cpu_pairs, "TILE", 16)
    monkeypatch.setattr(problem, "TILE", 16)
    monkeypatch.setattr(problem, "DENSE", density)
    counts, recipe, n = drawn_counts(), make_recipe(name), 60
    constants, scales = measured(counts, recipe)
    pairs = cpu_pairs.build_pairs(counts, scales, constants, recipe=recipe)
    found = [
        dense(pairs["indptr"], pairs["indices"], column) for column in (*pairs["terms"].T, pairs["values"])
    ]
    for lo, hi, *panel in pairs["panels"]:
        for matrix, part in zip(found, panel, strict=True):
            matrix[lo:hi, : part.shape[1]] = part
    H = dense(counts.indptr, counts.indices, counts.values / UNIT)
    widths = cpu_pairs.panel_layout(counts, n).widths
    W, T, G, squares = weights_and_targets(H, scales, constants, negligible=recipe.negligible, widths=widths)
    m, B = (np.outer(x, x) for x in (scales.emphases, scales.rho))
    background = m * B * np.log(constants.smoothing)
    first = T - background
    if recipe.start == "half":
        half = m * np.log(constants.smoothing) / 2
        step = recipe.relaxation
        first = G / 2 + step * (T - W * G / 2) - (half + step * (background - B * half))
    for matrix, wanted in zip(found, (W - B, T - background, first), strict=True):
        np.testing.assert_allclose(matrix, wanted, atol=1e-5 * np.abs(wanted).max())
    assert pairs["squares"] == pytest.approx((squares - background**2 / B.clip(1e-30)).sum(), rel=1e-4)


def test_directed_terms_into_leaves_out_pairs_beyond_the_first_words():
    counts, recipe = drawn_counts(), make_recipe("default")
    constants, scales = measured(counts, recipe, words=20)
    H = dense(counts.indptr, counts.indices, counts.values / UNIT)[:20, :20]
    found = cpu_pairs.directed_terms(counts, scales, constants, half=False)
    rows = np.repeat(np.arange(20), np.diff(counts.indptr[:21]))
    columns = counts.indices[: rows.size]
    inside = columns < 20
    wanted = directed_terms(H, scales, constants)[:3, rows[inside], columns[inside]]
    np.testing.assert_allclose(found[inside].T, wanted, rtol=1e-4, atol=1e-5)
