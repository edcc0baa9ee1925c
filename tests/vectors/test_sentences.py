from __future__ import annotations

import numpy as np
import pytest

from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import (
    common_direction,
    make_tokenizer,
    mean_vectors,
    sif_weights,
    without_direction,
)


def toy() -> Embeddings:
    vectors = np.array([[1, 0], [0, 1], [2, 2]], dtype=np.float32)
    return Embeddings(("the", "cat", "sat"), vectors, np.array([8, 1, 1]))


def test_a_sentence_is_the_mean_of_its_known_words():
    assert mean_vectors(toy(), [["the", "cat"], ["sat", "sat", "?"], []]).tolist() == [
        [0.5, 0.5],
        [2, 2],
        [0, 0],
    ]


def test_weights_scale_words_and_the_count_still_divides():
    weights = np.array([0.5, 1, 1], dtype=np.float32)
    assert mean_vectors(toy(), [["the", "cat"]], weights=weights).tolist() == [[0.25, 0.5]]


def test_sif_weighs_by_smooth_inverse_frequency():
    assert sif_weights(toy(), a=0.1) == pytest.approx([0.1 / 0.9, 0.5, 0.5])


def test_sif_without_counts_uses_ranks():
    e = Embeddings(("the", "cat"), np.eye(2, dtype=np.float32))
    assert sif_weights(e, a=1.0) == pytest.approx([1 / (1 + 2 / 3), 1 / (1 + 1 / 3)])


def test_what_is_left_has_nothing_along_the_common_direction():
    vectors = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32) + 1
    direction = common_direction(vectors.T.astype(float) @ vectors)
    assert np.linalg.norm(direction) == pytest.approx(1)
    assert without_direction(vectors, direction) @ direction == pytest.approx(np.zeros(50), abs=1e-5)


def test_capitals_in_the_vocabulary_keep_the_case_of_the_text():
    assert make_tokenizer(toy())("The cat's 2 hats.") == ["the", "cat's", "2", "hats"]
    cased = Embeddings(("Paris",), np.ones((1, 2), dtype=np.float32))
    assert make_tokenizer(cased)("In Paris") == ["In", "Paris"]
