"""Results as JSON lines, one a run, so that a benchmark that was killed goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Records:
    """Results in a file, each under a key that says what was run; both are dictionaries that JSON can hold.

    A key holds all that a result depends on but the program itself: after a change of psdvec, begin a new file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        records = [record for line in lines if (record := _parse(line)) is not None]
        self.found = {_text(record["key"]): record["result"] for record in records}

    def find(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return the result under this key, or None if it is still to be had."""
        return self.found.get(_text(key))

    def add(self, key: dict[str, Any], result: dict[str, Any]) -> None:
        """Keep a result, in memory and as a line of the file."""
        self.found[_text(key)] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell():
                file.seek(-1, 2)
                broken = file.read() != b"\n"  # a run was killed while it wrote
            else:
                broken = False
            line = json.dumps({"key": key, "result": result}, ensure_ascii=False)
            file.write(b"\n" * broken + line.encode() + b"\n")


def _text(key: dict[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)


def _parse(line: str) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:  # of a run that was killed while it wrote
        return None
    return record
