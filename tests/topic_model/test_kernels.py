"""Each loop over documents against its twin in plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from psdvec.topic_model import kernels
from tests.reference import topics as reference


@given(st.floats(1e-3, 1e6))
def test_digamma_is_that_of_scipy(x: float):
    assert kernels.digamma(x) == pytest.approx(special.digamma(x), rel=1e-9, abs=1e-9)


@st.composite
def shared_out(draw):
    """Documents with counted words, some of them empty; what topics offer to words; a prior; where to begin."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    documents, words, topics = (draw(st.integers(1, most)) for most in (5, 7, 4))
    lengths = rng.integers(0, words + 1, documents)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    pieces = [np.sort(rng.choice(words, length, replace=False)) for length in lengths]
    found = np.concatenate([*pieces, np.zeros(0, np.int64)]).astype(np.int32)
    counts = rng.choice([0.01, 0.5, 1.0, 40.0], len(found))
    chances = rng.dirichlet(np.full(words, 0.3), topics).T + 1e-6
    prior = rng.uniform(0.05, 2.0, topics)
    totals = np.bincount(np.repeat(np.arange(documents), lengths), weights=counts, minlength=documents)
    gamma = prior + totals[:, None] / topics
    return starts, found, counts, np.ascontiguousarray(chances), prior, gamma


@given(shared_out(), st.integers(1, 20), st.sampled_from([0.0, 1e-3, 0.1]))
@settings(max_examples=60)
def test_sharing_out_words_is_what_the_reference_says(case, steps: int, tolerance: float):
    starts, words, counts, chances, prior, gamma = case
    results = []
    for module in (kernels, reference):
        mine, expected = gamma.copy(), np.zeros_like(chances)
        bound = module.expect_topics(starts, words, counts, chances, prior, mine, expected, steps, tolerance)
        results.append((bound, mine, expected))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@given(shared_out())
@settings(max_examples=40)
def test_every_word_is_shared_out_once_and_more_steps_never_lower_the_bound(case):
    starts, words, counts, chances, prior, gamma = case
    bounds = []
    for steps in (1, 2, 4, 8):
        mine, expected = gamma.copy(), np.zeros_like(chances)
        bounds.append(
            kernels.expect_topics(starts, words, counts, chances, prior, mine, expected, steps, 0.0)
        )
        owned = np.bincount(words, weights=counts, minlength=len(chances))
        np.testing.assert_allclose(expected.sum(axis=1), owned, rtol=1e-9, atol=1e-9)
    assert all(later >= earlier - 1e-7 * abs(earlier) for earlier, later in pairwise(bounds))


@given(
    st.lists(st.lists(st.integers(-1, 5), max_size=14), min_size=1, max_size=4),
    st.integers(1, 12),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_windows_are_counted_as_the_reference_counts_them(texts, window: int, asked):
    slots = np.full(6, -1, np.int32)
    slots[np.array(asked)] = np.arange(sum(asked))
    tokens = np.array([word for text in texts for word in text], dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    tables = [np.zeros((sum(asked), sum(asked)), np.int64) for _ in range(2)]
    counted = [
        module.count_windows(tokens, starts, slots, table, window)
        for module, table in zip((kernels, reference), tables, strict=True)
    ]
    assert counted[0] == counted[1]
    assert np.array_equal(*tables)


def test_arrays_that_cannot_be_written_to_are_read():
    starts, words = np.array([0, 2]), np.array([0, 1], np.int32)
    counts, chances, prior = np.ones(2), np.full((2, 2), 0.5), np.full(2, 0.5)
    for array in (starts, words, counts, chances, prior):
        array.setflags(write=False)
    gamma, expected = np.full((1, 2), 1.5), np.zeros((2, 2))
    kernels.expect_topics(starts, words, counts, chances, prior, gamma, expected, 3, 0.0)
    assert expected.tolist() == [[0.5, 0.5], [0.5, 0.5]]
