"""``--oov``: words without a vector on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import mean_vectors
from tests.docs.test_pages import environment
from tests.spelled import vocabulary

SPELLING = ("--oov", "spelling", "-q")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("spelled") / "model"
    save(vocabulary(), path)
    return path


def test_similar_answers_for_an_unseen_word_and_says_so(run, model: Path):
    code, out, err = run("similar", model, "Players", "play", "-n", "2", *SPELLING)
    assert (code, err) == (0, "")
    assert out.startswith("players ~ (Players looked up as players, players by its spelling)\nplay")
    code, out, _ = run("similar", model, "players", "play", "-n", "2", "--json", *SPELLING)
    unseen, seen = json.loads(out)
    assert code == 0
    assert unseen["spelled"] is True
    assert "spelled" not in seen
    expected = load(model).most_similar_many(["players"], topn=2, unseen="spelling")[0]
    assert [one["word"] for one in unseen["neighbours"]] == [word for word, _ in expected]
    assert unseen["neighbours"][0]["score"] == pytest.approx(expected[0][1])


def test_an_unseen_word_is_an_error_unless_its_spelling_is_asked_for(run, model: Path):
    for arguments in (("similar", model, "players"), ("odd", model, "players", "play", "read")):
        code, _, err = run(*arguments, "-q")
        assert (code, "no vector for 'players'" in err) == (1, True)
        assert run(*arguments, "--oov", "error", "-q")[0] == 1
        assert run(*arguments, *SPELLING)[0] == 0


def test_a_word_of_unknown_letters_is_missing_and_the_others_are_answered(run, model: Path):
    code, out, err = run("similar", model, "qqq", "players", "--json", *SPELLING)
    assert code == 1
    assert err.startswith("psdvec: there is no vector for 'qqq'")
    assert "error" in json.loads(out)[0]
    assert json.loads(out)[1]["neighbours"]


def test_analogy_and_odd_name_the_words_that_were_spelled(run, model: Path):
    code, out, _ = run("analogy", model, "play", "players", "read", "--json", *SPELLING)
    (record,) = json.loads(out)
    assert (code, record["spelled"]) == (0, ["players"])
    expected = load(model).analogy("play", "players", "read", unseen="spelling")
    assert [one["word"] for one in record["answers"]] == [word for word, _ in expected]
    code, out, _ = run("odd", model, "play", "players", "größ", *SPELLING)
    assert code == 0
    assert "(players by its spelling)" in out
    assert "players ~" in out
    code, out, _ = run("odd", model, "play", "reads", "größ", "--json", *SPELLING)
    assert "spelled" not in json.loads(out)[0]


def test_vectorize_counts_what_was_spelled(run, model: Path, tmp_path: Path):
    (tmp_path / "text").write_text("zz players play\nqqq\n")
    code, _, err = run("vectorize", model, tmp_path / "text", tmp_path / "rows.npy", "--oov", "spelling")
    assert code == 0
    assert "1 of 4 words known, 1 more by their spelling, 1 documents without a known word" in err
    expected = mean_vectors(load(model), [["zz", "players", "play"], ["qqq"]], unseen="spelling")
    assert np.array_equal(np.load(tmp_path / "rows.npy"), expected)
    code, _, err = run("vectorize", model, tmp_path / "text", tmp_path / "known.npy")
    assert "1 of 4 words known, 1 documents without a known word" in err


def test_evaluate_covers_more_by_spelling(run, model: Path, tmp_path: Path):
    (tmp_path / "pairs.txt").write_text("play read 1\nplay players 3\nsing think 2\n")
    task = ("--task", tmp_path / "pairs.txt", "-q")
    assert "2/3" in run("evaluate", model, *task)[1]
    code, out, _ = run("evaluate", model, *task, "--oov", "spelling")
    assert code == 0
    assert "2+1/3" in out


def test_vectors_without_spelling_refuse_in_one_sentence(run, tmp_path: Path):
    save(Embeddings(("a", "b", "c"), np.eye(3, dtype=np.float32)), tmp_path / "bare")
    (tmp_path / "pairs.txt").write_text("a b 1\nb c 2\n")
    for arguments in (
        ("similar", tmp_path / "bare", "players"),
        ("odd", tmp_path / "bare", "a", "b", "players"),
        ("vectorize", tmp_path / "bare", tmp_path / "pairs.txt", tmp_path / "rows.npy"),
        ("evaluate", tmp_path / "bare", "--task", tmp_path / "pairs.txt"),
    ):
        code, out, err = run(*arguments, *SPELLING)
        assert (code, out) == (1, "")
        assert err.startswith("psdvec: ")
        assert "of spelling; " in err
        assert err.count("\n") == 1
    assert "choose --oov skip" in err


def test_bytes_that_are_no_text_are_answered_or_refused_like_any_word(model: Path):
    strict = {**environment(), "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(
        [sys.executable, "-m", "psdvec", "similar", model, b"\xff\xfe", b"players\xff", "--json", *SPELLING],
        capture_output=True, text=True, check=False, env=strict,
    )  # fmt: skip
    assert done.returncode == 1
    assert [one["word"] for one in json.loads(done.stdout)] == ["\udcff\udcfe", "players\udcff"]
    assert done.stderr.startswith("psdvec: there is no vector for")
    assert done.stderr.count("\n") == 1
