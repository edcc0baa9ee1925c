"""Tests for the simulated platform, where ``test_windows.py`` runs them: ``pytest -p tests.windows.platform FILE``."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import psdvec
from psdvec import resources, system
from psdvec.errors import InputError
from psdvec.storage.files import replaced_file
from psdvec.storage.workspace import open_workspace
from tests.helpers import Watched
from tests.windows import platform
from tests.windows.work import work_in, write_text

HOME = Path(__file__).parent.parent.parent


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def start(*lines: str, simulated: bool = True, **options) -> subprocess.Popen[str]:
    code = "\n".join([*(["import tests.windows.platform"] if simulated else []), *lines])
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(system, "_PATIENCE", 0.02)


def test_psdvec_sees_the_platform_and_nothing_else():
    assert system.WINDOWS
    for module, missing in platform.MISSING.items():
        assert not [name for name in missing if hasattr(getattr(system, module), name)]
    with pytest.raises(ModuleNotFoundError, match="fcntl"):
        exec("import fcntl", {"__name__": "psdvec.system", "__package__": "psdvec"})


def test_files_have_the_same_bytes_as_on_this_system(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    there = start(
        f"from tests.windows.work import Path, work_in; work_in(Path({str(tmp_path / 'there')!r}))",
        simulated=False,
    )
    _, said = there.communicate()
    assert there.returncode == 0, said
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "here")
        patch.setattr(resources.os, "confstr", os.confstr, raising=False)  # the C library is said in models
        resources.arithmetic.cache_clear()
        work_in(tmp_path / "here")
    here, there = (bytes_in(tmp_path / name) for name in ("here", "there"))
    assert len(here) > 30
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_memory_is_what_the_system_says():
    assert (system.total_memory(), system.free_memory()) == (platform.TOTAL, platform.FREE)
    assert (system.peak_memory(), system.current_memory()) == (platform.PEAK, platform.CURRENT)
    assert system.address_limit() is None
    assert system.processors() == os.cpu_count()


def test_a_question_that_the_system_refuses_is_an_error():
    with pytest.raises(OSError, match="Windows"):
        system._told("K32GetProcessMemoryInfo", 9, process=3)


def test_the_cost_of_a_process_is_what_the_system_says():
    class Process:
        _handle = ctypes.c_void_p(platform.PROCESS).value

        def wait(self) -> int:
            return 3

    assert system.cost_of(Process()) == (3, 1.5, platform.PEAK)


def test_parts_of_a_file_are_read_and_written_by_place(tmp_path):
    with (tmp_path / "file").open("w+b") as file:
        assert system.write_at(file.fileno(), 3, memoryview(b"def")) == 3
        assert system.write_at(file.fileno(), 0, memoryview(b"abc")) == 3
        found = bytearray(9)
        assert system.read_at(file.fileno(), 2, memoryview(found)) == 4
    assert found == b"cdef" + bytes(5)


def test_a_model_is_replaced_while_it_is_in_use(tmp_path):
    texts = ["a b c a b", "b c d", "a d c b"] * 9
    psdvec.train(texts, min_count=1, dim=2, output=tmp_path / "model", quiet=True)
    used = psdvec.load(tmp_path / "model")
    psdvec.train(texts[1:], min_count=1, dim=2, output=tmp_path / "model", overwrite=True, quiet=True)
    assert used.most_similar("a", topn=1)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_a_program_has_open_is_not_replaced_and_stays_whole(tmp_path, impatient):
    psdvec.train(["a b c"] * 9, min_count=1, dim=2, output=tmp_path / "model", quiet=True)
    before = bytes_in(tmp_path)
    with (
        (tmp_path / "model" / "meta.json").open("rb"),
        pytest.raises(InputError, match="close the programs that have it open, choose another output"),
    ):
        psdvec.train(["a b d"] * 9, min_count=1, dim=2, output=tmp_path / "model", overwrite=True, quiet=True)
    left = bytes_in(tmp_path)
    assert {name: left[name] for name in before} == before
    psdvec.train(["a b d"] * 9, min_count=1, dim=2, output=tmp_path / "model", overwrite=True, quiet=True)
    assert "d" in psdvec.load(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_is_open_for_a_moment_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "_PATIENCE", 60.0)
    path = tmp_path / "file"
    path.write_bytes(b"old")
    reader = path.open("rb")
    closing = threading.Timer(0.2, reader.close)
    closing.start()
    with replaced_file(path, overwrite=True) as file:
        file.write(b"new")
    closing.join()
    assert path.read_bytes() == b"new"


def test_a_junction_in_a_workspace_is_a_link(tmp_path, monkeypatch):

    def interrupted() -> None:
        with open_workspace(tmp_path / "out", plan={}, progress=Watched()) as work:
            (work / "segments").mkdir()
            (work / "segments" / "precious").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    lstat = Path.lstat

    def as_on_windows(path: Path) -> SimpleNamespace | os.stat_result:
        status = lstat(path)
        is_junction = path.name == "segments"
        return SimpleNamespace(st_mode=status.st_mode, st_reparse_tag=0xA0000003) if is_junction else status

    monkeypatch.setattr(Path, "lstat", as_on_windows)
    with (
        pytest.raises(InputError, match="'segments' in it is a link; move"),
        open_workspace(tmp_path / "out", plan={"is": "another"}, progress=Watched()),
    ):
        pass
    assert (tmp_path / "out.work" / "segments" / "precious").exists()


HOLD = """
import sys, time
from pathlib import Path
from psdvec.progress import SilentProgress
from psdvec.storage.workspace import open_workspace, piece_file
with open_workspace(Path(sys.argv[1]), plan={}, progress=SilentProgress()) as work:
    with piece_file(work / "piece") as file:
        file.write(b"finished")
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_workspace_belongs_to_one_process_until_it_ends_and_goes_on_in_the_next(tmp_path, monkeypatch):
    output = tmp_path / "out"
    code = f"import sys; sys.argv[1:] = [{str(output)!r}]"
    with start(code, HOLD) as holder:
        assert holder.stdout.readline() == b"held\n", holder.stderr.read()
        with (
            pytest.raises(InputError, match="another process is using"),
            open_workspace(output, plan={}, progress=Watched()),
        ):
            pass
        holder.kill()
        assert holder.wait() == -signal.SIGKILL
    watched = Watched()
    with open_workspace(output, plan={}, progress=watched) as work:
        assert (work / "piece").read_bytes().startswith(b"finished")
    assert any("resuming" in said for said in watched.heard)
    assert list(tmp_path.iterdir()) == []


