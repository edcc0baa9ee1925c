"""Documents from whatever holds them, and one sentence for what cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.errors import InputError, InputWarning
from psdvec.progress import SilentProgress
from psdvec.topic_model.documents import Documents, Files, read_documents, word_weights
from psdvec.topic_model.topics import topics
from psdvec.vectors.embeddings import Embeddings
from tests.topic_model.planted import SILENT, planted_texts, planted_vectors

E = Embeddings(("cat", "dog", "loan", "bank"), np.eye(4, dtype=np.float32), tokenizer="unicode")
TEXTS = ["The cat, a dog.", "Bank loan bank!"]
RECORDS = [{"text": TEXTS[0], "year": 1999}, {"text": TEXTS[1], "year": None, "id": "b7"}]


def read(source, **options) -> Documents:
    return read_documents(source, E, **options, progress=SILENT)


def words(documents: Documents) -> list[list[str]]:
    """The known words of each document."""
    return [
        [E.words[i] for i in documents.tokens[begin:end] if i >= 0]
        for begin, end in zip(documents.starts[:-1], documents.starts[1:], strict=True)
    ]


def as_json_lines(records) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def as_csv(records) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, sorted({name for record in records for name in record}), delimiter=";")
    table.writeheader()
    table.writerows(records)
    return out.getvalue()


EXPECTED = [["cat", "dog"], ["bank", "loan", "bank"]]


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, object]:
    """The same two documents in every form."""
    (tmp_path / "lines.txt").write_text("\ufeff" + "\n".join(TEXTS) + "\n", encoding="utf-8")
    (tmp_path / "records.jsonl").write_text(as_json_lines(RECORDS) + "\n")
    (tmp_path / "records.csv").write_text(as_csv(RECORDS), encoding="utf-16")
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(as_json_lines(RECORDS).encode()))
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "a.txt").write_text(TEXTS[0])
    (tmp_path / "folder" / "inner" / "b.txt").write_text("Bank\nloan\n\nbank!")
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text)
    return {
        "texts": TEXTS,
        "cut": [["the", "cat", "a", "dog"], ("bank", "loan", "bank")],
        "records": RECORDS,
        "drawn once": iter(TEXTS),
        "lines": tmp_path / "lines.txt",
        "name": str(tmp_path / "lines.txt"),
        "json": tmp_path / "records.jsonl",
        "table": tmp_path / "records.csv",
        "packed": tmp_path / "packed.jsonl.gz",
        "folder": tmp_path / "folder",
        "paths": [tmp_path / "0.txt", tmp_path / "1.txt"],
        "files": Files((str(tmp_path / "folder"),)),
    }


FORMS = (
    "texts", "cut", "records", "drawn once", "lines", "name", "json", "packed", "table", "folder", "paths", "files",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_documents(sources, form: str):
    found = read(sources[form], **({"encoding": "utf-16"} if form == "table" else {}))
    assert words(found) == EXPECTED
    if form == "folder":
        assert found.names == ("a.txt", "inner/b.txt")
    if form in ("json", "records", "packed", "table"):
        assert found.names[1] == "b7"


def test_names_of_documents_say_where_they_are_from(sources, tmp_path: Path):
    assert read(sources["lines"]).names == ("1", "2")
    assert read([sources["lines"], sources["json"]]).names == (
        "lines.txt 1", "lines.txt 2", "records.jsonl 1", "b7",
    )  # fmt: skip
    twice = read(Files((str(sources["folder"]),) * 2)).names
    assert twice[0] == str(tmp_path / "folder" / "a.txt")
    assert read([{"text": "cat", "id": None}]).names == ("0",)


def test_parquet_is_read_by_its_columns(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed; run pip install pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"body": TEXTS, "year": [1999, None]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    found = read(tmp_path / "rows.parquet", column="body", by=["year"])
    assert words(found) == EXPECTED
    assert found.fields == {"year": ("1999", None)}
    data = (tmp_path / "rows.parquet").read_bytes()
    (tmp_path / "broken.parquet").write_bytes(data[:60] + bytes(40) + data[100:])
    with pytest.raises(InputError, match=r"broken.parquet' is a damaged Parquet file .*; download or copy"):
        read(tmp_path / "broken.parquet", column="body")


def test_csv_is_read_by_its_columns(tmp_path: Path):
    (tmp_path / "rows.csv").write_text('id,body,year\n7,"Cat,\na dog",1999\n,bank loan bank,\n')
    found = read(tmp_path / "rows.csv", column="body", by=["year"])
    assert words(found) == EXPECTED
    assert found.names == ("7", "2")  # an empty cell says nothing
    assert found.fields == {"year": ("1999", None)}
    with pytest.raises(
        InputError, match=r"has no column 'text' .*\(it has: id, body, year\); .*: column=\"NAME\""
    ):
        read(tmp_path / "rows.csv")


def test_a_part_of_the_documents_is_read(sources, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("id,text,year\n7,a cat,1999\n8,bank loan bank,2000\n")
    records = [
        {"id": 7, "text": "a cat", "year": 1999.0},
        {"id": 8, "text": "bank loan bank", "year": 2000.0},
    ]
    for source in (tmp_path / "rows.csv", records):
        found = read(source, where={"year": 2000})
        assert (found.names, words(found)) == (("8",), [["bank", "loan", "bank"]])
        with pytest.raises(InputError, match=r"nothing has year=2001 \('year' is 1999, 2000\); check where"):
            read(source, where={"year": 2001})
    with pytest.raises(
        InputError, match="row 0 has no fields to choose it by; leave out where, or give a table"
    ):
        read(TEXTS, where={"year": 2000})
    with pytest.raises(InputError, match="has no column 'month' to choose rows by"):
        read(tmp_path / "rows.csv", where={"month": 5})


def test_the_old_name_of_the_column_still_works():
    texts = [{"body": text} for text in planted_texts(documents=20)]
    one, other = (
        topics(planted_vectors(), texts, 2, min_documents=1, progress=SILENT, **option)
        for option in ({"column": "body"}, {"text": "body"})
    )
    assert np.array_equal(one.proportions, other.proportions)
    assert np.array_equal(one.transform(texts[:2], text="body"), one.transform(texts[:2], column="body"))


def test_bytes_that_are_not_utf8_are_reported(tmp_path: Path):
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "a.txt").write_bytes(b"cat caf\xe9")
    for source in (tmp_path / "latin", tmp_path / "latin" / "a.txt"):
        with pytest.warns(InputWarning, match=r"replaced: 1; '.*a.txt' looks like latin-1"):
            assert words(read(source)) == [["cat"]]
        assert words(read(source, encoding="latin-1")) == [["cat"]]


def test_strings_in_a_list_are_texts_unless_all_name_files(sources, tmp_path: Path):
    assert words(read([str(tmp_path / "0.txt"), "a cat"])) == [[], ["cat"]]
    with pytest.raises(InputError, match=r"strings in a list are texts, but .* give Path objects"):
        read([str(tmp_path / "0.txt"), str(tmp_path / "1.txt")])


def test_a_table_is_read_by_its_columns():
    class Table:  # as pandas and polars have it
        columns = ("text", "year")

        def __getitem__(self, name):
            return {"text": TEXTS, "year": [float("nan"), 3.5]}[name]

        def __iter__(self):
            return iter(self.columns)

    found = read(Table(), by=["year"])
    assert words(found) == EXPECTED
    assert found.fields == {"year": (None, "3.5")}


def test_a_field_that_some_documents_lack_is_none_for_them(sources):
    assert read(sources["json"], by=["year", "id"]).fields == {"year": ("1999", None), "id": (None, "b7")}


def test_names_of_files_that_do_not_exist_are_not_taken_for_texts(tmp_path: Path):
    with pytest.raises(InputError, match=r"nothing\.txt"):
        read(Files((str(tmp_path / "nothing.txt"),)))


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ([], {}, "there are no documents"),
        ({"a": "b"}, {}, "documents are names of files, texts or a table"),
        (3, {}, "documents are names of files, texts or a table"),
        (["cat", 3], {}, r"row 1 of the documents is 3, not a text; leave such rows out"),
        (["cat", ["dog", None]], {}, r"row 1 of the documents is \['dog', None\], not a text"),
        ([{"body": "cat"}], {}, r"row 0 has no text in field 'text' \(it has: body\); leave it out, or name"),
        ([{"text": None}], {}, "row 0 has None in field 'text', which is no text; leave it out"),
        (RECORDS, {"by": ["month"]}, "no document has a field 'month'; check its name"),
    ],
)
def test_what_is_no_documents_gets_a_sentence(source, options, sentence: str):
    with pytest.raises(InputError, match=sentence):
        read(source, **options)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("empty.txt", b"", "there are no documents"),
        ("bad.jsonl", b'{"text": "cat"}\n{"text": \n', "bad.jsonl' line 2 is not JSON"),
        ("list.jsonl", b'["cat"]\n', "list.jsonl' is a JSON array, not JSON lines"),
        ("other.jsonl", b'{"body": "cat"}\n', "other.jsonl' line 1 has no text in field 'text'"),
        ("broken.jsonl.gz", gzip.compress(b'{"text": "cat"}\n' * 99, mtime=0)[:-12], "broken.jsonl.gz"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, name, data, sentence: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=sentence) as error:
        read(tmp_path / name)
    assert "\n" not in str(error.value)


def test_words_of_a_document_are_counted_by_their_weights():
    documents = read(["cat dog cat", "", "nothing known", "bank"])
    assert documents.lengths.tolist() == [3, 0, 0, 1]
    starts, found, counts = replace(documents, weights=np.array([0.5, 1, 1, 0.25])).counted
    assert starts.tolist() == [0, 2, 2, 2, 3]
    assert [E.words[i] for i in found] == ["cat", "dog", "bank"]
    assert counts.tolist() == [1.0, 1.0, 0.25]


def test_some_of_the_documents_are_the_same_documents():
    documents = read(
        [{"text": text, "n": i} for i, text in enumerate(["cat", "", "dog cat", "bank"])], by=["n"]
    )
    some = documents.take(np.array([2, 1]))
    assert words(some) == [["dog", "cat"], []]
    assert some.fields == {"n": ("2", "1")}
    assert some.names == ("2", "1")


def test_empty_documents_and_those_without_known_words_have_no_topic():
    texts = [*planted_texts(documents=20), "", "unheard of"]
    found = topics(planted_vectors(), texts, 4, min_documents=1, progress=SILENT)
    assert not found.proportions[-2:].any()
    assert (found.proportions[:-2].sum(axis=1) > 0.5).all()
    assert (found.proportions.sum(axis=1) <= 1 + 1e-6).all()


def test_one_document_can_have_one_topic_and_no_more():
    text = planted_texts(documents=1)
    assert len(topics(planted_vectors(), text, 1, min_documents=1, progress=SILENT)) == 1
    with pytest.raises(
        InputError, match="2 topics were asked for, but only 1 document has a known word; ask"
    ):
        topics(planted_vectors(), text, 2, min_documents=1, progress=SILENT)


def test_more_topics_than_documents_with_known_words_are_refused():
    with pytest.raises(InputError, match="9 topics were asked for, but only 8 documents have a known word"):
        topics(planted_vectors(), [*planted_texts(documents=8), "", "x"], 9, min_documents=1, progress=SILENT)


def test_documents_without_a_known_word_are_refused():
    with pytest.raises(
        InputError, match="no document has a word with a vector; give vectors of the same language"
    ):
        topics(planted_vectors(), ["was weiß ich"] * 9, 2, progress=SILENT)


def test_words_that_too_few_documents_have_are_not_enough():
    with pytest.raises(InputError, match="fewer than two words with a vector are in 5 documents or more"):
        topics(planted_vectors(), planted_texts(documents=2), 2, progress=SILENT)


def test_a_word_that_every_document_has_hardly_counts():
    documents = read([f"cat {'dog' if i < 10 else 'bank'}" for i in range(100)])
    weights = word_weights(documents, words=4)
    assert weights[0] == 0.01
    assert weights[1] == 1.0
    assert weights[2] == 1.0
    assert weights[3] == pytest.approx(np.log(100 / 90) / np.log(10))


def test_a_small_file_that_holds_far_too_much_is_refused_before_it_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("psdvec.topic_model.documents._WHOLE", 1 << 20)
    (tmp_path / "bomb.txt.gz").write_bytes(gzip.compress(b"cat dog\n" * (1 << 18)))
    with pytest.raises(
        InputError, match=r"bomb.txt.gz' is too long for one document; cut it, or give it by itself"
    ):
        read(tmp_path)
    monkeypatch.setattr("psdvec.topic_model.documents._WHOLE", 1 << 22)
    assert len(read(tmp_path)) == 1


def test_a_document_is_told_by_its_title_its_subject_or_its_first_words(tmp_path: Path):
    records = [
        {"text": "cat " * 99, "title": "Cats"},
        {"text": "From: a\nSubject: Re: Dogs\n\ndog"},
        {"text": "  the\n dog  "},
        {"text": "dog " * 99},
    ]
    e = Embeddings(("cat", "dog"), np.eye(2, dtype=np.float32))
    read = read_documents(records, e, lines=True, progress=SilentProgress())
    assert read.lines[:3] == ("Cats", "Re: Dogs", "the dog")
    assert read.lines[3].endswith("dog…")
    assert len(read.lines[3]) <= 81
    assert read_documents(records, e, progress=SilentProgress()).lines is None
