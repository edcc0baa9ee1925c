from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings
from tests.spelled import vocabulary

TRIPLE = ("man", "woman", "king")
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3\d(?:;[\d;]+)?m")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, -1, 0]], dtype=np.float32)
    words = ("man", "woman", "king", "queen", "stone")
    save(Embeddings(words, vectors, deviations=np.array([0, 0, 0, 2.0, 0])), tmp_path / "model")
    return tmp_path / "model"


def test_similar_prints_a_table_with_thin_words_marked(run, model: Path):
    code, out, _ = run("similar", model, "king", "-n", "2", "-q")
    assert code == 0
    assert out.splitlines()[:3] == ["king", "queen ~  0.8165", "man      0.7071"]
    assert "thin evidence" in out


def test_a_word_asked_about_is_marked_as_thin_as_well(run, model: Path):
    _, out, _ = run("similar", model, "queen", "-n", "1", "-q")
    assert out.splitlines()[0].split() == ["queen", "~"]
    assert "thin evidence" in out
    _, out, _ = run("similar", model, "queen", "man", "-n", "1", "--json", "-q")
    assert [answer.get("thin", False) for answer in json.loads(out)] == [True, False]
    _, out, _ = run("analogy", model, "man", "queen", "king", "-n", "1", "-q")
    assert out.startswith("man : queen ~ = king : ?")
    assert "thin evidence" in out
    _, out, _ = run("analogy", model, "man", "queen", "king", "-n", "1", "--json", "-q")
    assert json.loads(out)[0]["thin"] == ["queen"]


def test_similar_prints_json(run, model: Path):
    _, out, _ = run("similar", model, "king", "man", "-n", "1", "--json", "-q")
    answers = json.loads(out)
    assert [answer["word"] for answer in answers] == ["king", "man"]
    assert answers[0]["neighbours"] == [
        {"word": "queen", "score": pytest.approx(0.8165, abs=1e-4), "thin": True}
    ]


@pytest.fixture
def folded(tmp_path: Path) -> Path:
    """A model whose tokenizer folds case."""
    words = ("man", "woman", "king", "queen", "u.s")
    vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, -1, 0]], dtype=np.float32)
    save(Embeddings(words, vectors, tokenizer="unicode"), tmp_path / "folded")
    return tmp_path / "folded"


def test_a_word_is_looked_up_as_the_model_writes_it_and_the_answer_says_so(run, folded: Path):
    code, out, _ = run("similar", folded, "King", "king", "U.S.", "-n", "1", "-q")
    titles = [block.splitlines()[0].strip() for block in out.strip().split("\n\n")]
    assert (code, titles) == (0, ["king (King looked up as king)", "king", "u.s (U.S. looked up as u.s)"])
    _, out, _ = run("similar", folded, "King", "king", "-n", "1", "--json", "-q")
    typed, written = json.loads(out)
    assert (typed["word"], typed["looked_up"]) == ("King", "king")
    assert typed["neighbours"] == written["neighbours"]
    assert "looked_up" not in written


def test_questions_in_python_find_a_word_as_the_command_does(run, folded: Path):
    e = load(folded)
    for typed in ("King", "king", "U.S.", "KING"):
        _, out, _ = run("similar", folded, typed, "--json", "-q")
        told = [(one["word"], one["score"]) for one in json.loads(out)[0]["neighbours"]]
        assert told == [(word, pytest.approx(score)) for word, score in e.most_similar(typed)]
    for typed in ("Kinng", "king queen"):
        assert run("similar", folded, typed, "-q")[0] == 1
        with pytest.raises(KeyError):
            e.most_similar(typed)


def test_analogy_and_odd_say_what_they_looked_up(run, folded: Path):
    _, out, _ = run("analogy", folded, "Man", "woman", "KING", "--json", "-q")
    (answer,) = json.loads(out)
    assert (answer["a"], answer["c"], answer["answers"][0]["word"]) == ("man", "king", "queen")
    assert answer["looked_up"] == {"Man": "man", "KING": "king"}
    _, out, _ = run("odd", folded, "man", "Queen", "king", "-q")
    assert "(Queen looked up as queen)" in out
    _, out, _ = run("odd", folded, "man", "queen", "king", "--json", "-q")
    assert "looked_up" not in json.loads(out)[0]


