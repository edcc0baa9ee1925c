"""Vectors from spelling: n-grams against sets of strings, the regression against a dense solve, and odd words."""

from __future__ import annotations

import re
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from psdvec.errors import InputError, MissingWordError
from psdvec.options import Recipe
from psdvec.vectors import regression
from psdvec.vectors.subwords import (
    LONGEST,
    SHORTEST,
    Subwords,
    certainty,
    find_ngrams,
    in_eight_bits,
    learn_subwords,
    letter_ngrams,
    ngram_weights,
)
from tests.spelled import DIM, WORDS, drawn, learned, vocabulary

ODD = {
    "empty": "",
    "one letter": "p",
    "10,000 letters": "play" * 2_500,
    "emoji": "play🎹🎻",
    "only emoji": "🎹🎻🥁",
    "mixed scripts": "playпишу漢字",
    "angle brackets": "<play>",
    "only angle brackets": "<<<>>>",
    "a lone surrogate": "play\udcff",
    "only a lone surrogate": "\ud800",
    "combining marks": "e\u0301cole\u0301\u0301\u0301",
    "a Chinese word of one character": "漢",
    "a Chinese word of two characters": "漢語",
    "a number": "1,234.5",
    "blanks": "   ",
    "a null": "\0",
}
letters = st.characters() | st.sampled_from("漢語汉语한국어あ")
words_of_any_letters = st.lists(st.text(letters, max_size=9), max_size=6)


def strings_of(word: str) -> set[tuple[str, ...]]:
    """The n-grams of a word as sets of letters, the ends being things that no letter is equal to."""
    letters = ("begin", *word, "end")
    found = {letters[i : i + n] for n in range(2, LONGEST + 1) for i in range(len(letters) - n + 1)}
    return {gram for gram in found if len(gram) >= SHORTEST or any(map(is_syllable, gram))}


def is_syllable(letter: str) -> bool:
    """Say whether a letter is one of the blocks of Unicode for Chinese characters and Korean syllables."""
    code = ord(letter) if len(letter) == 1 else 0
    return (
        0x3400 <= code < 0xA000
        or 0xAC00 <= code < 0xD7A4
        or 0xF900 <= code < 0xFB00
        or 0x20000 <= code < 0x40000
    )


def hashes_of(words: list[str]) -> list[list[int]]:
    starts, hashes = letter_ngrams(words)
    assert len(starts) == len(words) + 1
    return [hashes[a:b].tolist() for a, b in pairwise(starts)]


@given(words_of_any_letters)
@settings(deadline=None)
def test_ngrams_are_equal_exactly_where_their_letters_are(words):
    found, expected = hashes_of(words), [strings_of(word) for word in words]
    assert [len(hashes) for hashes in found] == [len(strings) for strings in expected]
    assert all(hashes == sorted(set(hashes)) for hashes in found)
    for i, j in product(range(len(words)), repeat=2):
        assert len(set(found[i]) & set(found[j])) == len(expected[i] & expected[j])


def test_chinese_words_of_one_and_two_characters_share_ngrams():
    one, two, other = hashes_of(["语", "汉语", "语言"])
    assert set(one) & set(two)
    assert set(one) & set(other)
    assert not set(two) & set(other)  # the ends of a word count: 语 ends one and begins the other


def test_the_ends_of_a_word_are_no_letters():
    (bracketed, plain), strings = hashes_of(["<at>", "at"]), strings_of("<at>") & strings_of("at")
    assert strings == set()
    assert not set(bracketed) & set(plain)


def test_there_are_no_ngrams_of_no_words():
    starts, hashes = letter_ngrams([])
    assert (starts.tolist(), hashes.tolist()) == ([0], [])
    assert learned().predict([]).shape == (0, DIM)


@given(words_of_any_letters)
@settings(deadline=None)
def test_known_ngrams_are_found_at_their_places(words):
    known = letter_ngrams(["plays"])[1]
    starts, places = find_ngrams(words, known)
    for i, hashes in enumerate(hashes_of(words)):
        expected = [k for k, one in enumerate(known.tolist()) if one in set(hashes)]
        assert places[starts[i] : starts[i + 1]].tolist() == expected


@pytest.mark.parametrize("at_once", [1, 3, 4096])
def test_a_word_is_predicted_to_the_bit_as_it_is_alone(at_once, monkeypatch):
    subwords = learned()
    words = [*ODD.values(), *WORDS, "playable", "thinkers"]
    alone = np.concatenate([subwords.predict([word]) for word in words])
    monkeypatch.setattr("psdvec.vectors.subwords._WORDS", at_once)
    assert np.array_equal(subwords.predict(words), alone)
    assert np.array_equal(subwords.predict(words[::-1]), alone[::-1])


