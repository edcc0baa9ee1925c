"""Means of words, and the Word Mover's Distance against what follows from its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from psdvec.errors import InputError, MissingWordError
from psdvec.vectors.embeddings import Embeddings

WORDS = tuple("abcdefgh")
E = Embeddings(WORDS, np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32))
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


def transported(first: list[str], second: list[str], *, norm: bool) -> float:
    """The distance by another way: cut both texts into equally many equal pieces, and assign them one to one."""
    size = math.lcm(len(first), len(second))
    one, two = (
        [E.get_vector(word, norm=norm) for word in text for _ in range(size // len(text))]
        for text in (first, second)
    )
    distances = cdist(one, two)
    return float(distances[linear_sum_assignment(distances)].sum() / size)


@given(texts, texts, st.booleans())
def test_the_movers_distance_is_that_of_the_best_assignment(first, second, norm):
    assert E.wmdistance(first, second, norm=norm) == pytest.approx(
        transported(first, second, norm=norm), abs=1e-6
    )


@pytest.mark.slow
@given(texts, texts, texts)
def test_the_movers_distance_is_a_distance(first, second, third):
    assert E.wmdistance(first, first[::-1]) == pytest.approx(0, abs=1e-9)
    assert E.wmdistance(first, second) == pytest.approx(E.wmdistance(second, first), abs=1e-9)
    assert E.wmdistance(first, third) <= E.wmdistance(first, second) + E.wmdistance(second, third) + 1e-9


def test_words_without_a_vector_do_not_move():
    assert E.wmdistance(["a", "nowhere"], ["b"]) == E.wmdistance(["a"], ["b"])
    assert E.wmdistance(["nowhere"], ["b"]) == math.inf
    assert E.wmdistance([], ["b"]) == math.inf


def test_a_text_that_was_not_split_is_refused():
    with pytest.raises(InputError, match="give a list of words"):
        E.wmdistance("a b", ["a"])
    with pytest.raises(InputError, match="give a list of words"):
        E.get_mean_vector("a b")


@given(texts)
def test_the_mean_of_words_is_the_mean_of_their_vectors(words):
    assert E.get_mean_vector(words, pre_normalize=False) == pytest.approx(E[words].mean(axis=0), abs=1e-6)
    units = [E.get_vector(word, norm=True) for word in words]
    assert E.get_mean_vector(words) == pytest.approx(np.mean(units, axis=0), abs=1e-6)
    assert E.get_mean_vector([*words, "nowhere"]) == pytest.approx(np.mean(units, axis=0), abs=1e-6)


def test_a_mean_of_nothing_and_weights_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="at least one word or vector"):
        E.get_mean_vector([])
    with pytest.raises(InputError, match="1 weights were given for 2 words; give one for each"):
        E.get_mean_vector(["a", "b"], [1.0])
    with pytest.raises(MissingWordError):
        E.get_mean_vector(["nowhere"], ignore_missing=False)
    assert not E.get_mean_vector(["nowhere"], post_normalize=True).any()
