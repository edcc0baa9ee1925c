"""What ``docs/command-line.md`` promises: examples in every help, exit codes, colours, pipes, completion.

Exit code 130, of an interruption, is tested beside what it interrupts, in ``tests/test_cli.py``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from psdvec import __version__
from psdvec.cli import app
from tests.conftest import REPOSITORY
from tests.docs.test_pages import environment

PAGE = (REPOSITORY / "docs" / "command-line.md").read_text(encoding="utf-8")
ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;[\d;]+)m")


def every_command(group=None, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    group = group or typer.main.get_command(app)
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found.append((*path, name))
        if hasattr(command, "commands"):
            found += every_command(command, (*path, name))
    return found


def psdvec(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own, in an environment that says nothing of colours."""
    code = "import sys; sys.argv[0] = 'psdvec'; from psdvec.cli import main; main()"
    unwanted = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "COLUMNS")
    kept = {name: value for name, value in environment().items() if name not in unwanted}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, env={**kept, "TERM": "xterm-256color", **variables},
    )  # fmt: skip


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_has_one_example_that_begins_with_its_name(run, command: tuple[str, ...]):
    code, output, _ = run(*command, "--help")
    text = " ".join(output.split())
    assert code == 0
    assert text.count("Example: ") == 1
    assert f"Example: psdvec {' '.join(command)}" in text
    assert PAGE.count(f"`{command[0]}") >= 1 or f"`{' '.join(command)}`" in PAGE


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_argument_is_explained(command: tuple[str, ...]):
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    assert found.help
    for parameter in found.params:
        if parameter.name != "help":
            assert parameter.help, f"{' '.join(command)}: {parameter.name}"


def test_the_help_of_the_whole_fits_a_screen_and_tells_the_exit_codes(run):
    code, output, _ = run("--help")
    assert code == 0
    text = " ".join(output.split())
    assert (
        "Exit codes: 0 done, 1 an error that the message explains, 2 a wrong call, 130 interrupted." in text
    )
    assert len(output.splitlines()) < 60


def test_the_version(run):
    assert run("--version") == (0, f"psdvec {__version__}\n", "")


def test_exit_code_1_comes_with_one_sentence(run, tmp_path: Path):
    code, output, errors = run("similar", tmp_path / "nothing", "king")
    assert (code, output) == (1, "")
    assert errors.startswith("psdvec: ")
    assert errors.count("\n") == 1


def test_what_the_system_refuses_is_one_sentence_too(run, tmp_path: Path):
    (tmp_path / "file").write_text("a b c\n")
    code, output, errors = run("count", tmp_path / "file", "-o", tmp_path / ("counts" * 50), "-q")
    assert (code, output) == (1, "")
    assert re.fullmatch(
        r"psdvec: .*counts.*; check the path, its permissions and the space on its disk\n", errors
    )


@pytest.mark.parametrize("call", [["nonsense"], ["similar"], ["count", "a", "-o", "b", "--nonsense"], []])
def test_exit_code_2_for_a_wrong_call_with_the_way_to_help(run, call: list[str]):
    code, _, errors = run(*call)
    assert code == 2
    assert not call or "--help" in errors


def test_no_colours_in_a_pipe_and_none_with_no_color():
    assert ESCAPE not in psdvec("--help").stdout
    assert COLOUR.search(psdvec("--help", FORCE_COLOR="1").stdout)
    assert not COLOUR.search(psdvec("--help", FORCE_COLOR="1", NO_COLOR="1").stdout)


def test_a_closed_pipe_is_no_error_message(tmp_path: Path):
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m psdvec testsets list | head -1'],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    assert done.stdout.startswith("name")
    assert done.stderr == ""


def test_info_in_a_pipe_prints_one_line_per_fact(run, tmp_path: Path):
    name = f"a-text-with-a-name-that-is-{'very-' * 20}long"
    (tmp_path / name).write_text("a b c d\n" * 5)
    assert run("count", tmp_path / name, "-o", tmp_path / "counts", "-q")[0] == 0
    code, output, _ = run("info", tmp_path / "counts")
    assert code == 0
    assert len(output.splitlines()) == len({line.split()[0] for line in output.splitlines()})
    assert max(map(len, output.splitlines())) > 100


@pytest.mark.slow
def test_completion_offers_commands_and_options():
    def complete(line: str) -> list[str]:
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return psdvec(_PSDVEC_COMPLETE="complete_bash", **asked).stdout.split()

    assert complete("psdvec ex") == ["extract", "extend", "explore", "export-grams"]
    assert complete("psdvec count --wi") == ["--window"]
    assert "model2vec" in complete("psdvec convert a b --to ")


def test_completion_installs_into_a_shells_start_up_file(tmp_path: Path):
    home = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = psdvec("--install-completion", "bash", **home)
    assert done.returncode == 0, done.stderr
    assert "psdvec" in (tmp_path / ".bashrc").read_text()
    script = next((tmp_path / ".bash_completions").glob("psdvec*")).read_text()
    assert "_PSDVEC_COMPLETE=complete_bash" in script


def without_computed(text: str) -> str:
    """Leave out what another machine says otherwise."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("computed "))


def test_the_page_shows_what_info_prints(run, tmp_path: Path, monkeypatch):
    from examples.sample import make_text

    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(make_text("text"))
    options = ("--keep", "counts", "--dim", "20", "--core", "100", "-q")
    assert run("train", "corpus.txt", "-o", "model", *options)[0] == 0
    code, output, _ = run("info", "model")
    assert code == 0
    shown = output.strip()
    assert without_computed(shown) in without_computed(PAGE)
    assert "\ncomputed    with numpy " in shown
    assert "\ncomputed    with numpy " in PAGE
    assert "intact" in run("info", "model", "--verify")[1].splitlines()[-1]
