"""Killed at any moment and started again, counting ends with the bytes of an undisturbed run."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from psdvec.counts import pairs as out_of_core
from psdvec.counts import segments as numbering
from psdvec.counts.count import count_pairs
from psdvec.text.corpus import read_corpus
from tests.helpers import Watched, contents, count_in_small_runs

pytestmark = pytest.mark.slow

KILLS = 50

# Forks children that count, and kills each after a random time, until one gets to the end; repeats until KILLS were
# killed. Forking from a process that has loaded and compiled everything makes a child start in milliseconds.
SCRIPT = """
import os, random, shutil, signal, sys, time
from pathlib import Path
import pytest
from psdvec.text import corpus
from psdvec.text.corpus import read_corpus
from psdvec.counts.count import count_pairs
from tests.helpers import contents, count_in_small_runs

folder, kills = Path(sys.argv[1]), int(sys.argv[2])
patch = pytest.MonkeyPatch()
count_in_small_runs(patch, chunk=700, cells=200)
patch.setattr(corpus, "BLOCK_BYTES", 2000)

def count(name):
    count_pairs(read_corpus(folder / "text"), min_count=2, window=4, workers=2, output=folder / name)

count("compiling")
start = time.monotonic()
count("undisturbed")
usual = time.monotonic() - start
expected = contents(folder / "undisturbed")
random.seed(0)
killed = finished = 0
while killed < kills:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            count("disturbed")
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    time.sleep(random.uniform(0.01, 0.5 * usual))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed += 1
        whole = folder / "disturbed"
        assert not whole.exists() or contents(whole) == expected, "half an artefact"
        if whole.exists():
            shutil.rmtree(whole)
    else:
        assert status == 0, "a child failed"
        assert contents(folder / "disturbed") == expected, "other bytes"
        shutil.rmtree(folder / "disturbed")
        finished += 1
if not finished:
    count("disturbed")
    assert contents(folder / "disturbed") == expected
    finished = 1
print(killed, finished)
"""


def write_text(path):
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{i}" for i in rng.zipf(1.3, 30).clip(max=500)) for _ in range(400)]
    path.write_text("\n".join(lines))


def test_killed_fifty_times_and_resumed_it_ends_with_the_same_bytes(tmp_path):
    write_text(tmp_path / "text")
    command = [
        sys.executable,
        "-W",
        "error",
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        SCRIPT,
        str(tmp_path),
        str(KILLS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    killed, finished = map(int, done.stdout.split())
    assert killed == KILLS
    assert finished >= 1


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    ("module", "function", "calls", "pattern"),
    [
        (numbering, "number_block", 9, "segments/*.segment"),
        (out_of_core, "count_rows", 5, "runs/chunk-*/??????"),
        (out_of_core, "add_rows", 2, "runs/merged/*-??????"),
    ],
)
def test_finished_parts_are_not_done_again(tmp_path, monkeypatch, module, function, calls, pattern):
    write_text(tmp_path / "text")
    count_in_small_runs(monkeypatch, chunk=700)
    monkeypatch.setattr("psdvec.text.corpus.BLOCK_BYTES", 2000)
    corpus, options = read_corpus(tmp_path / "text"), {"min_count": 2, "window": 4, "workers": 1}
    original, made = getattr(module, function), []

    def counted(*arguments, **named):
        made.append(function)
        return original(*arguments, **named)

    def stopped(*arguments, **named):
        if len(made) == calls:
            raise StopError
        return counted(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(module, function, stopped)
        with pytest.raises(StopError):
            count_pairs(corpus, **options, output=tmp_path / "counts")
    finished = len(list((tmp_path / "counts.work").glob(pattern)))
    assert finished >= calls - 1
    monkeypatch.setattr(module, function, counted)
    needed = []
    for output in ("counts", "undisturbed"):
        made.clear()
        count_pairs(corpus, **options, output=tmp_path / output)
        needed.append(len(made))
    assert contents(tmp_path / "counts") == contents(tmp_path / "undisturbed")
    assert needed[0] == needed[1] - finished


def test_other_options_start_from_scratch(tmp_path, caplog):
    caplog.set_level("INFO", "psdvec")
    write_text(tmp_path / "text")
    corpus = read_corpus(tmp_path / "text")
    with pytest.raises(KeyboardInterrupt):
        count_pairs(corpus, window=2, output=tmp_path / "counts", progress=Watched(stop_at="counting pairs"))
    assert (tmp_path / "counts.work").is_dir()
    count_pairs(corpus, window=3, output=tmp_path / "counts")
    assert "starting from scratch" in caplog.text
    count_pairs(corpus, window=3, output=tmp_path / "fresh")
    assert contents(tmp_path / "counts") == contents(tmp_path / "fresh")
    assert not (tmp_path / "counts.work").exists()


def test_a_workspace_of_another_format_is_not_read(tmp_path, caplog, monkeypatch):
    caplog.set_level("INFO", "psdvec")
    write_text(tmp_path / "text")
    corpus = read_corpus(tmp_path / "text")
    with monkeypatch.context() as patch:
        patch.setattr("psdvec.counts.count.FORMAT", 1)
        with pytest.raises(KeyboardInterrupt):
            count_pairs(corpus, output=tmp_path / "counts", progress=Watched(stop_at="counting pairs"))
    for segment in (tmp_path / "counts.work" / "segments").iterdir():
        segment.write_bytes(b"of an older kind")
    count_pairs(corpus, output=tmp_path / "counts")
    assert "starting from scratch" in caplog.text
    count_pairs(corpus, output=tmp_path / "fresh")
    assert contents(tmp_path / "counts") == contents(tmp_path / "fresh")


def test_a_full_disk_is_said_and_nothing_that_was_whole_is_lost(tmp_path):
    """A limit on the size of files stands in for the disk: big enough for the segments, too small for the counts."""
    write_text(tmp_path / "text")
    options = ["--min-count", "1", "--window", "20", "-o", str(tmp_path / "counts")]
    command = [sys.executable, "-m", "psdvec", "count", str(tmp_path / "text"), *options]
    limited = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY));"
        "sys.argv[:] = sys.argv[1:]; runpy.run_module('psdvec', run_name='__main__')"
    )
    full = subprocess.run(
        [sys.executable, "-c", limited, *command[2:]], capture_output=True, text=True, check=False
    )
    assert full.returncode == 1
    assert "psdvec: the disk is full: writing below" in full.stderr
    assert not (tmp_path / "counts").exists()
    assert len(list((tmp_path / "counts.work").glob("segments/*.segment"))) == 1
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "resuming the work" in again.stderr
    count_pairs(read_corpus(tmp_path / "text"), min_count=1, window=20, output=tmp_path / "undisturbed")
    assert contents(tmp_path / "counts") == contents(tmp_path / "undisturbed")
