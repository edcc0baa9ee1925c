"""Artefacts appear whole or not at all, say what they are, and notice damage."""

from __future__ import annotations

import errno
import hashlib
import json

import numpy as np
import pytest

from psdvec.errors import InputError, ResourceError, StoreError
from psdvec.resources import limit_threads
from psdvec.storage import artefact as artefact_module
from psdvec.storage.artefact import create_artefact, digest_file, open_artefact, seal, verify_artefact


def make(path, *, value=1, overwrite=False):
    with create_artefact(
        path,
        kind="numbers",
        version=1,
        parameters={"value": value},
        sources=[{"name": "x"}],
        overwrite=overwrite,
    ) as writer:
        writer.add_array("plain", np.arange(10))
        writer.add_text("note.txt", "größer\n")
        with writer.stream_array("stream", np.int32) as stream:
            stream.write(np.array([value]))
            stream.write(np.arange(5))
        with writer.stream_array("nothing", np.int64):
            pass


def fail_on_purpose(path, error):
    with create_artefact(
        path, kind="numbers", version=1, parameters={}, sources=[], overwrite=True
    ) as writer:
        writer.add_array("plain", np.arange(10))
        raise error


def test_what_is_written_is_read_back(tmp_path):
    make(tmp_path / "a")
    artefact = open_artefact(tmp_path / "a", kind="numbers", version=1)
    assert artefact.array("plain", np.int64).tolist() == list(range(10))
    assert artefact.array("stream", np.int32).tolist() == [1, 0, 1, 2, 3, 4]
    assert artefact.array("nothing", np.int64).tolist() == []
    assert artefact.file("note.txt").read_text(encoding="utf-8") == "größer\n"
    assert (artefact.parameters, artefact.sources) == ({"value": 1}, ({"name": "x"},))
    verify_artefact(artefact)


@pytest.mark.parametrize("length", [None, 6, 5, 9])
def test_a_stream_is_the_same_file_whatever_length_was_foretold(tmp_path, length):
    with (
        create_artefact(tmp_path / "a", kind="numbers", version=1, parameters={}, sources=[]) as writer,
        writer.stream_array("stream", np.int32, length=length) as stream,
    ):
        stream.write(np.arange(2))
        stream.write(np.arange(4)[::-1])
    artefact = open_artefact(tmp_path / "a")
    verify_artefact(artefact)
    np.save(tmp_path / "usual.npy", np.array([0, 1, 3, 2, 1, 0], np.int32))
    assert artefact.file("stream.npy").read_bytes() == (tmp_path / "usual.npy").read_bytes()


def test_arrays_are_mapped_and_cannot_be_changed(tmp_path):
    make(tmp_path / "a")
    with pytest.raises(ValueError, match="read-only"):
        open_artefact(tmp_path / "a").array("plain", np.int64)[0] = 7


@pytest.mark.parametrize(("dtype", "dimensions"), [(">i8", 1), (np.int32, 1), (np.uint64, 1), (np.int64, 2)])
def test_an_array_of_another_type_byte_order_or_dimension_is_refused(tmp_path, dtype, dimensions):
    make(tmp_path / "a")
    with pytest.raises(StoreError, match="it holds numbers of type <i8 in 1 dimensions"):
        open_artefact(tmp_path / "a").array("plain", dtype, dimensions=dimensions)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(artefact_module, "PART", 160)
    monkeypatch.setattr(artefact_module, "_READ", 50)


def digest_by_definition(data: bytes) -> str:
    parts = [hashlib.sha256(data[begin : begin + 160]) for begin in range(0, len(data), 160)]
    if len(parts) <= 1:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha256(b"".join(part.digest() for part in parts)).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 159, 160, 161, 320, 1000])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_digest_is_that_of_the_digests_of_parts(tmp_path, small_parts, size, threads):
    data = np.random.default_rng(size).bytes(size)
    (tmp_path / "file").write_bytes(data + b"more")
    with limit_threads(threads):
        assert digest_file(tmp_path / "file", size=size) == digest_by_definition(data)
        assert digest_file(tmp_path / "file", is_parted=False) == hashlib.sha256(data + b"more").hexdigest()


