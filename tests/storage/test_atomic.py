"""What is written appears whole or not at all, and what was there before stays until then."""

from __future__ import annotations

import os
import signal

import pytest

from psdvec.errors import InputError
from psdvec.storage.atomic import is_unfinished, replaced_file, whole_file, whole_folder


class BrokenError(Exception):
    """Stands for whatever may go wrong while something is written."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_the_old_one_until_the_new_one_is_finished(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


def test_a_folder_is_the_old_one_until_the_new_one_is_finished(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "old").touch()
    with whole_folder(path) as new:
        (new / "new").touch()
        assert names(path) == ["old"]
    assert names(path) == ["new"]
    assert names(tmp_path) == ["folder"]


@pytest.mark.parametrize("writer", [whole_file, whole_folder])
def test_after_an_error_nothing_is_left_and_nothing_is_lost(tmp_path, writer):
    path = tmp_path / "place"
    path.mkdir()
    with pytest.raises(BrokenError), writer(path):
        raise BrokenError
    assert names(tmp_path) == ["place"]


def test_two_writers_of_one_place_do_not_write_into_each_other(tmp_path):
    path = tmp_path / "file"
    with whole_file(path) as one, whole_file(path) as two:
        one.write(b"one")
        two.write(b"two")
    assert path.read_text() == "one"  # the last to finish
    assert names(tmp_path) == ["file"]


def test_of_two_that_do_the_same_job_the_first_stands(tmp_path):
    path = tmp_path / "job"
    with whole_folder(path, existing="keep") as slow:
        (slow / "by").write_text("slow")
        with whole_folder(path, existing="keep") as quick:
            (quick / "by").write_text("quick")
    assert (path / "by").read_text() == "quick"
    assert names(tmp_path) == ["job"]


def test_a_killed_writer_leaves_only_a_name_that_is_known_as_unfinished(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    child = os.fork()
    if child == 0:
        with whole_file(path) as file:
            file.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert path.read_text() == "old"
    assert [name for name in names(tmp_path) if not is_unfinished(name)] == ["file"]
    assert len(names(tmp_path)) == 2


def test_an_output_that_is_there_is_refused_unless_it_may_be_overwritten(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(InputError, match="exists already"), replaced_file(path, overwrite=False):
        pass
    with replaced_file(path, overwrite=True) as file:
        file.write(b"new")
    assert path.read_text() == "new"
