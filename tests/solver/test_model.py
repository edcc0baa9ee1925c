import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.storage.artefact import open_artefact, verify_artefact
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import demand_finite, read_model, write_model
from tests.helpers import replace_array, replace_parameter
from tests.toy import drawn_counts


@pytest.fixture(scope="module")
def model():
    return fit(drawn_counts(), dim=7, max_words=30)


def test_what_is_written_is_read_back(model, tmp_path):
    model = replace(model, sources=({"counts": "c", "digest": "d"},))
    write_model(model, tmp_path / "model")
    back = read_model(tmp_path / "model")
    for name in ("counts", "vectors", "deviations", "signs", "constant", "row_sums", "column_sums"):
        assert getattr(back, name).tobytes() == getattr(model, name).tobytes()
    assert (back.words, back.constants, back.recipe, back.core) == (
        model.words,
        model.constants,
        model.recipe,
        30,
    )
    assert back.counting == json.loads(json.dumps(dict(model.counting)))
    assert back.sources == ({"counts": "c", "digest": "d"},)
    assert back == model
    assert back.origin["model"] == "model"
    verify_artefact(open_artefact(tmp_path / "model"))


def test_the_vectors_are_plain_safetensors(model, tmp_path):
    write_model(model, tmp_path / "model")
    assert load_file(tmp_path / "model" / "vectors.safetensors")["vectors"].shape == (30, 7)


def test_words_of_any_script_come_back(model, tmp_path):
    words = ("größe", "日本語", "a b", *(f"w{i}x" for i in range(27)))
    write_model(replace(model, words=words), tmp_path / "model")
    assert read_model(tmp_path / "model").words == words


def test_vectors_that_are_not_numbers_are_refused(model, tmp_path):
    vectors = np.array(model.vectors)
    vectors[3, 2] = np.nan
    write_model(replace(model, vectors=vectors), tmp_path / "model")
    with pytest.raises(StoreError, match=f"the vector of '{model.words[3]}' is not finite"):
        extend(tmp_path / "model", drawn_counts())


def test_arrays_that_do_not_belong_together_are_refused(model, tmp_path):
    write_model(replace(model, row_sums=model.row_sums[:-1]), tmp_path / "model")
    with pytest.raises(StoreError, match="row_sums has shape \\(29,\\) and not \\(30,\\)"):
        read_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("signs", 0, "its scales do not fit its vectors"),
        ("constant", np.nan, "constant holds a value that cannot be"),
        ("stretch", 0, "stretch holds a value that cannot be"),
        ("deviations", np.inf, "deviations holds a value that cannot be"),
        ("counts", -1, "counts holds a value that cannot be"),
        ("row_sums", -1, "row_sums holds a value that cannot be"),
        ("column_sums", np.inf, "column_sums holds a value that cannot be"),
    ],
)
def test_scales_that_make_no_sense_are_refused(model, tmp_path, name, value, message):
    scales = np.array(getattr(model, name))
    scales[1] = value
    write_model(replace(model, **{name: scales}), tmp_path / "model")
    with pytest.raises(StoreError, match=message):
        read_model(tmp_path / "model")


def test_a_cut_file_is_refused(model, tmp_path):
    write_model(model, tmp_path / "model")
    path = tmp_path / "model" / "vectors.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(StoreError, match="is damaged"):
        read_model(tmp_path / "model")


def test_another_kind_of_artefact_is_refused(tmp_path):
    drawn_counts().save(tmp_path / "counts")
    with pytest.raises(StoreError, match="holds counts, not word vectors"):
        read_model(tmp_path / "counts")


def test_vectors_without_scales_come_back_as_plain_vectors(tmp_path):
    write_model(Embeddings(("a",), np.ones((1, 1), np.float32)), tmp_path / "e")
    assert type(read_model(tmp_path / "e")) is Embeddings


