"""Regions are places, the two levels are nested, and their names are typical words rather than the commonest."""

from __future__ import annotations

import numpy as np
import pytest

from psdvec.maps.regions import COARSE, FINE, choose_names, find_regions
from tests.maps.heaps import heaps


@pytest.fixture(scope="module")
def islands():
    """Six islands of fifty words each, on the plane and in space."""
    units, group = heaps(words=300, groups=6)
    rng = np.random.default_rng(1)
    angles = group * np.pi / 3
    places = 50 * np.stack([np.cos(angles), np.sin(angles)], axis=1) + rng.normal(size=(300, 2))
    return places.astype(np.float32), units, group


def test_no_region_reaches_over_two_islands(islands):
    places, units, group = islands
    _, fine = find_regions(places, units)
    for number in range(len(fine.middles)):
        assert len(set(group[fine.labels == number].tolist())) == 1


def test_every_fine_region_lies_in_one_coarse_one(islands):
    places, units, _ = islands
    coarse, fine = find_regions(places, units)
    pairs = set(zip(fine.labels.tolist(), coarse.labels.tolist(), strict=True))
    assert len(pairs) == len(fine.middles) > len(coarse.middles)


def test_regions_are_numbered_by_size_and_named_by_their_own_words(islands):
    places, units, _ = islands
    for regions in find_regions(places, units):
        sizes = np.bincount(regions.labels).tolist()
        assert sizes == sorted(sizes, reverse=True)
        assert len(sizes) == len(regions.middles) == len(regions.names)
        for number, names in enumerate(regions.names):
            named = names[names >= 0]
            assert len(named) == len(set(named.tolist())) > 0
            assert (regions.labels[named] == number).all()


@pytest.mark.parametrize("words", [1, 2, 5, 60, 400, 12_000])
def test_there_are_about_a_dozen_and_a_hundred_and_fewer_on_small_maps(words):
    rng = np.random.default_rng(0)
    places, units = rng.normal(size=(words, 2)), rng.normal(size=(words, 3))
    coarse, fine = (len(level.middles) for level in find_regions(places.astype("f4"), units.astype("f4")))
    assert 1 <= coarse <= fine <= words
    if words >= 12_000:
        assert coarse == COARSE
        assert fine >= 0.9 * FINE


def test_a_middle_is_amid_its_words(islands):
    places, units, _ = islands
    _, fine = find_regions(places, units)
    for number, middle in enumerate(fine.middles):
        own = places[fine.labels == number]
        assert (own.min(axis=0) <= middle).all()
        assert (middle <= own.max(axis=0)).all()


def test_the_commonest_words_name_nothing_where_there_are_others():
    units, group = heaps(words=2000, groups=4)
    units[:20] = units[20:].mean(axis=0)  # words that go with everything
    angles = group * np.pi / 2
    places = (50 * np.stack([np.cos(angles), np.sin(angles)], axis=1)).astype(np.float32)
    places += np.random.default_rng(0).normal(size=places.shape).astype(np.float32)
    for regions in find_regions(places, units):
        assert regions.names[regions.names >= 0].min() >= 20


def test_the_same_places_give_the_same_regions(islands):
    places, units, _ = islands
    one, two = find_regions(places, units), find_regions(places, units)
    for a, b in zip(one, two, strict=True):
        assert (a.labels.tobytes(), a.names.tobytes()) == (b.labels.tobytes(), b.names.tobytes())


def test_names_that_are_almost_spelled_alike_are_shown_once():
    assert choose_names(["disease", "diseases", "infection", "infections", "virus", "cell"]) == [
        "disease", "infection", "virus"
    ]  # fmt: skip
    assert choose_names(["1814", "1815", "1801"]) == ["1814", "1801"]
    assert choose_names(["la", "le", "li"]) == ["la", "le", "li"]
    assert choose_names([]) == []


def test_all_words_at_one_place_are_one_region():
    coarse, fine = find_regions(np.zeros((30, 2), np.float32), np.ones((30, 2), np.float32))
    assert len(coarse.middles) == len(fine.middles) == 1
