"""Counts are checked whichever door they come through: damage is one sentence, never a crash."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import psdvec
from psdvec.counts.count import count_pairs
from psdvec.counts.grams import write_grams
from psdvec.counts.matrix import load_counts
from psdvec.counts.merge import merge_counts
from psdvec.errors import InputError, StoreError
from psdvec.loading import verify
from psdvec.storage.artefact import open_artefact, seal
from tests.helpers import replace_array, replace_parameter
from tests.toy import drawn_counts

COLUMN = 7  # a cell in the middle of a row


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Counts, a model fitted to them, and the same counts with one byte changed."""
    folder = tmp_path_factory.mktemp("store")
    drawn_counts(words=30, sentences=200).save(folder / "counts")
    psdvec.fit(folder / "counts", dim=3, max_words=20, output=folder / "model")
    shutil.copytree(folder / "counts", folder / "damaged")
    change(folder / "damaged", "indices", COLUMN, 1 << 24)
    return folder


def change(counts, name, place, difference):
    """Change a number of an array on disk, its header and size untouched."""
    array = np.load(counts / f"{name}.npy", mmap_mode="r+")
    array[place] += difference
    array.flush()


@pytest.mark.parametrize(
    "arguments",
    [
        ["merge", "damaged", "counts", "-o", "new"],
        ["merge", "counts", "--subtract", "damaged", "-o", "new"],
        ["export-grams", "damaged", "new"],
        ["fit", "damaged", "-o", "new", "--dim", "3"],
        ["fit", "damaged", "-o", "new", "--dim", "3", "--method", "svd"],
        ["extend", "model", "damaged", "-o", "new"],
        ["explore", "model", "--counts", "damaged", "--no-open", "--port", "0"],
    ],
    ids=" ".join,
)
def test_every_command_refuses_damaged_counts_in_one_sentence(store, arguments, run, monkeypatch):
    if arguments[0] == "explore":
        for extra in ("starlette", "uvicorn"):
            pytest.importorskip(extra)
    monkeypatch.chdir(store)
    code, _, said = run(*arguments)
    assert code != 0
    assert said == "psdvec: 'damaged' is damaged: its pairs do not fit its words; count again\n"
    assert not (store / "new").exists()


def test_every_function_refuses_damaged_counts(store):
    from psdvec.cluster import fitting

    for opened in (
        psdvec.load,
        load_counts,
        lambda path: fitting.open_counts(path, "digest"),
        lambda path: psdvec.fit(path, dim=3),
    ):
        with pytest.raises(StoreError, match="its pairs do not fit its words; count again"):
            opened(store / "damaged")


@pytest.mark.parametrize(
    ("name", "place", "difference"),
    [
        ("indices", 0, -100),
        ("indices", COLUMN, -1_000),
        ("indices", -1, 100),
        ("values", COLUMN, -(1 << 62)),
        ("indptr", 0, 1),
        ("indptr", 3, 1 << 40),
        ("indptr", -1, -1),
        ("indptr", -1, 1),
    ],
)
def test_a_number_that_cannot_be_is_noticed(store, tmp_path, name, place, difference):
    shutil.copytree(store / "counts", tmp_path / "counts")
    load_counts(tmp_path / "counts")
    change(tmp_path / "counts", name, place, difference)
    with pytest.raises(StoreError, match="its pairs do not fit its words; count again"):
        load_counts(tmp_path / "counts")


@pytest.mark.parametrize(("name", "place"), [("values", COLUMN), ("word_counts", 3)])
def test_a_number_that_could_be_but_was_not_written_is_noticed(store, tmp_path, name, place):
    shutil.copytree(store / "counts", tmp_path / "counts")
    change(tmp_path / "counts", name, place, 1)
    for opened in (psdvec.load, load_counts, lambda path: psdvec.fit(path, dim=3)):
        with pytest.raises(StoreError, match=f"{name}.npy' is damaged: its contents changed"):
            opened(tmp_path / "counts")


def test_columns_must_rise_within_a_row(store, tmp_path):
    shutil.copytree(store / "counts", tmp_path / "counts")
    indices = np.load(tmp_path / "counts" / "indices.npy", mmap_mode="r+")
    indices[[0, 1]] = indices[[1, 0]]
    indices.flush()
    with pytest.raises(StoreError, match="its pairs do not fit its words"):
        load_counts(tmp_path / "counts")


