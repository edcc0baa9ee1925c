"""Files of vectors that were damaged, or made to do harm: refused in one sentence, and never read as something else."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.formats import load, save, word2vec
from psdvec.storage.artefact import map_safetensors, write_safetensors
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import read_model
from psdvec.vectors.neighbours import sparse_vectors
from tests.formats.test_formats import toy
from tests.toy import drawn_counts


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return psdvec.fit(
        drawn_counts(words=20, sentences=100), dim=3, output=tmp_path_factory.mktemp("fit") / "model"
    )


@pytest.mark.parametrize("tensor", ["vectors", "rows"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_of_a_model_that_is_not_finite_is_noticed_when_it_is_opened(model, tmp_path, tensor, value):
    model.save(tmp_path / "model")
    path = tmp_path / "model" / "vectors.safetensors"
    tensors = {name: np.array(array) for name, array in map_safetensors(path).items()}
    tensors[tensor][7, 1] = value
    write_safetensors(path, tensors)
    with pytest.raises(StoreError, match=f"the vector of '{model.words[7]}' is not finite; make it again"):
        psdvec.load(tmp_path / "model")


def test_a_number_of_sparse_vectors_that_is_not_finite_is_noticed(tmp_path):
    from scipy import sparse

    e = Embeddings(
        ("a", "b"), sparse_vectors(sparse.csr_array(np.array([[0, 3e38, 3e38], [0, 1, 0]], np.float32)))
    )
    save(e, tmp_path / "sparse", format="model")
    assert len(read_model(tmp_path / "sparse")) == 2  # sums of its numbers are not finite, but they are
    data = np.load(tmp_path / "sparse" / "data.npy", mmap_mode="r+")
    data[2] = np.nan
    data.flush()
    with pytest.raises(StoreError, match="the vector of 'b' is not finite"):
        read_model(tmp_path / "sparse")


@pytest.mark.parametrize(
    "change", [{"w0": 7}, {"w0": -1}, {"w0": 1}, {"w0": 1.0}, {"w0": True}, {"w0": None}, {"x": 9}]
)
def test_a_token_whose_id_is_no_row_of_its_own_is_refused(tmp_path, change):
    save(toy(), tmp_path / "model", format="model2vec")
    path = tmp_path / "model" / "tokenizer.json"
    settings = json.loads(path.read_text())
    settings["model"]["vocab"] |= change
    path.write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"does not describe a tokenizer \(token '.*' has the id"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("tensors", "why"),
    [
        ({"mapping": np.array([0, 1, -1, 0])}, "its mapping names other rows"),
        ({"mapping": np.array([0, 1, 4, 0])}, "its mapping names other rows"),
        ({"mapping": np.array([0.0, 1, 2, 3])}, "its mapping names other rows"),
        ({"mapping": np.array([[0, 1, 2, 3]] * 4)}, "its mapping names other rows"),
        ({"mapping": np.array([0, 1, 2])}, "4 tokens and 3 vectors"),
        ({"weights": np.ones(3, np.float32)}, "4 tokens and 4 or 3 vectors"),
        ({"weights": np.ones((4, 4), np.float32)}, "one weight per token"),
        ({"weights": np.array([1, np.nan, 1, 1], np.float32)}, "word 2 of .* not finite"),
    ],
)
def test_a_mapping_or_weights_that_do_not_fit_the_tokens_are_refused(tmp_path, tensors, why):
    save(toy(), tmp_path / "model", format="model2vec")
    path = tmp_path / "model" / "model.safetensors"
    write_safetensors(
        path, {**{name: np.array(each) for name, each in map_safetensors(path).items()}, **tensors}
    )
    with pytest.raises(InputError, match=why):
        load(tmp_path / "model")


def test_a_mapping_and_weights_that_fit_are_applied(tmp_path):
    save(toy(), tmp_path / "model", format="model2vec")
    path = tmp_path / "model" / "model.safetensors"
    rows = np.array(map_safetensors(path)["embeddings"])
    mapping, weights = np.array([2, 0, 2, 3]), np.array([1, 2, 3, 4], np.float32)
    write_safetensors(path, {"embeddings": rows, "mapping": mapping, "weights": weights})
    assert np.array_equal(load(tmp_path / "model").vectors, (rows[mapping] * weights[:, None])[:3])


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"vectors": np.ones((2, 2), complex)}, "of type complex128; give real numbers"),
        ({"vectors": np.array([["1", "2"], ["3", "4"]])}, "of type <U1; give real numbers"),
        ({"counts": np.array([1.5, 2])}, "counts are not all whole numbers"),
        ({"counts": np.array([1, 2**63], np.uint64)}, "counts are not all whole numbers"),
        ({"counts": np.array(["1", "2"])}, "counts are of type <U1; give real numbers"),
        ({"words": np.array([["a", "b"]])}, r"of type <U1 and shape \(1, 2\)"),
        ({"words": np.array([1, 2])}, "store them as a list of strings"),
        (
            {"words": np.frombuffer(b"ab", np.uint8), "word_offsets": np.array([0, 1.0, 2])},
            "offsets of the words",
        ),
        (
            {"words": np.frombuffer(b"ab", np.uint8), "word_offsets": np.array([0, 2, 1, 2])},
            "offsets of the words",
        ),
        ({"words": np.array(["a", "\ud800"])}, "which cannot be written as UTF-8"),
        ({"words": np.array([97, 1 << 30], np.uint32).view("<U1")}, "hold what is no letter"),
        ({"words": np.array([97, 1 << 30], ">u4").view(">U1")}, "hold what is no letter"),
        (
            {"words": np.frombuffer(b"ab", np.uint8), "word_offsets": np.full(3, 1 << 30).view("<U1")},
            "offsets of the words",
        ),
        ({"vectors": np.full((2, 2), 1e300)}, "whose vector holds a number that is not finite"),
    ],
)
def test_arrays_that_would_become_something_else_are_refused(tmp_path, arrays, why):
    np.savez(
        tmp_path / "v.npz",
        **{"vectors": np.eye(2, dtype=np.float32), "words": np.array(["a", "b"]), **arrays},
    )
    with pytest.raises(InputError, match=why):
        load(tmp_path / "v.npz")


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_changed_byte_of_an_archive_is_noticed(tmp_path, packing):
    (np.savez if packing == zipfile.ZIP_STORED else np.savez_compressed)(
        tmp_path / "v.npz", vectors=toy().vectors, words=np.array(toy().words)
    )
    whole = (tmp_path / "v.npz").read_bytes()
    place = whole.index(b"vectors.npy") + 150
    (tmp_path / "v.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(InputError, match=r"is not a complete .npz of plain arrays"):
        load(tmp_path / "v.npz")


@pytest.mark.parametrize("header", ["1 250000000", "999999999999999999 250000000"])
@pytest.mark.parametrize("rest", ["x ", "x 1 2\n", ""])
def test_a_first_line_that_promises_too_many_numbers_is_refused_at_once(tmp_path, header, rest):
    (tmp_path / "v").write_text(f"{header}\n{rest}" + "\1" * 1000)
    with pytest.raises(InputError):
        load(tmp_path / "v")


def test_a_line_longer_than_any_vector_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(word2vec, "_LONGEST_LINE", 100_000)
    (tmp_path / "v").write_text("a 1 2\nb " + "1 " * 100_000 + "\n")
    with pytest.raises(InputError, match=r"line 2 of .* is longer than 100.0 kB, and no vector is"):
        load(tmp_path / "v")


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_neither_pieces_nor_blocks_change_what_is_read(tmp_path, monkeypatch, at_once):
    save(toy(50), tmp_path / "v.txt")
    save(toy(50), tmp_path / "v.bin")
    for name in ("_CHUNK", "_BYTES"):
        monkeypatch.setattr(word2vec, name, at_once)
    for name in ("v.txt", "v.bin"):
        assert load(tmp_path / name).words == toy(50).words
        assert np.array_equal(load(tmp_path / name).vectors, toy(50).vectors)


def test_vectors_too_long_to_be_measured_are_refused_where_they_would_be():
    e = Embeddings(("a", "b"), np.array([[3e38, 3e38], [1, 0]], np.float32))
    with pytest.raises(InputError, match="the vector of 'a' holds numbers too large to compute with"):
        e.most_similar("b")
    assert e.similarity("a", "b") == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("name", ["word_counts", "deviations", "signs", "row_sums"])
def test_a_model_without_one_of_its_arrays_is_refused(model, tmp_path, name):
    model.save(tmp_path / "model")
    meta = json.loads((tmp_path / "model" / "meta.json").read_text())
    del meta["files"][f"{name}.npy"]
    (tmp_path / "model" / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(StoreError, match=r"make it again|has no file"):
        read_model(tmp_path / "model")
