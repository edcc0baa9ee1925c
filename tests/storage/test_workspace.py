"""Work that was finished is found again, work that was not is never taken for finished, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal

import pytest

from psdvec.errors import InputError
from psdvec.progress import SilentProgress
from psdvec.storage.artefact import create_artefact
from psdvec.storage.files import is_unfinished, replaced_folder
from psdvec.storage.workspace import held_folder, open_workspace, piece_file, sweep_finished


class StopError(Exception):
    """Stands for whatever may end work early."""


def workspace(tmp_path, plan="the plan", **options):
    return open_workspace(tmp_path / "out", plan={"is": plan}, progress=SilentProgress(), **options)


def make_output(tmp_path):
    with create_artefact(tmp_path / "out", kind="numbers", version=1, parameters={}, sources=[]):
        pass


def finish(path):
    with piece_file(path) as file:
        file.write(b"finished\n")


def is_finished(path):
    return path.read_bytes().splitlines()[0] == b"finished"


def stopped(tmp_path, *files):
    """Do some work, leave it in ``files``, and stop."""

    def work():
        with workspace(tmp_path) as folder:
            (folder / "empty").mkdir()
            for name in files:
                finish(folder / name)
            raise StopError

    with pytest.raises(StopError):
        work()


def test_work_for_the_same_plan_is_found_again_and_removed_at_the_end(tmp_path):
    stopped(tmp_path, "piece")
    with workspace(tmp_path) as work:
        assert is_finished(work / "piece")
    assert list(tmp_path.iterdir()) == []


def test_work_for_another_plan_is_discarded(tmp_path):
    stopped(tmp_path, "piece")
    with workspace(tmp_path, "another plan") as work:
        assert sorted(path.name for path in work.iterdir()) == ["lock", "plan.json"]


def test_an_early_error_leaves_nothing(tmp_path):
    stopped(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_cannot_be_read_just_now_costs_no_work(tmp_path, monkeypatch):
    stopped(tmp_path, "piece")
    with monkeypatch.context() as patch:
        patch.setattr(
            "pathlib.Path.read_text", lambda *_, **__: (_ for _ in ()).throw(OSError(24, "too many files"))
        )
        with pytest.raises(OSError, match="too many files"), workspace(tmp_path):
            pass
    with workspace(tmp_path) as work:
        assert is_finished(work / "piece")


def test_a_workspace_that_was_half_removed_is_not_resumed(tmp_path):
    child = os.fork()
    if child == 0:
        shutil.rmtree = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        with workspace(tmp_path) as work:
            finish(work / "piece")
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert all(is_unfinished(path.name) for path in tmp_path.iterdir())
    with workspace(tmp_path) as work:
        assert not (work / "piece").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_with_a_link_in_it_is_left_as_it_is(tmp_path):
    stopped(tmp_path, "piece")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "piece").write_text("precious")
    (tmp_path / "out.work" / "segments").symlink_to(victim)
    for plan in ("the plan", "another plan"):
        with pytest.raises(InputError, match="'segments' in it is a link; move"), workspace(tmp_path, plan):
            pass
    make_output(tmp_path)
    with pytest.raises(InputError, match="'segments' in it is a link; move"):
        sweep_finished(tmp_path / "out")
    assert is_finished(tmp_path / "out.work" / "piece")
    assert (victim / "piece").read_text() == "precious"


def test_a_workspace_has_its_mark_from_the_moment_in_which_it_has_its_name(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("psdvec.storage.workspace.hold", lambda lock: seen.append(lock.read_bytes()))
    with pytest.raises(InputError, match="another process is using"), workspace(tmp_path):
        pass
    assert seen[0].startswith(b"psdvec keeps unfinished work in this folder")


def test_only_one_process_at_a_time_holds_a_workspace(tmp_path, monkeypatch):
    monkeypatch.setattr("psdvec.storage.files._PATIENCE", 0.01)
    with (
        workspace(tmp_path),
        pytest.raises(InputError, match=r"another process is using .*out\.work"),
        workspace(tmp_path),
    ):
        pass
    with (
        held_folder(tmp_path / "shared"),
        pytest.raises(InputError, match="another process is using"),
        held_folder(tmp_path / "shared"),
    ):
        pass


def test_an_output_that_another_process_has_just_made_is_not_made_again(tmp_path):
    make_output(tmp_path)
    with pytest.raises(InputError, match="exists already"), workspace(tmp_path, overwrite=False):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_work_for_an_output_that_another_process_made_first_is_not_kept(tmp_path):
    def work():
        with workspace(tmp_path) as folder:
            finish(folder / "piece")
            with replaced_folder(tmp_path / "out", overwrite=False) as new:
                (new / "mine").touch()
                (tmp_path / "out").mkdir()
                (tmp_path / "out" / "theirs").touch()

    with pytest.raises(InputError, match="made by another process meanwhile"):
        work()
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "theirs"]


def test_the_work_of_an_output_that_is_finished_is_swept_and_newer_work_is_kept(tmp_path):
    stopped(tmp_path, "piece")
    sweep_finished(tmp_path / "out")
    assert (tmp_path / "out.work" / "piece").exists()
    make_output(tmp_path)
    os.utime(tmp_path / "out" / "meta.json", ns=(1, 1))
    sweep_finished(tmp_path / "out")
    assert (tmp_path / "out.work" / "piece").exists()
    (tmp_path / "out" / "meta.json").touch()
    with workspace(tmp_path):
        sweep_finished(tmp_path / "out")
        assert (tmp_path / "out.work" / "piece").exists()
    stopped(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_work_that_a_kill_left_beside_its_output_is_swept(tmp_path):
    child = os.fork()
    if child == 0:
        with workspace(tmp_path) as work:
            finish(work / "piece")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "meta.json").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "out.work").exists()
    sweep_finished(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
