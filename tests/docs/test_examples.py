"""The scripts in ``examples/`` print what their docstrings say."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.blocks import agrees
from tests.docs.test_pages import environment

SCRIPTS = sorted(path for path in (REPOSITORY / "examples").glob("*.py") if path.name != "sample.py")


def run_example(name: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, str(REPOSITORY / "examples" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_five_scripts():
    assert len(SCRIPTS) == 5


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_what_its_docstring_says(script: Path, tmp_path: Path):
    if "psdvec[sklearn]" in script.read_text(encoding="utf-8"):
        pytest.importorskip("sklearn")
    _, _, shown = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))).partition("Prints:\n")
    assert shown.strip()
    found = run_example(script.name, folder=tmp_path)
    assert agrees(shown, found), f"--- shown\n{shown}\n--- found\n{found}"
    assert list(tmp_path.iterdir()) == [], "an example leaves files behind"


def test_the_sample_is_the_same_bytes_each_time(tmp_path: Path):
    for name in ("a.bz2", "b.bz2"):
        run_example("sample.py", "dump", name, folder=tmp_path)
    assert (tmp_path / "a.bz2").read_bytes() == (tmp_path / "b.bz2").read_bytes()