@pytest.mark.parametrize("at_once", [1, 2, 3, 1000])
def test_whole_counts_pass_however_they_are_cut(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("psdvec.counts.matrix._CHECKED_AT_ONCE", at_once)
    sentences = [["a", "b"], ["b", "a", "c"], ["d"], ["c", "a", "b", "d"]]
    counts = count_pairs(sentences, min_count=1, output=tmp_path / "counts")
    assert len(load_counts(tmp_path / "counts").indices) == len(counts.indices) > 3
    shutil.rmtree(tmp_path / "counts")
    assert len(count_pairs([["alone"]], min_count=1, output=tmp_path / "counts").indices) == 0


def test_another_version_is_refused_by_every_function(store, tmp_path):
    shutil.copytree(store / "counts", tmp_path / "counts")
    meta = json.loads((tmp_path / "counts" / "meta.json").read_text())
    (tmp_path / "counts" / "meta.json").write_text(json.dumps(seal(meta | {"version": 9})))
    for opened in (psdvec.load, load_counts):
        with pytest.raises(StoreError, match="is of version 9"):
            opened(tmp_path / "counts")


def test_a_damaged_model_is_not_extended(store, tmp_path):
    shutil.copytree(store / "model", tmp_path / "model")
    with (tmp_path / "model" / "vectors.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)[0]
        file.seek(-1, 2)
        file.write(bytes([last ^ 1]))
    with pytest.raises(StoreError, match=r"vectors\.safetensors' is damaged: its contents changed"):
        psdvec.extend(tmp_path / "model", store / "counts", output=tmp_path / "larger")


@pytest.fixture
def counts(store, tmp_path):
    """A copy of the counts, to change with all checksums right."""
    return shutil.copytree(store / "counts", tmp_path / "counts")


@pytest.mark.parametrize("name", ["indptr", "indices", "values", "word_counts", "word_offsets"])
@pytest.mark.parametrize("dtype", [">i8", ">i4", "<i2", "<f8"])
def test_numbers_of_another_type_or_byte_order_are_refused_though_all_checksums_are_right(
    counts, name, dtype
):
    replace_array(counts, name, np.load(counts / f"{name}.npy").astype(dtype))
    for opened in (
        psdvec.load,
        lambda path: verify(open_artefact(path)),
        lambda path: psdvec.fit(path, dim=3),
    ):
        with pytest.raises(StoreError, match=rf"{name}\.npy' is damaged: it holds numbers of type {dtype}"):
            opened(counts)


@pytest.mark.parametrize("name", ["values", "word_counts"])
def test_counts_whose_sums_are_beyond_64_bits_are_refused(counts, name):
    array = np.load(counts / f"{name}.npy")
    array[:2] = 2**62
    replace_array(counts, name, array)
    for opened in (psdvec.load, lambda path: verify(open_artefact(path))):
        with pytest.raises(StoreError, match="add up to more than whole numbers of 64 bits hold"):
            opened(counts)


@pytest.mark.parametrize("name", ["values", "word_counts"])
def test_counts_are_not_merged_to_sums_beyond_64_bits(counts, name):
    array = np.load(counts / f"{name}.npy")
    array[3] = 2**63 - 1 - (array.sum() - array[3])
    replace_array(counts, name, array)
    large = load_counts(counts)
    assert merge_counts([large]).tally == large.tally
    for times in (2, 3, 4, 5):
        with pytest.raises(InputError, match="add up to more than whole numbers of 64 bits hold"):
            merge_counts([large] * times)


@pytest.mark.parametrize("tokens", ["1", 1.5, None, True, 2**63, -(2**64)])
def test_a_tally_that_is_no_number_of_64_bits_is_refused(counts, tokens):
    replace_parameter(counts, "tally", "tokens", value=tokens)
    with pytest.raises(StoreError, match="does not say what was counted"):
        load_counts(counts)


def test_what_was_refused_when_loaded_is_not_called_intact(counts, run):
    replace_array(counts, "indices", np.load(counts / "indices.npy").astype(">i4"))
    code, _, said = run("info", counts, "--verify")
    assert code != 0
    assert "indices.npy' is damaged" in said


def test_a_pair_with_the_count_0_is_not_exported(counts, tmp_path):
    replace_array(counts, "values", 0 * np.load(counts / "values.npy"))
    with pytest.raises(InputError, match="has the count 0"):
        write_grams(load_counts(counts), tmp_path / "pairs")
