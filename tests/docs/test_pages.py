"""Run every code block of the tutorial and the how-tos, in the order of its page, in a folder of the page's own."""

from __future__ import annotations

import doctest
import importlib.util
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.docs import blocks
from tests.docs.blocks import Block, agrees, read_blocks, read_commands

DOCS = REPOSITORY / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
BLOCKS = [block for page in PAGES for block in read_blocks(page)]
OWN = "psdvec_simplewiki"  # with the model that make boxed-model makes
NEEDS_A_SHELL = set("|<>&;*$`")


@dataclass
class Session:
    """Where the blocks of one page are run, and what they have left behind."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    done: set[int] = field(default_factory=set)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> dict[Path, Session]:
    """One folder per page, in which ``examples`` is the repository's, as for a reader at the repository's root."""
    found = {}
    for page in PAGES:
        folder = tmp_path_factory.mktemp(page.stem)
        (folder / "examples").symlink_to(REPOSITORY / "examples")
        found[page] = Session(folder)
    return found


@pytest.fixture
def execute(run, monkeypatch, capsys, sessions):
    """Run a block, and the blocks before it on its page that have not been run yet."""

    def run_to(block: Block) -> None:
        session = sessions[block.page]
        monkeypatch.chdir(session.folder)
        monkeypatch.delenv("PSDVEC_DATA", raising=False)
        for step in BLOCKS:
            runs = step.is_run and step.line not in session.done and not _missing(step)
            if step.page == block.page and step.line <= block.line and runs:
                session.done.add(step.line)  # one that fails is not run again for the blocks after it
                if step.language == "console":
                    for command, shown in read_commands(step.code):
                        _check_command(step, command, shown, run)
                else:
                    _check_python(step, session, capsys)

    return run_to


def _missing(block: Block) -> bool:
    """Whether a block's package is not installed; under ``make interop``, which installs others', that is a failure."""
    must_be_here = os.environ.get("PSDVEC_INTEROP") and block.needs != OWN
    return block.needs is not None and importlib.util.find_spec(block.needs) is None and not must_be_here


def _check_command(block: Block, command: str, shown: str, run) -> None:
    words = shlex.split(command)
    if words[0] == "psdvec" and not NEEDS_A_SHELL & set(command):
        code, output, errors = run(*words[1:])
    else:
        done = subprocess.run(
            ["bash", "-c", f'psdvec() {{ python -m psdvec "$@"; }}; set -eo pipefail; {command}'],
            capture_output=True, text=True, check=False, env=environment(),
        )  # fmt: skip
        code, output, errors = done.returncode, done.stdout, done.stderr
    complaints = "".join(f"{line}\n" for line in errors.splitlines() if line.startswith("psdvec: "))
    where = f"{block.page.name}:{block.line}: {command}"
    assert (code == 0) == ("psdvec: " not in shown), f"{where}\nexit code {code}\n{output}{errors}"
    if shown:
        assert agrees(shown, output + complaints), (
            f"{where}\n--- shown\n{shown}\n--- found\n{output}{complaints}"
        )


def environment() -> dict[str, str]:
    """``python`` and ``psdvec`` are those of this test, wherever they are installed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _check_python(block: Block, session: Session, capsys) -> None:
    capsys.readouterr()
    code = "\n" * block.line + block.code
    exec(compile(code, str(block.page), "exec"), session.names)
    found = capsys.readouterr().out
    if block.shown is not None:
        where = f"{block.page.name}:{block.line}"
        assert agrees(block.shown, found), f"{where}\n--- shown\n{block.shown}\n--- found\n{found}"


@pytest.mark.filterwarnings("ignore:::(?!psdvec)")
@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.is_run],
    ids=lambda block: f"{block.page.name}:{block.line}",
)
def test_a_block_does_what_its_page_says(block: Block, execute):
    if _missing(block):
        how = "pip install packages/psdvec-simplewiki" if block.needs == OWN else "make interop"
        pytest.skip(f"{block.needs} is not installed; {how} brings it")
    execute(block)


def test_every_block_is_run_or_says_why_not():
    for block in BLOCKS:
        where = f"{block.page.name}:{block.line}"
        if block.language in ("text", "xml"):
            continue
        assert block.language in blocks.RUNNABLE, f"{where}: blocks of '{block.language}' are never run"
        reason = block.title.removeprefix(blocks.NOT_RUN)
        assert block.is_run or len(reason) > 10, f"{where}: say in the title why the block is not run"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_has_a_block_that_is_run(page: Path):
    assert any(block.page == page and block.is_run for block in BLOCKS)


def test_the_comparison_with_what_a_page_shows():
    assert doctest.testmod(blocks).failed == 0
    assert agrees("a 1,234 b", "a 1,234 b")
    assert not agrees("a 1,234 b", "a 1,235 b")
    assert not agrees("cow\nhorse", "cow horse")
    assert not agrees("cow", "cow\nhorse")
    assert agrees("cow\n...", "cow\nhorse\ngoat")
