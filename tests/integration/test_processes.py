"""Every public call after every other, in a child of the process that made the others: forked, spawned, or preloaded.

What one call leaves behind (threads, pools, locks, compiled code) must not hinder another in a child, as servers that
preload and ``multiprocessing`` make them. The parent makes all calls one after the other, so that each forked child
finds what all of them left; each child makes one call, and the last one all of them again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from examples.sample import make_text

import psdvec
from psdvec.evaluation.tasks import Pairs
from psdvec.maps import drawing, layouts
from psdvec.methods import glove, matrices
from psdvec.progress import SilentProgress

pytestmark = pytest.mark.slow

QUIET = SilentProgress()
PRELOADED = "PSDVEC_TEST_PRELOADED"


@cache
def lines() -> list[str]:
    return make_text("text").splitlines()[:400]


@cache
def counts() -> psdvec.Cooccurrence:
    return psdvec.count_pairs(lines(), quiet=True, min_count=2)


@cache
def model() -> psdvec.Model:
    return psdvec.fit(counts(), dim=8, max_words=60, core=60, quiet=True)


def _drawn(folder: Path) -> np.ndarray:
    units = np.random.default_rng(0).standard_normal((layouts.FEW + 20, 4)).astype(np.float32)
    return drawing.draw(units / np.linalg.norm(units, axis=1)[:, None], progress=QUIET).places


def _kept(folder: Path) -> psdvec.Embeddings:
    """Save and load as a folder and as a text file."""
    model().save(folder / "model", overwrite=True)
    psdvec.save(psdvec.load(folder / "model"), folder / "model.txt", overwrite=True)
    return psdvec.load(folder / "model.txt")


def _vectorized(folder: Path) -> np.ndarray:
    (folder / "lines.txt").write_text("\n".join(lines()[:20]))
    psdvec.vectorize_file(model(), folder / "lines.txt", folder / "lines.npy", overwrite=True, progress=QUIET)
    return np.load(folder / "lines.npy")


def _read(folder: Path) -> list[str]:
    (folder / "text.txt").write_text("\n".join(lines()))
    return list(psdvec.count_words(psdvec.read_corpus(folder / "text.txt"), quiet=True).words)


def _evaluated(folder: Path) -> float:
    pairs = Pairs("toy", (("the", "in"), ("the", "of"), ("of", "and")), np.array([3.0, 1.0, 2.0]))
    return psdvec.evaluate(model(), [pairs], progress=QUIET).get("model", "toy").value


CALLS = {
    "count_pairs": lambda folder: psdvec.count_pairs(lines(), quiet=True).values,
    "count_words and read_corpus": _read,
    "merge_counts": lambda folder: psdvec.merge_counts([counts(), counts()], progress=QUIET).values,
    "fit": lambda folder: psdvec.fit(counts(), dim=8, quiet=True).vectors,
    "fit by svd": lambda folder: matrices.fit_svd(counts(), dim=8, progress=QUIET).vectors,
    "fit by glove": lambda folder: glove.fit(counts(), dim=8, workers=1, epochs=2, progress=QUIET).vectors,
    "train": lambda folder: psdvec.train(lines(), dim=8, quiet=True).vectors,
    "extend": lambda folder: psdvec.extend(model(), counts(), quiet=True).vectors,
    "topics": lambda folder: psdvec.topics(model(), lines(), 3, min_documents=1, quiet=True).vectors,
    "evaluate": _evaluated,
    "a map": _drawn,
    "vectorize": _vectorized,
    "save and load": lambda folder: _kept(folder).vectors,
    "questions": lambda folder: [model().most_similar("the"), model().analogy("the", "of", "and")],
}  # fmt: skip


def answer(name: str, folder: Path) -> bytes:
    """Make a call; what comes back must be the same in every process."""
    folder.mkdir(exist_ok=True)
    return (
        np.asarray(CALLS[name](folder)).tobytes()
        if name != "questions"
        else repr(CALLS[name](folder)).encode()
    )


def answers(names: list[str], folder: Path) -> dict[str, bytes]:
    return {name: answer(name, folder) for name in names}


if PRELOADED in os.environ:  # a server makes all calls when it loads this module
    answers(list(CALLS), Path(os.environ.pop(PRELOADED)))


def check(method: str, folder: Path) -> None:
    """Make all calls here, or in the server from which children are forked, and then in the children."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork")  # BLAS has threads
    expected = answers(list(CALLS), folder / "here")
    context = get_context(method)
    if method == "forkserver":
        os.environ[PRELOADED] = str(folder / "server")
        context.set_forkserver_preload([__name__])
    # A spawned one finds nothing that others left.
    each = [[name] for name in CALLS] if method != "spawn" else []
    for number, names in enumerate([*each, list(CALLS)[::-1]]):
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=_report, args=(names, folder / f"there{number}", writer))
        child.start()
        writer.close()
        try:
            found = reader.recv()
        except EOFError:
            child.join()
            sys.exit(f"a child that was asked for {', '.join(names)} ended with {child.exitcode}")
        child.join()
        assert found == {name: expected[name] for name in names}, names


def _report(names: list[str], folder: Path, writer: object) -> None:
    writer.send(answers(names, folder))


def run(*lines: str) -> str:
    """Run some lines with this module in a process of its own; return what they print."""
    code = "\n".join(["from pathlib import Path", f"from {__name__} import *", *lines])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_call_works_after_every_other_in_a_child(method, tmp_path):
    run(f"check({method!r}, Path({str(tmp_path)!r}))")


def test_nothing_uses_openmp(tmp_path):
    """Whoever has used it ends the children that use it too."""
    found = run(
        f"answers(list(CALLS), Path({str(tmp_path / 'here')!r}))",
        "from threadpoolctl import threadpool_info",
        "print([one for one in threadpool_info() if one['user_api'] == 'openmp'])",
    )
    assert found == "[]\n"
