"""The package with a model: built from a text or a dump by one command, the same bytes each time, with its licence."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from types import ModuleType

import pytest

import psdvec
from psdvec.progress import SilentProgress
from psdvec.storage.artefact import MODELS, PACKAGES
from tests.conftest import REPOSITORY
from tests.helpers import contents

PACKAGE = REPOSITORY / "packages" / "psdvec-simplewiki"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))
SMALL = {"words": 100, "dim": 10, "ngrams": 50, "progress": SilentProgress()}


def module(path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"boxed_{path.stem}", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


builder = module(PACKAGE / "build.py")


@pytest.fixture(scope="module")
def built(sample_files, tmp_path_factory):
    path = tmp_path_factory.mktemp("boxed") / "simplewiki"
    builder.build(sample_files / "text" / "text.txt", path, **SMALL)
    return path


def test_the_same_text_gives_the_same_bytes_for_any_number_of_threads(built, sample_files, tmp_path):
    builder.build(sample_files / "text" / "text.txt", tmp_path / "again", workers=1, **SMALL)
    assert contents(tmp_path / "again") == contents(built)


def test_a_model_of_so_many_words_tells_where_it_is_from(built):
    model = psdvec.load(built)
    assert (len(model), model.dim, len(model.subwords.hashes)) == (100, 10, 50)
    assert model.about == builder.ABOUT
    assert model.provenance["read"][0]["name"] == "text.txt"
    assert len(model.provenance["read"][0]["sha256"]) == 64


def test_a_dump_is_made_text_first(sample_files, tmp_path, monkeypatch, capsys):
    dump, output = sample_files / "pages-articles.xml.bz2", tmp_path / "simplewiki"
    given = ["--words", "100", "--dim", "10", "--ngrams", "50", "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["build.py", str(dump), *given])
    builder.main()
    assert f"written to {output}" in capsys.readouterr().out
    model = psdvec.load(output)
    assert len(model) == 100
    assert model.provenance["read"][0]["name"] == "pages-articles.txt"


def test_a_text_that_is_not_there_ends_the_build_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["build.py", str(tmp_path / "none.txt"), "--output", str(tmp_path / "x")]
    )
    with pytest.raises(SystemExit, match=r"build\.py: .*none\.txt"):
        builder.main()


def test_the_package_brings_the_model_that_its_command_builds():
    brought = module(PACKAGE / "psdvec_simplewiki" / "__init__.py")
    assert brought.PATH == builder.HERE
    project = PROJECT["project"]
    assert dict.fromkeys(project["entry-points"][MODELS], project["name"]) == PACKAGES
    assert project["entry-points"][MODELS]["simplewiki"] == "psdvec_simplewiki:PATH"
    for target in ("wheel", "sdist"):
        (forced,) = PROJECT["tool"]["hatch"]["build"]["targets"][target]["force-include"]
        assert PACKAGE / forced == builder.HERE


def test_the_licence_is_that_of_the_text_and_stands_in_every_part_of_the_package():
    licence = PROJECT["project"]["license"]
    assert licence == "CC-BY-SA-4.0"
    assert builder.ABOUT["licence"].startswith(licence)
    assert PROJECT["project"]["license-files"] == ["LICENSE"]
    for name in ("LICENSE", "README.md"):
        text = " ".join((PACKAGE / name).read_text(encoding="utf-8").split())
        assert "CC BY-SA 4.0" in text
        assert "Simple English Wikipedia" in text
    assert "the contributors of Simple English Wikipedia" in (PACKAGE / "LICENSE").read_text(encoding="utf-8")
