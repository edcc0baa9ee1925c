"""Models that packages bring: found by their names wherever a model is read, but only where no path is meant."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.explore.models import open_model
from psdvec.storage.artefact import MODELS, find_model, open_artefact

SENTENCES = [f"the {one} saw the {other}" for one in ("cow", "dog", "cat") for other in ("hen", "fox")] * 9


@pytest.fixture(scope="module")
def model():
    return psdvec.train(SENTENCES, min_count=1, dim=4, quiet=True)


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """Install a package that brings a model: its metadata, and a module with the path of the folder."""

    def install(name: str, path: Path | None, *, attribute: str = "PATH") -> None:
        place, module = tmp_path / "site", f"a_package_with_{name}"
        info = place / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{MODELS}]\n{name} = {module}:{attribute}\n")
        (place / f"{module}.py").write_text(f"from pathlib import Path\n\nPATH = Path({str(path)!r})\n")
        monkeypatch.syspath_prepend(place)
        monkeypatch.delitem(sys.modules, module, raising=False)

    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return install


@pytest.fixture
def farm(model, bring, tmp_path):
    """A model that is installed as farm."""
    model.save(tmp_path / "elsewhere" / "farm-1")
    bring("farm", tmp_path / "elsewhere" / "farm-1")
    return model


def test_an_installed_model_is_loaded_by_its_name(farm):
    assert psdvec.load("farm") == farm
    assert psdvec.formats.load(Path("farm"), limit=3).words == farm.words[:3]
    assert open_artefact("farm").path.name == "farm-1"


def test_the_explorer_shows_it_by_its_name(farm):
    opened = open_model("farm")
    assert (opened.name, opened.model) == ("farm", farm)


def test_a_path_of_that_name_comes_first(farm, model):
    other = psdvec.train(SENTENCES, min_count=1, dim=2, quiet=True)
    other.save("farm")
    assert psdvec.load("farm") == other
    assert psdvec.load("./farm") == other


@pytest.mark.parametrize("path", ["./x/farm", "x/farm", "far", "farm-1", "-"])
def test_whatever_is_no_name_of_a_model_stays_the_path_that_it_is(farm, path):
    assert find_model(path) == Path(path)
    if path != "-":
        with pytest.raises((InputError, StoreError), match="check the name"):
            psdvec.load(path)


@pytest.mark.parametrize(
    "command",
    [("similar", "farm", "cow"), ("analogy", "farm", "cow", "hen", "dog"), ("odd", "farm", "cow", "dog", "hen"),
     ("convert", "farm", "vectors.txt"), ("info", "farm", "--verify"), ("vectorize", "farm", "text.txt", "v.npy"),
     ("publish", "farm", "-o", "published"), ("index", "text.txt", "--model", "farm", "-o", "index")],
    ids=lambda command: command[0],
)  # fmt: skip
def test_every_command_takes_its_name(farm, run, command):
    Path("text.txt").write_text("the cow saw the dog\n")
    code, output, errors = run(*command)
    assert code == 0, output + errors


def test_the_command_extend_takes_its_name_and_a_text(farm, run):
    Path("text.txt").write_text("\n".join(SENTENCES).replace("cow", "goat"))
    code, output, errors = run("extend", "farm", "text.txt", "-o", "larger", "--min-contexts", "2")
    assert code == 0, output + errors
    assert "1 words learned" in output
    code, output, _ = run("extend", "farm", "text.txt", "-o", "none", "--min-count", "1000")
    assert (code, "they are seen too seldom (--min-count); nothing was written" in output) == (0, True)
    larger = psdvec.load("larger")
    assert np.array_equal(larger.vectors[: len(farm)], farm.vectors)
    assert larger.sources[0]["model"] == "farm-1"


def test_a_model_that_is_not_installed_is_named_with_what_installs_it(bring, run):
    sentence = (
        "there is no 'simplewiki', and no model of this name is installed; pip install psdvec-simplewiki"
    )
    with pytest.raises(StoreError, match=sentence):
        psdvec.load("simplewiki")
    for command in (("similar", "simplewiki", "cow"), ("info", "simplewiki")):
        code, _, errors = run(*command)
        assert (code, errors) == (1, f"psdvec: {sentence}\n")


def test_a_package_that_brings_nothing_is_to_be_installed_again(bring):
    bring("barn", None, attribute="PLACE")
    with pytest.raises(
        StoreError, match=r"the installed model 'barn' cannot be found .*install a_package_with_barn"
    ):
        psdvec.load("barn")


def test_a_package_whose_folder_is_gone_is_an_error_that_names_it(bring, tmp_path):
    bring("stable", tmp_path / "gone")
    with pytest.raises((InputError, StoreError), match="gone"):
        psdvec.load("stable")
