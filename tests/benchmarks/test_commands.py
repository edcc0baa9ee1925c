"""The commands that run benchmarks are those that the pages, and the benchmarks themselves, name."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

SCRIPTS = sorted(
    path for kind in ("bench", "studies") for path in (REPOSITORY / "benchmarks" / kind).glob("*.py")
)
PAGES = [
    *(REPOSITORY / "docs").rglob("*.md"),
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "benchmarks/results/README.md",
]


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=lambda path: path.name)
def test_a_benchmark_that_is_named_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"-m (benchmarks[.\w]*\w)", text):
        assert find_spec(name), f"{page.name} names {name}"
    for name in re.findall(r"benchmarks/\w+/[a-z0-9_]+\.py", text):
        assert (REPOSITORY / name).exists(), f"{page.name} names {name}"
    assert not re.search(r"python benchmarks/", text), (
        f"{page.name}: benchmarks import one another; use python -m"
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_says_how_it_is_run(script: Path):
    text = script.read_text(encoding="utf-8")
    if "__main__" in text:
        command = ".".join(script.relative_to(REPOSITORY).with_suffix("").parts)
        assert f"python -m {command}" in text.split('"""')[1] or script.stem == "topic_rivals"