def test_a_prediction_is_the_sum_of_its_known_ngrams_scaled_to_one():
    subwords = learned()
    known = dict(zip(subwords.hashes.tolist(), subwords.codes * subwords.steps[:, None], strict=True))
    for word in ("playable", "walking", "sings🎹"):
        found = [known[one] for one in hashes_of([word])[0] if one in known]
        expected = np.sum(found, axis=0) / np.sqrt(len(found))
        assert subwords.predict([word])[0] == pytest.approx(expected, abs=1e-6)
        shown = subwords.share * subwords.length * expected
        assert subwords.vectors_of([word])[0] == pytest.approx(shown, abs=1e-5)


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3), min_size=1, max_size=5))
def test_eight_bits_are_wrong_by_half_a_step_at_most(rows):
    vectors = np.array(rows, np.float32)
    codes, steps = in_eight_bits(vectors)
    assert codes.dtype == np.int8
    largest = np.abs(vectors).max(axis=1)
    assert steps == pytest.approx(largest / 127)
    rounding = 1e-5 * largest[:, None] + 127 * np.finfo(np.float32).tiny
    assert (np.abs(codes * steps[:, None] - vectors) <= steps[:, None] / 2 + rounding).all()


def dense_solution(words, units, counts, recipe: Recipe):
    """Solve (ZᵀCZ + λI) B = ZᵀCU as it is written; return the n-grams that two words share, and B."""
    each = [strings_of(word) for word in words]
    shared = sorted({one for strings in each for one in strings if sum(one in other for other in each) >= 2})
    Z = np.array([[one in strings for one in shared] for strings in each], dtype=np.float64)
    Z /= np.maximum(np.sqrt(Z.sum(axis=1, keepdims=True)), 1)
    C = np.diag(counts / (counts + recipe.spelling_noise))
    left = Z.T @ C @ Z + recipe.spelling_ridge * np.eye(len(shared))
    return shared, np.linalg.solve(left, Z.T @ C @ units)


def test_ngrams_learn_what_a_dense_solve_gives(monkeypatch):
    monkeypatch.setattr(regression, "STEPS", 200)
    recipe, (units, counts) = Recipe(spelling_ridge=0.5), drawn()
    shared, B = dense_solution(WORDS, units, counts, recipe)
    found = learn_subwords(WORDS, units, counts, length=2.0, recipe=recipe)
    assert len(found.hashes) == len(shared)
    each = [[shared.index(one) for one in strings_of(word) & set(shared)] for word in WORDS]
    expected = np.array([B[own].sum(axis=0) / np.sqrt(len(own)) for own in each])
    coarse = float(found.steps.max()) * np.sqrt(max(map(len, each))) / 2  # what eight bits may add up to
    assert found.predict(WORDS) == pytest.approx(expected, abs=coarse)
    assert np.abs(expected).max() > 10 * coarse


def test_ten_steps_are_near_the_solution():
    recipe, (units, counts) = Recipe(), drawn()
    shared, B = dense_solution(WORDS, units, counts, recipe)
    found = learn_subwords(WORDS, units, counts, length=2.0, recipe=recipe).predict(WORDS)
    each = [[shared.index(one) for one in strings_of(word) & set(shared)] for word in WORDS]
    expected = np.array([B[own].sum(axis=0) / np.sqrt(len(own)) for own in each])
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_learns_the_same_bytes(workers):
    units, counts = drawn(dim=50)
    one, several = (
        learn_subwords(WORDS, units, counts, length=2.0, recipe=Recipe(), workers=number)
        for number in (1, workers)
    )
    for name, array in one.arrays().items():
        assert array.tobytes() == several.arrays()[name].tobytes()
    assert one.parts()[3:] == several.parts()[3:]


def sums_of(Z, X):
    """Return Z X in float32, each sum in the order of the row's entries, as regression.sums_into takes it."""
    Y = np.zeros((Z.shape[0], X.shape[1]), np.float32)
    for i in range(Z.shape[0]):
        for k in range(Z.indptr[i], Z.indptr[i + 1]):
            Y[i] += Z.data[k] * X[Z.indices[k]]
    return Y


