"""Ranking: BM25 against a slow twin, the order of hits, and snippets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.counts.vocabulary import WordList
from psdvec.search.index import DocumentIndex
from psdvec.search.rank import (
    K1,
    B,
    add_bm25,
    add_cosines,
    best_first,
    best_of,
    counts_in,
    quoted_in,
    spread_of,
)
from psdvec.search.segments import coded, find_bytes
from psdvec.text.concordance import cut_snippet
from tests.reference import search as slow

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
    scores=st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0]), min_size=1, max_size=60),
    topn=st.integers(1, 20),
)
def test_the_best_come_first_and_each_once(scores, topn):
    found = list(best_first(np.array(scores, np.float32), topn))
    assert found == [i for i in np.argsort(-np.array(scores), kind="stable").tolist() if scores[i] > 0]


def test_a_snippet_is_the_part_with_the_words_and_marks_them_as_they_are_written():
    words = [f"w{i}" for i in range(100)]
    text = " ".join(words).replace("w70", "W70,")
    shown = cut_snippet(text, words, {"w70": 1.0})
    assert "**W70**, w71" in shown
    assert shown.startswith("… w67")
    assert shown.endswith(" …")


def test_a_snippet_is_short_whatever_stands_around_and_between_the_words():
    much = "= " * 50_000
    text = f"{much}the {much} cat {'x' * 50_000} sat {much}"
    shown = cut_snippet(text, ["the", "cat", "x" * 50_000, "sat"], {"the": 1.0, "sat": 1.0})
    assert len(shown) < 1000
    assert [piece for place, piece in enumerate(shown.split("**")) if place % 2] == ["the", "sat"]
    assert shown.startswith("… =")
    assert shown.endswith("= …")
    assert len(cut_snippet("nothing", ["z" * 50_000], {"z" * 50_000: 1.0})) < 1000


def test_words_that_nothing_stands_between_are_marked_as_one():
    assert cut_snippet("北京大 a", [*"北京大a"], dict.fromkeys("北京a", 1.0)) == "**北京**大 **a**"
    assert cut_snippet("**so** it is", ["**so**", "it", "is"], {"**so**": 1.0}) == "*** *so* *** it is"


def test_what_is_quoted_is_found():
    assert quoted_in('"new york" and "" or "x"') == ["new york", "x"]
    assert quoted_in("„das Boot“ or “das Boot” or \u201cit") == ["das Boot"]


def read_only(*arrays):
    """Arrays as they come from a mapped file."""
    for array in arrays:
        array.flags.writeable = False
    return arrays


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), m=st.integers(1, 12), terms=st.integers(0, 4))
def test_terms_add_what_the_slow_twin_says(seed, m, terms):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, size=(8, m)) * rng.integers(0, 2, size=(8, 1))  # words that nothing has, too
    words, documents = np.nonzero(table)
    ends = np.cumsum((table > 0).sum(axis=1))
    lying = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 4, size=terms))]).astype(np.int64)
    spans = lying[rng.integers(0, 8, size=starts[-1])].astype(np.int64).reshape(-1, 2)
    weights, factors = (rng.random(n).astype(np.float32) for n in (starts[-1], terms))
    own = rng.choice([0, 0.5, 1], size=terms).astype(np.float32)
    weights[starts[:-1][own > 0]] = 1
    norms = rng.random(m).astype(np.float32) + np.float32(0.1)
    given = read_only(
        norms, documents.astype(np.int32), table[words, documents].astype(np.int32),
        starts, spans, weights, factors, own,
    )  # fmt: skip
    scores, soft = np.zeros(m, np.float32), np.zeros(m, np.float32)
    assert add_bm25(scores, soft, *given)
    assert scores == pytest.approx(slow.bm25(*given), rel=1e-5, abs=1e-6)
    assert not soft.any()


def test_postings_of_documents_that_are_not_there_are_told():
    one, span = np.ones(1, np.float32), np.array([[0, 1]])
    for document in (-1, 2):
        for own in (0, 1):
            told = add_bm25(
                np.zeros(2, np.float32), np.zeros(2, np.float32), np.ones(2, np.float32),
                np.array([document], np.int32), np.ones(1, np.int32), np.array([0, 1]), span, one, one,
                np.array([own], np.float32),
            )  # fmt: skip
            assert not told


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), m=st.integers(0, 9), dim=st.sampled_from([1, 16, 100]))
def test_cosines_are_those_of_the_slow_twin_and_spread_is_the_deviation(seed, m, dim):
    rng = np.random.default_rng(seed)
    codes, steps = read_only(*coded(rng.normal(size=(m, dim)).astype(np.float32)))
    query = rng.integers(-1000, 1000, size=codes.shape[1]).astype(np.int16)
    scores = np.zeros(m, np.float32)
    add_cosines(scores, codes, steps, query, np.float32(0.5), np.float32(2), np.float32(-np.inf))
    assert scores == pytest.approx(slow.cosines(codes, steps, query, 0.5, 2), rel=1e-4, abs=1e-3)
    if m:
        assert spread_of(scores) == pytest.approx(scores.astype(float).std(), rel=1e-5, abs=1e-5)


@given(scores=st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0]), max_size=40), k=st.integers(1, 45))
def test_the_best_are_those_of_the_slow_twin(scores, k):
    assert best_of(np.array(scores, np.float32), k).tolist() == slow.best(scores, k)


def test_scores_below_the_least_become_minus_one_and_others_are_as_without_it():
    scores = np.array([3, 1, 2, 1.5], np.float32)
    codes, steps = coded(np.eye(4, 3, dtype=np.float32))
    some, every = scores.copy(), scores.copy()
    given = codes, steps, np.arange(16, dtype=np.int16), np.float32(1), np.float32(0)
    add_cosines(every, *given, np.float32(-np.inf))
    add_cosines(some, *given, np.float32(1.5))
    np.testing.assert_array_equal(some, np.where(scores < 1.5, -1, every))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), topn=st.integers(1, 60), filtered=st.booleans())
def test_documents_that_cannot_be_first_are_left_out_and_no_others(many, seed, topn, filtered):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in rng.zipf(1.4, 3) % 60]
    chosen = rng.random(len(many.collection)) < 0.7 if filtered else None
    found = []
    for most in (None, topn):
        scores = many.collection.bm25(many.collection.terms(words, exact=False))
        many.collection.add_meaning(words, scores, topn=most, chosen=chosen)
        if chosen is not None:
            scores[~chosen] = 0
        first = [one for one, _ in zip(best_first(scores, topn), range(topn), strict=False)]
        found.append((first, scores[first].tolist()))
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def many() -> DocumentIndex:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.3, rng.integers(3, 40)) % 60) for _ in range(300)]
    first = DocumentIndex.build(
        [{"id": str(i), "text": text} for i, text in enumerate(texts[:200])], quiet=True
    )
    return first.add([{"id": str(200 + i), "text": text} for i, text in enumerate(texts[200:])], quiet=True)


@settings(deadline=None)
@given(
    words=st.lists(st.text(alphabet="aäbc", min_size=1, max_size=4), unique=True),
    asked=st.text("aäbc", max_size=4),
)
def test_a_word_is_found_where_it_stands_among_sorted_ones(words, asked):
    words.sort()
    packed = WordList.pack(words)
    place = find_bytes(
        *read_only(packed.blob.copy(), packed.offsets), np.frombuffer(asked.encode(), np.uint8)
    )
    assert place == (words.index(asked) if asked in words else -1)


def test_counts_of_a_document_are_found_in_the_postings_of_each_word():
    documents, counts = read_only(np.array([0, 2, 5, 2], np.int32), np.array([1, 2, 3, 4], np.int32))
    spans = np.array([[0, 3], [3, 4], [3, 3]])
    assert [counts_in(documents, counts, spans, one).tolist() for one in (2, 5, 1)] == [
        [2, 4, 0],
        [3, 0, 0],
        [0, 0, 0],
    ]
