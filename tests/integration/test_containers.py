"""What hardened containers take away: a home, an installation that can be written, a place for compiled code."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from examples.sample import make_records, make_text

import psdvec
from psdvec import kernels

pytestmark = pytest.mark.slow

NOWHERE = "/proc/nowhere"  # a home that nobody can make


@pytest.fixture
def hardened(tmp_path):
    """Return a function that runs Python with a copy of psdvec that cannot be written, without a home.

    Root gives up its capabilities for it, as it could write anywhere.
    """
    site = tmp_path / "site"
    shutil.copytree(
        Path(psdvec.__file__).parent, site / "psdvec", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in (site, *(path for path in site.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    before: list[str] = []
    if os.geteuid() == 0:
        before = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        if shutil.which("setpriv") is None:
            pytest.skip("root can write anywhere, and there is no setpriv (util-linux) to give that up")

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        settings = {"HOME": NOWHERE, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **kept, **more}
        command = [*before, sys.executable, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
        )

    looked = run(
        "-c", "import os, psdvec.kernels as k; print(os.access(os.path.dirname(k.__file__), os.W_OK))"
    )
    if looked.stdout != "False\n":
        pytest.skip("this system has no way to keep a process from writing to its installation")
    yield run
    for folder in (site, *(path for path in site.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


@pytest.fixture
def model(tmp_path):
    psdvec.Embeddings(("king", "queen", "rain"), np.eye(3, dtype=np.float32) + 1).save(tmp_path / "model")
    return tmp_path / "model"


def test_without_a_home_a_model_answers_without_numba(hardened, model):
    code = (
        f"import sys, psdvec; m = psdvec.load({str(model)!r})\n"
        "print(m.most_similar('king', topn=1)[0][0], 'numba' in sys.modules)"
    )
    done = hardened("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "queen False\n", "")


def test_without_a_place_for_compiled_code_it_is_compiled_and_that_is_said_once(hardened, model, tmp_path):
    (tmp_path / "text").write_text("the king and the queen\n")
    call = ("-m", "psdvec", "vectorize", "--tokenizer", "unicode", str(model), str(tmp_path / "text"))
    done = hardened(*call, str(tmp_path / "one.npy"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(kernels.UNKEPT) == 1
    done = hardened(*call, str(tmp_path / "two.npy"), NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    assert kernels.UNKEPT not in done.stderr
    assert list((tmp_path / "kept").rglob("*.nbi"))
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()


@pytest.fixture
def load_kernel(tmp_path, monkeypatch):
    """Return a function that loads a module with one kernel anew, as a new process would."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    kernels._say_unkept.cache_clear()
    source = tmp_path / "adding.py"
    source.write_text("from psdvec.kernels import kernel\n\n@kernel\ndef one_more(n):\n    return n + 1\n")

    def load():
        spec = importlib.util.spec_from_file_location("adding", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.one_more

    return load


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x05nonsense", b"\x80\x05\x8c\x060.68.1\x94."])
def test_damaged_compiled_code_is_compiled_again_and_kept(load_kernel, tmp_path, ending, damage):
    assert load_kernel()(1) == 2
    (kept,) = (tmp_path / "kept").rglob(f"*.{ending}")
    kept.write_bytes(damage)
    again = load_kernel()
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 0
    later = load_kernel()
    assert later(1) == 2
    assert sum(later.stats.cache_hits.values()) == 1


def test_a_cache_that_can_no_longer_be_written_costs_a_sentence(load_kernel, tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="psdvec")  # whatever a quiet command before has left
    before = load_kernel()
    assert before(1) == 2
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").write_text("a file, below which nothing can be")
    assert before(1.5) == 2.5  # another signature, which is compiled now
    assert load_kernel()(1) == 2
    assert [record.message for record in caplog.records] == [kernels.UNKEPT]


def test_a_run_that_compiles_gives_the_same_bytes_as_the_next(tmp_path):
    (tmp_path / "text").write_text(make_text("text"))
    (tmp_path / "articles.jsonl").write_text(make_records())
    commands = [
        "train text -o model --keep counts --dim 20 --core 60 -q",
        "topics model articles.jsonl -o topics --topics 5 -q",
        "fit counts -o glove --method glove --dim 10 --workers 1 -q",
    ]
    found = []
    for run in ("compiles", "next"):
        (tmp_path / run).mkdir()
        for name in ("text", "articles.jsonl"):
            (tmp_path / run / name).write_bytes((tmp_path / name).read_bytes())
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        for command in commands:
            subprocess.run(
                [sys.executable, "-m", "psdvec", *command.split()], cwd=tmp_path / run, env=environment,
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        arrays = [path for ending in ("npy", "safetensors") for path in (tmp_path / run).rglob(f"*.{ending}")]
        found.append({str(path.relative_to(tmp_path / run)): path.read_bytes() for path in arrays})
    assert len(found[0]) > 20
    assert found[0] == found[1]
