"""What ``bench_topics.py`` measures: coherence as OCTIS has it, and words that two lists of topics share."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.bench.bench_topics import shared_words
from benchmarks.studies.octis_npmi import octis_coherence

from psdvec.topic_model.topics import coherence
from tests.helpers import needs_gensim
from tests.topic_model.test_quality import documents_of


@needs_gensim
def test_coherence_is_that_of_gensim_where_words_come_twice_in_a_window():
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    rng = np.random.default_rng(0)
    numbers = [rng.integers(0, 20, rng.integers(1, 40)).tolist() for _ in range(60)]
    texts = [[f"w{i}" for i in text] for text in numbers]
    chosen = [rng.choice(20, 5, replace=False) for _ in range(4)]
    theirs = CoherenceModel(
        topics=[[f"w{i}" for i in ids] for ids in chosen], texts=texts, dictionary=Dictionary(texts),
        coherence="c_npmi", topn=5, processes=1,
    ).get_coherence()  # fmt: skip
    documents = documents_of(numbers)
    assert octis_coherence(documents, chosen, words=20) == pytest.approx(theirs, abs=1e-12)
    assert coherence(documents, chosen, words=20).mean() != pytest.approx(theirs, abs=1e-3)


def test_topics_are_matched_so_that_they_share_most():
    first = [["a", "b"], ["c", "d"]]
    assert shared_words(first, [["d", "c"], ["b", "x"]]) == 0.75
    assert shared_words(first, [["a", "b"]]) == 0.5  # a topic without a match shares nothing
