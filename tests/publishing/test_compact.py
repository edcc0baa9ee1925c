"""A compact model: few bytes, the same answers but for rounding, new words beside old ones that stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from examples.sample import make_text

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.progress import SilentProgress
from psdvec.publishing.compact import LARGEST, compact
from psdvec.storage.artefact import META, open_artefact, parse_json, verify_artefact
from psdvec.vectors.model import read_model, write_model
from psdvec.vectors.subwords import mix
from tests.helpers import contents, put_right, replace_array

ABOUT = {"title": "the farm", "licence": "CC-BY-SA-4.0", "attribution": "made from the farm's letters"}
NGRAMS = 60
MEDICAL = make_text("medical").splitlines()


@pytest.fixture(scope="module")
def model():
    return psdvec.train(make_text("text").splitlines(), dim=20, quiet=True)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("compact") / "farm"
    compact(model, path, ngrams=NGRAMS, about=ABOUT, quiet=True)
    return path


def test_rows_are_rounded_by_half_a_step_and_the_vectors_follow_from_them(model, folder):
    small = psdvec.load(folder)
    steps = np.abs(model.rows).max(axis=1) / 127
    assert (np.abs(small.rows - model.rows) <= 0.5001 * steps[:, None]).all()
    spelled = small.subwords.predict(small.words)
    expected = mix(small.rows, model.stretch, spelled, share=small.subwords.share)
    assert np.array_equal(small.vectors, expected)
    for name in ("counts", "signs", "constant", "row_sums", "column_sums", "stretch"):
        assert np.array_equal(getattr(small, name), getattr(model, name)), name
    assert (small.words, small.recipe, small.constants) == (model.words, model.recipe, model.constants)


def test_the_n_grams_that_most_words_share_are_kept_in_few_bits(model, folder):
    small = psdvec.load(folder)
    assert len(small.subwords.hashes) == NGRAMS
    assert np.abs(small.subwords.codes).max() == LARGEST
    assert set(small.subwords.hashes.tolist()) < set(model.subwords.hashes.tolist())
    assert "countryy" not in small
    assert len(small.most_similar("countryy", topn=5, unseen="spelling")) == 5


def test_what_is_lost_is_what_the_folder_shows(model, tmp_path):
    loss = compact(model, tmp_path / "all", quiet=True)
    assert 0.98 < loss.cosine < 1
    assert loss.words == len(model)
    without = replace(model, subwords=None, vectors=np.asarray(model.unspelled))
    assert compact(without, tmp_path / "without", quiet=True).cosine > 0.9999
    assert psdvec.load(tmp_path / "without").subwords is None


def test_the_same_model_gives_the_same_bytes(model, folder, tmp_path):
    compact(model, tmp_path / "farm", ngrams=NGRAMS, about=ABOUT, quiet=True)
    assert contents(tmp_path / "farm") == contents(folder)


@pytest.mark.parametrize(("ngrams", "dim"), [(30, 20), (NGRAMS, 20), (NGRAMS, 10)])
def test_a_word_takes_a_byte_per_dimension_and_some_for_its_scales(ngrams, dim, tmp_path):
    model = psdvec.train(make_text("text").splitlines(), dim=dim, quiet=True)
    compact(model, tmp_path / "farm", ngrams=ngrams, about=ABOUT, quiet=True)
    found = open_artefact(tmp_path / "farm")
    letters = sum(len(word.encode()) for word in model.words)
    headers = 128 * len(found.files) + 400
    each = dim + 4 + 8 + 4 + 4 + 8 + 8 + 8  # codes, step, count, deviation, constant, two sums, offset
    expected = len(model) * each + letters + ngrams * (dim + 12) + 8 * dim
    assert expected <= found.size <= expected + headers


def test_new_words_are_placed_and_no_old_one_moves(folder, tmp_path):
    small = psdvec.load(folder)
    larger = psdvec.extend(folder, MEDICAL, output=tmp_path / "larger", quiet=True)
    assert {"aspirin", "bronchitis", "influenza"} <= set(larger.learned)
    assert larger.vectors[: len(small)].tobytes() == small.vectors.tobytes()
    assert larger.rows[: len(small)].tobytes() == small.rows.tobytes()
    assert psdvec.load(tmp_path / "larger") == larger
    assert open_artefact(tmp_path / "larger").version == 2


def test_new_words_stand_near_where_the_exact_model_places_them(model, folder):
    one, other = (psdvec.extend(each, MEDICAL, quiet=True) for each in (model, psdvec.load(folder)))
    for word in one.learned:
        cosine = one.get_vector(word, norm=True) @ other.get_vector(word, norm=True)
        assert cosine > 0.9, word


def test_what_it_tells_of_itself_stays_with_what_is_made_of_it(folder, tmp_path, run):
    psdvec.extend(folder, MEDICAL, output=tmp_path / "larger", quiet=True)
    for path in (folder, tmp_path / "larger"):
        assert psdvec.load(path).about == ABOUT
        code, output, _ = run("info", path)
        assert code == 0
        for said in ABOUT.values():
            assert said in output
    compact(psdvec.load(folder), tmp_path / "smaller", about={"title": "Fewer letters"}, ngrams=9, quiet=True)
    assert psdvec.load(tmp_path / "smaller").about == {**ABOUT, "title": "Fewer letters"}


def test_it_is_saved_as_any_model_and_comes_back_the_same(folder, tmp_path):
    small = psdvec.load(folder)
    psdvec.save(small, tmp_path / "again")
    assert psdvec.load(tmp_path / "again") == small
    assert psdvec.load(tmp_path / "again").about == ABOUT


def test_it_is_intact_and_says_that_older_programs_cannot_open_it(folder):
    verify_artefact(open_artefact(folder))
    assert parse_json((folder / META).read_bytes())["version"] == 3


@pytest.mark.parametrize("about", [{"license": "x"}, {"licence": " "}, {"title": "two\nlines"}])
def test_what_a_model_cannot_tell_is_refused(model, tmp_path, about):
    with pytest.raises(InputError, match="give lines of text for title, licence, attribution"):
        compact(model, tmp_path / "farm", about=about, quiet=True)


def test_words_that_were_placed_later_are_refused(model, tmp_path):
    larger = psdvec.extend(model, MEDICAL, quiet=True)
    with pytest.raises(InputError, match="were placed later; fit all of its words together"):
        compact(larger, tmp_path / "farm", quiet=True)


def test_a_compact_folder_whose_parts_do_not_fit_is_refused(model, tmp_path):
    compact(model, tmp_path / "farm", ngrams=NGRAMS, quiet=True)
    replace_array(tmp_path / "farm", "stretch", np.ones(7, np.float32))
    with pytest.raises(StoreError, match="does not hold one vector per word"):
        read_model(tmp_path / "farm")


@pytest.mark.parametrize("step", [np.nan, np.inf, 3e38])
def test_steps_that_cannot_be_computed_with_are_refused_with_the_word(model, tmp_path, step):
    compact(model, tmp_path / "farm", ngrams=NGRAMS, quiet=True)
    path = tmp_path / "farm" / "vectors.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + np.float32(step).tobytes())
    put_right(tmp_path / "farm", path)
    with pytest.raises(StoreError, match=f"the vector of '{model.words[-1]}' is not finite"):
        read_model(tmp_path / "farm")


def test_a_model_is_replaced_only_if_that_is_asked_for(model, tmp_path):
    write_model(model, tmp_path / "farm")
    with pytest.raises(InputError, match="overwrite=True"):
        compact(model, tmp_path / "farm", quiet=True)
    compact(model, tmp_path / "farm", overwrite=True, quiet=True, progress=SilentProgress())
    assert psdvec.load(tmp_path / "farm").words == model.words
