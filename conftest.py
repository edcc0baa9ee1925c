"""What was skipped or left out is said at the end of every run; ``--skipped`` runs just what was skipped again.

``make test`` must pass on a machine that has only what the project's own files install. What needs more (torch, a
browser, other people's programs, real corpora) is skipped there, and remembered, so that it can be run once the
missing part is there: ``make test-skipped``. ``make check`` leaves slow tests out, and their number is said.
"""

from __future__ import annotations

import bz2
from collections import Counter
from pathlib import Path

import pytest

_REMEMBERED = "psdvec/skipped"
_LEFT_OUT = pytest.StashKey[int]()  # slow tests that were not asked for


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--skipped", action="store_true", help="run only the tests that the last run skipped")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--skipped"):
        return
    wanted = set(config.cache.get(_REMEMBERED, []))
    chosen = [item for item in items if item.nodeid in wanted or item.nodeid.partition("::")[0] in wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_deselected(items: list[pytest.Item]) -> None:
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        stash = slow[0].config.stash
        stash[_LEFT_OUT] = stash.get(_LEFT_OUT, 0) + len(slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:  # of pytest-xdist, in whose own process nothing is collected
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out and "slow" in config.option.markexpr:
        terminalreporter.write_line(f"slow tests left out: {left_out}; make test runs them too")
    reports = terminalreporter.stats.get("skipped", [])
    if not config.getoption("collectonly") and not hasattr(config, "workerinput"):
        config.cache.set(_REMEMBERED, sorted({report.nodeid for report in reports}))
    if reports:
        reasons = Counter(_reason(report) for report in reports)
        listed = "; ".join(f"{count} ({reason})" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped, and how to get it: {listed}")


def _reason(report: pytest.TestReport) -> str:
    text = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
    text = text.removeprefix("Skipped: ")
    if "make interop" in text:
        return "other people's programs: make interop"
    return (
        "the GPU code needs torch: pip install torch"
        if "torch" in text or "gpu" in text
        else text.replace("; ", ": ")
    )


@pytest.fixture(scope="session")
def sample_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples in docstrings name: a dump, texts, counts, vectors."""
    from examples.sample import make_dump, make_text

    import psdvec

    folder = tmp_path_factory.mktemp("samples")
    (folder / "pages-articles.xml.bz2").write_bytes(bz2.compress(make_dump().encode()))
    (folder / "text").mkdir()
    for name in ("text", "medical"):
        (folder / "text" / f"{name}.txt").write_text(make_text(name))
    counts = psdvec.count_pairs(psdvec.read_corpus(folder / "text"), output=folder / "counts")
    psdvec.save(psdvec.fit(counts, dim=20), folder / "vectors.bin")
    return folder


@pytest.fixture(autouse=True)
def _examples_find_their_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("sample_files"))
