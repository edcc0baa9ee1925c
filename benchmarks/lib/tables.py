"""The tables of README and docs, written from records.

    python -m benchmarks.lib.tables            # writes every table anew
    python -m benchmarks.lib.tables --check    # says which differ from their record, and changes nothing

A record is a JSON file in ``benchmarks/results`` that a benchmark wrote. A page says what it shows by a comment,
``<!-- table: bench_sizes.table sizes-english.json -->``: the function of a module in ``benchmarks/bench`` or
``benchmarks/studies``, and the records that it is given. What stands between this comment and the next ``<!-- end -->``
is what the function returned, then the record's date, machine and command.
``<!-- picture: bench_sizes.picture sizes-english.json images/sizes.svg -->`` has a picture written beside the page.
``<!-- measured -->``, at the top of a page, is followed by the dates and machines of all its records.

Figures in the text between tables must stand in one of them; :func:`unfounded_figures` finds those that do not. A page
accounts for others in a comment: ``<!-- figures: 4.6 = 61.5 - 56.9; 3.8 the factor of (12) -->``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Sequence
from operator import add, mul, sub, truediv
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
MEASURED = re.compile(r"<!-- measured -->\n.*?<!-- end -->", re.DOTALL)
NO_RECORD = "Measured with version 0.1; there is no record."
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
UNIT = r"\s?(?:s|ms|µs|kB|MB|GB|TB|seconds?|minutes?|hours?|points?|times|%|of 100)(?!\w)"
FIGURE = re.compile(  # a number, and what makes a whole one a figure: its unit, perhaps that of the next
    rf"(?<![\w.,/])(?<!\w-)(?<!version )({NUMBER})(?!\d|[.,]\d)(?=({UNIT}|(?:,| to| and| or)\s{NUMBER}{UNIT})|)"
)
ACCOUNT = re.compile(rf"({NUMBER}) (?:= ({NUMBER}) ([-+*/]) ({NUMBER})|\w.+)")
NO_PROSE = re.compile(  # fenced and indented code, inline code, comments, targets of links
    r"^```.*?^```|^    .*?$|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.DOTALL | re.MULTILINE
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


def measured(text: str) -> str:
    """Return when and on what the records that a page shows were measured."""
    shown = [read_record(name) for match in TABLE.finditer(text) for name in match["records"].split()]
    dates = sorted({record["date"] for record in shown})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines = sorted({f"{record['processors']} processors ({record['machine']})" for record in shown})
    loads = [record["load"] for record in shown if "load" in record]
    busy = f"; load at the start at most {max(loads)}" if loads else ""
    return f"<!-- measured -->\nMeasured {when} on {', '.join(machines)}{busy}.\n<!-- end -->"


def written(page: Path) -> dict[Path, str]:
    """Return the page with all of its tables written anew, and its pictures."""
    text = page.read_text(encoding="utf-8")
    pictures = {page.parent / match["file"]: render(match) for match in PICTURE.finditer(text)}
    return {
        page: MEASURED.sub(lambda _: measured(text), TABLE.sub(table, text)),
        **pictures,
    }


def unfounded_figures(text: str) -> list[str]:
    """Return the figures in a page's prose that are in none of its tables and for which no comment accounts.

    Figures are numbers with decimals, and whole ones with a unit. Sections that say so have no record; where the words
    above the first section do, the page has none.
    """
    shown = [value(number) for match in TABLE.finditer(text) for number in numbers_of(match["text"])]
    entries = [
        entry.strip()
        for note in re.findall(r"<!-- figures: (.*?) -->", text, re.DOTALL)
        for entry in note.split(";")
    ]
    wrong = [entry for entry in entries if not accounts(entry, shown)]
    known = {entry.split()[0] for entry in entries}
    prose = prose_of(text)
    found = [match[1] for match in FIGURE.finditer(prose) if "." in match[1] or match[2]]
    return wrong + [figure for figure in found if figure not in known and not stands_in(figure, shown)]


def prose_of(text: str) -> str:
    """Return what a page says between tables and code, where it does not say that there is no record."""
    first, *others = re.split(r"^(?=##)", MEASURED.sub("", TABLE.sub("", text)), flags=re.MULTILINE)
    if NO_RECORD in first:
        return ""
    return NO_PROSE.sub("", "".join(part for part in (first, *others) if NO_RECORD not in part))


def numbers_of(table: str) -> list[str]:
    """Return the numbers in the rows of a table."""
    return re.findall(NUMBER, "\n".join(line for line in table.splitlines() if line.startswith("|")))


def value(number: str) -> float:
    return float(number.replace(",", ""))


def stands_in(figure: str, shown: Sequence[float]) -> bool:
    """Return whether a number that is shown is the figure, at its precision, itself or in hundredths."""
    near = 0.5 * 10.0 ** -len(figure.partition(".")[2]) + 1e-9
    return any(abs(scale * each - value(figure)) <= near for each in shown for scale in (1, 100))


def accounts(entry: str, shown: Sequence[float]) -> bool:
    """Return whether an entry gives a reason, or derives a figure rightly from two that are shown."""
    match = ACCOUNT.fullmatch(entry)
    if match is None or match[2] is None:
        return match is not None
    work = {"+": add, "-": sub, "*": mul, "/": truediv}[match[3]]
    derived = work(value(match[2]), value(match[4]))
    return all(stands_in(match[i], shown) for i in (2, 4)) and stands_in(match[1], [derived])


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
