"""The plane in which an analogy is drawn: true to the distances it can keep, and honest about those it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from psdvec.explore.maps import fit_plane
from tests.explore.clients import client_of

FINITE = st.floats(-10, 10, width=32)


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=FINITE))
def test_no_two_words_look_farther_apart_than_they_are(vectors):
    found = fit_plane(vectors)
    places = np.array(found["places"])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True).astype(float)
    units = vectors / np.where(lengths > 0, lengths, 1)
    for i in range(len(units)):
        for j in range(i):
            seen, true = np.linalg.norm(places[i] - places[j]), np.linalg.norm(units[i] - units[j])
            assert seen <= true + 1e-3
    assert 0 <= found["kept"] <= 1


def test_three_words_are_seen_at_their_true_distances():
    rng = np.random.default_rng(0)
    units = rng.normal(size=(3, 20))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    found = fit_plane(units.astype(np.float32))
    places = np.array(found["places"])
    assert found["kept"] == 1.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(places[i] - places[j]) == pytest.approx(
            np.linalg.norm(units[i] - units[j]), abs=1e-3
        )


def test_a_perfect_analogy_is_two_equal_arrows():
    corners = np.array([[1, 0.1, 0.1], [1, 0.1, -0.1], [1, -0.1, 0.1], [1, -0.1, -0.1]], dtype=np.float32)
    a, b, c, d = np.array(fit_plane(corners)["places"])
    assert b - a == pytest.approx(d - c, abs=1e-3)


def test_an_analogy_is_answered_with_its_plane(api):
    found = client_of(api).get("/api/analogy", params={"a": "guitar", "b": "piano", "c": "ship"}).json()
    assert len(found["plane"]["places"]) == 4