def test_a_word_that_is_missing_in_every_form_is_missing(run, folded: Path):
    code, _, err = run("similar", folded, "Kinng", "U.S.", "-q")
    assert code == 1
    assert "there is no vector for 'Kinng'" in err


def test_too_many_or_too_few_words_are_told_apart(run, model: Path):
    assert "give 3 words; 4 were given: a b c d" in run("analogy", model, *"abcd", "-q")[2]
    assert "give at least 3 words; only 1 was given: a" in run("odd", model, "a", "-q")[2]


def test_a_dash_reads_words_from_standard_input(run, model: Path):
    _, out, _ = run("similar", model, "-", "--json", "-q", stdin="king\n\nman\nking\n")
    assert [answer["word"] for answer in json.loads(out)] == ["king", "man"]


def test_a_missing_word_is_reported_and_the_others_answered(run, model: Path):
    code, out, err = run("similar", model, "kinng", "man", "--json", "-q")
    assert code == 1
    assert "did you mean 'king'?" in err
    assert "did you mean 'king'?" in json.loads(out)[0]["error"]
    assert json.loads(out)[1]["neighbours"]


def test_analogy_answers_in_both_ways(run, model: Path):
    e = load(model)
    for method, *options in (
        ("3cosadd",),
        ("3cosadd", "--method", "3cosadd"),
        ("3cosmul", "--method", "3cosmul"),
    ):
        (found,) = json.loads(run("analogy", model, "man", "woman", "king", "--json", "-q", *options)[1])
        ranking = [(one["word"], one["score"]) for one in found["answers"]]
        assert ranking == e.analogy("man", "woman", "king", method=method)
        assert ranking[0][0] == "queen"
        assert found["method"] == method
    _, out, _ = run("analogy", model, "-", "-q", stdin="man woman king\nman king woman\n")
    assert "man : woman = king : ?" in out
    assert "man : king = woman : ?" in out


def test_analogy_needs_three_words(run, model: Path):
    code, _, err = run("analogy", model, "man", "woman", "-q")
    assert (code, err) == (1, "psdvec: give 3 words; only 2 were given: man woman\n")


def test_a_bad_line_of_standard_input_is_named(run, model: Path):
    code, out, err = run("analogy", model, "-", "-q", stdin="man woman king\n\nman king\n")
    assert (code, out) == (1, "")
    assert "give 3 words in line 3 of standard input; only 2 were given: man king" in err


@pytest.mark.parametrize("command", ["analogy", "odd"])
def test_a_question_with_a_missing_word_does_not_stop_the_others(run, model: Path, command: str):
    lines = "man woman kinng\nman woman king\n"
    code, out, err = run(command, model, "-", "--json", "-q", stdin=lines)
    missing, answered = json.loads(out)
    assert code == 1
    assert missing["words"] == ["man", "woman", "kinng"]
    assert missing["error"] in err
    assert "error" not in answered
    code, out, err = run(command, model, "-", "-q", stdin=lines)
    assert (code, err.count("did you mean 'king'?")) == (1, 1)
    assert out


