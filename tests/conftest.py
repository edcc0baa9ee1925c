from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from psdvec.cli import main


@pytest.fixture
def run(monkeypatch, capsys, caplog):
    """Run the command line and return its exit code, standard output, and standard error with the log."""

    def call(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["psdvec", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as stop:
            main()
        output = capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err + caplog.text

    return call


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of corpora and test sets that are not part of the repository."""
    place = Path(os.environ.get("PSDVEC_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not place.is_dir():
        pytest.skip("there is no folder of test data; set PSDVEC_DATA to one")
    return place
