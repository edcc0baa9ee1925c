"""Passages show a word near another, as the text has them, a few of each pair and of different documents."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec import Phrases
from psdvec.errors import InputError
from psdvec.text.concordance import Passage, find_passages
from psdvec.text.tokenizers import choose_tokenizer, split_words

LETTERS = st.lists(st.sampled_from("abcde"), max_size=12)
unicode = partial(split_words, tokenizer="unicode")


@given(st.lists(LETTERS, max_size=6), st.integers(1, 3), st.integers(1, 3))
def test_every_document_with_the_pair_gives_one_passage_until_there_are_enough(texts, window, most):
    documents = [(str(i), " ".join(words)) for i, words in enumerate(texts)]
    found = find_passages(documents, {"a": ["b"], "c": None}, tokenize=str.split, window=window, most=most)
    meet = [
        str(i)
        for i, words in enumerate(texts)
        if any(
            {words[j], words[k]} == {"a", "b"} and abs(j - k) <= window
            for j in range(len(words))
            for k in range(len(words))
        )
    ]
    assert [one.document for one in found["a", "b"]] == meet[:most]
    assert [one.document for one in found["c", None]] == [
        str(i) for i, words in enumerate(texts) if "c" in words
    ][:most]


@given(LETTERS, st.sampled_from([" ", ", ", " -- ", "… "]))
def test_a_passage_is_the_text_itself(words, between):
    line = between.join(words).upper()
    for one in find_passages([("x", line)], {"a": None}, tokenize=unicode, window=2)["a", None]:
        place = words.index("a")
        left = between.join([*words[max(0, place - 8) : place], ""]).upper()
        assert (one.left, one.word) == (left, "A")
        assert one.left + one.word + one.right in line


def test_case_and_punctuation_are_those_of_the_text():
    (one,) = find_passages(
        [("letter 3", "Oh, the Große STRASSE (in Berlin), he said; no?")],
        {"strasse": ["berlin"]}, tokenize=unicode, window=2,
    )["strasse", "berlin"]  # fmt: skip
    assert one == Passage("Oh, the Große ", "STRASSE", " (in Berlin), he said; no?", "letter 3")


def test_a_context_further_away_is_shown_too():
    line = "word " + "so " * 15 + "far. The end of it is cut off here, since nobody asked for so much"
    (one,) = find_passages([("1", line)], {"word": ["far"]}, tokenize=unicode, window=20)["word", "far"]
    assert one.right == " so" * 15 + " far"


def test_the_lines_of_a_document_are_sentences():
    found = find_passages([("1", "a cat\nsat")], {"cat": ["sat"]}, tokenize=str.split, window=5)
    assert found == {("cat", "sat"): []}


def test_phrases_are_found_in_the_text():
    phrases = Phrases.of(["new york"])
    found = find_passages(
        [("1", "In New  York, it rained.")], {"new_york": None}, window=2,
        tokenize=lambda line: phrases.join(unicode(line)),
    )  # fmt: skip
    assert found["new_york", None] == [Passage("In ", "New  York", ", it rained.", "1")]


def test_words_that_were_left_out_are_in_the_text_still():
    cut = partial(split_words, tokenizer=choose_tokenizer("unicode", stop_words=["the", "then"]))
    (one,) = find_passages([("1", "Then the hen, he said.")], {"he": None}, tokenize=cut, window=1)[
        "he", None
    ]
    assert (one.left, one.word, one.right) == ("Then the hen, ", "he", " said.")


def test_where_a_word_is_counted_as_another_the_words_are_shown():
    cut = partial(split_words, tokenizer=choose_tokenizer("unicode", lemmas={"mice": "mouse"}))
    found = find_passages([("1", "Three MICE ran.")], {"mouse": None, "ran": None}, tokenize=cut, window=1)
    assert found["mouse", None] == [Passage("three ", "mouse", " ran", "1")]
    assert found["ran", None] == [Passage("Three MICE ", "ran", ".", "1")]


def test_words_that_are_cut_already_are_a_sentence():
    found = find_passages([("1", ["Old", "cat"])], {"cat": ["Old"]}, tokenize=str.split, window=1)
    assert found["cat", "Old"] == [Passage("Old ", "cat", "", "1")]


def test_words_without_blanks_between_them_are_found():
    found = find_passages([("1", "abcab。")], {"c": None}, tokenize=lambda line: [*"abcab"], window=1)
    assert found["c", None] == [Passage("ab", "c", "ab。", "1")]


def test_nothing_is_read_beyond_what_is_needed():
    def documents():
        yield "1", "a b"
        yield "2", "c"
        pytest.fail("this was not needed")

    assert len(find_passages(documents(), {"a": ["b"]}, tokenize=str.split, window=1, most=1)["a", "b"]) == 1


@pytest.mark.parametrize("wrong", [{"window": 0}, {"most": 0}, {"window": "2"}])
def test_a_window_and_passages_are_at_least_one(wrong):
    with pytest.raises(InputError, match="give"):
        find_passages([], {}, **{"tokenize": str.split, "window": 1, **wrong})