def test_tables_are_coloured_where_colours_are_wanted(run, model: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for command in (("similar", model, "king"), ("odd", model, *TRIPLE), ("analogy", model, *TRIPLE)):
        plain = run(*command, "-q")[1]
        assert "\x1b" not in plain
        with monkeypatch.context() as patch:
            patch.setenv("FORCE_COLOR", "1")
            coloured = run(*command, "-q")[1]
            assert COLOUR.search(coloured)
            assert ESCAPES.sub("", coloured) == plain
            patch.setenv("NO_COLOR", "1")
            assert not COLOUR.search(run(*command, "-q")[1])


def test_the_word_that_answers_and_thin_words_stand_out(run, model: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    odd = run("odd", model, "man", "woman", "stone", "-q")[1].splitlines()
    assert [line.startswith("\x1b[1;32m") for line in odd[1:4]] == [True, False, False]
    similar = run("similar", model, "king", "-n", "2", "-q")[1].splitlines()
    assert [line.startswith("\x1b[2mqueen ~") for line in similar[1:3]] == [True, False]


def test_columns_line_up_whatever_the_width_of_the_characters(run, tmp_path: Path):
    words = ("東京", "京都", "Kyōto", "cafe\u0301", "서울")
    vectors = 1 + np.random.default_rng(0).random((5, 4))
    save(Embeddings(words, vectors), tmp_path / "model")
    title, *rows = run("similar", tmp_path / "model", "東京", "-q")[1].rstrip().splitlines()
    assert title == "東京"
    assert {places(row) for row in rows} == {max(places(word) for word in words) + len("  0.1234")}
    assert all(re.fullmatch(r"\S+ +\d\.\d{4}", row) for row in rows)


def places(text: str) -> int:
    """Return how many places a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def test_odd_names_the_word_that_does_not_belong(run, model: Path):
    _, out, _ = run("odd", model, "man", "woman", "stone", "king", "-q")
    assert out.startswith("odd: stone")


def test_convert_changes_the_format_and_says_what_it_wrote(run, model: Path, tmp_path: Path):
    code, _, err = run("convert", model, tmp_path / "out.vec.gz", "--limit", "2")
    assert code == 0
    assert "2 vectors of 3 dimensions" in err
    assert load(tmp_path / "out.vec.gz").words == ("man", "woman")
    code, _, err = run("convert", model, tmp_path / "out.vec.gz", "-q")
    assert code == 1
    assert "exists already" in err


def test_convert_says_how_many_words_a_static_model_cannot_find(run, folded: Path, tmp_path: Path):
    (tmp_path / "plain.txt").write_text("king 1 2\nu.s 2 1\n")
    _, _, err = run("convert", folded, tmp_path / "other", "--to", "model2vec")
    assert "cannot be found" not in err
    _, _, err = run("convert", tmp_path / "plain.txt", tmp_path / "static", "--to", "model2vec")
    assert "1 of the words cannot be found in a text there" in err


def test_convert_reads_standard_input(run, model: Path, tmp_path: Path):
    assert run("convert", "-", tmp_path / "out.txt", "-q", stdin="1 2\na 1 2\n")[0] == 0
    assert load(tmp_path / "out.txt").words == ("a",)


def test_convert_looks_at_the_output_before_it_reads_the_input(run, tmp_path: Path):
    for name, message in (("out.dat", "does not tell its format"), ("-", "cannot be the name of an output")):
        code, _, err = run("convert", tmp_path / "nothing", name, "-q")
        assert code == 1
        assert message in err


def test_convert_leaves_bad_rows_out_when_asked(run, tmp_path: Path):
    (tmp_path / "bad.txt").write_text("3 2\na 1 2\na 1 2\nb 1 2\n")
    assert run("convert", tmp_path / "bad.txt", tmp_path / "out", "-q")[0] == 1
    assert run("convert", tmp_path / "bad.txt", tmp_path / "out", "--bad-rows", "skip", "-q")[0] == 0
    assert load(tmp_path / "out").words == ("a", "b")


def test_vectorize_writes_the_mean_of_each_line(run, model: Path, tmp_path: Path):
    (tmp_path / "text").write_text("King, queen!\nnothing known\nman")
    code, _, err = run("vectorize", model, tmp_path / "text", tmp_path / "out.npy")
    assert code == 0
    assert "3 of 5 words known, 1 documents without a known word" in err
    assert np.load(tmp_path / "out.npy").tolist() == [[1, 0.5, 1], [0, 0, 0], [1, 0, 0]]


def test_vectorize_cuts_lines_as_the_model_does_or_as_it_is_told(run, folded: Path, tmp_path: Path):
    (tmp_path / "text").write_text("\ufeffU.S., King\n", encoding="utf-8")
    for options, expected in (((), [0.5, -0.5, 0.5]), (("--tokenizer", "whitespace"), [0, 0, 0])):
        command = (
            "vectorize",
            folded,
            tmp_path / "text",
            tmp_path / "out.npy",
            "--overwrite",
            "-q",
            *options,
        )
        assert run(*command)[0] == 0
        assert np.load(tmp_path / "out.npy").tolist() == [expected]
    assert "choose one of unicode" in run("vectorize", folded, "-", tmp_path / "x.npy", "--tokenizer", "x")[2]


def test_vectorize_reads_a_part_of_a_table(run, model: Path, tmp_path: Path):
    (tmp_path / "text.csv").write_text("party,body\nA,king\nB,man\n")
    command = ("vectorize", model, tmp_path / "text.csv", tmp_path / "out.npy", "--column", "body", "-q")
    assert run(*command, "--where", "party=B")[0] == 0
    assert np.load(tmp_path / "out.npy").tolist() == [[1, 0, 0]]
    code, _, errors = run(*command, "--where", "party=C", "--overwrite")
    assert (code, errors) == (1, "psdvec: nothing has party=C ('party' is A, B); check where\n")
    assert len(np.load(tmp_path / "out.npy")) == 1  # what was there is kept


def test_vectorize_makes_the_folder_of_its_output_and_keeps_what_is_there(run, model: Path, tmp_path: Path):
    command = ("vectorize", model, "-", tmp_path / "new" / "out.npy", "-q")
    assert run(*command, stdin="king\n")[0] == 0
    assert run(*command, stdin="man\nman\n")[0] == 1
    assert np.load(tmp_path / "new" / "out.npy").tolist() == [[1, 0, 1]]
    assert run(*command, "--overwrite", stdin="man\nman\n")[0] == 0
    assert len(np.load(tmp_path / "new" / "out.npy")) == 2


def test_a_wrong_call_exits_with_2_and_an_error_with_1(run, tmp_path: Path):
    assert run("similar")[0] == 2
    assert run("similar", tmp_path / "none", "x")[0] == 1
    assert run("nonsense")[0] == 2


def test_spell_writes_a_folder_in_which_unseen_words_have_vectors(run, tmp_path: Path):
    save(replace(vocabulary(), subwords=None, counts=None, deviations=None), tmp_path / "vectors.txt")
    code, out, err = run("spell", tmp_path / "vectors.txt", "-o", tmp_path / "better")
    assert code == 0
    assert "48 vectors of 8 dimensions written to" in out
    assert "spelling weighs" in err
    assert "spelling" in run("info", tmp_path / "better")[1]
    code, out, _ = run("similar", tmp_path / "better", "replayings", "--oov", "spelling", "-q")
    assert code == 0
    code, _, err = run("spell", tmp_path / "better", "-o", tmp_path / "again", "-q")
    assert code == 1
    assert "have learned spelling already" in err


def test_spell_writes_other_formats_and_says_what_they_lack(run, tmp_path: Path):
    save(replace(vocabulary(), subwords=None), tmp_path / "vectors.txt")
    code, out, _ = run("spell", tmp_path / "vectors.txt", "-o", tmp_path / "better.bin", "-q")
    assert code == 0
    assert "binary holds no letters" in out
    assert "psdvec info" not in out
    assert len(load(tmp_path / "better.bin")) == 48
    code, _, err = run("spell", tmp_path / "vectors.txt", "-o", tmp_path / "better.bin", "-q")
    assert code == 1
    assert "--overwrite" in err


def test_pairs_and_what_to_keep_are_not_written_over_each_other(run, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat\nthe cat sat\n")
    both = tmp_path / "both.csv"
    code, _, errors = run("duplicates", tmp_path / "a.txt", "-o", both, "--keep", both, "--overwrite")
    assert (code, both.exists()) == (1, False)
    assert "give each a name of its own" in errors
    code, output, _ = run("duplicates", tmp_path / "a.txt", "-o", both)
    assert (code, output) == (0, "1 pair in 1 group of 2 documents; leave out 1, keep 1\n")
