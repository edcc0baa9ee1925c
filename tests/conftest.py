from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from psdvec.cli import main

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True
)
settings.load_profile("default")

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real corpora and test sets, or a skip that says so.

    As for the program, ``PSDVEC_DATA`` may also name a folder that holds nothing but test sets.
    """
    folder = Path(os.environ.get("PSDVEC_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set PSDVEC_DATA to a folder that holds it")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, caplog):
    """Run the command line and return its exit code, standard output, and standard error with the log."""
    monkeypatch.setattr(signal, "signal", lambda *handler: None)

    def call(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["psdvec", *map(str, arguments)])
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            file.write(stdin)
            file.seek(0)
            monkeypatch.setattr("sys.stdin", file)
            with pytest.raises(SystemExit) as stop:
                main()
        output = capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err + caplog.text

    return call


@pytest.fixture(params=[1, 2, 4], ids=lambda n: f"{n}-workers")
def workers(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def all_rounds_kept(monkeypatch):
    """Keep every round of a fit, however quick it was."""
    monkeypatch.setattr("psdvec.solver.rounds.KEPT_AFTER", 0)
