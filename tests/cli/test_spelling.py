"""Advice in Python arguments reaches users of the command line as options, and nothing else is touched."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import psdvec
from psdvec.cli import app
from psdvec.cli.tables import RENAMED, spell_options
from psdvec.errors import InputError

SOURCE = Path(psdvec.__file__).parent
ADVICE = re.compile(r"(?<![\w.'-])([a-z_]+)=(?=[\"\dTFN.\[{(A-Z])")
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def commands(group=None) -> dict[str, list]:
    """The parameters of every command, by its name."""
    found = {}
    for name, command in (group or typer.main.get_command(app)).commands.items():
        found |= commands(command) if hasattr(command, "commands") else {name: command.params}
    return found


COMMANDS = commands()
OPTIONS = [
    (command, parameter, option)
    for command, parameters in COMMANDS.items()
    for parameter in parameters
    for option in parameter.opts
    if option.startswith("--")
]


@pytest.mark.parametrize(
    ("command", "sentence", "spelled"),
    [
        ("count", "'c' exists; pass overwrite=True", "'c' exists; pass --overwrite"),
        ("count", 'give memory="2G" or more', "give --memory 2G or more"),
        ("count", "use fewer words (max_words=20_000).", "use fewer words (--max-words 20000)."),
        ("count", 'give vocabulary="words.txt"', "give --vocab words.txt"),
        ("count", "leave it out, or give client=...", "leave it out, or give --scheduler ADDRESS or --cluster local:N"),
        ("fit", "leave it out: diagonal=False", "leave it out: --no-diagonal"),
        ("fit", "fit fewer at once, core=N, or use device=\"cpu\"", "fit fewer at once, --core N, or use --device cpu"),
        ("fit", "give negligible=1e-3, or ridge=2.5.", "give --negligible 1e-3, or --ridge 2.5."),
        ("convert", 'save with format="model"', "save with --to model"),
        ("convert", 'write spaces="a b"', "write --spaces 'a b'"),
        ("count", "errors='x' is unknown", "--errors x is unknown"),
        ("similar", "pass overwrite=True", "pass overwrite=True"),
        ("count", "overwrite=False is the default", "overwrite=False is the default"),
        ("count", "workers=None is the default", "workers=None is the default"),
        ("fit", "a file's name is 'it's dim=5'; give dim=5", "a file's name is 'it's dim=5'; give --dim 5"),
        ("fit", "write method.dim=5 or name=value", "write method.dim=5 or name=value"),
    ],
)  # fmt: skip
def test_examples(command, sentence, spelled):
    assert spell_options(sentence, COMMANDS[command]) == spelled


@given(st.sampled_from(OPTIONS), st.data())
def test_every_option_that_a_sentence_names_in_python_is_spelled_as_an_option(chosen, data):
    command, parameter, option = chosen
    name = option.removeprefix("--").replace("-", "_")
    if parameter.is_flag:
        value, said = True, option
    else:
        value = data.draw(
            st.integers() | st.floats(0.001, 1000) | st.text("abc./:", min_size=1), label="value"
        )
        said = f"{option} {value}"
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    spelled = spell_options(f"it does not fit; give {name}={shown}, or stop", COMMANDS[command])
    assert spelled == f"it does not fit; give {said}, or stop"
    assert spell_options(spelled, COMMANDS[command]) == spelled


@given(st.sampled_from(list(COMMANDS)), st.text())
def test_a_name_in_quotes_stays_as_it_is(command, name):
    sentence = f"there is no file '{name}'"
    if "'" not in name:
        assert spell_options(sentence, COMMANDS[command]) == sentence


def messages() -> list[tuple[str, str]]:
    """Every message that the library raises: where it stands, and its text with ``…`` for what is filled in."""
    found = []
    for path in SOURCE.rglob("*.py"):
        if "cli" in path.relative_to(SOURCE).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                texts = [part for part in node.exc.args if isinstance(part, ast.JoinedStr | ast.Constant)]
                found += [(f"{path.relative_to(SOURCE)}:{node.lineno}", _text(part)) for part in texts]
    return found


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)


def test_every_argument_that_the_library_advises_is_an_option_of_some_command():
    known = {option.removeprefix("--").replace("-", "_") for _, _, option in OPTIONS} | {*RENAMED, "client"}
    for place, text in messages():
        assert set(ADVICE.findall(text)) <= known, place


def test_the_librarys_messages_name_no_flags():
    for place, text in messages():
        assert place.startswith("cli/") or not FLAG.search(text), place


def test_the_command_that_was_given_decides(run, monkeypatch):
    def refuse(*arguments, **options):
        raise InputError('give restrict_vocab=5, quiet=True or spaces="_"')

    monkeypatch.setattr("psdvec.cli.query.load", refuse)
    assert run("similar", "m", "w")[2] == 'psdvec: give --restrict-vocab 5, --quiet or spaces="_"\n'
    assert run("convert", "m", "w")[2] == "psdvec: give restrict_vocab=5, --quiet or --spaces _\n"
    monkeypatch.setattr("psdvec.evaluation.testsets.fetch_testsets", refuse)
    assert run("testsets", "fetch")[2] == 'psdvec: give restrict_vocab=5, --quiet or spaces="_"\n'
