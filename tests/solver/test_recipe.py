import pytest

from psdvec.errors import InputError
from psdvec.options import RECIPES, make_recipe, parse_ridge


def test_a_change_that_is_none_leaves_the_recipe_as_it_is():
    assert make_recipe("paper", rounds=None) == RECIPES["paper"]


def test_the_paper_has_the_papers_numbers():
    paper = RECIPES["paper"]
    assert (paper.smoothing, paper.cut, paper.rounds) == (0.02, 0.0002, 4)
    assert (paper.spectrum, paper.start, paper.diagonal) == ("positive", "half", False)
    assert (paper.background, paper.majoriser, paper.unigram, paper.relaxation) == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("rank", "ridge"), [(1, 2.0), (80_000, 2.0), (80_001, 4.0), (130_001, 8.0), (10**9, 8.0)]
)
def test_bands_hold_up_to_their_last_rank(rank, ridge):
    assert parse_ridge("2:80000,4:130000,8:180000")(rank) == (ridge,)


def test_one_number_holds_for_every_rank():
    assert parse_ridge("0")(5) == (0.0,)


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "2:9,4:3", "2,4", "2,4:9", "1:2:3"])
def test_what_is_not_a_ridge_is_refused(text):
    with pytest.raises(InputError, match="is not a ridge"):
        parse_ridge(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("smoothing", 0.0), ("smoothing", 1.0), ("background", 1.0), ("exponent", -1.0), ("saturation", -1.0),
        ("cut", 1.0), ("majoriser", 2.0), ("unigram", -0.1), ("spectrum", "both"), ("start", "zeros"),
        ("rounds", 0), ("relaxation", 2.0), ("negligible", -1.0),
        ("damping", -0.1),
    ],
)  # fmt: skip
def test_numbers_outside_their_range_are_refused_by_name(name, value):
    with pytest.raises(InputError, match=name):
        make_recipe("default", **{name: value})


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="no recipe 'best'"):
        make_recipe("best")
    with pytest.raises(InputError, match="has no 'kappa'"):
        make_recipe("default", kappa=1)


def test_a_cap_of_its_own_and_a_saturation_exclude_each_other():
    with pytest.raises(InputError, match="own_cap is True; give saturation 0 with it"):
        make_recipe("original", saturation=1.0)