COUNT = """
import sys
import psdvec
from psdvec.text import corpus
corpus.BLOCK_BYTES = 2000
psdvec.count_pairs(psdvec.read_corpus("text.txt"), min_count=2, output=sys.argv[1])
"""


def test_a_count_that_is_killed_at_any_moment_ends_with_the_same_bytes(tmp_path):
    write_text(tmp_path / "text.txt")
    enter = f"import os; os.chdir({str(tmp_path)!r}); import sys"
    undisturbed = start(enter, "sys.argv[1:] = ['undisturbed']", COUNT)
    _, said = undisturbed.communicate()
    assert undisturbed.returncode == 0, said
    for pieces in (1, 3, 5):
        with start(enter, "sys.argv[1:] = ['disturbed']", COUNT) as counting:
            while counting.poll() is None and len([*tmp_path.glob("disturbed.work/segments/*")]) < pieces:
                time.sleep(0.001)
            counting.kill()
    last = (
        start(enter, "sys.argv[1:] = ['disturbed']", COUNT) if not (tmp_path / "disturbed").exists() else None
    )
    if last is not None:
        _, said = last.communicate()
        assert last.returncode == 0, said
    assert bytes_in(tmp_path / "disturbed") == bytes_in(tmp_path / "undisturbed")
    assert {path.name for path in tmp_path.iterdir()} - {"disturbed.work"} == {
        "text.txt",
        "disturbed",
        "undisturbed",
    }


def test_a_command_prints_the_same_bytes(tmp_path):
    write_text(tmp_path / "text.txt")
    psdvec.train(
        psdvec.read_corpus(tmp_path / "text.txt"), min_count=1, dim=3, output=tmp_path / "model", quiet=True
    )
    arguments = ["psdvec", "similar", str(tmp_path / "model"), "könig"]
    command = start(
        f"import sys; sys.argv[:] = {arguments}; from psdvec.__main__ import main; main()",
        env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    )
    printed, said = command.communicate()
    assert command.returncode == 0, said
    assert "москва" in printed.decode("utf-8")
    assert b"\r" not in printed
