"""Ranking: BM25 against a slow twin, the order of hits, and snippets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.search.index import DocumentIndex
from psdvec.search.rank import K1, B, best_first, cut_snippet, quoted_in

DOCUMENTS = ["a b b c", "b c", "a a a d e f g", "h", "c c h b"]


def slow_bm25(question: list[str], documents: list[list[str]]) -> list[float]:
    """Return BM25 as the textbook writes it."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        score = 0.0
        for word in question:
            having = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            count = words.count(word)
            score += idf * count * (K1 + 1) / (count + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


@pytest.fixture(scope="module")
def index() -> DocumentIndex:
    return DocumentIndex.build(DOCUMENTS, quiet=True)


@settings(deadline=None, max_examples=30)
@given(question=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6))
def test_exact_scores_are_those_of_the_textbook(index, question):
    found = index.collection.bm25(index.collection.terms(question, exact=True))
    assert found == pytest.approx(slow_bm25(question, [text.split() for text in DOCUMENTS]))


@given(
    scores=st.lists(st.sampled_from([0.0, 1.0, 2.0, -np.inf]), min_size=1, max_size=60),
    topn=st.integers(1, 20),
)
def test_the_best_come_first_and_each_once(scores, topn):
    found = list(best_first(np.array(scores), topn))
    assert found == [i for i in np.argsort(-np.array(scores), kind="stable").tolist() if scores[i] > -np.inf]


def test_a_snippet_is_the_part_with_the_words_and_marks_them_as_they_are_written():
    words = [f"w{i}" for i in range(100)]
    text = " ".join(words).replace("w70", "W70,")
    shown = cut_snippet(text, words, {"w70": 1.0})
    assert "**W70**, w71" in shown
    assert shown.startswith("… w67")
    assert shown.endswith(" …")


def test_what_is_quoted_is_found():
    assert quoted_in('"new york" and "" or "x"') == ["new york", "x"]
