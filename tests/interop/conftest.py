"""Tests with the programs that read our files; ``make interop`` installs them, otherwise these tests are skipped."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

import numpy as np
import pytest

from psdvec.vectors.embeddings import Embeddings


@pytest.fixture(scope="session")
def consumer():
    """Import a consumer; under ``make interop``, its absence is a failure."""

    def bring(name: str) -> ModuleType:
        if os.environ.get("PSDVEC_INTEROP"):
            return importlib.import_module(name)
        return pytest.importorskip(name, reason=f"{name} is not installed; run make interop")

    return bring


@pytest.fixture
def e() -> Embeddings:
    words = ("the", "king", "queen", "naïve", "東京", "don't", "new_york", "3.14")
    return Embeddings(words, np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32))
