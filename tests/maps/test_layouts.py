"""Places on the plane: forces are those of all pairs, neighbours stay near, and nothing depends on threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.maps import layouts
from psdvec.maps import layouts as plane
from psdvec.maps.layouts import Repulsion, by_neighbours, by_pca, nearest_to_each, without_self
from psdvec.progress import SilentProgress
from tests.maps.heaps import heaps
from tests.reference import plane as reference

QUIET = SilentProgress()


def dots(seed: int, *, width: float, number: int = 600):
    return np.random.default_rng(seed).uniform(-width / 2, width / 2, size=(number, 2))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "tolerance"), [(1e-4, 1e-5), (1.0, 1e-4), (10.0, 1e-3), (40.0, 0.1)])
def test_repulsion_on_the_grid_is_that_of_all_pairs(width, tolerance):
    places = dots(0, width=width)
    push, total = Repulsion()(places)
    exact, exact_total = reference.repel(places)
    assert np.linalg.norm(push - exact) < tolerance * np.linalg.norm(exact)
    assert total == pytest.approx(exact_total, rel=tolerance)


def test_a_finer_grid_brings_repulsion_nearer_to_that_of_all_pairs(monkeypatch):
    places = dots(5, width=40.0)
    exact, _ = reference.repel(places)
    errors = []
    for spacing in (1.0, 0.5, 0.25, 0.125):
        monkeypatch.setattr(layouts, "SPACING", spacing)
        errors.append(np.linalg.norm(Repulsion()(places)[0] - exact) / np.linalg.norm(exact))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01 * errors[0]


def test_repulsion_of_far_apart_heaps_is_that_of_all_pairs():
    near = np.concatenate(
        [dots(k, width=4.0, number=200) + shift for k, shift in enumerate([0.0, 90.0, -130.0])]
    )
    push, total = Repulsion()(near)
    exact, exact_total = reference.repel(near)
    assert np.linalg.norm(push - exact) < 0.05 * np.linalg.norm(exact)
    assert total == pytest.approx(exact_total, rel=0.01)


def test_the_repulsion_of_few_dots_is_that_of_all_pairs_exactly():
    for number in (1, 2, 30, layouts.FEW):
        places = dots(4, width=30.0, number=number)
        push, total = Repulsion()(places)
        exact, exact_total = reference.repel(places)
        np.testing.assert_allclose(push, exact, atol=1e-9)
        assert total == pytest.approx(exact_total, abs=1e-9)


def test_a_grid_that_grows_and_shrinks_gives_the_same_as_a_fresh_one():
    repel = Repulsion()
    for width in (40.0, 3.0, 80.0, 40.0, 41.0):
        places = dots(1, width=width)
        assert repel(places)[0].tobytes() == Repulsion()(places)[0].tobytes()


@given(st.floats(0.001, 1e6))
def test_every_dot_is_well_inside_the_grid(width):
    size, spacing = Repulsion._choose_grid(width)
    assert size <= layouts.KNOTS[1]
    assert int(1.5 + width / spacing) + 2 < size


@given(st.integers(0, 1000), st.integers(1, 40))
def test_springs_are_those_of_the_dense_matrix(seed, number):
    rng = np.random.default_rng(seed)
    weights = rng.random((number, number)) * (rng.random((number, number)) < 0.3)
    from scipy import sparse

    matrix = sparse.csr_array(weights)
    places = rng.normal(size=(number, 2))
    springs = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)
    found = np.empty((number, 2))
    for begin, end in ((0, number // 3), (number // 3, number)):
        plane.attract_into(found, *springs, places, begin, end)
    np.testing.assert_allclose(found, reference.attract(weights, places), atol=1e-12)


def test_what_is_spread_over_the_grid_adds_up_to_the_dots():
    places = dots(2, width=20.0)
    grid = plane.spread(places, np.array([-12.0, -12.0]), 0.5, 64)
    assert grid.sum() == pytest.approx(len(places), rel=1e-5)


def test_a_cubic_field_is_gathered_exactly():
    knots = np.arange(64) * 0.5 - 12.0
    field = np.asarray(knots[:, None] ** 3 - 2 * knots[:, None] * knots**2 + 5, np.float32)
    places = dots(3, width=20.0)
    found = np.empty((len(places), 1))
    plane.gather_into(found, places, np.array([-12.0, -12.0]), 0.5, field[None], 0, len(places))
    x, y = places.T
    np.testing.assert_allclose(found[:, 0], x**3 - 2 * x * y**2 + 5, rtol=1e-4, atol=1e-2)


def test_the_nearest_are_those_with_the_largest_cosines():
    units, _ = heaps()
    cosines = units @ units.T
    np.fill_diagonal(cosines, -2)
    nearest = nearest_to_each(units, progress=QUIET)
    assert nearest.shape == (len(units), layouts.NEIGHBOURS)
    worst = np.take_along_axis(cosines, nearest, axis=1).min(axis=1)
    np.testing.assert_allclose(worst, np.sort(cosines, axis=1)[:, -layouts.NEIGHBOURS], atol=1e-6)
    assert not (nearest == np.arange(len(units))[:, None]).any()


def test_a_row_is_never_its_own_neighbour_even_among_copies_of_itself():
    units = np.ones((30, 4), np.float32) / 2
    nearest = nearest_to_each(units, progress=QUIET)
    assert not (nearest == np.arange(30)[:, None]).any()
    assert without_self(np.array([[1, 2]]), np.array([7])).tolist() == [[1]]


def test_neighbours_stay_together_and_heaps_apart():
    units, group = heaps()
    places = by_neighbours(units, nearest_to_each(units, progress=QUIET), progress=QUIET)
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (group[apart.argmin(axis=1)] == group).mean() > 0.97
    assert np.isfinite(places).all()


def test_the_same_vectors_give_the_same_places_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(layouts, "ROUNDS", layouts.EARLY + 100)
    units, _ = heaps(words=layouts.FEW + 100)
    found = []
    for threads in (1, 2, 4):
        with monkeypatch.context() as patched:
            patched.setattr(layouts, "thread_limit", lambda threads=threads: threads)
            nearest = nearest_to_each(units, progress=QUIET)
            found.append(by_neighbours(units, nearest, progress=QUIET).tobytes())
    assert len(set(found)) == 1


def test_pca_is_the_two_leading_components():
    units, _ = heaps(words=80, dim=10)
    apart = units - units.mean(axis=0)
    _, lengths, directions = np.linalg.svd(apart, full_matrices=False)
    places = by_pca(units)
    np.testing.assert_allclose(np.abs(places), np.abs(apart @ directions[:2].T), atol=1e-4)
    np.testing.assert_allclose((places**2).sum(axis=0), lengths[:2] ** 2, rtol=1e-4)


@pytest.mark.parametrize(
    "units",
    [
        np.zeros((0, 3)),
        np.ones((1, 3)),
        np.eye(2),
        np.zeros((3, 4)),
        np.ones((40, 1)),
        np.eye(12),
        np.ones((5, 3)),
    ],
)
def test_degenerate_vectors_still_have_places(units):
    units = units.astype(np.float32)
    for places in (
        by_pca(units),
        by_neighbours(units, nearest_to_each(units, progress=QUIET), progress=QUIET),
    ):
        assert places.shape == (len(units), 2)
        assert np.isfinite(places).all()
