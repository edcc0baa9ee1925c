"""A sample of what can be lost on a cluster: a quarter of a minute of it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow

pytest.importorskip(
    "distributed", reason="distributed is not installed; run pip install 'psdvec[distributed]'"
)


@pytest.mark.skipif(sys.platform != "linux", reason="forked processes are tortured on Linux only")
@pytest.mark.parametrize("how", [[], ["--no-nanny", "--only", "fit"]])
def test_no_loss_of_a_sample_costs_more_than_time(how):
    """All of them: ``make torture``."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.torture.clusters"]
    done = subprocess.run(
        [*command, "--seed", "2", "--sample", "1", "--minutes", "0.25", *how],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"[1-9]\d*  points in all, 0 failures", done.stdout)
