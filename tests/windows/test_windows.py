"""What is prepared for Windows holds on a platform that is like it; nothing in psdvec needs another one by mistake."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import psdvec

HOME = Path(__file__).parent.parent.parent
SOURCES = sorted(Path(psdvec.__file__).parent.rglob("*.py"))
# Of the standard library, what is not there on Windows.
POSIX_ONLY = {
    "_posixshmem", "_posixsubprocess", "crypt", "curses", "fcntl", "grp", "nis", "ossaudiodev", "posix", "pty", "pwd",
    "readline", "resource", "spwd", "syslog", "termios", "tty",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what is open is seen on Linux only")
def test_storage_and_formats_hold_where_things_are_as_on_windows(tmp_path):
    report = tmp_path / "report.xml"
    command = [
        sys.executable, "-X", "warn_default_encoding", "-m", "pytest", "-p", "tests.windows.platform", "-p", "no:xdist",
        "-o", f"cache_dir={tmp_path / 'cache'}", f"--basetemp={tmp_path / 'inner'}", f"--junitxml={report}",
        "tests/windows/inside.py", "tests/storage", "tests/formats",
    ]  # fmt: skip
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=HOME, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    counts = ElementTree.parse(report).getroot().find("testsuite").attrib
    ran = int(counts["tests"]) - int(counts["skipped"])
    assert (ran >= 300, counts["failures"], counts["errors"]) == (True, "0", "0"), counts


def at_module_level(node: ast.AST) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield inner
            yield from at_module_level(inner)


def test_no_module_imports_what_only_some_systems_have():
    for path in SOURCES:
        for node in at_module_level(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & POSIX_ONLY, path


def calls_with_text(path: Path) -> Iterator[tuple[str, set[str | None]]]:
    """Yield every call that opens or reads a text, and what it must say by name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        is_method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if is_method else getattr(node.func, "id", "")
        options = {word.arg: word.value for word in node.keywords}
        values = [each.value for each in (*node.args, options.get("mode")) if isinstance(each, ast.Constant)]
        modes = [each for each in values if isinstance(each, str) and set(each) <= set("rwaxbt+")]
        if (name == "open" and any("b" not in mode for mode in modes)) or (
            is_method and name in ("read_text", "write_text")
        ):
            writes = name == "write_text" or (
                name == "open" and any(set(mode) & set("wax+") for mode in modes)
            )
            yield ast.unparse(node), {"encoding", *(("newline",) if writes else ())} - options.keys()
        elif name in ("run", "Popen") and {"text", "universal_newlines"} & options.keys():
            yield ast.unparse(node), {"encoding"} - options.keys()


def test_texts_are_read_and_written_in_one_way_on_every_system():
    found = [(call, missing) for path in SOURCES for call, missing in calls_with_text(path)]
    assert len(found) > 20
    assert [(call, missing) for call, missing in found if missing] == []