@pytest.mark.parametrize("length", [None, 0, 3, 4, 300])
@pytest.mark.parametrize("entries", [0, 3, 4, 5, 300])
def test_what_is_streamed_has_the_digest_of_its_file(tmp_path, small_parts, length, entries):
    with (
        create_artefact(tmp_path / "a", kind="numbers", version=1, parameters={}, sources=[]) as writer,
        writer.stream_array("x", np.int64, length=length) as stream,
    ):
        for part in np.array_split(np.arange(entries), 7):
            stream.write(part)
    found = open_artefact(tmp_path / "a")
    assert found.files["x.npy"]["sha256"] == digest_by_definition((tmp_path / "a/x.npy").read_bytes())
    verify_artefact(found)
    assert np.array_equal(np.load(tmp_path / "a/x.npy"), np.arange(entries))


def test_large_files_of_an_earlier_version_are_verified_as_they_were_written(tmp_path, monkeypatch):
    make(tmp_path / "a")  # its records tell of no parts
    monkeypatch.setattr(artefact_module, "PART", 100)
    verify_artefact(open_artefact(tmp_path / "a"))
    with (tmp_path / "a/stream.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    with pytest.raises(StoreError, match="changed since it was written"):
        verify_artefact(open_artefact(tmp_path / "a"))


def test_parts_of_another_size_are_refused(tmp_path):
    make(tmp_path / "a")
    meta = json.loads((tmp_path / "a/meta.json").read_text())
    meta["files"]["plain.npy"]["part"] = 1
    (tmp_path / "a/meta.json").write_text(json.dumps(seal(meta)))
    with pytest.raises(StoreError, match="parts of another size"):
        open_artefact(tmp_path / "a")


def test_what_is_no_letter_is_written_as_an_escape(tmp_path):
    with create_artefact(tmp_path / "a", kind="numbers", version=1, parameters={}, sources=[]) as writer:
        writer.add_text("note.json", '"\ud800"')
    assert json.loads((tmp_path / "a" / "note.json").read_text()) == "\ud800"


def test_equal_contents_have_equal_digests(tmp_path):
    for name, value in (("a", 1), ("b", 1), ("c", 2)):
        make(tmp_path / name, value=value)
    a, b, c = (open_artefact(tmp_path / name).digest for name in "abc")
    assert a == b != c


def test_an_error_while_writing_leaves_nothing_behind(tmp_path):
    with pytest.raises(RuntimeError, match="on purpose"):
        fail_on_purpose(tmp_path / "a", RuntimeError("on purpose"))
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_overwriting_leaves_the_old_artefact_whole(tmp_path):
    make(tmp_path / "a", value=1)
    with pytest.raises(RuntimeError, match="on purpose"):
        fail_on_purpose(tmp_path / "a", RuntimeError("on purpose"))
    verify_artefact(open_artefact(tmp_path / "a"))
    make(tmp_path / "a", value=2, overwrite=True)
    assert open_artefact(tmp_path / "a").parameters["value"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_is_explained(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(
        ResourceError, match=r"the disk is full: writing below .* free some space and run the same"
    ):
        fail_on_purpose(tmp_path / "a", full)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_already_is_not_touched(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InputError, match="is not an artefact of psdvec; move it away, or choose another output name"
    ):
        make(tmp_path / "mine", overwrite=True)
    make(tmp_path / "a")
    with pytest.raises(
        InputError, match="exists already; choose another output name, or give overwrite=True"
    ):
        make(tmp_path / "a")
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InputError, match="exists and is not an artefact"):
        make(tmp_path / "file", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_what_is_put_into_an_artefact_while_it_is_replaced_is_not_lost(tmp_path):
    make(tmp_path / "a", value=1)
    with (
        pytest.raises(InputError, match="holds 'notes', which psdvec did not write; move that away"),
        create_artefact(tmp_path / "a", kind="numbers", version=1, parameters={}, sources=[], overwrite=True),
    ):
        (tmp_path / "a" / "notes").write_text("mine")
    assert (tmp_path / "a" / "notes").read_text() == "mine"
    assert open_artefact(tmp_path / "a").parameters["value"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_artefact_is_replaced_together_with_its_map(tmp_path):
    make(tmp_path / "a")
    with create_artefact(tmp_path / "a" / "map", kind="map", version=1, parameters={}, sources=[]):
        pass
    make(tmp_path / "a", value=2, overwrite=True)
    assert not (tmp_path / "a" / "map").exists()


def test_damage_is_noticed(tmp_path):
    make(tmp_path / "short")
    with (tmp_path / "short" / "plain.npy").open("r+b") as file:
        file.truncate(150)
    with pytest.raises(StoreError, match="is damaged: 150 bytes where 208 were written; make"):
        open_artefact(tmp_path / "short").array("plain", np.int64)
    make(tmp_path / "changed")
    with (tmp_path / "changed" / "plain.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x01")
    with pytest.raises(StoreError, match="its contents changed since it was written"):
        verify_artefact(open_artefact(tmp_path / "changed"))
    make(tmp_path / "lost")
    (tmp_path / "lost" / "plain.npy").unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        open_artefact(tmp_path / "lost").array("plain", np.int64)
    make(tmp_path / "broken")
    (tmp_path / "broken" / "meta.json").write_text("{")
    with pytest.raises(StoreError, match="is not a description of a psdvec artefact"):
        open_artefact(tmp_path / "broken")


def test_another_kind_or_version_is_refused(tmp_path):
    make(tmp_path / "a")
    with pytest.raises(StoreError, match="holds numbers, not counts; give the right folder"):
        open_artefact(tmp_path / "a", kind="cooccurrence")
    meta = json.loads((tmp_path / "a" / "meta.json").read_text())
    (tmp_path / "a" / "meta.json").write_text(json.dumps(seal(meta | {"version": 9})))
    with pytest.raises(
        StoreError, match="is of version 9, but this psdvec reads up to version 1; update psdvec"
    ):
        open_artefact(tmp_path / "a", version=1)
    with pytest.raises(StoreError, match="there is no"):
        open_artefact(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"is not an artefact of psdvec: it has no meta\.json"):
        open_artefact(tmp_path / "empty")


@pytest.mark.parametrize("place", range(5))
def test_a_changed_byte_of_the_description_is_noticed(tmp_path, place):
    make(tmp_path / "a")
    meta = tmp_path / "a" / "meta.json"
    whole = meta.read_bytes()
    for at in range(place, len(whole), 5):
        meta.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = open_artefact(tmp_path / "a")
        except StoreError:
            continue
        assert json.loads(meta.read_bytes()) == json.loads(whole), at  # a blank became another
        assert found.parameters == {"value": 1}


def test_a_description_without_a_checksum_is_refused(tmp_path):
    make(tmp_path / "a")
    meta = json.loads((tmp_path / "a" / "meta.json").read_text())
    del meta["checksum"]
    (tmp_path / "a" / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(StoreError, match="it changed since it was written"):
        open_artefact(tmp_path / "a")


@pytest.mark.parametrize(
    "name",
    [
        "../outside.npy",
        "/etc/passwd",
        "..",
        "",
        "meta.json",
        "inner/array.npy",
        "..\\outside.npy",
        "C:array.npy",
    ],
)
def test_files_are_in_their_own_folder(tmp_path, name):
    make(tmp_path / "a")
    meta = json.loads((tmp_path / "a" / "meta.json").read_text())
    meta["files"][name] = meta["files"].pop("plain.npy")
    (tmp_path / "a" / "meta.json").write_text(json.dumps(seal(meta)))
    with pytest.raises(StoreError, match="is not the name of a file in it"):
        open_artefact(tmp_path / "a")
