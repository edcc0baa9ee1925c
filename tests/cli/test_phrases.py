"""The command ``phrases``, and ``--phrases`` of those that count: what they print, write, and say to bad input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import psdvec
from tests.counts.test_phrases import drawn_text
from tests.helpers import contents


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A folder with a text that holds two phrases, and a list of them by hand."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(drawn_text(0)), encoding="utf-8")
    Path("hand.txt").write_text("Hong Kong\nBank w1 America\n", encoding="utf-8")
    return tmp_path


def test_phrases_are_written_and_the_text_with_them(run, folder):
    code, output, _ = run("phrases", "text.txt", "-o", "found.txt", "--join", "joined.txt")
    assert code == 0
    assert output.startswith("2 phrases written to found.txt\n")
    lines = Path("found.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == ["hong kong", "bank w1 america"]
    joined = Path("joined.txt").read_text(encoding="utf-8")
    assert joined.count("hong_kong") == 100
    assert joined.replace("_", " ").split() == Path("text.txt").read_text(encoding="utf-8").split()


def test_a_file_by_hand_a_file_found_and_auto_count_the_same_words(run, folder):
    run("phrases", "text.txt", "-o", "found.txt")
    for name, given in (("a", "auto"), ("b", "found.txt"), ("c", "hand.txt")):
        assert run("count", "text.txt", "--phrases", given, "-o", name)[0] == 0
    assert contents(Path("a")) == contents(Path("b"))
    assert psdvec.load("a").vocabulary == psdvec.load("c").vocabulary


def test_a_dry_run_says_what_becomes_of_phrases(run, folder):
    assert (
        ", with 2 phrases of 'hand.txt'\n"
        in run("count", "text.txt", "--phrases", "hand.txt", "-o", "c", "--dry-run")[1]
    )
    assert (
        ", find its phrases, and read it again\n"
        in run("count", "text.txt", "--phrases", "auto", "-o", "c", "--dry-run")[1]
    )


def test_connectors_can_be_listed(run, folder):
    Path("connectors.txt").write_text("hong\n", encoding="utf-8")
    run("phrases", "text.txt", "-o", "found.txt", "--connectors", "connectors.txt", "--min-score", "0.2")
    assert "\nhong kong\t" not in Path("found.txt").read_text(encoding="utf-8")


def test_a_trained_model_joins_phrases_in_text_and_questions(run, folder):
    run("train", "text.txt", "--phrases", "hand.txt", "-o", "model", "--dim", 5)
    code, output, _ = run("similar", "model", "Hong Kong", "-n", 1)
    assert (code, output.splitlines()[0]) == (0, "hong_kong (Hong Kong looked up as hong_kong)")
    Path("line.txt").write_text("Hong Kong\n", encoding="utf-8")
    run("vectorize", "model", "line.txt", "line.npy")
    assert np.allclose(np.load("line.npy")[0], psdvec.load("model")["hong_kong"])


def test_what_cannot_be_done_is_said_in_a_sentence(run, folder, monkeypatch):
    Path("one.txt").write_text("york\n", encoding="utf-8")
    for wanted, *command in (
        ("'hand.txt' exists already", "phrases", "text.txt", "-o", "hand.txt"),
        ("is not several words", "count", "text.txt", "--phrases", "one.txt", "-o", "counts"),
        ("cannot read 'none.txt'", "count", "text.txt", "--phrases", "none.txt", "-o", "counts"),
        ("fdr is 2.0; give a share", "phrases", "text.txt", "-o", "found.txt", "--fdr", "2"),
        ("'hand.txt' exists already", "phrases", "text.txt", "-o", "found.txt", "--join", "hand.txt"),
        ("can be read only once", "count", "-", "--phrases", "auto", "-o", "counts"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
        code, _, errors = run(*command)
        said = [line for line in errors.splitlines() if line.startswith("psdvec: ")]
        assert code == 1, command
        assert wanted in said[-1], command
    assert not Path("counts").exists()
    assert not Path("found.txt").exists()
