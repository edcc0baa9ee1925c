"""Words left out and placed by other means: ``benchmarks/bench/bench_extend.py``."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.bench.bench_extend import a_la_carte, without
from hypothesis import assume, given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs
from psdvec.vectors.embeddings import Embeddings

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=8), min_size=1, max_size=10)


@pytest.mark.slow
@given(SENTENCES, st.sets(st.sampled_from("abcdef"), max_size=3))
def test_counts_without_some_words_are_those_of_the_other_words_alone(sentences, out):
    counts = count_pairs(sentences, min_count=1, quiet=True)
    left = [word for word in counts.vocabulary.words if word not in out]
    assume(left)
    alone = count_pairs(sentences, vocabulary=left, quiet=True)
    rest = without(counts, out)
    assert {word: rest.row(word) for word in left} == {word: alone.row(word) for word in left}


def test_a_word_with_the_contexts_of_another_is_placed_where_the_map_puts_that_one():
    """With as many dimensions as words, the map puts every fitted word exactly where it was fitted."""
    rng = np.random.default_rng(0)
    with_x = [[*rng.choice([*"abcde"], 2), "x", *rng.choice([*"abcde"], 2)] for _ in range(40)]
    with_y = [["y" if word == "x" else word for word in sentence] for sentence in with_x]
    counts = count_pairs([*with_x, *with_y, *rng.choice([*"abcde"], (40, 5)).tolist()], quiet=True)
    fitted = Embeddings(tuple("abcdex"), rng.standard_normal((6, 6)).astype(np.float32))
    placed = a_la_carte(fitted, counts, ["y"])
    assert placed.words == tuple("abcdexy")
    np.testing.assert_allclose(placed["y"], fitted["x"], atol=1e-3)
    np.testing.assert_array_equal(placed.vectors[:-1], fitted.vectors)
