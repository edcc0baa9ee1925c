from __future__ import annotations

import csv
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psdvec
from psdvec.documents import rows
from psdvec.documents.rows import make_cutter
from psdvec.documents.vectorize import Summary, vectorize, vectorize_file
from psdvec.errors import InputError
from psdvec.text.tokenizers import split_words
from psdvec.topic_model.documents import Files
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import common_direction, mean_vectors, sif_weights, without_direction

WORDS = ("the", "cat", "sat")
TEXTS = ["the cat", "sat", "", "cat sat the", "the the cat", "nothing here"]


def toy(**more: Any) -> Embeddings:
    vectors = np.array([[1, 0], [0, 1], [2, 2]], dtype=np.float32)
    return Embeddings(WORDS, vectors, np.array([8, 1, 1]), tokenizer="unicode", **more)


def read_table(path: Path) -> dict[str, tuple[Any, Any]]:
    """What a file holds: by id, the vector and the deviation."""
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        return {one["id"]: (one["vector"], one["deviation"]) for one in records}
    if path.suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        return {one["id"]: (one["vector"], one["deviation"]) for one in parquet.read_table(path).to_pylist()}
    with path.open() as file:
        found = {}
        for one in csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","):
            cells = [one[name] for name in one if name.startswith("vector")]
            vector = [float(cell) for cell in cells] if cells[0] else None
            found[one["id"]] = vector, float(one["deviation"]) if one["deviation"] else None
        return found


@given(st.lists(st.text(alphabet="ab .'\n\u0301é-x", max_size=12), max_size=6))
def test_texts_that_are_cut_at_once_are_cut_as_each_by_itself(texts: list[str]):
    for tokenizer in ("unicode", "unicode-cased", "paper", "whitespace"):
        found = make_cutter(tokenizer)(texts)
        words = [word.decode() for word in found.words.encoded()]
        cut = [
            [words[i] for i in found.ids[begin:end]]
            for begin, end in zip(found.starts, found.starts[1:], strict=False)
        ]
        assert cut == [split_words(text, tokenizer=tokenizer) for text in texts]


def test_vectors_are_means_of_known_words_and_empty_documents_are_named():
    found = vectorize(toy(), TEXTS, quiet=True)
    assert found.vectors == pytest.approx(mean_vectors(toy(), [text.split() for text in TEXTS]))
    assert found.empty == ("2", "5")
    assert found.words.tolist() == [2, 1, 0, 3, 3, 2]
    assert found.known.tolist() == [2, 1, 0, 3, 3, 0]
    assert found.deviations is None


def test_the_deviation_of_a_document_is_that_of_a_mean_of_words_that_err_each_by_itself():
    e = toy(deviations=np.array([0.1, 0.2, np.nan], np.float32))
    (found,) = vectorize(e, ["the the cat sat"], quiet=True).deviations.tolist()
    assert found == pytest.approx(math.sqrt((2 * 0.1) ** 2 + 0.2**2) / 4)
    errors = np.random.default_rng(0).standard_normal((20_000, 3)) * [0.1, 0.2, 0]
    assert (errors @ [2, 1, 1] / 4).std() == pytest.approx(found, rel=0.05)


def test_tfidf_weighs_words_by_the_documents_that_have_them():
    found = vectorize(toy(), TEXTS, weighting="tfidf", quiet=True)
    having = Counter(word for text in TEXTS for word in set(text.split()))
    weights = np.array([1 + math.log(7 / (1 + having[word])) for word in WORDS], np.float32)
    assert found.vectors == pytest.approx(
        mean_vectors(toy(), [text.split() for text in TEXTS], weights=weights), abs=1e-6
    )


def test_sif_takes_the_common_direction_of_all_documents_away():
    means = mean_vectors(toy(), [text.split() for text in TEXTS], weights=sif_weights(toy()))
    expected = without_direction(means, common_direction(means.T.astype(float) @ means))
    assert vectorize(toy(), TEXTS, weighting="sif", quiet=True).vectors == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("weighting", ["mean", "sif", "tfidf"])
def test_any_number_of_workers_gives_the_same_bytes(
    tmp_path: Path, workers: int, weighting: Any, monkeypatch
):
    monkeypatch.setattr(rows, "_ROWS", 3)
    generator = np.random.default_rng(1)
    e = Embeddings(
        tuple("abcdefgh"), generator.standard_normal((8, 5)).astype(np.float32), tokenizer="unicode"
    )
    texts = [" ".join(generator.choice(list("abcdefghij"), 7)) for _ in range(50)]
    for name, number in (("one", 1), ("more", workers)):
        vectorize_file(e, texts, tmp_path / f"{name}.jsonl", weighting=weighting, workers=number, quiet=True)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "more.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.tsv", "out.parquet"])
