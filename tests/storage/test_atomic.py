"""What is written appears whole or not at all, and what was there before stays until then."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from psdvec.errors import InputError
from psdvec.storage import files as atomic
from psdvec.storage import files as syncing
from psdvec.storage.files import (
    exchange,
    is_unfinished,
    replaced_file,
    replaced_folder,
    restore,
    sweep,
    whole_file,
    whole_folder,
)


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


def left_by_a_kill(path):
    """Let a writer of ``path`` be killed, and return the name that it leaves."""
    child = os.fork()
    if child == 0:
        with whole_folder(path) as folder:
            (folder / "half").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return next(name for name in names(path.parent) if is_unfinished(name))


def test_what_a_killed_writer_left_is_swept_by_the_next(tmp_path):
    left_by_a_kill(tmp_path / "out")
    other = left_by_a_kill(tmp_path / "other")
    with replaced_file(tmp_path / "out", overwrite=False) as file:
        file.write(b"new")
    assert names(tmp_path) == [other, "out"]


def test_what_another_machine_left_is_not_touched(tmp_path):
    left = tmp_path / left_by_a_kill(tmp_path / "out")
    foreign = left.rename(left.with_name(f"{left.name[:-16]}00000000{left.name[-8:]}"))
    with replaced_folder(tmp_path / "out", overwrite=False):
        pass
    assert names(tmp_path) == [foreign.name, "out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_cannot_be_replaced_by_a_file_is_not_said_to_need_a_flag(tmp_path, overwrite):
    for path, what in ((tmp_path, "is a folder"), (Path("/dev/null"), "is not an ordinary file")):
        with pytest.raises(InputError, match=what) as caught, replaced_file(path, overwrite=overwrite):
            pass
        assert "overwrite" not in str(caught.value)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("writer", [replaced_file, replaced_folder])
def test_a_second_writer_of_one_output_is_refused(tmp_path, writer, overwrite):
    with (
        writer(tmp_path / "out", overwrite=overwrite),
        pytest.raises(InputError, match="another process is writing"),
        writer(tmp_path / "out", overwrite=overwrite),
    ):
        pass
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("writer", [replaced_file, replaced_folder])
def test_an_output_that_was_made_meanwhile_is_not_replaced_unless_it_may_be(tmp_path, writer):
    path = tmp_path / "out"
    for overwrite in (False, True):
        path.mkdir() if writer is replaced_folder else path.touch()
        (path / "theirs" if path.is_dir() else path).write_text("theirs")
        path.rename(tmp_path / "theirs")
        outcome = (
            nullcontext()
            if overwrite
            else pytest.raises(InputError, match="made by another process meanwhile")
        )
        with outcome, writer(path, overwrite=overwrite):
            (tmp_path / "theirs").rename(path)
        kept = path / "theirs" if path.is_dir() else path
        assert (kept.exists() and kept.read_text() == "theirs") != overwrite
        assert names(tmp_path) == ["out"]
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "file")
    with replaced_file(tmp_path / "link", overwrite=True) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "file").read_text() == "new"
    (tmp_path / "far" / "file").unlink()
    with (
        pytest.raises(InputError, match="is a link to nothing"),
        replaced_file(tmp_path / "link", overwrite=True),
    ):
        pass


def replaced_with_a_kill(path, monkeypatch, *, at):
    """Replace the folder ``path`` where names cannot be exchanged, and be killed at the rename number ``at``."""
    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    child = os.fork()
    if child == 0:
        rename, calls = atomic.rename, []

        def counted(source, target):
            calls.append(target)
            if len(calls) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(source, target)

        atomic.rename = counted
        with whole_folder(path) as folder:
            (folder / "new").touch()
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(("at", "kept"), [(1, "old"), (2, "old"), (3, "new"), (4, "new")])
def test_where_names_cannot_be_exchanged_a_kill_between_two_steps_is_undone(tmp_path, monkeypatch, at, kept):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "old").touch()
    assert replaced_with_a_kill(path, monkeypatch, at=at) == (at <= 3)
    restore(path)
    assert names(path) == [kept]
    assert not sweep(path)
    assert names(tmp_path) == ["folder"]


def test_folders_are_exchanged_in_one_step_on_this_machine(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"in-{name}").touch()
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system does not exchange names")
    assert names(tmp_path / "a") == ["in-b"]
    assert names(tmp_path / "b") == ["in-a"]


@pytest.mark.parametrize("writer", [replaced_file, replaced_folder])
def test_an_output_is_on_the_disk_before_it_has_its_name_and_its_name_is_after(tmp_path, monkeypatch, writer):
    if not Path("/proc/self/fd").exists():
        pytest.skip("what a descriptor stands for is seen on Linux only")
    done = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    with writer(tmp_path / "out", overwrite=False) as new:
        if writer is replaced_folder:
            (new / "inner").touch()
    assert all(is_unfinished(Path(name).name) for name in done[-2:-1])
    assert done[-1] == str(tmp_path)
    assert len(done) == (3 if writer is replaced_folder else 2)
    done.clear()
    monkeypatch.setenv(syncing.ENVIRONMENT, "1")
    with writer(tmp_path / "other", overwrite=False):
        pass
    assert not done
