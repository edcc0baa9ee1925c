from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import mean_vectors

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def sentence_transformer(consumer):
    return consumer("sentence_transformers").SentenceTransformer


@pytest.fixture
def static_embedding(consumer):
    return consumer("sentence_transformers.models").StaticEmbedding


def test_sentence_transformers_loads_our_folder(sentence_transformer, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "m", format="model2vec")
    model = sentence_transformer(str(tmp_path / "m"), device="cpu")
    assert model.get_sentence_embedding_dimension() == e.dim
    single = [word for word in e.words if word.isalpha()]
    assert np.array_equal(model.encode(single), e[single])


def test_static_embedding_loads_our_folder(
    static_embedding, sentence_transformer, e: Embeddings, tmp_path: Path
):
    save(e, tmp_path / "m", format="model2vec")
    module = static_embedding.from_model2vec(str(tmp_path / "m"))
    model = sentence_transformer(modules=[module], device="cpu")
    assert np.array_equal(model.encode(["king"]), e[["king"]])


def test_we_load_what_sentence_transformers_saves(sentence_transformer, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "ours", format="model2vec")
    sentence_transformer(str(tmp_path / "ours"), device="cpu").save_pretrained(str(tmp_path / "theirs"))
    found = load(tmp_path / "theirs")
    assert found.words == e.words
    assert np.array_equal(found.vectors, e.vectors)


def test_unknown_words_count_there_as_zeros(sentence_transformer, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "m", format="model2vec")
    model = sentence_transformer(str(tmp_path / "m"), device="cpu")
    known = mean_vectors(e, [["the", "king"]])
    assert model.encode(["The king", "unheard"])[0] == pytest.approx(known[0], abs=1e-6)
    assert not model.encode(["unheard"]).any()
