"""Run every row of the table of inputs as the page writes it, and compare what comes out with what it says."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from examples.sample import make_dump

import psdvec
from tests.conftest import REPOSITORY
from tests.docs.test_pages import NEEDS_A_SHELL, environment

PAGE = REPOSITORY / "docs" / "how-to" / "inputs.md"
SPEECHES = [
    "We will lower taxes for families in the city.",
    "Schools and roads cost 300 million of your taxes.",
    "We will build schools for families.",
    "The roads in the city need repair!",
]
RECORDS = [{"party": "AB"[i % 2], "year": 1999 + i // 20, "speech": SPEECHES[i % 4]} for i in range(40)]


class Row(NamedTuple):
    number: str
    have: str
    code: str
    outcome: str

    @property
    def needs(self) -> str | None:
        found = re.search(r"\(needs (\w+)\)", self.have)
        return found and found[1]


def read_rows() -> list[Row]:
    table = PAGE.read_text(encoding="utf-8").partition("<!-- inputs -->")[2].partition("<!-- end -->")[0]
    cells = [re.split(r" \| ", line.strip("| ")) for line in table.splitlines() if re.match(r"\| \d", line)]
    return [Row(*(cell.strip(" `") for cell in row)) for row in cells]


ROWS = read_rows()


def test_there_are_at_least_25_kinds_each_with_its_number():
    assert len(ROWS) >= 25
    assert [int(row.number) for row in ROWS] == list(range(1, len(ROWS) + 1))


@pytest.fixture
def names(tmp_path, monkeypatch) -> dict[str, Any]:
    """The files that the page speaks of, in the current folder, and what it has in Python, by name."""
    monkeypatch.chdir(tmp_path)
    texts = [record["speech"] for record in RECORDS]
    Path("speeches.txt").write_text("\n".join(texts))
    Path("speeches.txt.gz").write_bytes(gzip.compress("\n".join(texts).encode()))
    Path("speeches").mkdir()
    for place in (0, 20):
        Path("speeches", f"{place}.txt").write_text("\n".join(texts[place : place + 20]))
    Path("latin.txt").write_bytes("naïve café\n".encode("latin-1") * 5)
    Path("dump.xml.bz2").write_bytes(bz2.compress(make_dump().encode()))
    for name, separator in (("speeches.csv", ","), ("speeches.tsv", "\t")):
        rows = [list(RECORDS[0]), *(list(map(str, record.values())) for record in RECORDS)]
        Path(name).write_text("".join(f"{separator.join(row)}\n" for row in rows))
    Path("speeches.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    orders = [(order, sku) for order in range(10) for sku in (1001, 1002, 1003 + order % 2)]
    Path("orders.csv").write_text("order,sku\n" + "".join(f"{order},{sku}\n" for order, sku in orders))
    edges = [("a", "b"), ("b", "c", 2.5), ("c", "d"), ("d", "a")]
    Path("graph.edges").write_text("".join(f"{' '.join(map(str, edge))}\n" for edge in edges))
    Path("list.txt").write_text("the city\n")
    return {
        "baskets": [{1001, 1002, 1003 + order % 2} for order in range(10)], "edges": edges,
        "matrix": [[0, 2.5, 1], [2.5, 0, 0], [1, 0, 0]], "things": ["tea", "milk", "sugar"],
        "psdvec": psdvec, "texts": texts, "records": RECORDS, "chinese": ["我来到北京清华大学"] * 5,
        "reads": ["ACGTACGT"] * 5,
    }  # fmt: skip


def brought(package: str) -> dict[str, Any]:
    """Import what a row needs, or skip it, and return what the page calls by a name."""
    if os.environ.get("PSDVEC_INTEROP"):
        module = importlib.import_module(package)
    else:
        module = pytest.importorskip(package, reason=f"{package} is not installed; run make interop")
    if package == "pyarrow":
        parquet, table = importlib.import_module("pyarrow.parquet"), module.Table.from_pylist(RECORDS)
        parquet.write_table(table, "speeches.parquet")
        return {"arrow_table": table}
    made = {
        "pandas": lambda: {"frame": module.DataFrame(RECORDS)},
        "polars": lambda: {"polars_frame": module.DataFrame(RECORDS)},
        "datasets": lambda: {"dataset": module.Dataset.from_list(RECORDS)},
    }
    return made.get(package, lambda: {package: module})()


def call(command: str, run) -> Any:
    """Run a command, and return what it has written."""
    if NEEDS_A_SHELL & set(command):
        line = f'psdvec() {{ python -m psdvec "$@"; }}; {command}'
        assert (
            subprocess.run(
                ["bash", "-c", line], capture_output=True, env=environment(), check=False
            ).returncode
            == 0
        )
    else:
        code, _, errors = run(*shlex.split(command)[1:])
        assert code == 0, errors
    written = Path(re.search(r"-o (\S+)", command)[1])
    return psdvec.load(written) if written.is_dir() else written


def told(found: Any) -> str:
    """Say what came out as the page does."""
    if isinstance(found, Path):
        return f"a text of {len(found.read_text().splitlines())} lines"
    if isinstance(found, psdvec.Topics):
        return f"{len(found)} topics of {len(found.names)} documents"
    if isinstance(found, psdvec.Model):
        return f"a model of {len(found)} {found.noun}s"
    of = f"counts of {len(found)} {found.noun}s"
    return f"{of} in {found.tally.sentences} sentences" if found.tally.sentences else of


@pytest.mark.filterwarnings("ignore:::(?!psdvec)")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.number}: {row.have}")
def test_a_row_gives_what_the_page_says(row: Row, names, run):
    if row.needs:
        names |= brought(row.needs)
    if "model" in row.code.partition("(")[2]:
        names["model"] = psdvec.train("speeches.txt", quiet=True)
    found = call(row.code, run) if row.code.startswith("psdvec ") else eval(row.code, names)
    assert told(found) == row.outcome
