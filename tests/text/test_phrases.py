"""Phrases: how a sentence is cut into them, and the file that holds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec import Phrases
from psdvec.errors import InputError
from psdvec.text.phrases import read_phrases
from tests.reference import phrases as reference

WORDS = st.sampled_from("abcd")
GRAMS = st.lists(WORDS, min_size=2, max_size=4).map(tuple)
SCORED = st.dictionaries(GRAMS, st.integers(1, 9), max_size=8)


def made_of(steps: dict[tuple[str, ...], int]) -> Phrases:
    return Phrases(
        tuple(map(" ".join, steps)), np.zeros(len(steps), np.int64), np.array([*steps.values()]) / 10_000
    )


@given(SCORED, st.lists(st.sampled_from("abcde"), max_size=12))
def test_a_sentence_is_cut_as_the_reference_cuts_it(steps, words):
    expected = ["_".join(piece) for piece in reference.best_cut(words, steps)]
    assert made_of(steps).join(words) == expected


@given(SCORED, st.lists(st.sampled_from("abcde"), max_size=7))
def test_no_cut_is_better(steps, words):
    pieces = [tuple(word.split("_")) for word in made_of(steps).join(words)]
    best = max(reference.value_of(cut, steps) for cut in reference.all_cuts(tuple(words), steps))
    assert reference.value_of(pieces, steps) == best
    assert [word for piece in pieces for word in piece] == words


def test_overlapping_phrases_are_not_joined_from_the_left():
    phrases = Phrases(("a b", "b c"), np.zeros(2, np.int64), np.array([0.3, 0.9]))
    assert phrases.join(["a", "b", "c"]) == ["a", "b_c"]


def test_a_list_of_phrases_prefers_the_longer_one():
    phrases = Phrases.of(["new york", "new york city"])
    assert phrases.join(["new", "york", "city"]) == ["new_york_city"]
    assert phrases.join(["york", "new", "york"]) == ["york", "new_york"]


def test_a_file_is_read_as_it_was_written(tmp_path):
    phrases = Phrases(("new york", "são paulo"), np.array([5, 3]), np.array([0.91234, 0.5]), "made by hand")
    phrases.save(tmp_path / "phrases.txt")
    assert (tmp_path / "phrases.txt").read_text(encoding="utf-8") == (
        "# made by hand\nnew york\t5\t0.9123\nsão paulo\t3\t0.5000\n"
    )
    found = read_phrases(tmp_path / "phrases.txt")
    assert (found.phrases, found.digest, found.made) == (phrases.phrases, phrases.digest, "made by hand")
    assert found.counts.tolist() == [5, 3]


def test_a_list_by_hand_needs_phrases_only(tmp_path):
    (tmp_path / "phrases.txt").write_text("New  York\n\n# cities\nLos Angeles\t7\n", encoding="utf-8")
    found = read_phrases(tmp_path / "phrases.txt")
    assert found.phrases == ("New York", "Los Angeles")
    assert found.scores.tolist() == [1, 1]
    assert found.cut_by("unicode").phrases == ("new york", "los angeles")


def test_the_digest_tells_phrases_and_scores_apart_and_nothing_else():
    a = Phrases(("a b", "c d"), np.array([1, 2]), np.array([0.5, 0.6]))
    b = Phrases(("c d", "a b"), np.array([5, 5]), np.array([0.6, 0.5]), "elsewhere")
    c = Phrases(("c d", "a b"), np.array([5, 5]), np.array([0.6, 0.7]))
    assert a.digest == b.digest != c.digest


def test_phrases_that_the_tokenizer_does_not_tell_apart_are_one():
    assert Phrases.of(["New York", "new york", "York new"]).cut_by("unicode").phrases == (
        "new york",
        "york new",
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("york", "is not several words"),
        ("new_york city", "holds '_'"),
        ("new york\tmany", "is not followed by a count"),
        ("new york\t1\t2\t3", "is not followed by a count"),
        ("new york\t1\t0", "cannot be"),
        ("new york\t1\tnan", "cannot be"),
        ("new york\t-1", "cannot be"),
        ("a " * 600, "longer than 1024 bytes"),
    ],
)
def test_a_line_that_is_no_phrase_is_named(tmp_path, line, said):
    (tmp_path / "phrases.txt").write_text(f"los angeles\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"line 2 of .*{said}"):
        read_phrases(tmp_path / "phrases.txt")


def test_what_cannot_be_phrases_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match="holds no phrases; write one a line"):
        read_phrases(tmp_path / "empty.txt")
    with pytest.raises(InputError, match="'a b' is there twice"):
        Phrases.of(["a b", "c d", "a b"])
    with pytest.raises(InputError, match="does not take 'a -' for several words"):
        Phrases.of(["a -"]).cut_by("unicode")
    with pytest.raises(InputError, match="counts of phrases must be one number for each"):
        Phrases(("a b",), np.zeros(2, np.int64), np.ones(1))
