"""The tables of README and docs, written from records.

    python -m benchmarks.lib.tables            # writes every table anew
    python -m benchmarks.lib.tables --check    # says which differ from their record, and changes nothing

A record is a JSON file in ``benchmarks/results`` that a benchmark wrote. A page says what it shows by a comment,
``<!-- table: bench_sizes.table sizes-english.json -->``: the function of a module in ``benchmarks/bench`` or
``benchmarks/studies``, and the records that it is given. What stands between this comment and the next ``<!-- end -->``
is what the function returned, then the record's date, machine and command.
``<!-- picture: bench_sizes.picture sizes-english.json images/sizes.svg -->`` has a picture written beside the page.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.lib.measure import run_script
from benchmarks.lib.records import made_where

HOME = Path(__file__).parent.parent.parent
RESULTS = HOME / "benchmarks" / "results"
TABLE = re.compile(
    r"(?P<begin><!-- table: (?P<module>\w+)\.(?P<function>\w+)(?P<records>(?: [\w.-]+\.json)+) -->\n)"
    r"(?P<text>.*?)(?P<end>\n?<!-- end -->)",
    re.DOTALL,
)
PICTURE = re.compile(
    r"<!-- picture: (?P<module>\w+)\.(?P<function>\w+)(?P<records>(?: [\w.-]+\.json)+) (?P<file>\S+) -->"
)


def pages() -> list[Path]:
    """Return every page that may show a table."""
    return [HOME / "README.md", *sorted((HOME / "docs").rglob("*.md"))]


def read_record(name: str) -> dict[str, Any]:
    """Return a record of ``benchmarks/results``."""
    record: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return record


def renderer(module: str, function: str) -> Callable[..., str]:
    """Return the function that writes a table."""
    for folder in ("bench", "studies"):
        name = f"benchmarks.{folder}.{module}"
        if importlib.util.find_spec(name):
            found: Callable[..., str] = getattr(importlib.import_module(name), function)
            return found
    raise ValueError(f"no benchmark is called {module}")


def render(match: re.Match[str]) -> str:
    """Return what the function that a comment names makes of its records."""
    return renderer(match["module"], match["function"])(*map(read_record, match["records"].split()))


def table(match: re.Match[str]) -> str:
    """Return a table with its comments, and where its figures come from."""
    sources = [made_where(read_record(name)) for name in match["records"].split()]
    return "\n".join([match["begin"] + render(match).strip(), "", *sources, "<!-- end -->"])


def written(page: Path) -> dict[Path, str]:
    """Return the page with all of its tables written anew, and its pictures."""
    text = page.read_text(encoding="utf-8")
    pictures = {page.parent / match["file"]: render(match) for match in PICTURE.finditer(text)}
    return {
        page: TABLE.sub(table, text),
        **pictures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if anything would change"
    )
    options = parser.parse_args()
    differ = 0
    for page in pages():
        for path, text in written(page).items():
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                differ += 1
                print(path.relative_to(HOME))
                if not options.check:
                    path.write_text(text, encoding="utf-8")
    if options.check and differ:
        sys.exit(1)


if __name__ == "__main__":
    run_script(main)
