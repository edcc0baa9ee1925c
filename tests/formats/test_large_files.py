"""Vectors that are larger than memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import load

pytestmark = pytest.mark.slow

WORDS, DIM = 50_000, 768  # 154 MB, while the program may use 90 MB more than it needs to start

PROGRAM = """
import resource, sys
import numpy, psdvec.cli, psdvec.formats, psdvec.resources
numpy.ones((200, 200)) @ numpy.ones((200, 200))  # so that the buffers of the BLAS are allocated already
used = int(open("/proc/self/status").read().split("VmData:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 90_000_000, used + 90_000_000))
sys.argv = ["psdvec", *sys.argv[1:]]
psdvec.cli.main()
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def binary(tmp_path_factory) -> Path:
    """A word2vec file whose rows are mostly zeros."""
    path = tmp_path_factory.mktemp("large") / "vectors.bin"
    row = np.zeros(DIM, dtype="<f4")
    with path.open("wb") as file:
        file.write(b"%d %d\n" % (WORDS, DIM))
        for i in range(WORDS):
            row[i % DIM] = i + 0.5
            file.write(b"w%d " % i + row.tobytes() + b"\n")
            row[i % DIM] = 0
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the limit and the place to read it are Linux's")
@pytest.mark.parametrize("names", [("out", "out.npz"), ("out.npz", "out"), ("out.txt", "out.bin")])
def test_a_file_larger_than_memory_is_converted_there_and_back(binary: Path, names, tmp_path: Path):
    first, second = (tmp_path / name for name in names)
    for source, target in ((binary, first), (first, second)):
        done = run("convert", source, target, "-q")
        assert done.returncode == 0, done.stderr
    found = load(second, scratch=tmp_path)
    assert found.words == tuple(f"w{i}" for i in range(WORDS))
    ids = np.arange(WORDS)
    assert np.array_equal(found.vectors[ids, ids % DIM], ids + np.float32(0.5))
    assert np.count_nonzero(found.vectors) == WORDS


@pytest.mark.skipif(sys.platform != "linux", reason="the limit and the place to read it are Linux's")
def test_what_does_not_fit_into_memory_says_what_to_do(binary: Path):
    done = run("similar", binary, "w1")
    assert done.returncode == 1
    assert "do not fit into memory; convert them" in done.stderr
