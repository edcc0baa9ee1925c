from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import mean_vectors

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def static_model(consumer):
    return consumer("model2vec").StaticModel


def test_model2vec_loads_our_folder(static_model, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "m", format="model2vec")
    model = static_model.from_pretrained(tmp_path / "m", normalize=False)
    assert model.dim == e.dim
    single = [word for word in e.words if word.isalpha()]
    assert np.array_equal(model.encode(single), e[single])


def test_a_text_is_the_mean_of_its_known_words_there_too(static_model, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "m", format="model2vec")
    model = static_model.from_pretrained(tmp_path / "m")
    found = model.encode(["The king, unheard-of!", "nothing known"])
    assert found == pytest.approx(mean_vectors(e, [["the", "king"], []]), abs=1e-6)


def test_we_load_what_model2vec_saves(static_model, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "ours", format="model2vec")
    static_model.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    found = load(tmp_path / "theirs")
    assert found.words == e.words
    assert np.array_equal(found.vectors, e.vectors)
