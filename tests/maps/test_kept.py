"""A map is kept with its model, found again, and never trusted where it is damaged or of other vectors."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from psdvec import formats, loading
from psdvec.errors import StoreError
from psdvec.maps import drawing as kept
from psdvec.maps.drawing import FOLDER, amid, draw, find_map, keep_map, make_map, share_kept, take_words
from psdvec.progress import SilentProgress
from psdvec.storage.artefact import META, open_artefact, seal, verify_artefact
from psdvec.vectors.embeddings import Embeddings
from tests.maps.heaps import heaps

QUIET = SilentProgress()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "psdvec" / "maps"


@pytest.fixture(scope="module")
def embeddings():
    vectors, _ = heaps(words=120)
    return Embeddings([f"w{i}" for i in range(120)], 3 * vectors, np.arange(120, 0, -1))


@pytest.fixture
def model(embeddings, tmp_path):
    formats.save(embeddings, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def drawing(embeddings):
    return draw(take_words(embeddings).units, progress=QUIET)


def same(one, two) -> bool:
    arrays = [
        (
            d.places,
            d.coarse.labels,
            d.coarse.names,
            d.coarse.middles,
            d.fine.labels,
            d.fine.names,
            d.fine.middles,
        )
        for d in (one, two)
    ]
    return one.fidelity == two.fidelity and all(map(np.array_equal, *arrays))


def test_a_map_is_made_once_and_then_found(model, drawing, monkeypatch):
    made, where = make_map(model, progress=QUIET)
    assert where == model / FOLDER
    assert same(made, drawing)
    monkeypatch.setattr(kept, "draw", None)  # from here on, nothing can be drawn
    found, where = make_map(model, progress=QUIET)
    assert where == model / FOLDER
    assert same(found, drawing)


def test_the_model_stays_intact_and_the_map_has_checksums_of_its_own(model, drawing, embeddings, run):
    before = (model / META).read_bytes()
    keep_map(drawing, take_words(embeddings), model)
    assert (model / META).read_bytes() == before
    assert run("info", model, "--verify")[0] == 0
    code, out, _ = run("info", model / FOLDER, "--verify")
    assert code == 0
    assert "a map of words, which psdvec explore shows" in out
    assert formats.load(model) == embeddings
    with pytest.raises(
        StoreError, match="is the map of a model, without its vectors; give the model's folder"
    ):
        loading.load(model / FOLDER)


def test_a_map_of_other_vectors_or_fewer_words_is_absent(model, drawing, embeddings):
    mapped = take_words(embeddings)
    keep_map(drawing, mapped, model)
    assert find_map(mapped, model) is not None
    assert find_map(take_words(embeddings, words=119), model) is None
    other = Embeddings(embeddings.words, np.roll(embeddings.vectors, 1, axis=1), embeddings.counts)
    assert find_map(take_words(other), model) is None


def test_a_map_with_a_byte_changed_or_a_file_missing_is_absent(model, drawing, embeddings):
    mapped = take_words(embeddings)
    for name in sorted(path.name for path in keep_map(drawing, mapped, model).iterdir()):
        path = keep_map(drawing, mapped, model) / name
        data = path.read_bytes()
        path.write_bytes(data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
        assert find_map(mapped, model) is None, name
        path.unlink()
        assert find_map(mapped, model) is None, name
        path.write_bytes(data)
        assert find_map(mapped, model) is not None, name


def test_a_damaged_map_is_made_again(model, drawing, embeddings):
    path = keep_map(drawing, take_words(embeddings), model) / "places.npy"
    path.write_bytes(path.read_bytes()[:-1])
    made, where = make_map(model, progress=QUIET)
    assert where == model / FOLDER
    assert same(made, drawing)
    verify_artefact(open_artefact(where))


@pytest.mark.parametrize(
    ("name", "value"),
    [("fidelity", 2.0), ("fidelity", None), ("layout", "pca"), ("vectors", 0), ("fidelity", float("nan"))],
)
def test_a_map_that_says_what_cannot_be_is_absent(model, drawing, embeddings, name, value):
    mapped = take_words(embeddings)
    path = keep_map(drawing, mapped, model) / META
    meta = json.loads(path.read_text())
    meta["parameters"][name] = value
    path.write_text(json.dumps(seal(meta)))
    assert find_map(mapped, model) is None


@pytest.mark.parametrize("part", ["places", "coarse_labels", "fine_names", "fine_middles"])
def test_parts_that_do_not_fit_together_are_absent_even_with_right_checksums(
    model, drawing, embeddings, part
):
    mapped = take_words(embeddings)
    folder = keep_map(drawing, mapped, model)
    made = open_artefact(folder)
    with kept.create_artefact(
        folder, kind=made.kind, version=made.version, parameters=made.parameters, sources=[], overwrite=True
    ) as writer:
        for name in (
            "places",
            *(f"{a}_{b}" for a in ("coarse", "fine") for b in ("labels", "middles", "names")),
        ):
            array = np.array(made.array(name, np.int64, np.float32))
            writer.add_array(name, (array + 10_000)[:-1] if name == part else array)
    assert find_map(mapped, model) is None


def test_vectors_of_another_program_have_their_map_in_the_cache(embeddings, tmp_path, cache):
    formats.save(embeddings, tmp_path / "vectors.txt", format="text")
    made, where = make_map(tmp_path / "vectors.txt", progress=QUIET)
    assert where.parent == cache
    found, again = make_map(tmp_path / "vectors.txt", progress=QUIET)
    assert again == where
    assert same(made, found)


def test_a_model_that_cannot_be_written_to_has_its_map_in_the_cache(model, drawing, embeddings, cache):
    mapped = take_words(embeddings)
    (model / FOLDER).write_text("a file in the way, as no folder can be made here")
    where = keep_map(drawing, mapped, model)
    assert where.parent == cache
    assert find_map(mapped, model)[1] == where


def test_where_nothing_can_be_written_nothing_is_kept(model, drawing, embeddings, cache):
    mapped = take_words(embeddings)
    (model / FOLDER).write_text("in the way")
    cache.parent.parent.write_text("in the way")
    assert keep_map(drawing, mapped, model) is None
    assert find_map(mapped, model) is None


def test_replacing_a_model_takes_its_map_along(model, drawing, embeddings):
    keep_map(drawing, take_words(embeddings), model)
    formats.save(embeddings, model, overwrite=True)
    assert not (model / FOLDER).exists()


def test_a_copied_model_keeps_its_map(model, drawing, embeddings, tmp_path):
    keep_map(drawing, take_words(embeddings), model)
    shutil.copytree(model, tmp_path / "copy")
    assert find_map(take_words(embeddings), tmp_path / "copy") is not None


@pytest.mark.parametrize("command", ["fit", "train"])
def test_fit_and_train_draw_the_map_that_the_explorer_finds(run, tmp_path, command):
    (tmp_path / "text").write_text(
        "\n".join(["to be or not to be", "that is the question", "be is not to that"] * 9)
    )
    made = ("count", tmp_path / "text", "-o", tmp_path / "counts", "--min-count", "1", "-q")
    assert run(*made)[0] == 0
    given = (tmp_path / "counts",) if command == "fit" else (tmp_path / "text", "--min-count", "1")
    code, out, _ = run(command, *given, "-o", tmp_path / "model", "--dim", "3", "--map", "-q")
    assert code == 0
    assert "map of 8 words: " in out
    assert f"kept in {tmp_path / 'model' / FOLDER}" in out
    assert find_map(take_words(formats.load(tmp_path / "model")), tmp_path / "model") is not None


# The share of neighbours kept


def test_places_in_which_all_is_right_keep_everything_and_random_ones_little():
    turns = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, 500))
    places = np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    drawn = draw(places, layout="pca", progress=QUIET)
    assert drawn.fidelity > 0.99
    rows = np.arange(500)
    nearest = np.stack([(rows + shift) % 500 for shift in range(1, 11)], axis=1)
    shuffled = places[np.random.default_rng(1).permutation(500)]
    assert share_kept(shuffled, rows, nearest) < 0.1


def test_the_neighbours_layout_keeps_more_than_pca(embeddings, drawing):
    units = take_words(embeddings).units
    assert drawing.fidelity > draw(units, layout="pca", progress=QUIET).fidelity + 0.1


def test_a_map_holds_the_most_frequent_words_in_their_order():
    rng = np.random.default_rng(0)
    e = Embeddings(
        [f"w{i}" for i in range(80)], rng.normal(size=(80, 5)).astype("f4"), rng.integers(1, 99, 80)
    )
    mapped = take_words(e, words=10)
    assert e.counts[mapped.ids].tolist() == sorted(e.counts.tolist(), reverse=True)[:10]
    np.testing.assert_allclose(np.linalg.norm(mapped.units, axis=1), 1, rtol=1e-6)


def test_a_words_own_vector_belongs_where_the_word_stands_or_amid_its_nearest(embeddings, drawing):
    mapped = take_words(embeddings)
    flat = draw(mapped.units, layout="pca", progress=QUIET)
    for row in range(20):
        vector = 3 * mapped.units[row]
        np.testing.assert_allclose(mapped.place(flat, vector), flat.places[row], atol=1e-5)
        nearest = np.argsort(-(mapped.units @ mapped.units[row]), kind="stable")[:5]
        np.testing.assert_allclose(mapped.place(drawing, vector), amid(drawing.places[nearest]), rtol=1e-4)
