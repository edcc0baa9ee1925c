"""What the pages show is what the records hold: ``benchmarks/lib/tables.py``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks.lib import tables
from benchmarks.lib.records import LOAD, made_where, make_parser, publish

MARKED = [page for page in tables.pages() if "<!-- table:" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_tables_and_pictures_are_those_of_their_records(page: Path):
    for path, text in tables.written(page).items():
        assert path.read_text(encoding="utf-8") == text, "run python -m benchmarks.lib.tables"


def test_a_table_that_was_changed_by_hand_is_written_anew(tmp_path):
    page = tmp_path / "page.md"
    shown = MARKED[0].read_text(encoding="utf-8")
    match = tables.TABLE.search(shown)
    page.write_text(f"Before.\n{match['begin']}| 99.9 |\n<!-- end -->\nAfter.\n", encoding="utf-8")
    text = tables.written(page)[page]
    assert text == f"Before.\n{match[0]}\nAfter.\n"


def test_every_record_is_shown_and_says_what_made_it():
    used = {name for page in MARKED for match in tables.TABLE.finditer(page.read_text(encoding="utf-8"))
            for name in match["records"].split()}  # fmt: skip
    assert used == {path.name for path in tables.RESULTS.glob("*.json")}
    for name in used:
        record = tables.read_record(name)
        assert made_where(record)
        assert record["commit"]
        assert record["versions"]["numpy"]
        assert "/tmp/" not in record["command"]
        assert "/home/" not in record["command"]


def test_a_record_says_how_busy_the_machine_was_and_its_table_is_printed(tmp_path, capsys):
    path = tmp_path / "x.json"
    options = make_parser("Measures x.").parse_args(["--record", str(path)])
    publish({"x": 61.5}, lambda figures: f"| {figures['x']} |", record=options.record)
    assert capsys.readouterr().out == "\n| 61.5 |\n"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (record["x"], record["load"]) == (61.5, round(LOAD, 1))
    assert f"load {LOAD:.1f} at the start" in made_where(record)


SHOWN = (
    "<!-- table: bench_x.table x.json -->\n| | s |\n|---|---:|\n| a | 61.5 |\n| b | 56.94 |\n<!-- end -->\n"
)
RESULTS = [page for page in tables.pages() if page.parent.name == "results"]


@pytest.mark.parametrize("page", sorted({*MARKED, *RESULTS}), ids=lambda page: page.name)
def test_a_page_that_shows_records_states_no_figure_that_they_do_not_hold(page: Path):
    assert tables.unfounded_figures(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.name)
def test_a_page_of_results_is_short_and_says_on_top_when_it_was_measured(page: Path):
    text = page.read_text(encoding="utf-8")
    top = text.partition("\n## ")[0]
    assert "<!-- measured -->" in top or tables.NO_RECORD in top
    prose = re.sub(r"^\|.*$|<!--.*?-->", "", tables.TABLE.sub("", text), flags=re.MULTILINE)
    assert len(prose.split()) <= 800


@pytest.mark.parametrize(
    ("prose", "unfounded"),
    [
        ("It has 61.5 and takes 57 s, or 56.9 points.", []),
        ("It has 71.8.", ["71.8"]),
        ("It takes 44 s, not 61.50 or 61.56.", ["44", "61.56"]),
        ("From 7 to 10 points with 1,234.5 MB.", ["7", "10", "1,234.5"]),
        (
            "50,000 words × 300, the equation (12), SimLex-999, version 0.1, 2026-11-18 and `0.35` are no figures.",
            [],
        ),
        ("4.6 better. <!-- figures: 4.6 = 61.5 - 56.94 -->", []),
        ("9.6 better. <!-- figures: 9.6 = 61.5 - 56.94 -->", ["9.6 = 61.5 - 56.94"]),
        ("1.5 better. <!-- figures: 1.5 = 61.5 - 60 -->", ["1.5 = 61.5 - 60"]),
        ("The factor 3.8. <!-- figures: 3.8 of equation (12) -->", []),
        ("The factor 3.8. <!-- figures: 3.8 -->", ["3.8"]),
        ("| 44.4 | of a table made by hand |", ["44.4"]),
        (f"## Once\n{tables.NO_RECORD} 12.3\n\n## Now\n45.6", ["45.6"]),
    ],
)
def test_a_figure_that_was_made_up_is_found(prose: str, unfounded: list[str]):
    assert tables.unfounded_figures(f"# Page\n\n{SHOWN}\n{prose}\n") == unfounded