@pytest.mark.parametrize("d", [1, 3, 20])
def test_sparse_products_are_summed_in_order_to_the_last_bit(d):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((30, 20)) * (rng.random((30, 20)) < 0.3)
    dense[[0, 7, 29]] = 0  # rows without entries
    Z = sparse.csr_array(dense.astype(np.float32))
    X = rng.standard_normal((20, d)).astype(np.float32)
    Y = np.full((30, d), np.nan, np.float32)
    X.flags.writeable = False
    regression.sums_into(Z.indptr.astype(np.int64), Z.indices.astype(np.int32), Z.data, X, Y)
    np.testing.assert_array_equal(Y, sums_of(Z, X))
    np.testing.assert_allclose(Y, dense @ X, atol=1e-5)


def test_a_step_of_the_regression_is_what_it_says():
    rng = np.random.default_rng(1)
    B, R, P, image = rng.standard_normal((4, 7, 3)).astype(np.float32)
    step, inverse = rng.random(3).astype(np.float32), rng.random(7).astype(np.float32)
    moved, left = B + step * P, R - step * image
    regression.descend(B, R, P, image, step, inverse)
    np.testing.assert_array_equal(B, moved)
    np.testing.assert_array_equal(R, left)
    np.testing.assert_array_equal(image, inverse[:, None] * left)
    regression.add_multiples(np.float32(0.5), P, image)
    np.testing.assert_array_equal(image, inverse[:, None] * left + np.float32(0.5) * P)


def test_words_without_a_common_ngram_teach_nothing():
    units, counts = drawn(("a", "b"))
    assert learn_subwords(("a", "b"), units, counts, length=1.0, recipe=Recipe()) is None


def test_a_word_seen_often_teaches_more():
    assert certainty(np.array([0, 1, 10**6]), noise=100.0) == pytest.approx([0, 1 / 101, 1], abs=1e-3)
    assert certainty(np.array([0, 5]), noise=0.0).tolist() == [0.0, 1.0]


def test_the_numbers_of_a_word_have_length_one():
    weights = ngram_weights(np.array([0, 3, 3, 10]))
    assert np.square(weights[:3]).sum() == pytest.approx(1)
    assert np.square(weights[3:]).sum() == pytest.approx(1)


def test_a_table_with_too_few_vectors_is_refused():
    with pytest.raises(InputError, match="one vector per n-gram"):
        Subwords(
            np.arange(3, dtype=np.uint64), np.zeros((2, 4), np.int8), np.ones(3, np.float32), 1.0, 1.0, 1.0
        )


@pytest.mark.parametrize("word", ODD.values(), ids=ODD)
def test_an_odd_word_has_a_vector_or_is_missing_in_one_sentence(word):
    e = vocabulary()
    if learned().predict([word]).any():
        vector = e.vector(word, unseen="spelling")
        assert vector.shape == (DIM,)
        assert np.isfinite(vector).all()
        assert vector.any()
        return
    with pytest.raises(MissingWordError) as raised:
        e.vector(word, unseen="spelling")
    assert re.fullmatch(r"there is no vector for '[^']*'; .{5,100}", str(raised.value), re.DOTALL)


def test_a_very_long_word_is_not_told_in_full():
    with pytest.raises(MissingWordError) as raised:
        vocabulary().vector("q" * 10_000, unseen="spelling")
    assert len(str(raised.value)) < 200


def test_odd_words_with_known_letters_have_vectors_and_others_none():
    told = learned().predict(list(ODD.values())).any(axis=1)
    without = {
        "empty",
        "one letter",
        "only emoji",
        "only angle brackets",
        "only a lone surrogate",
        "a number",
    }
    without |= {"blanks", "a null"}
    assert {name for name, tells in zip(ODD, told, strict=True) if not tells} == without
    assert learned().predict(["漢字"]).any()  # with which other words begin


@pytest.mark.parametrize(
    "change",
    [
        {"steps": np.array([np.nan, 1], np.float32)},
        {"steps": np.array([np.inf, 1], np.float32)},
        {"steps": np.array([1, 1], np.float64)},
        {"hashes": np.array([9, 3], np.uint64)},
        {"hashes": np.array([3, 3], np.uint64)},
        {"codes": np.ones((2, 3), np.float32)},
        {"share": float("nan")},
        {"length": float("inf")},
        {"length": 1e30},
        {"leverage": "1"},
        {"share": None},
        {"share": True},
        {"share": -1.0},
    ],
    ids=repr,
)
def test_a_table_that_would_give_vectors_that_are_none_is_refused(change):
    parts = {
        "hashes": np.array([3, 9], np.uint64), "codes": np.ones((2, 3), np.int8), "steps": np.ones(2, np.float32),
        "share": 0.5, "length": 1.0, "leverage": 0.1,
    }  # fmt: skip
    assert Subwords(**parts).dim == 3
    with pytest.raises(InputError, match=r"the table of n-grams .*; make the model again"):
        Subwords(**{**parts, **change})
