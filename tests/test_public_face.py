"""The public names, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import psdvec


def test_every_public_name_is_there_and_documented():
    for name in psdvec.__all__:
        assert getattr(psdvec, name).__doc__
    assert dir(psdvec) == sorted([*psdvec.__all__, "__version__"])
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        psdvec.nonsense  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, psdvec, psdvec.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not loaded & {
        "numba",
        "scipy",
        "torch",
        "dask",
        "distributed",
        "fsspec",
        "pyarrow",
        "regex",
        "rich",
    }
