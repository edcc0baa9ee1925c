"""From expected words to topics: the maximum of (23), by steps that never fall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from psdvec.topic_model.learn import Space, solve_topics, topic_values


def drawn(seed: int, *, words: int = 30, dim: int = 5, topics: int = 3) -> tuple[Space, np.ndarray]:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((words, dim)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = rng.dirichlet(np.ones(words)) + 1e-6
    space = Space(tuple(f"w{i}" for i in range(words)), vectors, shares / shares.sum(), np.ones(words), words)
    return space, rng.gamma(0.3, 10.0, (words, topics))


def means_of(space: Space, expected: np.ndarray) -> np.ndarray:
    return (expected / expected.sum(axis=0)).T @ space.centred


@pytest.mark.parametrize("hold", [0.01, 0.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_enough_steps_reach_the_maximum(seed: int, hold: float):
    space, expected = drawn(seed)
    found = solve_topics(space, expected, np.zeros((3, 5)), hold=hold, times=20)
    values = topic_values(space, means_of(space, expected), found, hold=hold)
    for k in range(3):
        mean = means_of(space, expected)[k : k + 1]

        def lost(t, mean=mean):
            return -topic_values(space, mean, t[None], hold=hold)[0]

        best = optimize.minimize(lost, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
        assert values[k] == pytest.approx(-best.fun, abs=1e-9)
        np.testing.assert_allclose(found[k], best.x, rtol=1e-3, atol=1e-3)


@given(st.integers(0, 10**6), st.floats(1e-3, 1.0), st.floats(0.0, 30.0))
@settings(max_examples=40)
def test_no_step_lowers_what_is_sought(seed: int, hold: float, far: float):
    space, expected = drawn(seed)
    tilts = far * np.random.default_rng(seed).standard_normal((3, 5))
    for _ in range(4):
        better = solve_topics(space, expected, tilts, hold=hold)
        means = means_of(space, expected)
        before, after = (topic_values(space, means, t, hold=hold) for t in (tilts, better))
        assert (after >= before).all()
        tilts = better


def test_a_topic_without_words_stays_where_it_is():
    space, expected = drawn(0)
    expected[:, 1] = 0.0
    begin = np.ones((3, 5))
    found = solve_topics(space, expected, begin, hold=0.01)
    assert found[1].tolist() == begin[1].tolist()
    assert (found[0] != begin[0]).any()


def test_topics_do_not_depend_on_which_others_are_solved_with_them():
    space, expected = drawn(3)
    together = solve_topics(space, expected, np.zeros((3, 5)), hold=0.05, times=3)
    for k in range(3):
        alone = solve_topics(space, expected[:, k : k + 1], np.zeros((1, 5)), hold=0.05, times=3)
        np.testing.assert_allclose(alone[0], together[k], rtol=1e-7, atol=1e-9)
