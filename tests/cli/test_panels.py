"""Help texts group the options, show defaults as they are, and a recipe is changed only by what was given."""

from __future__ import annotations

from dataclasses import asdict, fields

import pytest
import typer
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from psdvec.cli import app
from psdvec.cli.options import COUNTING, MACHINE, PANELS, SOLVER
from psdvec.errors import InputError
from psdvec.options import RECIPES, Recipe, make_recipe

FIRST = None  # the panel that typer calls Options
NUMBERS = {field.name for field in fields(Recipe)}
GROUPED = ("train", "fit", "extend", "count", "compare")


def options_of(command: str) -> dict[str, typer.core.TyperOption]:
    found = typer.main.get_command(app).commands[command]
    return {option.name: option for option in found.params if isinstance(option, typer.core.TyperOption)}


def panel(command: str, name: str | None) -> set[str]:
    return {option.name for option in options_of(command).values() if option.rich_help_panel == name}


@pytest.mark.parametrize("command", GROUPED)
def test_every_option_is_in_the_panel_of_its_name(command: str):
    for name, option in options_of(command).items():
        assert option.rich_help_panel == PANELS.get(name, FIRST)


def test_what_people_set_stands_first_and_fits_a_screen():
    first = panel("train", FIRST)
    assert {"output", "dim", "max_words", "min_count", "overwrite", "quiet"} <= first
    assert len(first) <= 12
    assert panel("train", SOLVER) == NUMBERS | {"min_contexts"}
    assert {"tokenizer", "window", "weighting"} <= panel("train", COUNTING)
    assert (
        panel("train", MACHINE)
        == panel("fit", MACHINE)
        == {"memory", "workers", "device", "scheduler", "cluster", "allow_unlike"}
    )
    assert panel("fit", SOLVER) == panel("train", SOLVER)


def test_grouping_a_command_leaves_the_others_as_they_are():
    assert panel("merge", MACHINE) == set()
    assert "workers" in panel("merge", FIRST)


@pytest.mark.parametrize("command", ["train", "fit"])
def test_the_numbers_of_the_default_recipe_are_shown(command: str, run, monkeypatch):
    assert {name: options_of(command)[name].default for name in NUMBERS} == asdict(Recipe())
    monkeypatch.setenv("COLUMNS", "200")
    code, text, _ = run(command, "--help")
    assert code == 0
    for title in (SOLVER, MACHINE):
        assert f"─ {title} ─" in text
    assert "from the recipe" not in text
    assert " ".join(text.split()).count("the other recipes have others") == 1
    lines = text.splitlines()
    for name, value in asdict(Recipe()).items():
        flag = name.replace("_", "-")
        place = next(place for place, line in enumerate(lines) if f" --{flag} " in line)
        shown = {True: flag, False: f"no-{flag}"}[value] if isinstance(value, bool) else value
        assert f"[default: {shown}]" in "".join(lines[place : place + 2])


def test_extending_takes_its_numbers_from_the_model_and_says_so(run):
    text = " ".join(run("extend", "--help")[1].replace("│", " ").split())
    assert text.count("default: the model's.") == 2


@pytest.mark.slow
@given(
    names=st.sets(st.sampled_from(sorted(NUMBERS))),
    recipe=st.sampled_from(sorted(RECIPES)),
)
def test_only_numbers_that_are_given_change_a_recipe(names, recipe, tmp_path):
    """Also where the number given is the default recipe's, which another recipe does not have."""
    # These two exclude each other.
    assume(recipe != "original" or "saturation" not in names or "own_cap" in names)
    asked = {}

    def fit(counts, **options):
        asked.update(options)
        raise InputError("far enough")

    numbers = {name: getattr(Recipe(), name) for name in names}
    arguments = ["fit", "counts", "-o", str(tmp_path / "model"), "--recipe", recipe]
    for name, value in numbers.items():
        flag = name.replace("_", "-")
        arguments += (
            [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psdvec.solver.fit.fit", fit)
        CliRunner().invoke(app, arguments)
    assert asked["changes"] == numbers
    assert make_recipe(asked["recipe"], **asked["changes"]) == make_recipe(recipe, **numbers)
