"""Tables and encodings: what is read from them is what they hold, and what cannot be read is said."""

from __future__ import annotations

import csv
import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs, count_words
from psdvec.errors import InputError, InputWarning
from psdvec.text import corpus as corpus_module
from psdvec.text.corpus import read_corpus, report_damage
from psdvec.text.readers import LONGEST, Reader, find_encoding, guess_encoding
from tests.helpers import cells

TEXTS = ["To be, or not to be", 'she said "no"', "two\nlines; here", "Größe\tund café", ""]


def written(rows, **dialect) -> str:
    out = io.StringIO()
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


@given(
    st.lists(st.text(alphabet="ab ,;\t\"'é漢\n", max_size=9), max_size=6),
    st.sampled_from([".csv", ".CSV", ".tsv", ".csv.gz"]),
    st.sampled_from(["\r\n", "\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-le"]),
)
def test_a_table_holds_the_texts_of_its_column(tmp_path_factory, texts, ending, newline, encoding):
    file = tmp_path_factory.mktemp("tables") / f"table{ending}"
    rows = [["year", "text", "note"], *([str(i), text, "words of\nanother"] for i, text in enumerate(texts))]
    delimiter = "\t" if ending == ".tsv" else ","
    data = written(rows, delimiter=delimiter, lineterminator=newline).encode(encoding)
    file.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    reader = Reader(encoding=find_encoding(encoding))
    assert [(record["year"], record["text"]) for _, record in reader.rows(str(file))] == [
        (str(i), text) for i, text in enumerate(texts)
    ]
    found = b"".join(reader.read(str(file), 0)).decode().splitlines()
    assert found == [line for text in texts if text for line in (text.rstrip("\n") + "\n").split("\n")[:-1]]


def test_a_table_is_counted_as_its_texts_are(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text(written([["id", "text"], *enumerate(TEXTS)]))
    expected = count_pairs(TEXTS, min_count=1)
    for block in (1 << 23, 16):
        monkeypatch.setattr(corpus_module, "BLOCK_BYTES", block)
        found = count_pairs(tmp_path / "a.csv", min_count=1)
        assert (cells(found), found.tally) == (cells(expected), expected.tally)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "-"])
def test_the_separator_is_the_one_that_gives_the_column(tmp_path, monkeypatch, delimiter, name):
    data = written(
        [["a note; no, two", "body", "c"], ["x", "to be, or; not", "y"]], delimiter=delimiter
    ).encode()
    (tmp_path / name).write_bytes(data)
    with (tmp_path / name).open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        source = "-" if name == "-" else tmp_path / name
        assert list(read_corpus(source, column="body")) == [["to", "be", "or", "not"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nx,y\n", r"has no column 'text' in its first row \(it has: a, b\); name .*: column=\"NAME\""),
        ("", r"has no column 'text'"),
        ("text,text\nx,y\n", "has several columns 'text'"),
        (
            "id,text\n1,to be, or not\n",
            "has 3 cells in the row that ends in line 2, but 2 columns; put quotation",
        ),
        ("id,text\n1,to be\nor not\n", "has 1 cells in the row that ends in line 3, but 2 columns"),
        ('id,text\n1,"to be\n2,or not\n', "is not a table at line 3 .*unexpected end of data"),
        ('id,text\n1,"to" be\n', "is not a table at line 2"),
    ],
)
def test_a_table_that_would_be_read_wrongly_is_refused(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_corpus(tmp_path / "a.csv"))


def test_empty_rows_and_empty_cells_at_the_end_of_a_row_do_no_harm(tmp_path):
    (tmp_path / "a.csv").write_text("id, text\n\n1,to be,,\n")
    assert list(read_corpus(tmp_path / "a.csv")) == [["to", "be"]]


def test_cells_may_be_longer_than_the_csv_module_allows_at_first(tmp_path):
    long = "word " * 40_000
    (tmp_path / "a.csv").write_text(f"text\n{long}\n")
    assert count_words(tmp_path / "a.csv").counts.tolist() == [40_000]
    assert csv.field_size_limit() == LONGEST


def test_json_is_read_as_json_lines_whatever_its_name(tmp_path):
    for name in ("a.json", "a.jsonl", "a.ndjson.gz"):
        data = b'{"text": "to be", "id": 1}\n{"text": "or not"}\n'
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        assert list(read_corpus(tmp_path / name)) == [["to", "be"], ["or", "not"]]


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "mac-roman", "utf-7"]
)
def test_text_in_any_encoding_is_counted_as_in_utf8(tmp_path, monkeypatch, encoding):
    lines = ["Größe und Maß", "café, naïve", ""] * 9
    monkeypatch.setattr("psdvec.text.readers.PIECE_BYTES", 7)
    (tmp_path / "text").write_bytes("\n".join(lines).encode(encoding))
    found = count_pairs(tmp_path / "text", encoding=encoding, min_count=1)
    assert cells(found) == cells(count_pairs(lines, min_count=1))
    assert found.tally.replaced_bytes == 0


def test_bytes_that_an_encoding_does_not_have_are_replaced_and_counted(tmp_path):
    (tmp_path / "text").write_bytes(b"caf\xe9 \x81\x81 noir\n")
    with pytest.warns(InputWarning, match="not CP1252 replaced: 2; name another encoding"):
        found = count_pairs(tmp_path / "text", encoding="cp1252", min_count=1)
    assert (found.tally.replaced_bytes, found.vocabulary.words) == (2, ("café", "noir"))
    with pytest.raises(InputError, match="is not CP1252 at byte 6 of its text"):
        list(read_corpus(tmp_path / "text", encoding="cp1252", errors="strict"))


def test_the_encoding_is_part_of_what_the_input_is(tmp_path):
    (tmp_path / "text").write_bytes(b"caf\xe9")
    plain, latin = read_corpus(tmp_path / "text"), read_corpus(tmp_path / "text", encoding="latin-1")
    assert "encoding" not in plain.identity
    assert "encoding" not in plain.sources()[0]
    assert read_corpus(tmp_path / "text", encoding="UTF8").identity == plain.identity
    assert latin.identity == {**plain.identity, "encoding": "iso8859-1"}


@pytest.mark.parametrize("name", ["latin-99", "", "a\0b", "base64", "rot13", "undefined"])
def test_what_is_no_encoding_of_text_is_refused(name):
    with pytest.raises(InputError, match=r"there is no encoding .*; give one that Python knows"):
        read_corpus("-", encoding=name)


def test_damage_is_a_warning_above_one_in_a_thousand_words():
    said: list[str] = []
    progress = type("Said", (), {"say": staticmethod(said.append)})()
    report_damage(replaced=0, words=0, progress=progress)
    assert said == []
    report_damage(replaced=1, words=1000, overlong=1, progress=progress)
    assert said == [
        "words longer than 1024 bytes left out: 1",
        "sequences of bytes that were not UTF-8 replaced: 1",
    ]
    with pytest.warns(InputWarning, match='name the encoding, such as encoding="latin-1"'):
        report_damage(replaced=1, words=999, progress=progress)


def test_the_likely_encoding_is_named_where_bytes_can_tell_it():
    assert guess_encoding("Grüße aus Köln".encode("latin-1")) == "latin-1"
    assert guess_encoding("“Grüße” – aus Köln".encode("cp1252")) == "windows-1252"
    assert guess_encoding("Ёлка".encode("koi8-r")) is None
