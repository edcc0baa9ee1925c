from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psdvec.errors import InputError
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import (
    Summary,
    common_direction,
    make_tokenizer,
    mean_vectors,
    sif_weights,
    vectorize_file,
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


def test_a_file_in_blocks_equals_the_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "text").write_text("the cat\nsat\n\ncat sat the\nthe the cat\n")
    summary = vectorize_file(toy(), tmp_path / "text", tmp_path / "whole.npy", weighting="sif")
    monkeypatch.setattr("psdvec.vectors.sentences._LINES", 2)
    vectorize_file(toy(), tmp_path / "text", tmp_path / "blocks.npy", weighting="sif")
    whole, blocks = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "blocks.npy")
    assert summary == Summary(lines=5, words=9, known=9, empty=1)
    assert whole.shape == (5, 2)
    assert whole == pytest.approx(blocks, abs=1e-6)
    means = mean_vectors(
        toy(),
        [s.split() for s in ("the cat", "sat", "", "cat sat the", "the the cat")],
        weights=sif_weights(toy()),
    )
    expected = without_direction(means, common_direction(means.T.astype(float) @ means))
    assert whole == pytest.approx(expected, abs=1e-6)


def test_records_and_rows_are_lines(tmp_path: Path):
    (tmp_path / "plain").write_text("the cat\nsat\n")
    (tmp_path / "a.csv").write_text("id,text,note\n1,the cat,cat\n2,sat,sat\n")
    (tmp_path / "a.jsonl").write_text('{"text": "the cat", "id": "sat"}\n{"text": "sat"}\n')
    for name in ("plain", "a.csv", "a.jsonl"):
        vectorize_file(toy(), tmp_path / name, tmp_path / f"{name}.npy")
        assert np.load(tmp_path / f"{name}.npy").tolist() == np.load(tmp_path / "plain.npy").tolist()
    with pytest.raises(InputError, match=r"has no column 'body' .*column=\"NAME\""):
        vectorize_file(toy(), tmp_path / "a.csv", tmp_path / "b.npy", column="body")


def test_an_output_that_exists_is_kept(tmp_path: Path):
    (tmp_path / "text").write_text("the\n")
    (tmp_path / "out.npy").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        vectorize_file(toy(), tmp_path / "text", tmp_path / "out.npy")
    assert (tmp_path / "out.npy").read_text() == "precious"
