"""``complete``: what goes with the items of a basket."""

from __future__ import annotations

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError

ORDERS = [["bread", "butter"], ["bread", "butter", "jam"], ["beer", "crisps"], ["beer", "crisps", "jam"]] * 5


@pytest.fixture(scope="module")
def model():
    return psdvec.train(ORDERS, items=True, dim=3, quiet=True)


def test_the_likeliest_items_are_those_that_were_bought_with_the_basket(model):
    assert model.complete(["bread"])[0][0] == "butter"
    assert model.complete(["jam", "beer"])[0][0] == "crisps"


def test_the_likelihood_is_the_mean_over_the_items_of_what_the_fit_says(model):
    fitted = (model.rows * model.signs) @ model.rows.T - np.outer(model.constant, model.constant)
    seen = model.counts**model.constants.unigram
    likely = np.minimum(seen / seen.sum() * np.exp(fitted), 1)
    ids = [model.get_index("bread"), model.get_index("jam")]
    for word, score in model.complete(["bread", "jam"]):
        assert score == pytest.approx(likely[ids, model.get_index(word)].mean(), rel=1e-4)


def test_neither_the_basket_nor_unknown_items_are_answers(model):
    ranking = model.complete(["bread", "bread", "caviar"], topn=100)
    assert {item for item, _ in ranking} == {"butter", "jam", "beer", "crisps"}
    assert [score for _, score in ranking] == sorted((score for _, score in ranking), reverse=True)
    assert ranking == model.complete(["bread"], topn=100)
    assert model.complete(["bread"], topn=0) == []


def test_items_that_were_placed_later_are_answers_too(model):
    larger = psdvec.extend(
        model, [["brioche", "butter", "bread", "jam"]] * 3, items=True, min_contexts=1, quiet=True
    )
    assert "brioche" in [item for item, _ in larger.complete(["butter", "bread"])]
    assert larger.complete(["brioche"], topn=1)[0][0] in ("butter", "bread", "jam")


def test_a_basket_of_which_nothing_is_known_is_refused(model):
    with pytest.raises(InputError, match="the model knows no item of this basket"):
        model.complete(["caviar"])
    with pytest.raises(InputError, match="basket is one string"):
        model.complete("bread")
