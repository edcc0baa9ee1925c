from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors.test_lookup import SCRIPTS, TEXT, counted, vectors_of

from psdvec.formats import load, save
from psdvec.text.tokenizers import TOKENIZERS
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


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_every_word_is_found_in_a_text_there_too(static_model, tokenizer: str, tmp_path: Path):
    """As in tests/vectors/test_lookup.py, but read by the package itself."""
    e = vectors_of(counted(TEXT, tokenizer, tmp_path), tokenizer)
    save(e, tmp_path / "m", format="model2vec")
    model = static_model.from_pretrained(tmp_path / "m", normalize=False)
    assert np.array_equal(model.encode(list(e.words)), e.vectors)


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_package_cuts_any_text_as_counting_does(consumer, tokenizer: str, tmp_path: Path):
    e = vectors_of(counted(TEXT + SCRIPTS, tokenizer, tmp_path), tokenizer)
    save(e, tmp_path / "m", format="model2vec")
    there = consumer("tokenizers").Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))

    @settings(max_examples=300)
    @given(st.text(alphabet=SCRIPTS, max_size=40))
    def check(text: str):
        found = [word for word in there.encode(text, add_special_tokens=False).tokens if word in e]
        assert found == [word for word in e.tokenize(text) if word in e]

    check()
