"""A sample of the faults: every stage killed, refused, short of memory, interrupted, twice at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.mark.skipif(sys.platform != "linux", reason="forked processes are tortured on Linux only")
def test_no_fault_of_a_sample_loses_anything_and_all_work_goes_on_to_the_same_bytes():
    """All of them: ``make torture``. The processes are forked from one of their own, which has no threads."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "tests.torture.faults"]
    done = subprocess.run(
        [*command, "--seed", "2", "--sample", "1"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("points in all, 0 failures")
