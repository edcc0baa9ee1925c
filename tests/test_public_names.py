from __future__ import annotations

import subprocess
import sys

import pytest

import psdvec


def test_every_public_name_can_be_had():
    assert set(psdvec.__all__) == set(psdvec._HOME)
    for name in psdvec.__all__:
        assert getattr(psdvec, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = psdvec.nonsense


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, psdvec; print(sorted({'numpy', 'scipy', 'numba', 'torch'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
