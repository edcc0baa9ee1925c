"""The distance of two groups of blocks, and its test: unbiased, calibrated, and the same however it is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.slices import blocks as blocks_of
from psdvec.slices.contrasts import (
    _measure,
    chances,
    contrast,
    false_discoveries,
    groups_of,
    lower_end,
    permuted,
)
from psdvec.slices.reading import Sliced
from psdvec.topic_model.documents import Documents
from tests.reference import slices as reference

SLICES = np.repeat([0, 1], 12)


def drawn(rng, words: int, *, apart: float = 0.0, amounts: float = 20.0, least: float = 1.0, slices=SLICES):
    """Sums of blocks whose means are ``apart`` in one of five dimensions, and how much was added up."""
    n = rng.poisson(amounts, (len(slices), words)) + least
    centre = np.zeros((len(slices), 1, 5))
    centre[slices == 1, :, 0] = apart
    centre[..., 1] = 1.0
    sums = n[..., None] * centre + np.sqrt(n)[..., None] * rng.standard_normal((*n.shape, 5))
    return sums, n


def grams_of(sums):
    own = sums.transpose(1, 0, 2)
    return own @ own.transpose(0, 2, 1)


def first_step(slices=SLICES):
    return groups_of([slices])


@pytest.mark.parametrize("apart", [0.0, 0.5, 2.0])
def test_chance_adds_nothing_to_the_squared_distance(apart):
    sums, n = drawn(np.random.default_rng(0), 4000, apart=apart)
    found = contrast(grams_of(sums), n.T, first_step()).apart[:, 0]
    assert abs(found.mean() - apart**2) < 4 * found.std() / np.sqrt(len(found))


def test_chance_adds_nothing_where_few_blocks_have_a_word():
    sums, n = drawn(np.random.default_rng(0), 20_000, amounts=0.5, least=0.0)
    own = np.flatnonzero(((n[:12] > 0).sum(axis=0) > 1) & ((n[12:] > 0).sum(axis=0) > 1))
    found = contrast(grams_of(sums[:, own]), n[:, own].T, first_step()).apart[:, 0]
    assert abs(found.mean()) < 4 * found.std() / np.sqrt(len(found))


def test_the_cosine_is_that_of_the_means_without_chance():
    sums, n = drawn(np.random.default_rng(1), 4000, apart=1.0)
    found = contrast(grams_of(sums), n.T, first_step()).cosine[:, 0]
    assert abs(np.nanmedian(found) - 1 / np.sqrt(2)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(12, 12), (8, 80)])
def test_five_in_a_hundred_tests_reject_where_nothing_differs(sizes):
    slices = np.repeat([0, 1], sizes)
    sums, n = drawn(np.random.default_rng(2), 3000, slices=slices)
    orders = [slices, *permuted(slices, 200, seed=0)]
    one = contrast(grams_of(sums), n.T, groups_of(orders))
    p = chances((one.apart / one.noise)[:, 0], (one.apart / one.noise)[:, 1:])
    assert 0.035 < (p < 0.05).mean() < 0.065
    assert (p < 0.001).mean() < 0.004
    assert (false_discoveries(p) < 0.05).sum() <= 2


@pytest.mark.parametrize("apart", [0.0, 0.15, 0.5, 2.0])
def test_the_lower_end_is_seldom_above_the_truth_and_above_0_where_p_is_small(apart):
    sums, n = drawn(np.random.default_rng(4), 2000, apart=apart)
    found = _measure(sums, n, SLICES, [SLICES, *permuted(SLICES, 200, seed=0)], 1.0)
    truth = apart**2 / (2 * (np.sqrt(1 + apart**2) + 1))
    assert 0.005 < (found["low"] > truth).mean() < 0.045
    surely = (found["p"] < 0.02) | (found["p"] > 0.03)
    assert ((found["low"] > 0) == (found["p"] < 0.025))[surely].mean() > 0.995


def test_where_permutations_say_nothing_the_lower_end_is_that_of_the_jackknife():
    value, error = np.array([0.5]), np.array([0.1])
    assert lower_end(value, error, np.zeros(1), np.full((1, 200), -1.0)) == pytest.approx(0.304, abs=1e-3)


@pytest.mark.parametrize("shape", [0.5, 1.0, 4.0])
def test_far_out_a_chance_is_no_smaller_than_it_should_be(shape):
    drawn_values = np.random.default_rng(5).gamma(shape, size=(20_000, 201))
    p = chances(drawn_values[:, 0], drawn_values[:, 1:])
    assert (p < 1e-3).mean() < 1.5e-3
    assert (p < 1e-4).mean() < 3e-4


def test_several_groups_are_compared_by_the_mean_over_their_pairs():
    slices = np.repeat([0, 1, 2], 8)
    sums, n = drawn(np.random.default_rng(5), 50, apart=1.0, slices=slices)
    given, groups = (grams_of(sums), n.T), groups_of([slices])
    pairs = [contrast(*given, groups[[i, j]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    for name in ("apart", "noise", "inner", "size"):
        wanted = np.mean([getattr(pair, name) for pair in pairs], axis=0)
        np.testing.assert_allclose(getattr(contrast(*given, groups), name), wanted, atol=1e-9)


def test_a_tail_beyond_all_permutations_is_smooth_and_falls():
    null = np.random.default_rng(3).gamma(2.0, size=(1, 200)).repeat(3, axis=0)
    p = chances(np.array([12.0, 16.0, 20.0]), null)
    assert 1e-3 > p[0] > p[1] > p[2] > 0


@given(
    st.lists(st.lists(st.integers(-1, 4), max_size=12), min_size=1, max_size=5),
    st.integers(1, 6),
    st.permutations([-1, -1, 0, 1, -1]),
)
def test_the_kernels_add_what_their_twins_add(documents, window, rows):
    tokens = np.array([word for document in documents for word in document], np.int32)
    starts = np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64)
    features = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    found, wanted = np.zeros((2, 3)), np.zeros((2, 3))
    chosen, rows = np.arange(len(documents)), np.array(rows, np.int32)
    blocks_of.add_contexts(tokens, starts, chosen, features, window, rows, found)
    reference.add_contexts(tokens, starts, chosen, features, window, rows, wanted)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    counted, twice = np.zeros((2, 5), np.int64), np.zeros((2, 5), np.int64)
    blocks_of.count_contexts(tokens, starts, chosen, window, rows, counted)
    reference.count_contexts(tokens, starts, chosen, window, rows, twice)
    np.testing.assert_array_equal(counted, twice)


def sliced(owners, *, units):
    empty = Documents(("",) * len(owners), np.zeros(0, np.int32), np.zeros(len(owners) + 1, np.int64), {})
    return Sliced(empty, ("a", "b"), owners, units)


def test_a_unit_lies_in_one_block():
    units = np.arange(1200) // 5
    members, _ = blocks_of.deal(sliced(np.repeat([0, 1], 600), units=units), seed=0)
    found = [set(units[member].tolist()) for member in members]
    assert sum(map(len, found)) == len(set().union(*found)) == 240


def test_blocks_hold_every_document_once_and_are_of_about_one_size():
    owners = np.repeat([0, 1], [100, 1000])
    members, owners = blocks_of.deal(sliced(owners, units=np.arange(1100)), seed=0)
    assert sorted(np.concatenate(members).tolist()) == list(range(1100))
    assert (owners == 0).sum() >= blocks_of.FEWEST
    sizes = [len(member) for member in members]
    assert max(sizes) <= 2 * min(sizes)
