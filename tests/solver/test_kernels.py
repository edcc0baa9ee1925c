"""Every kernel of the rounds beside what it means in dense NumPy: empty rows, zero weights, very many columns."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from psdvec.arrays import Scratch
from psdvec.counts.matrix import UNIT
from psdvec.methods.matrices import BLOCKS, deal_rows, product_into
from psdvec.options import make_recipe
from psdvec.solver.devices import cpu_pairs
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.devices.cpu_pairs import AT_ONCE, SPAN, STRIP, add_tiles, from_half, natural_log, to_half
from psdvec.solver.pmi import WordScales, add_margins
from tests.reference.rounds import dense_rows, weights_and_targets
from tests.toy import dense_widths, drawn_counts, measured

LARGEST = 65504.0  # half
MOMENTUM = 0.5


@given(st.floats(-LARGEST, LARGEST, width=32))
def test_halves_are_those_of_numpy(number):
    wanted = np.float16(number)
    tiny = abs(float(wanted)) < 2.0**-14  # where the format loses bits, a number half way may go either way
    found = np.array([to_half(np.float32(number))], np.uint16)
    assert abs(float(found.view(np.float16)[0]) - float(wanted)) <= (2.0**-24 if tiny else 0)
    assert from_half(found[0]) == found.view(np.float16).astype(np.float32)[0]


def test_what_is_too_large_for_a_half_becomes_the_largest():
    assert from_half(to_half(np.float32(1e9))) == LARGEST
    assert from_half(to_half(np.float32(-1e9))) == -LARGEST


@given(st.floats(2.0**-126, 2.0**127, width=32))
@example(1.0)
@example(float(np.sqrt(np.float32(0.5))))
def test_the_logarithm_of_many_at_a_time_is_the_logarithm(x):
    assert natural_log(np.float32(x)) == pytest.approx(np.log(x), rel=4e-7)


@pytest.mark.parametrize("n", [60, 37, 1])
def test_add_tiles_counts_the_pairs_of_squares_and_columns(n):
    counts, tile = drawn_counts(), 16
    seen = dense_rows(counts.indptr, counts.indices, counts.values, n) > 0
    size = -(-n // tile)
    squares, lengths = np.zeros((size, size), np.int64), np.zeros(n, np.int64)
    for begin, end in ((0, n // 2), (n // 2, n)):
        add_tiles(counts.indptr, counts.indices, tile, begin, end, squares, lengths)
    assert lengths.tolist() == seen.sum(axis=0).tolist()
    for i, j in np.ndindex(squares.shape):
        assert squares[i, j] == seen[i * tile : (i + 1) * tile, j * tile : (j + 1) * tile].sum()


def test_add_margins_sums_rows_and_columns_exactly():
    counts = drawn_counts()
    H = dense_rows(counts.indptr, counts.indices, counts.values, 60).astype(np.int64)
    rows, columns = np.zeros(60, np.int64), np.zeros(60, np.int64)
    for begin, end in ((0, 7), (7, 60)):
        add_margins(counts.indptr, counts.indices, counts.values, begin, end, rows, columns)
    assert rows.tolist() == H.sum(axis=1).tolist()
    assert columns.tolist() == H.sum(axis=0).tolist()


def test_deal_rows_gives_every_row_to_one_block():
    for indptr in (np.zeros(4, np.int64), np.array([0, 5, 5, 9]), drawn_counts().indptr):
        bounds = deal_rows(np.asarray(indptr, np.int64), indptr.size - 1)
        assert (bounds[0], bounds[-1]) == (0, indptr.size - 1)
        assert (np.diff(bounds) >= 0).all()


@pytest.mark.parametrize("rows", [5, 3, 1])
def test_a_sparse_product_takes_the_first_rows_and_columns(rows):
    indptr = np.array([0, 0, 2, 3, 3, 8], dtype=np.int64)
    indices = np.array([0, 2, 1, 0, 1, 2, 3, 4], dtype=np.int32)
    values = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    Q, Y = np.arange(10, dtype=np.float32).reshape(5, 2) / 10, np.ones((rows, 2), np.float32)
    bounds = deal_rows(indptr, rows)
    for begin, end in ((0, BLOCKS // 3), (BLOCKS // 3, BLOCKS)):
        product_into(Y, indptr, indices, values, Q[:rows], bounds, begin, end)
    matrix = dense_rows(indptr, indices, values, 5)[:rows, :rows]
    np.testing.assert_allclose(Y, 1 + matrix @ Q[:rows], rtol=1e-5, atol=1e-6)


def blocks_of(counts, recipe, words=None, *, threads=2, **options):
    constants, scales = measured(counts, recipe, words)
    device = Cpu(threads)
    extents = cpu_pairs.layout_of(counts, len(scales))
    formula = cpu_pairs.formula_of(scales, constants, recipe=recipe)
    return list(
        cpu_pairs.build_blocks(counts, formula, extents, pool=device.pool, threads=threads, **options)
    )


def unpacked(blocks):
    """Return weights, targets and values of all pairs of the blocks as dense float64 matrices."""
    n = blocks[0].extent.words
    spans = -(-n // SPAN)
    found = np.zeros((3, blocks[-1].extent.hi - blocks[0].extent.lo, n))
    for block in blocks:
        (lo, hi, width, *_), unit, start = block.extent, float(block.unit), blocks[0].extent.lo
        indices, *tail_and_cells = block._parts()
        numbers = [part.view(np.float16).astype(float) for part in tail_and_cells]
        sparse, cells = numbers[:3], numbers[3:]
        for i, span in np.ndindex(hi - lo, spans):
            k = slice(block.pointers[i * spans + span], block.pointers[i * spans + span + 1])
            for matrix, part in zip(found, sparse, strict=True):
                matrix[lo - start + i, span * SPAN + indices[k].astype(int)] = part[k]
        for first in range(0, width, STRIP):
            last = min(first + STRIP, width)
            for matrix, part in zip(found, cells, strict=True):
                strip = part[(hi - lo) * first : (hi - lo) * last]
                matrix[lo - start : hi - start, first:last] = strip.reshape(hi - lo, last - first)
        found[1:, lo - start : hi - start] *= unit
    return found


@pytest.mark.parametrize("words", [60, 37])
@pytest.mark.parametrize("name", ["default", "paper"])
def test_blocks_hold_both_directions_of_every_pair_to_half_precision(name, words, panels):
    blocks = check_blocks(drawn_counts(), make_recipe(name), words)
    assert len(blocks) > 3


@pytest.mark.parametrize("exponent", [0.5, 0.4])
@pytest.mark.parametrize("words", [1390, 1300])
def test_words_that_meet_more_words_than_are_taken_at_once_keep_every_pair(exponent, words, monkeypatch):
    monkeypatch.setattr(cpu_pairs, "DENSE", 0.1)
    counts = drawn_counts(words=1400, sentences=3000)
    assert np.diff(counts.indptr).max() > 2 * AT_ONCE
    check_blocks(counts, make_recipe("default", exponent=exponent), words)


def check_blocks(counts, recipe, words):
    """Compare the blocks of a recipe with dense NumPy, and return them."""
    constants, scales = measured(counts, recipe, words)
    blocks = blocks_of(counts, recipe, words)
    H = dense_rows(counts.indptr, counts.indices, counts.values / UNIT, words)
    widths = dense_widths(counts, words)
    W, T, G, squares = weights_and_targets(H, scales, constants, negligible=recipe.negligible, widths=widths)
    m, B = (np.outer(x, x) for x in (scales.emphases, scales.rho))
    background = m * B * np.log(constants.smoothing)
    first = T - background
    if recipe.start == "half":
        half = m * np.log(constants.smoothing) / 2
        step = recipe.relaxation
        first = G / 2 + step * (T - W * G / 2) - (half + step * (background - B * half))
    for matrix, wanted in zip(unpacked(blocks), (W - B, T - background, first), strict=True):
        np.testing.assert_allclose(matrix, wanted, rtol=2.0**-10, atol=1e-5 * np.abs(wanted).max())
    assert sum(block.squares for block in blocks) == pytest.approx(
        (squares - background**2 / B.clip(1e-30)).sum(), rel=1e-4
    )
    return blocks


@pytest.mark.parametrize(("threads", "options"), [(1, {}), (3, {"building": 500})])
def test_blocks_are_the_same_whoever_builds_them(threads, options, panels):
    counts, recipe = drawn_counts(), make_recipe("default")
    for one, other in zip(
        blocks_of(counts, recipe), blocks_of(counts, recipe, threads=threads, **options), strict=True
    ):
        assert one.extent == other.extent
        assert one.squares == other.squares
        for name in ("pointers", "fixed", "values"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_blocks_in_the_middle_are_built_without_those_before(panels):
    counts, recipe = drawn_counts(), make_recipe("default")
    constants, scales = measured(counts, recipe)
    formula = cpu_pairs.formula_of(scales, constants, recipe=recipe)
    whole = blocks_of(counts, recipe)
    some = cpu_pairs.build_blocks(
        counts, formula, [block.extent for block in whole[2:4]], pool=Cpu(1).pool, threads=1
    )
    assert [one.fixed.tobytes() for one in some] == [one.fixed.tobytes() for one in whole[2:4]]


def test_a_block_multiplies_its_values(panels):
    blocks = blocks_of(drawn_counts(), make_recipe("default"))
    matrix, scratch = unpacked(blocks)[2], Scratch()
    Q = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    for m in (60, 41, 1):
        found = np.zeros((m, 5), np.float32)
        for block in blocks:
            if block.extent.lo < m:
                block.times(Q[:m], found[block.extent.lo : block.extent.hi], scratch)
        np.testing.assert_allclose(found, matrix[:m, :m] @ Q[:m], rtol=1e-4, atol=1e-4)


def check_renewal(blocks, n):
    """Renew twice, the second time with momentum, and compare with what the blocks themselves hold."""
    rng, scratch = np.random.default_rng(0), Scratch()
    old, Q = (rng.standard_normal((n, 3)).astype(np.float32) for _ in range(2))
    factors = np.array([2.0, -1.0, 0.0], np.float32)
    lo, hi = blocks[0].extent.lo, blocks[-1].extent.hi
    for block in blocks:
        rows = slice(block.extent.lo, block.extent.hi)
        block.renew(old[rows] * factors, old, None, scratch, momentum=0.0)
    W, T, before = unpacked(blocks)
    image, sums = np.zeros((hi - lo, 3), np.float32), np.zeros(2)
    for block in blocks:
        rows = slice(block.extent.lo, block.extent.hi)
        part = image[rows.start - lo : rows.stop - lo]
        sums += block.renew(Q[rows] * factors, Q, part, scratch, momentum=MOMENTUM)
    seen = (W != 0) | (T != 0)
    X = (Q[lo:hi] * factors) @ Q.T
    new = (T - W * X) * seen
    ahead = new + MOMENTUM * (new - before)
    size = max(np.abs(new).max(), 1e-6)
    np.testing.assert_allclose(
        before, (T - W * ((old[lo:hi] * factors) @ old.T)) * seen, atol=2.0**-10 * size
    )
    np.testing.assert_allclose(unpacked(blocks)[2], new, rtol=2.0**-10, atol=1e-5 * size)
    np.testing.assert_allclose(image, ahead @ Q, rtol=1e-3, atol=1e-4 * size * np.sqrt(n))
    np.testing.assert_allclose(sums, [(T * X).sum(), (W * X * X).sum()], rtol=1e-4)


def test_a_block_renews_its_residual_sums_and_image(panels):
    check_renewal(blocks_of(drawn_counts(), make_recipe("default")), 60)


def test_more_columns_than_sixteen_bits_can_tell_apart_are_kept_apart():
    n, rng = SPAN + 40, np.random.default_rng(0)
    pairs = {
        (int(i), int(j)) for i, j in zip(rng.integers(SPAN, n, 900), rng.integers(0, n, 900), strict=True)
    }
    rows, columns = np.array(sorted(pairs)).T
    counts = SimpleNamespace(
        indptr=np.searchsorted(rows, np.arange(n + 1)).astype(np.int64),
        indices=columns.astype(np.int32),
        values=np.full(rows.size, 3 * UNIT, np.int64),
    )
    ones = np.ones(n)
    scales = WordScales(2 * ones, 2 * ones, ones / n, ones, ones, ones, 0.1 * ones)
    recipe = make_recipe("default", negligible=0.0)
    constants, _ = measured(drawn_counts(), recipe)
    formula = cpu_pairs.formula_of(scales, constants, recipe=recipe)
    extents = [extent for extent in cpu_pairs.layout_of(counts, n) if extent.lo >= SPAN]
    blocks = list(cpu_pairs.build_blocks(counts, formula, extents, pool=Cpu(2).pool, threads=2))
    both = pairs | {(j, i) for i, j in pairs}
    found = np.argwhere(unpacked(blocks)[0])
    assert {(SPAN + i, j) for i, j in found.tolist()} == {(i, j) for i, j in both if i >= SPAN}
    check_renewal(blocks, n)


def test_targets_beyond_half_precision_are_kept_in_larger_units():
    counts, recipe = drawn_counts(), make_recipe("default", emphasis=1.0)
    constants, scales = measured(counts, recipe)
    big = WordScales(**{**vars(scales), "emphases": 300 * scales.emphases})
    formula = cpu_pairs.formula_of(big, constants, recipe=recipe)
    assert formula.unit > 1
    blocks = list(
        cpu_pairs.build_blocks(counts, formula, cpu_pairs.layout_of(counts, 60), pool=Cpu(1).pool, threads=1)
    )
    H = dense_rows(counts.indptr, counts.indices, counts.values / UNIT, 60)
    _, T, _, _ = weights_and_targets(H, big, constants, negligible=recipe.negligible, widths=np.full(60, 60))
    background = np.outer(big.emphases * big.rho, big.emphases * big.rho) * np.log(constants.smoothing)
    np.testing.assert_allclose(
        unpacked(blocks)[1], T - background, rtol=2.0**-10, atol=1e-4 * np.abs(T).max()
    )
