"""Coherence against a slow count, and against gensim's."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.topic_model.topics import WINDOW, coherence, npmi
from tests.helpers import needs_gensim


def slowly(texts: list[list[int]], topic: list[int]) -> float:
    """Return the mean NPMI of all pairs of ``topic``, window by window."""
    windows = [
        set(text[i : i + WINDOW]) for text in texts for i in range(max(len(text) - WINDOW, 0) + 1) if text
    ]
    total = max(len(windows), 1)

    def share(*words: int) -> float:
        return sum(set(words) <= window for window in windows) / total

    def of(a: int, b: int) -> float:
        joint = share(a, b) + 1e-12
        return math.log(joint / (max(share(a), 1e-12) * max(share(b), 1e-12))) / -math.log(joint)

    return float(np.mean([of(a, b) for a, b in combinations(topic, 2)]))


def documents_of(texts: list[list[int]]):
    from psdvec.topic_model.documents import Documents

    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    tokens = np.array([word for text in texts for word in text], dtype=np.int32)
    return Documents(tuple(map(str, range(len(texts)))), tokens, starts, {})


@given(
    st.lists(st.lists(st.integers(-1, 7), max_size=25), min_size=1, max_size=5),
    st.lists(st.permutations(range(8)).map(lambda words: words[:3]), min_size=1, max_size=3),
)
def test_coherence_is_the_mean_npmi_of_pairs_in_windows(texts, topics):
    found = coherence(documents_of(texts), [np.array(topic) for topic in topics], words=8)
    assert found == pytest.approx([slowly(texts, topic) for topic in topics], abs=1e-9)


def test_words_always_together_have_1_and_words_never_together_nearly_minus_1():
    together = [[0, 1], [2], [3, 2]]
    assert coherence(documents_of(together), [np.array([0, 1])], words=4)[0] == pytest.approx(1, abs=1e-6)
    assert coherence(documents_of(together), [np.array([0, 2])], words=4)[0] < -0.9
    assert np.isnan(coherence(documents_of(together), [np.array([0])], words=4)[0])


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_independent_words_have_0(a: float, b: float):
    assert npmi(np.array([[a, a * b], [a * b, b]]))[0, 1] == pytest.approx(0, abs=1e-9)


@needs_gensim
def test_gensim_finds_the_same_coherence_where_no_word_comes_twice_in_a_window():
    """Where one does, gensim forgets it as soon as its first occurrence leaves the window, and counts too little."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    rng = np.random.default_rng(0)
    numbers = [rng.permutation(40)[: rng.integers(1, 40)].tolist() for _ in range(60)]
    texts = [[f"w{i}" for i in text] for text in numbers]
    chosen = [rng.choice(40, 5, replace=False) for _ in range(4)]
    theirs = CoherenceModel(
        topics=[[f"w{i}" for i in ids] for ids in chosen], texts=texts, dictionary=Dictionary(texts),
        coherence="c_npmi", topn=5, processes=1,
    ).get_coherence_per_topic()  # fmt: skip
    assert coherence(documents_of(numbers), chosen, words=40) == pytest.approx(theirs, abs=1e-9)