def test_in_memory_and_from_disk_it_is_the_same_object(tmp_path):
    counts = drawn_counts()
    model = psdvec.fit(counts, dim=5, max_words=30)
    word, cosine = model.most_similar(model.words[0], topn=1)[0]
    assert model.similarity(model.words[0], word) == pytest.approx(cosine, rel=1e-5)
    larger = psdvec.extend(model, counts)
    larger.save(tmp_path / "model")
    back = psdvec.load(tmp_path / "model")
    assert back == larger
    assert back != model
    assert isinstance(back, psdvec.Model)
    assert psdvec.extend(back, counts) == larger
    psdvec.save(back, tmp_path / "again")
    assert psdvec.load(tmp_path / "again") == larger


def test_a_glance_shows_what_it_is_in_one_line():
    counts = drawn_counts()
    model = psdvec.fit(counts, dim=5, max_words=30, changes={"rounds": 3})
    assert repr(model) == "Model(30 words × 5 dimensions, recipe default, rounds 3, fitted together 30 words)"
    larger = psdvec.extend(model, counts)
    assert repr(larger).endswith(f"learned {len(larger.learned)} words)")
    assert "<td>30 words × 5 dimensions</td>" in model._repr_html_()
    assert repr(Embeddings(("a",), np.ones((1, 2), np.float32))) == "Embeddings(1 word × 2 dimensions)"


@pytest.mark.parametrize(
    ("names", "value"),
    [
        (("constants", "background"), "x"),
        (("constants", "background"), 1),
        (("constants", "smoothing"), 0),
        (("constants", "exponent"), None),
        (("constants", "diagonal"), 2),
        (("constants", "cap"), 0.0),
        (("constants", "mass"), float("nan")),
        (("constants", "total"), -1.0),
        (("constants", "mean"), 1e300),
        (("recipe", "ridge"), 5),
        (("recipe", "damping"), "x"),
        (("recipe", "damping"), 1e300),
        (("recipe", "spelling_noise"), 10**30),
        (("recipe", "own_cap"), "no"),
        (("recipe", "rounds"), 1.5),
        (("subwords", "share"), float("inf")),
        (("core",), 1.5),
        (("core",), "30"),
        (("words",), 31),
        (("dim",), 6),
    ],
)
def test_parameters_that_cannot_be_are_refused_though_the_checksum_is_right(model, tmp_path, names, value):
    write_model(model, tmp_path / "model")
    replace_parameter(tmp_path / "model", *names, value=value)
    with pytest.raises(StoreError, match="is damaged"):
        read_model(tmp_path / "model")


@pytest.mark.parametrize("name", ["deviations", "signs", "constant", "row_sums", "stretch", "word_counts"])
def test_arrays_of_another_byte_order_are_refused_though_all_checksums_are_right(model, tmp_path, name):
    write_model(model, tmp_path / "model")
    array = np.load(tmp_path / "model" / f"{name}.npy")
    replace_array(tmp_path / "model", name, array.astype(array.dtype.newbyteorder(">")))
    with pytest.raises(StoreError, match=rf"{name}\.npy' is damaged: it holds numbers of type >"):
        read_model(tmp_path / "model")


def test_vectors_that_come_out_not_finite_are_refused_with_the_word(model, monkeypatch):
    def place_nothing(_, words, rows, *others, **options):
        return np.full_like(rows, np.inf), np.ones(len(rows), np.float32)

    monkeypatch.setattr("psdvec.solver.extend.place_spelled", place_nothing)
    with pytest.raises(InputError, match=f"'{model.words[3]}' came out with numbers that are not finite"):
        extend(model, drawn_counts(), words=[], refresh=[model.words[3]])


def test_vectors_too_long_to_compute_with_are_not_extended(model):
    rows = np.array(model.rows)
    rows[2] = 1e30
    with pytest.raises(InputError, match="has the length"):
        extend(replace(model, rows=rows), drawn_counts())


def test_what_a_fit_finds_must_be_finite_or_is_refused_with_the_word():
    units = np.full((40, 5), np.nan, np.float32)
    counts = drawn_counts()
    with pytest.raises(InputError, match=f"'{counts.vocabulary.words[0]}' came out with numbers"):
        demand_finite(units, counts.vocabulary.words)
