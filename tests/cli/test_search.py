"""``psdvec index`` and ``psdvec search``."""

from __future__ import annotations

import json

import pytest

from psdvec.cli.options import read_where
from psdvec.errors import InputError

RECORDS = [
    {"id": "a", "text": "Capital punishment in the states.", "party": "A"},
    {"id": "b", "text": "The capital of France is Paris.", "party": "B"},
    {"id": "c", "text": "Cats sleep.", "party": "B"},
]


@pytest.fixture
def documents(tmp_path):
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return file


def test_json_is_a_list_of_ids_and_scores_best_first(run, tmp_path, documents):
    code, output, _ = run("index", documents, "-o", tmp_path / "index", "--keep", "party")
    assert code == 0
    assert output.startswith("3 documents in ")
    code, output, _ = run("search", "capital punishment", "--in", tmp_path / "index", "--json", "--exact")
    found = json.loads(output)
    assert (code, [one["id"] for one in found]) == (0, ["a", "b"])
    assert found[0]["score"] > found[1]["score"]
    code, output, _ = run(
        "search", "capital", "--in", tmp_path / "index", "--json", "--where", "party=B", "--exact"
    )
    assert [one["id"] for one in json.loads(output)] == ["b"]


def test_a_filter_in_quotes_may_have_a_comma(run, tmp_path):
    file = tmp_path / "documents.csv"
    file.write_text('id,text,author\na,the cat,"Smith, J."\nb,the cat,Smith\n')
    run("index", file, "-o", tmp_path / "index", "--keep", "author")
    for asked, found in (('"Smith, J."', ["a"]), ('"Smith, J.",Smith', ["a", "b"]), ("Smith, J.", ["b"])):
        _, output, _ = run(
            "search", "cat", "--in", tmp_path / "index", "--json", "--where", f"author={asked}"
        )
        assert [one["id"] for one in json.loads(output)] == found


def test_an_empty_value_is_one_of_the_values_of_a_filter_and_open_quotes_are_refused():
    assert read_where(["party=A,"]) == {"party": ["A", ""]}
    with pytest.raises(InputError, match="cannot be cut into values"):
        read_where(['author="Smith, J.'])


def test_documents_are_added_and_found(run, tmp_path, documents):
    run("index", documents, "-o", tmp_path / "index")
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "d", "text": "Dogs bark."}\n')
    code, output, _ = run("index", more, "--add", tmp_path / "index")
    assert (code, output.startswith("4 documents in ")) == (0, True)
    code, output, _ = run("search", "dogs", "--in", tmp_path / "index", "--exact")
    assert output.splitlines()[1:] == ["   **Dogs** bark.", output.splitlines()[2]]
    code, _, errors = run("index", more, "--add", tmp_path / "index")
    assert code == 1
    assert "the document 'd' is in the index already" in errors
    assert "--skip-known" in errors


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "where to is not clear"),
        (("-o", "x", "--add", "y"), "where to is not clear"),
        (("--add", "y", "--keep", "party"), "has a model and fields of its own"),
    ],
)
def test_wrong_calls_are_a_sentence(run, documents, options, sentence):
    code, _, errors = run("index", documents, *options)
    assert code == 1
    assert sentence in errors


def test_what_finds_nothing_says_so(run, tmp_path, documents):
    run("index", documents, "-o", tmp_path / "index")
    code, output, _ = run("search", '"punishment capital"', "--in", tmp_path / "index", "--exact")
    assert (code, output) == (0, "no document has what is asked for\n")
    for asked, sentence in (
        ("qqqq", "no document has a word of the question"),
        ("♥", "has no words; ask with some"),
    ):
        code, _, errors = run("search", asked, "--in", tmp_path / "index")
        assert code == 1
        assert sentence in errors
