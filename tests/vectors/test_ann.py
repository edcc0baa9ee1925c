from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psdvec.vectors.embeddings import Embeddings

pytest.importorskip("usearch")

from psdvec.errors import InputError
from psdvec.vectors.ann import build_index, load_index


def clustered() -> Embeddings:
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((40, 16)).repeat(50, axis=0)
    vectors = (centres + 0.4 * generator.standard_normal(centres.shape)).astype(np.float32)
    return Embeddings(tuple(f"w{i}" for i in range(len(vectors))), vectors)


def test_the_index_finds_nearly_all_true_neighbours():
    e = clustered()
    words = list(e.words[::20])
    exact, found = e.most_similar_many(words), build_index(e).most_similar_many(words)
    shared = [len({w for w, _ in a} & {w for w, _ in b}) for a, b in zip(exact, found, strict=True)]
    assert sum(shared) >= 0.95 * 10 * len(words)
    assert found[0][0][1] == pytest.approx(exact[0][0][1], abs=1e-4)
    assert all(word not in {w for w, _ in ranking} for word, ranking in zip(words, found, strict=True))


def test_one_word_is_answered_as_many_are():
    index = build_index(clustered())
    assert index.most_similar_many(["w3"], topn=3) == index.most_similar_many(["w3", "w4"], topn=3)[:1]


def test_an_index_is_mapped_back_and_belongs_to_its_vectors(tmp_path: Path):
    e = clustered()
    index = build_index(e)
    index.save(tmp_path / "index")
    with pytest.raises(InputError, match="exists already"):
        index.save(tmp_path / "index")
    index.save(tmp_path / "index", overwrite=True)
    again = load_index(e, tmp_path / "index")
    assert again.most_similar_many(["w7", "w8"]) == index.most_similar_many(["w7", "w8"])
    with pytest.raises(InputError, match="not built from these vectors"):
        load_index(e.select(e.words[:10]), tmp_path / "index")
    with pytest.raises(InputError, match="there is no index"):
        load_index(e, tmp_path / "none")
