"""What type checkers know of the public face. The tests run this module, and ``mypy`` checks it: a call that it should
refuse has a comment, which is an error of its own where the call passes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type, get_args

import numpy as np
import pytest

import psdvec
from psdvec.arrays import Float32s
from psdvec.formats import FORMATS, Format
from psdvec.vectors.embeddings import Ranking

TEXT = ["to be or not to be", "the king and the queen are not to be", "the queen is to be the king"] * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts, a model, plain vectors in a folder and in a file, an index and topics."""
    home = tmp_path_factory.mktemp("kinds")
    counts = psdvec.count_pairs(TEXT, min_count=1, window=3, output=home / "counts", quiet=True)
    model = psdvec.fit(counts, dim=3, output=home / "model", quiet=True)
    plain = psdvec.Embeddings(model.words, model.vectors)
    plain.save(home / "plain")
    plain.save(home / "vectors.txt")
    psdvec.DocumentIndex.build(TEXT, model=model, output=home / "index", quiet=True)
    psdvec.topics(model, TEXT, 2, min_documents=1, quick=True, output=home / "topics", quiet=True)
    return home


def test_what_was_expected_is_what_is_returned(folder: Path) -> None:
    assert_type(psdvec.load(folder / "model"), Any)
    model = assert_type(psdvec.load(folder / "model", psdvec.Model), psdvec.Model)
    assert isinstance(model, psdvec.Model)
    assert psdvec.load(folder / "model", expected=psdvec.Embeddings) == model
    assert len(assert_type(psdvec.load(folder / "vectors.txt", psdvec.Embeddings), psdvec.Embeddings)) == len(
        model
    )
    counts = assert_type(psdvec.load(str(folder / "counts"), psdvec.Cooccurrence), psdvec.Cooccurrence)
    assert counts.vocabulary.words == model.words
    assert len(assert_type(psdvec.load(folder / "index", psdvec.DocumentIndex), psdvec.DocumentIndex)) == len(
        TEXT
    )
    assert assert_type(psdvec.load(folder / "topics", psdvec.Topics), psdvec.Topics).space.words


@pytest.mark.parametrize(
    ("name", "expected", "told"),
    [
        ("counts", psdvec.Model, "holds Cooccurrence, and Model was expected; give another path, or"),
        ("plain", psdvec.Model, "holds Embeddings, and Model was expected"),
        ("model", psdvec.Cooccurrence, "holds Model, and Cooccurrence was expected"),
        ("vectors.txt", psdvec.Model, "holds at most Embeddings, and Model was expected"),
        ("index", dict, "holds DocumentIndex, and dict was expected"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(folder: Path, name: str, expected: type, told: str) -> None:
    with pytest.raises(psdvec.PSDVecError, match=f"{name}' {told}"):
        psdvec.load(folder / name, expected)
    with pytest.raises(psdvec.PSDVecError, match="cannot read"):
        psdvec.load(folder / "nowhere", expected)


def test_answers_have_the_types_that_their_options_ask_for() -> None:
    e = psdvec.Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    assert_type(e.most_similar("a"), Ranking)
    assert_type(e.most_similar("a", topn=1, clip_start=1, clip_end=None), Ranking)
    assert_type(e.most_similar("a", topn=None), Float32s)
    assert_type(e.get_index("a"), int)
    assert_type(e.get_index("c", "none"), int | str)
    assert_type(e.cosine_similarities(e["a"], e.vectors), Float32s)


def test_options_of_saving_are_known(folder: Path) -> None:
    e = psdvec.Embeddings(("a", "b c"), np.eye(2, dtype=np.float32))
    e.save(folder / "saved.txt", format="text", spaces="_", overwrite=True)
    psdvec.save(e, folder / "saved.npz", format="npz", overwrite=True)
    misuses: list[Callable[[], None]] = [
        lambda: e.save(folder / "x", format="safetensors"),  # type: ignore[arg-type]
        lambda: psdvec.save(e, folder / "x", format="word2vec"),  # type: ignore[arg-type]
        lambda: e.save(folder / "x", overwrite="no"),  # type: ignore[arg-type]
        lambda: e.save(folder / "x", fromat="text"),  # type: ignore[call-arg]
    ]
    for misuse in misuses:
        with pytest.raises((psdvec.PSDVecError, TypeError)):
            misuse()
    with pytest.raises(AttributeError):
        e.wv["a"]  # type: ignore[attr-defined]


def test_the_formats_that_type_checkers_know_are_those_of_the_table() -> None:
    assert get_args(Format) == FORMATS