def test_every_format_keeps_ids_and_each_bit_and_leaves_out_vectors_that_are_none(tmp_path: Path, name: str):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    e = toy(deviations=np.array([0.1, 0.2, 1e-9], np.float32))
    records = [{"id": f"é,{i}", "text": text} for i, text in enumerate(TEXTS)]
    memory = vectorize(e, records, quiet=True)
    summary = vectorize_file(e, records, tmp_path / name, quiet=True)
    assert summary == Summary(6, 11, 9, 2, named=("é,2", "é,5"))
    found = read_table(tmp_path / name)
    assert list(found) == list(memory.ids) == [f"é,{i}" for i in range(6)]
    for i, (vector, deviation) in enumerate(found.values()):
        if i in (2, 5):
            assert (vector, deviation) == (None, None)
        else:
            assert np.float32(vector).tolist() == memory.vectors[i].tolist()
            assert np.float32(deviation) == memory.deviations[i]


def test_a_matrix_has_a_row_of_zeros_where_there_is_no_vector_and_that_is_said(tmp_path: Path, caplog):
    caplog.set_level("INFO", logger="psdvec")
    (tmp_path / "text").write_text("\n".join(TEXTS) + "\n")
    vectorize_file(toy(), Files((str(tmp_path / "text"),)), tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").tolist() == vectorize(toy(), TEXTS).vectors.tolist()
    assert "without a known word: 2 of 6 documents (3, 6); their rows are zeros" in caplog.text


def test_text_records_and_tables_are_documents(tmp_path: Path):
    (tmp_path / "plain").write_text("the cat\nsat\n")
    (tmp_path / "a.csv").write_text("key,text,note\na,the cat,cat\nb,sat,sat\n")
    (tmp_path / "a.jsonl").write_text('{"text": "the cat", "key": "a"}\n{"text": "sat", "key": "b"}\n')
    plain = vectorize(toy(), Files((str(tmp_path / "plain"),)), quiet=True)
    for name in ("a.csv", "a.jsonl"):
        found = vectorize(toy(), Files((str(tmp_path / name),)), id="key", quiet=True)
        assert found.vectors.tolist() == plain.vectors.tolist()
        assert (found.ids, plain.ids) == (("a", "b"), ("1", "2"))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({"target": "a.txt"}, r"does not say what to write; give a name that ends in \.npy, \.jsonl"),
        ({"id": "key"}, "no document has a field 'key' with its id"),
        ({"column": "body"}, "row 0 has no text in field 'body'"),
        ({"weighting": "bm25"}, "weighting is 'bm25'; choose one of mean, sif, tfidf"),
        (
            {"documents": [{"text": "the"}, {"text": None}]},
            "row 1 has None in field 'text', which is no text",
        ),
        ({"documents": []}, "there are no documents"),
        ({"unseen": "spelling"}, "spelling"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_left(tmp_path: Path, call: dict[str, Any], sentence: str):
    given = {"documents": [{"text": "the cat"}], "target": "out.jsonl", **call}
    target = tmp_path / given.pop("target")
    with pytest.raises(InputError, match=sentence):
        vectorize_file(toy(), given.pop("documents"), target, quiet=True, **given)
    assert not list(tmp_path.iterdir())


def test_an_output_that_exists_is_kept(tmp_path: Path):
    (tmp_path / "out.npy").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        vectorize_file(toy(), ["the"], tmp_path / "out.npy")
    assert (tmp_path / "out.npy").read_text() == "precious"


def test_documents_that_change_between_two_looks_are_refused(monkeypatch):
    reads = iter([["the cat", "sat"], ["the cat"]])
    monkeypatch.setattr("psdvec.documents.rows.read_texts", lambda *_, **__: (
        (str(i), text, {"text": text}) for i, text in enumerate(next(reads))
    ))  # fmt: skip
    with pytest.raises(InputError, match="the documents were 2 and then 1"):
        vectorize(toy(), ["the cat", "sat"], weighting="sif", quiet=True)


def test_a_frame_has_a_row_for_each_document():
    pytest.importorskip("pandas")
    frame = psdvec.vectorize(toy(deviations=np.ones(3, np.float32)), TEXTS, quiet=True).to_frame()
    assert list(frame.columns) == ["words", "known", "deviation", "v0", "v1"]
    assert frame.loc["0"].tolist() == pytest.approx([2, 2, math.sqrt(0.5), 0.5, 0.5])
    assert frame.loc[["2", "5"], "v0"].isna().all()
