"""What the pages show is what the records hold: ``benchmarks/lib/tables.py``."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.lib import tables
from benchmarks.lib.records import made_where

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
