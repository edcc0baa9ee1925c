"""Words that are placed by their features alone."""

from __future__ import annotations

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError
from psdvec.solver.extend import place_by_features
from psdvec.vectors.subwords import feature_matrix

TEAMS, NODES, OLD = 6, 240, 200


@pytest.fixture(scope="module")
def world():
    """A graph of teams, a model of its first nodes, and the same with the others placed from their edges."""
    generator = np.random.default_rng(0)
    team = generator.integers(0, TEAMS, NODES)
    ends = generator.integers(0, NODES, (NODES * 40, 2))
    kept = (team[ends[:, 0]] == team[ends[:, 1]]) | (generator.random(len(ends)) < 0.1)
    edges = [(f"n{a}", f"n{b}") for a, b in ends[kept]]
    old = [(a, b) for a, b in edges if int(a[1:]) < OLD and int(b[1:]) < OLD]
    model = psdvec.fit(psdvec.count_walks(old, quiet=True), dim=12, recipe="graph", quiet=True)
    new = [f"n{i}" for i in range(OLD, NODES)]
    placed = psdvec.extend(model, psdvec.count_walks(edges, nodes=new, quiet=True), quiet=True)
    return team, model, placed, new


def features_of(kind, team):
    generator = np.random.default_rng(1)
    make = {
        "one string": lambda i: f"team-{team[i]} noise-{generator.integers(5)}",
        "categories": lambda i: [f"team-{team[i]}", f"noise-{generator.integers(5)}"],
        "numbers": lambda i: np.eye(TEAMS)[team[i]] * 100 + 20 * generator.standard_normal(TEAMS) + 7,
        "noise": lambda i: generator.standard_normal(4).tolist(),
    }[kind]
    return {f"n{i}": make(i) for i in range(NODES)}


@pytest.mark.parametrize("kind", ["one string", "categories", "numbers"])
def test_a_name_without_edges_comes_to_those_like_it(world, kind):
    team, model, placed, new = world
    found = place_by_features(model, features_of(kind, team), quiet=True)
    assert set(found.learned) == set(new)
    np.testing.assert_array_equal(found.vectors[: len(model)], model.vectors)
    near = [[team[int(name[1:])] for name, _ in found.most_similar(word, topn=3)] for word in new]
    assert np.mean(np.array(near) == team[OLD:, None]) > 0.9
    off = np.sqrt(np.mean((found[new] - placed[new]) ** 2))
    said = np.sqrt(np.mean(found.deviations[len(model) :] ** 2))
    assert off < said < 3 * off


def test_features_that_tell_nothing_give_no_direction_and_say_so(world):
    team, model, _, new = world
    teaching = place_by_features(model, features_of("categories", team), quiet=True)
    noise = place_by_features(model, features_of("noise", team), quiet=True)
    assert np.linalg.norm(noise[new]) < 0.3 * np.linalg.norm(teaching[new])
    assert noise.deviations[-1] > teaching.deviations[-1]


def test_what_was_placed_by_features_is_saved_and_refreshed_later(world, tmp_path):
    team, model, _, _ = world
    found = place_by_features(model, features_of("categories", team), quiet=True)
    found.save(tmp_path / "model")
    assert psdvec.load(tmp_path / "model") == found
    assert all(row.contexts == 0 for row in found.report())


def test_numbers_may_have_any_unit(world):
    team, model, _, new = world
    numbers = features_of("numbers", team)
    one, two = (
        place_by_features(model, {name: scale * each + 3 for name, each in numbers.items()}, quiet=True)
        for scale in (1, 1000)
    )
    np.testing.assert_allclose(one[new], two[new], atol=1e-4)


def test_a_constant_number_changes_nothing():
    Z = feature_matrix([[1, 5], [2, 5], [3, 5]], teachers=2).toarray()
    np.testing.assert_allclose(Z[:, 1:], [[0, 1], [0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"new": [1.0]}, "none of these names has a vector"),
        ({"n0": [1.0]}, "all of these names have vectors"),
        ({}, "none of these names"),
        ({"n0": [1.0], "new": [1.0, 2.0]}, "neither all numbers"),
        ({"n0": [1.0], "new": "red"}, "neither all numbers"),
        ({"n0": [1.0], "new": [np.nan]}, "neither all numbers"),
        ({"n0": 1.0, "new": 2.0}, "neither all numbers"),
    ],
)
def test_what_is_wrong_is_said(world, features, said):
    with pytest.raises(InputError, match=said):
        place_by_features(world[1], features, quiet=True)
