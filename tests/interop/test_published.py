"""A published folder in the programs that it is meant for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError
from psdvec.vectors.embeddings import Embeddings

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def published(e: Embeddings, tmp_path: Path) -> Path:
    formats = ["vec", "projector"]
    psdvec.publish(e, tmp_path / "out", formats=formats, license="cc0-1.0", languages=["en"], quiet=True)
    return tmp_path / "out"


@pytest.fixture
def rounded(e: Embeddings, tmp_path: Path) -> Path:
    psdvec.publish(e, tmp_path / "small", quantize="int8", quiet=True)
    return tmp_path / "small"


def test_model2vec_loads_it(consumer, e: Embeddings, published: Path):
    model = consumer("model2vec").StaticModel.from_pretrained(published, normalize=False)
    single = [word for word in e.words if word.isalpha()]
    assert np.array_equal(model.encode(single), e[single])


def test_model2vec_multiplies_eight_bits_by_their_steps(consumer, e: Embeddings, rounded: Path):
    model = consumer("model2vec").StaticModel.from_pretrained(rounded, normalize=False)
    single = [word for word in e.words if word.isalpha()]
    assert model.encode(single) == pytest.approx(psdvec.load(rounded)[single], abs=1e-6)


def test_sentence_transformers_loads_it(consumer, e: Embeddings, published: Path):
    model = consumer("sentence_transformers").SentenceTransformer(str(published), device="cpu")
    single = [word for word in e.words if word.isalpha()]
    assert np.array_equal(model.encode(single), e[single])


def test_sentence_transformers_does_not_take_codes_for_vectors(consumer, rounded: Path):
    transformer = consumer("sentence_transformers").SentenceTransformer
    with pytest.raises(Exception, match=r".+"):
        transformer(str(rounded), device="cpu", local_files_only=True)


def test_gensim_loads_the_text_format(consumer, e: Embeddings, published: Path):
    vectors = consumer("gensim.models").KeyedVectors.load_word2vec_format(published / "vectors.vec")
    assert vectors.index_to_key == list(e.words)
    assert np.array_equal(vectors.vectors, e.vectors)


def test_spacy_makes_a_pipeline_by_the_command_in_the_card(consumer, e: Embeddings, published: Path):
    spacy = consumer("spacy")
    card = (published / "README.md").read_text(encoding="utf-8")
    (command,) = [line for line in card.splitlines() if line.startswith("python -m spacy")]
    words = command.replace("folder/", f"{published.name}/").split()[1:]
    done = subprocess.run(
        [sys.executable, *words], cwd=published.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    vocabulary = spacy.load(published.parent / "spacy-vectors").vocab
    assert all(np.array_equal(vocabulary.get_vector(word), e[word]) for word in e.words)


@pytest.mark.parametrize("languages", [["en"], []])
def test_spacy_opens_the_pipeline(consumer, e: Embeddings, languages: list[str], tmp_path: Path):
    spacy = consumer("spacy")
    psdvec.publish(e, tmp_path / "out", formats=["spacy"], languages=languages, quiet=True)
    nlp = spacy.load(tmp_path / "out" / "spacy")
    assert nlp.lang == (languages or ["xx"])[0]
    assert all(np.array_equal(nlp.vocab.get_vector(word), e[word]) for word in e.words)
    assert nlp("the king").similarity(nlp("the king")) == pytest.approx(1)
    assert 'spacy.load("folder/spacy")' in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_language_that_spacy_does_not_know_is_named(consumer, e: Embeddings, tmp_path: Path):
    consumer("spacy")
    with pytest.raises(InputError, match="spaCy has no rules for 'nv'"):
        psdvec.publish(e, tmp_path / "out", formats=["spacy"], languages=["nv"], quiet=True)
    assert not (tmp_path / "out").exists()


def test_pandas_reads_the_table(consumer, e: Embeddings, tmp_path: Path):
    consumer("pyarrow")
    pandas = consumer("pandas")
    psdvec.publish(e, tmp_path / "out", formats=["parquet"], quiet=True)
    table = pandas.read_parquet(tmp_path / "out" / "words.parquet")
    assert table["word"].tolist() == list(e.words)
    assert table["nearest"][1].tolist() == [word for word, _ in e.most_similar("king", topn=10)]


def test_the_hub_reads_the_metadata(consumer, published: Path):
    data = consumer("huggingface_hub").ModelCard.load(published / "README.md").data
    assert (data.license, data.language, data.library_name) == ("cc0-1.0", ["en"], "model2vec")
