"""How much memory a process uses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from psdvec.resources import current_memory, peak_memory


def test_the_peak_of_a_process_is_not_that_of_its_parent():
    before = current_memory()
    large = np.ones(1 << 26)
    assert peak_memory() > before + 0.9 * large.nbytes
    code = "from psdvec.resources import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < large.nbytes / 2


def test_the_peak_stays_when_the_memory_is_freed():
    large = np.ones(1 << 25)
    high = peak_memory()
    del large
    assert peak_memory() >= high > current_memory()
