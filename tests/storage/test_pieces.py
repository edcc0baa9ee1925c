"""What is left of unfinished work is used again only if it is, to the byte, what was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.storage.artefact import META, SEAL, create_artefact
from psdvec.storage.workspace import find_damage, open_workspace, piece_file, piece_folder
from tests.helpers import Watched


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A workspace with a piece of each kind: a file, an empty one, a folder with another in it, an artefact."""
    folder = tmp_path_factory.mktemp("pieces") / "work"
    folder.mkdir()
    for name in ("lock", "plan.json"):
        (folder / name).touch()
    for name, data in {"file": b"some\nlines", "empty": b""}.items():
        with piece_file(folder / name) as file:
            file.write(data)
    with piece_folder(folder / "folder") as new:
        (new / "numbers").write_bytes(bytes(100))
        (new / "inner").mkdir()
        with piece_file(new / "inner" / "file") as file:
            file.write(b"inside")
    with create_artefact(folder / "counts", kind="counts", version=1, parameters={}, sources=[]) as writer:
        writer.add_text("words.txt", "a b")
    return folder


def damage_in(work):
    return find_damage(work, besides=("lock", "plan.json"))


def test_what_is_as_it_was_written_is_not_damaged(work):
    assert damage_in(work) is None


@given(data=st.data())
def test_no_byte_can_be_changed_added_or_lost_and_no_file_removed_unseen(work, data):
    files = sorted(path for path in work.rglob("*") if path.is_file() and path.parent != work)
    path = data.draw(st.sampled_from([*files, work / "file", work / "empty"]))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    changes = [whole[:at], whole[:at] + b"x" + whole[at:], whole[:at] + b"xy" + whole[at + 2 :], None]
    told = whole.rstrip() if path.name == META else whole  # the line end after JSON says nothing
    changed = data.draw(st.sampled_from([change for change in changes if change not in (whole, told)]))
    is_alone = path.parent == work
    try:
        if changed is not None:
            path.write_bytes(changed)
        else:
            path.unlink()
        if changed is not None or not is_alone:  # a piece that is gone altogether is made again
            assert damage_in(work) is not None
    finally:
        path.write_bytes(whole)


def test_an_artefact_that_lost_the_checksum_of_its_description_is_damage(work):
    path = work / "counts" / "meta.json"
    whole = path.read_text()
    path.write_text(json.dumps({name: value for name, value in json.loads(whole).items() if name != SEAL}))
    assert damage_in(work) == work / "counts"
    path.write_text(whole)
    assert damage_in(work) is None


def test_a_file_that_is_no_piece_is_damage(work):
    strange = work / "folder" / "strange"
    for place in (strange, work / "strange"):
        place.write_bytes(b"x" * 50)
        assert damage_in(work) == (work / "folder" if place == strange else place)
        place.unlink()


def test_work_that_is_damaged_is_begun_again(tmp_path):
    class StopError(Exception):
        """Stands for whatever may end work early."""

    def attempt(watched):
        with open_workspace(tmp_path / "out", plan={}, progress=watched) as work:
            found = sorted(path.name for path in work.iterdir())
            with piece_file(work / "piece") as file:
                file.write(b"finished")
            raise StopError(found)

    for harm, expected in ((False, []), (False, ["piece"]), (True, []), (False, ["piece"])):
        if harm:
            path = tmp_path / "out.work" / "piece"
            path.write_bytes(b"F" + path.read_bytes()[1:])
        watched = Watched()
        with pytest.raises(StopError) as stopped:
            attempt(watched)
        assert set(stopped.value.args[0]) - {"lock", "plan.json"} == set(expected)
        assert any("is not as it was written" in message for message in watched.heard) == harm
