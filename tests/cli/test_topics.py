"""The command ``topics``: what it prints, what it writes, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import psdvec
from psdvec.formats import save
from tests.helpers import contents
from tests.topic_model.planted import NAMES, planted_texts, planted_vectors, topic_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A folder with vectors, and with documents in two forms."""
    monkeypatch.chdir(tmp_path)
    save(planted_vectors(), tmp_path / "model", format="model")
    texts = planted_texts(documents=40)
    Path("lines.txt").write_text("".join(f"{text}\n" for text in texts))
    records = [
        {"body": text, "year": 2000 + i % 2, "id": f"d{i}"} if i else {"body": text}
        for i, text in enumerate(texts)
    ]
    Path("records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Path("unheard.txt").write_text("nothing is known here\n")
    Path("alone.txt").write_text("bank0 bank0\n")
    Path("texts").mkdir()
    for i, text in enumerate(texts):
        Path("texts", f"{i:02}.txt").write_text(text)
    return tmp_path


def test_topics_are_printed_and_written(run, folder: Path):
    code, output, _ = run("topics", "model", "lines.txt", "-o", "out", "--topics", 4)
    assert code == 0
    found = psdvec.load("out")
    assert sorted(topic_of(words) for words in found.top_words(6)) == sorted(NAMES)
    assert output.splitlines()[0].split() == ["topic", "label", "words", "size"]
    assert all(label in output for label in found.labels)
    assert "4 topics written to out; have a look at out/topics.html" in output


def test_topics_are_drawn_as_the_name_of_the_file_says(run, folder: Path):
    pytest.importorskip("matplotlib")
    call = ("topics", "model", "lines.txt", "--topics", 4, "-q")
    assert run(*call, "-o", "out", "--plot", "topics.svg")[0] == 0
    assert Path("topics.svg").read_text().startswith("<?xml")
    code, _, errors = run(*call, "-o", "other", "--plot", "topics.svg")
    assert code != 0
    assert "exists" in errors
    assert not Path("other").exists()


def test_one_topic_of_one_document_is_said_in_the_singular(run, folder: Path):
    code, output, _ = run(
        "topics", "model", "-", "-o", "out", "--topics", 1, "--min-documents", 1, stdin="bank0 bank1 sea1\n"
    )
    assert code == 0
    assert "1 topic written to out" in output


def test_what_is_left_out_is_said(run, folder: Path):
    seeded = ("--seed-words", "finance: bank0 unheard")
    command = ("topics", "model", "-", "-o", "out", "--topics", 4, *seeded)
    code, _, errors = run(*command, stdin=Path("lines.txt").read_text() + "nothing known\n")
    assert code == 0
    assert "without a known word, and so without a topic: 1 of 41 documents" in errors
    assert "seed words of 'finance' that too few documents have: unheard" in errors


def test_a_folder_of_files_is_a_document_a_file(run, folder: Path):
    assert run("topics", "model", "texts", "-o", "out", "--topics", 4, "-q")[0] == 0
    assert run("topics", "model", "lines.txt", "-o", "lines", "--topics", 4, "-q")[0] == 0
    found = psdvec.load("out")
    assert found.names[:2] == ("00.txt", "01.txt")
    assert found.tilts.tobytes() == psdvec.load("lines").tilts.tobytes()


def test_standard_input_is_a_document_a_line(run, folder: Path):
    command = ("topics", "model", "-", "-o", "out", "--topics", 4, "-q")
    assert run(*command, stdin=Path("lines.txt").read_text())[0] == 0
    assert len(psdvec.load("out").names) == 40


def test_fields_seed_words_and_the_quick_way_are_those_of_the_library(run, folder: Path):
    seeded = ("--seed-words", "finance: bank0, bank1", "--seed-words", "ocean: sea1")
    asked = ("--text", "body", "--by", "year", *seeded, "--topics", 4, "--quick", "--min-documents", 2)
    assert run("topics", "model", "records.jsonl", *asked, "-o", "out", "--seed", 3, "-q")[0] == 0
    psdvec.topics(
        "model", Path("records.jsonl"), 4, text="body", by="year", quick=True, min_documents=2, seed=3, quiet=True,
        seed_words={"finance": ["bank0", "bank1"], "ocean": ["sea1"]}, output="own",
    )  # fmt: skip
    assert contents(Path("out")) == contents(Path("own"))
    found = psdvec.load("out")
    assert found.labels[:2] == ("finance", "ocean")
    assert found.fields["year"][:3] == (None, "2001", "2000")
    assert Path("out/sizes-year.csv").is_file()


def test_any_number_of_workers_gives_the_same_bytes(run, folder: Path):
    for workers in (1, 2):
        assert (
            run("topics", "model", "lines.txt", "-o", f"{workers}", "--topics", 4, "--workers", workers)[0]
            == 0
        )
    assert contents(Path("1")) == contents(Path("2"))


def test_info_describes_topics(run, folder: Path):
    assert run("topics", "model", "lines.txt", "-o", "out", "--topics", 4, "-q")[0] == 0
    code, output, _ = run("info", "out", "--verify")
    assert code == 0
    assert "4 topics of 40 documents" in output
    assert "intact" in output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing.txt"], "nothing.txt"),
        (["lines.txt", "--topics", "many"], "--topics many is not a number; give one, such as 50, or auto"),
        (["lines.txt", "--topics", "0"], "topics is 0; give 1 or more"),
        (["lines.txt", "--topics", "41"], "41 topics were asked for, but only 40 documents have a known word; "
         "ask for fewer: --topics N"),
        (["lines.txt", "--seed-words", "bank"], "names no topic and words; write them as 'economy: bank loan"),
        (["lines.txt", "--seed-words", "x: unheard"], "none of the seed words of 'x' (unheard) is in enough"),
        (["lines.txt", "--seed-words", "x: bank0", "--seed-words", "x: sea1"], "seed words of 'x' are given twice"),
        (["records.jsonl"], "has no text in field 'text' (it has: body); leave it out, or name the field that "
         "holds the text: --column NAME"),
        (["texts", "--by", "year"], "no document has a field 'year'; check its name (plain text has no fields"),
        (["unheard.txt"], "no document has a word with a vector; give vectors of the same language"),
        (["records.jsonl", "--text", "body", "--by", "month"], "no document has a field 'month'"),
        (["lines.txt", "--min-documents", "41"], "fewer than two words with a vector are in 41 documents or more; give "
         "vectors of the same language, or ask for fewer documents: --min-documents N"),
        (["alone.txt", "--min-documents", "1"], "fewer than two words with a vector are in 1 document or more; give "
         "vectors of the same language, or more documents\n"),
        (["model"], "psdvec: "),
    ],
)  # fmt: skip
def test_bad_input_gets_one_sentence(run, folder: Path, arguments: list[str], sentence: str):
    code, output, errors = run("topics", "model", *arguments, "-o", "out", "-q")
    assert (code, output) == (1, "")
    assert sentence in errors
    assert errors.count("\n") == 1
    assert not Path("out").exists()


def test_what_exists_is_not_written_over(run, folder: Path):
    command = ("topics", "model", "lines.txt", "-o", "out", "--topics", 2, "-q")
    assert run(*command)[0] == 0
    code, _, errors = run(*command)
    assert code == 1
    assert "--overwrite" in errors
    assert run(*command, "--overwrite")[0] == 0
