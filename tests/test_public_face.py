"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import psdvec

HOME = Path(__file__).parent.parent


def test_every_public_name_is_there_and_documented():
    for name in psdvec.__all__:
        assert getattr(psdvec, name).__doc__
    assert dir(psdvec) == sorted([*psdvec.__all__, "__version__"])
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        psdvec.nonsense  # noqa: B018


HEAVY = {"numba", "scipy", "torch", "dask", "distributed", "fsspec", "pyarrow", "regex", "rich"}


def loaded_by(*lines: str) -> set[str]:
    code = "\n".join(["import sys, psdvec", *lines, "print(*sys.modules)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_by("import psdvec.cli") & HEAVY


@pytest.mark.slow
def test_loading_a_model_and_asking_it_loads_nothing_heavy(tmp_path):
    sentences = [["a", "king", "and", "a", "queen"], ["a", "queen", "and", "a", "king"]] * 9
    model = psdvec.fit(psdvec.count_pairs(sentences, min_count=1), dim=3)
    model.save(tmp_path / "model")
    psdvec.save(model, tmp_path / "vectors.txt")
    psdvec.topics(model, sentences, 1, min_documents=1).save(tmp_path / "topics")
    for name in ("model", "vectors.txt"):
        questions = (
            f"e = psdvec.load({str(tmp_path / name)!r})",
            "e['king'], 'rain' in e, e.most_similar('king'), e.similarity('king', 'queen')",
            "e.analogy('king', 'queen', 'a'), e.doesnt_match(['king', 'queen', 'a'])",
        )
        assert not loaded_by(*questions) & HEAVY, name
    assert not loaded_by(f"psdvec.load({str(tmp_path / 'topics')!r}).vectors") & HEAVY


def test_the_recipe_for_conda_asks_for_what_the_wheel_asks_for():
    yaml = pytest.importorskip("yaml")
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    recipe = yaml.safe_load((HOME / "packages" / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
    python, *others = recipe["requirements"]["run"]
    assert [name.replace(" ", "") for name in others] == project["project"]["dependencies"]
    assert python == "python >=${{ python_min }}"
    assert recipe["context"]["version"] == psdvec.__version__
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]
    commands = [f"{name} = {place}" for name, place in project["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
