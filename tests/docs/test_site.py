"""The documentation as a whole: it builds without a warning, needs no network, and names only what exists."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from scripts import api_page

import psdvec
from psdvec.cli import app
from psdvec.options import RECIPES, Recipe
from tests.conftest import REPOSITORY
from tests.docs.blocks import read_blocks, read_commands
from tests.pages.colours import contrast, explorer_tokens, tokens

PAGES = sorted((REPOSITORY / "docs").rglob("*.md"))
ROOT_PAGES = sorted(REPOSITORY.glob("*.md"))
PACKAGE = REPOSITORY / "src" / "psdvec"
CHANGES = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
RESULTS = REPOSITORY / "benchmarks" / "results" / "README.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z0-9_]+\.py)?|[a-z_]+\.py)`")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed; pip install 'psdvec[docs]'")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed; pip install 'psdvec[docs]'")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        capture_output=True, text=True, check=False, cwd=REPOSITORY, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    return folder


def test_the_site_builds_without_a_warning_and_has_every_page(site: Path):
    for page in PAGES:
        relative = page.relative_to(REPOSITORY / "docs").with_suffix(".html")
        assert (site / relative).is_file()


def test_the_site_loads_nothing_from_elsewhere(site: Path):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe)[^>]*src=\"?(?:https?:)?//", text), page
        assert not re.findall(
            r"<link[^>]*rel=\"?(?:stylesheet|preconnect)\"?[^>]*href=\"?(?:https?:)?//", text
        ), page


def test_the_site_has_the_explorers_colours_and_they_can_be_read():
    style = (REPOSITORY / "docs" / "extra.css").read_text(encoding="utf-8")
    schemes = [
        tokens(block)
        for block in re.findall(r'\[data-md-color-scheme="\w+"\] \{(.*?)\}', style, re.DOTALL)[:2]
    ]
    for own, theirs in zip(schemes, explorer_tokens(), strict=True):
        assert len(own) >= 8
        assert own.items() <= theirs.items()
        for front in ("ink", "soft", "accent", "warm", "frequent"):
            for behind in ("ground", "surface", "sunken"):
                assert contrast(own[front], own[behind]) >= 4.5, (front, behind)


def test_the_first_page_has_pictures(site: Path):
    text = (site / "index.html").read_text(encoding="utf-8")
    pictures = re.findall(r'<img[^>]* src="?(images/[\w-]+\.(?:png|svg))', text)
    assert pictures
    for path in pictures:
        assert (site / path).is_file()


def test_the_api_page_shows_every_public_name(site: Path):
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in psdvec.__all__:
        home = "psdvec.errors" if name == "PSDVecError" else "psdvec"
        assert f'id="{home}.{name}"' in text


def test_the_api_page_lists_in_plain_markdown_what_the_code_has():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed; pip install 'psdvec[sklearn]'")
    page = api_page.PAGE.read_text(encoding="utf-8")
    assert page == api_page.renew(page), "docs/api.md differs from the code; run python -m scripts.api_page"
    listed = set(re.findall(r"^\| `[\w.]*?(\w+)[(`]", page, re.MULTILINE))
    assert set(psdvec.__all__) <= listed
    assert doctest.testmod(api_page).failed == 0


def test_docstrings_become_markdown():
    docstrings = pytest.importorskip(
        "scripts.docstrings", reason="griffe is not installed; pip install 'psdvec[docs]'"
    )
    assert doctest.testmod(docstrings).failed == 0


def test_links_to_files_of_the_repository_lead_somewhere():
    for page in [*PAGES, *ROOT_PAGES, RESULTS]:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            path = link.partition("#")[0]
            if path and "://" not in path:
                assert (page.parent / path).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md"])
def test_modules_and_folders_that_are_named_exist(page: str):
    for path in PATH.findall((REPOSITORY / page).read_text(encoding="utf-8")):
        assert (PACKAGE / path).exists() or (REPOSITORY / path).exists(), f"{page}: {path}"


def test_the_architecture_lists_every_package():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = {name.partition("/")[0] for name in re.findall(r"^\| `([a-z_/]+)/` \|", text, re.MULTILINE)}
    assert listed == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_the_architecture_lists_every_module():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_/]+)/` \|.*\| ([a-z0-9_` ]+) \|$", text, re.MULTILINE)
    listed = {f"{package}/{name}.py" for package, names in rows for name in re.findall(r"`(\w+)`", names)}
    listed |= set(re.findall(r"`(\w+\.py)`", text.partition("Beside them are")[2].partition("**")[0]))
    modules = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    assert listed == {name for name in modules if not name.endswith("__init__.py")}


def test_the_version_to_cite_is_the_version_and_the_newest_of_the_changelog():
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    cited = re.findall(r"^(?:version|date-released): (.+)$", citation, re.MULTILINE)
    assert cited[0] == psdvec.__version__
    newest = re.search(r"^## (\d\S+) - (\S+)$", CHANGES, re.MULTILINE)
    assert newest is not None
    assert list(newest.groups()) == cited


def test_names_that_moved_are_where_the_changelog_says():
    rows = re.findall(r"^\| (`\w.*) \| `.*` \| (`.*`) \|$", CHANGES, re.MULTILINE)
    assert rows
    for names, homes in rows:
        modules = [importlib.import_module(f"psdvec.{home}") for home in re.findall(r"`(.+?)`", homes)]
        for name in re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", names)):
            assert any(hasattr(module, name) for module in modules), name


def test_programs_that_pages_name_exist():
    for page in [*PAGES, *ROOT_PAGES, RESULTS]:
        for name in re.findall(
            r"python -m ((?:benchmarks|scripts|tests)[\w.]*)", page.read_text(encoding="utf-8")
        ):
            path = REPOSITORY / name.rstrip(".").replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), (
                f"{page.name}: {name}"
            )


def commands_of(page: Path) -> list[list[str]]:
    """Every psdvec command that a page shows, whether a test runs it or not."""
    found = []
    for block in read_blocks(page):
        if block.language == "console":
            lines = [command for command, _ in read_commands(block.code)]
        else:
            lines = [] if block.language else block.code.splitlines()
        found += [shlex.split(line, comments=True) for line in lines if line.startswith("psdvec ")]
    return found


@pytest.mark.parametrize("page", [*PAGES, *ROOT_PAGES], ids=lambda page: page.name)
def test_every_command_that_is_shown_exists_with_its_options(page: Path):
    group = typer.main.get_command(app)
    for words in commands_of(page):
        command, rest = group, words[1:]
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        known = {
            name for parameter in command.params for name in [*parameter.opts, *parameter.secondary_opts]
        }
        known |= {"--help", "--install-completion", "--show-completion"}
        assert command is not group or not rest or rest[0].startswith("-"), words
        used = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert used <= known, f"{page.name}: {' '.join(words)}"


def test_the_glossary_is_in_order_and_has_every_setting_of_a_recipe():
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [row.split("|")[1].strip() for row in page.splitlines()[4:]]
    assert words == sorted(words, key=lambda word: word.lower().lstrip("3"))
    assert {field.name for field in fields(Recipe)} <= {one for word in words for one in word.split(", ")}


def test_every_departure_from_the_papers_recipe_is_explained():
    theory = (REPOSITORY / "docs" / "theory.md").read_text(encoding="utf-8")
    _, _, section = theory.partition("## 9. Where this departs")
    for field in fields(Recipe):
        if getattr(RECIPES["default"], field.name) != getattr(RECIPES["paper"], field.name):
            assert f"`{field.name}`" in section, field.name
