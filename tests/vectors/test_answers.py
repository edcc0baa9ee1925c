"""The answers that the command line and the explorer share are those of the embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from psdvec.vectors import answers
from psdvec.vectors.embeddings import Embeddings


def placed() -> Embeddings:
    generator = np.random.default_rng(0)
    deviations = np.array([np.nan, 0.1, 2.0, 0.2, 0.1], np.float32)
    vectors = generator.standard_normal((5, 4)).astype(np.float32)
    return Embeddings(tuple("abcde"), vectors, np.arange(5, 0, -1), deviations)


def test_a_word_is_described_by_what_is_known_of_it():
    core, known, thin = answers.describe_words(placed(), ["a", "b", "c"])
    assert core == {"word": "a", "count": 5, "deviation": None, "thin": False}
    assert known == {"word": "b", "count": 4, "deviation": pytest.approx(0.1), "thin": False}
    assert thin["thin"] is True


def test_nothing_is_known_of_bare_vectors():
    (record,) = answers.describe_words(Embeddings(("a",), np.ones((1, 2), np.float32)), ["a"])
    assert record == {"word": "a", "count": None, "deviation": None, "thin": False}


def test_neighbours_have_bounds_where_both_deviations_are_known():
    e = placed()
    found = answers.similar(e, "b", topn=4)
    assert [(one["word"], one["score"]) for one in found["neighbours"]] == e.most_similar("b", topn=4)
    intervals = dict(e.most_similar_intervals("b", topn=4))
    for one in found["neighbours"]:
        bounds = (None, None) if one["word"] == "a" else intervals[one["word"]][1:]
        assert (one["low"], one["high"]) == bounds


def test_many_words_are_answered_as_one_by_one_without_bounds():
    e = placed()
    words = ["a", "b"]
    for one, many in zip((answers.similar(e, w) for w in words), answers.similar_many(e, words), strict=True):
        for record in one["neighbours"]:
            del record["low"], record["high"]
            record["score"] = pytest.approx(record["score"])
        assert one == many


def test_an_analogy_is_answered_as_by_the_embeddings_and_says_how():
    e = placed()
    for options, method in (({}, "3cosadd"), ({"method": "3cosmul"}, "3cosmul")):
        found = answers.analogy(e, "a", "b", "c", **options)
        assert found["method"] == method
        assert [(one["word"], one["score"]) for one in found["answers"]] == e.analogy(
            "a", "b", "c", method=method
        )
