"""How much memory a process uses, and how fast a disk is."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from psdvec import resources
from psdvec.errors import InputError
from psdvec.resources import parse_size
from psdvec.system import current_memory, peak_memory


@pytest.mark.slow
def test_the_peak_of_a_process_is_not_that_of_its_parent():
    before = current_memory()
    large = np.ones(1 << 26)
    assert peak_memory() > before + 0.9 * large.nbytes
    code = "from psdvec.system import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < large.nbytes / 2


def test_the_peak_stays_when_the_memory_is_freed():
    large = np.ones(1 << 25)
    high = peak_memory()
    del large
    assert peak_memory() >= 0.99 * high  # Linux adds up the pages of several threads only now and then
    assert high > current_memory()


@pytest.mark.parametrize("size", ["1.5G", 1_500_000_000, 1.5e9, np.int64(1_500_000_000)])
def test_a_size_is_text_or_any_number_of_bytes(size):
    assert parse_size(size) == 1_500_000_000


def test_what_is_no_number_of_bytes_is_no_size():
    with pytest.raises(InputError, match="'nan' is not a size"):
        parse_size(float("nan"))


@pytest.mark.slow
def test_the_arithmetic_of_a_process_names_its_kernels_and_leaves_out_what_others_brought():
    """OpenBLAS chooses its kernels by the processor; a variable can tell it another."""
    code = "import json; from psdvec.resources import arithmetic; print(json.dumps(dict(arithmetic())))"

    def told(**variables):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, env={**os.environ, **variables},
        )  # fmt: skip
        return json.loads(done.stdout)

    usual = told()
    assert usual == dict(resources.arithmetic()), "threads, and what else is loaded, do not matter"
    assert usual == told(OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    if "openblas" not in usual["blas"] or usual["machine"] != "x86_64":
        pytest.skip("the kernels of this machine's BLAS cannot be chosen by name")
    other = told(OPENBLAS_CORETYPE="Nehalem")
    assert {name for name in usual if usual[name] != other[name]} == {"blas"}
    assert "Nehalem" in other["blas"]
