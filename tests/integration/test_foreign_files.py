"""What psdvec did not make stays as it is: every command that writes meets files, folders and links of the user's."""

from __future__ import annotations

import bz2
import json
import shutil
from pathlib import Path

import pytest

from psdvec.counts.count import count_pairs
from psdvec.storage.artefact import META
from tests.torture.stages import STAGES, make_inputs

pytestmark = pytest.mark.slow

WITHOUT = {"fit svd", "merge", "import grams", "extract", "evaluate", "vectorize", "export grams", "compare"}
WORKING = [stage for stage in STAGES if stage.name not in WITHOUT and not stage.name.startswith("convert")]
FOLDERS = [
    stage for stage in STAGES if stage.outputs[0] == "out" and stage.name not in ("extract", "compare")
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "in"
    make_inputs(folder)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def everything(folder: Path) -> dict[Path, bytes | str | None]:
    """Return all that is below ``folder``: the bytes of files, where links lead, and None for folders."""
    return {
        path: path.readlink().as_posix()
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def assert_refused(answer: tuple[int, str, str], expected: str = "") -> None:
    code, _, said = answer
    assert code == 1, said
    assert "Traceback" not in said
    (sentence,) = (line for line in said.splitlines() if line.startswith("psdvec: "))
    assert expected in sentence
    assert sentence.endswith(("output", "output name", "file or folder to write to"))


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("precious")


def an_empty_folder(path: Path) -> None:
    path.mkdir()


def a_folder_with_a_plan(path: Path) -> None:
    path.mkdir()
    (path / "plan.json").write_text('{"plan": "of my own"}')
    (path / "lock").write_text("mine")


def a_workspace_of_an_older_version(path: Path) -> None:
    path.mkdir()
    (path / "plan.json").write_text("{}")
    (path / "lock").touch()
    (path / "piece").write_text("of long ago")


def a_link_to_a_folder(path: Path) -> None:
    a_folder(path.with_name("victim"))
    path.symlink_to("victim")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def a_file(path: Path) -> None:
    path.write_text("precious")


THEIRS = [
    a_folder, an_empty_folder, a_folder_with_a_plan, a_workspace_of_an_older_version, a_link_to_a_folder,
    a_link_to_nothing, a_file,
]  # fmt: skip


@pytest.mark.parametrize("make", THEIRS)
@pytest.mark.parametrize(
    ("stage", "name"),
    [(stage, "out.work") for stage in WORKING]
    + [(stage, "out.train.work") for stage in WORKING if stage.name.startswith("train")]
    + [(stage, "kept.work") for stage in WORKING if stage.name == "train and keep"],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_what_has_the_name_of_a_workspace_is_left_as_it_is(stage, name, make, here, inputs, run):
    make(here / name)
    before = everything(here)
    assert_refused(run(*stage.argv(inputs)), f"'{name}' is where unfinished work is kept, but ")
    assert everything(here) == before


@pytest.mark.parametrize("name", [".", "", "/", "..", "folder/.."])
@pytest.mark.parametrize(
    ("stage", "output"),
    [(stage, output) for stage in STAGES for output in stage.outputs],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_place_without_a_name_of_its_own_is_no_output(stage, output, name, here, inputs, run):
    for more in ((), stage.overwrite or stage.resume):  # in an empty folder
        arguments = [name if argument == output else argument for argument in stage.argv(inputs)]
        assert_refused(run(*arguments, *more), "cannot be the name of an output")
    assert everything(here) == {}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_place_below_a_file_is_no_output(stage, here, inputs, run):
    a_file(here / "file")
    for output in stage.outputs:
        arguments = ["file/out" if argument == output else argument for argument in stage.argv(inputs)]
        if stage.name.startswith("convert") and "--to" not in arguments:
            arguments += ["--to", "text"]
        assert_refused(run(*arguments), "'file/out' cannot be written: ")
    assert list(here.iterdir()) == [here / "file"]


def a_project(path: Path) -> str:
    """Make a folder whose ``meta.json`` is another program's, and say what keeps it from being replaced."""
    a_folder(path)
    (path / META).write_text('{"format": "of my own", "files": {"thesis.txt": {}}}')
    (path / "tokenizer.json").write_text("{}")
    return "is not a"


def a_folder_that_is_listed(path: Path) -> str:
    """Make a folder that has the name of a file of ours."""
    listed = next(
        each for each in sorted(path.iterdir()) if each.name not in (META, "README.md", "tokenizer.json")
    )
    listed.unlink()
    a_folder(listed)
    return f"holds '{listed.name}', which psdvec did not write"


def notes(path: Path) -> str:
    (path / "notes.txt").write_text("precious")
    return "holds 'notes.txt', which psdvec did not write"


def a_map_of_the_user(path: Path) -> str:
    a_folder(path / "map")
    return "holds 'map', which psdvec did not write"


def other_counts(path: Path) -> str:
    """Put counts where a model has its map."""
    count_pairs([["a", "b"]], min_count=1, output=path / "map", quiet=True)
    return "holds 'map', which psdvec did not write"


@pytest.mark.parametrize(
    "spoil", [a_project, a_folder_that_is_listed, notes, a_map_of_the_user, other_counts]
)
@pytest.mark.parametrize("stage", FOLDERS, ids=lambda stage: stage.name)
def test_only_what_psdvec_wrote_is_overwritten(stage, spoil, here, inputs, run):
    if spoil is not a_project:
        assert run(*stage.argv(inputs))[0] == 0
    expected = spoil(here / "out")
    (here / "out").rename(here / "there")
    (here / "out").symlink_to("there")
    before = everything(here)
    for path in (here / "out", here / "there"):
        arguments = [str(path) if argument == "out" else argument for argument in stage.argv(inputs)]
        assert_refused(run(*arguments, *(stage.overwrite or ())), expected)
    assert everything(here) == before


OF_US = [stage for stage in FOLDERS if stage.name != "convert to model2vec"]


@pytest.mark.parametrize("stage", OF_US, ids=lambda stage: stage.name)
def test_what_is_of_another_kind_is_not_overwritten(stage, here, inputs, run):
    """Such as the counts by the vectors that are fitted to them."""
    is_counts = any(word in stage.name for word in ("count", "merge", "import"))
    shutil.copytree(inputs / ("model" if is_counts else "counts"), here / "out")
    before = everything(here)
    assert_refused(run(*stage.argv(inputs), *(stage.overwrite or ())), "would replace; choose another output")
    assert everything(here) == before


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_file_or_a_folder_is_not_replaced_by_the_other_kind(stage, here, inputs, run):
    for output in stage.outputs:
        (a_file if stage in FOLDERS and output in ("out", "kept") else a_folder)(here / output)
    before = everything(here)
    assert_refused(run(*stage.argv(inputs), *(stage.overwrite or stage.resume)))
    assert everything(here) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("report.md", "# My report\n"),
        ("report.json", json.dumps({"header": "mine"})),
        ("report.html", "<title>My report</title>"),
        ("models", "a file"),
        ("counts/5-linear-close.json", "[]"),
    ],
)
def test_a_comparison_goes_on_only_in_what_a_comparison_made(name, text, here, inputs, run):
    (stage,) = (stage for stage in STAGES if stage.name == "compare")
    path = here / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (here / "out" / "counts").mkdir(exist_ok=True)
    before = everything(here)
    assert_refused(run(*stage.argv(inputs), "--resume"))
    assert everything(here) == before


def test_what_could_be_read_of_a_broken_dump_replaces_nothing(here, inputs, run):
    (here / "dump.xml").write_bytes(bz2.decompress((inputs / "dump.xml.bz2").read_bytes())[:-200])
    a_folder(here / "out.partial")
    (here / "out.partial-2").write_text("precious")
    before = everything(here)
    code, _, said = run("extract", "dump.xml", "-o", "out", "--workers", "1", "-q")
    assert code == 1
    assert "are kept in 'out.partial-3'" in said
    (here / "out.partial-3").unlink()
    assert everything(here) == before
