from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import save
from psdvec.vectors.embeddings import Embeddings

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", ["x.vec", "x.vec.gz"])
def test_spacy_init_vectors_takes_our_file(consumer, e: Embeddings, name: str, tmp_path: Path):
    spacy = consumer("spacy")
    save(e, tmp_path / name)
    command = [sys.executable, "-m", "spacy", "init", "vectors", "en", tmp_path / name, tmp_path / "pipeline"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    vocabulary = spacy.load(tmp_path / "pipeline").vocab
    for word in e.words:
        assert np.array_equal(vocabulary.get_vector(word), e[word])
