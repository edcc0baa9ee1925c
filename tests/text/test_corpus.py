"""What can be read as a corpus, and what is refused, with a sentence that says why."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs
from psdvec.errors import InputError, InputWarning
from psdvec.text import corpus as corpus_module
from psdvec.text.corpus import read_corpus
from tests.helpers import cells

TEXT = "To be, or not to be.\nThat is the question.\n"
SENTENCES = [["to", "be", "or", "not", "to", "be"], ["that", "is", "the", "question"]]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_text_is_read_plain_or_compressed(tmp_path, compress):
    (tmp_path / "text").write_bytes(compress(TEXT.encode()))
    assert list(read_corpus(tmp_path / "text")) == SENTENCES


def test_zstandard_is_read(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="the extra zstd is not installed")
    (tmp_path / "text.zst").write_bytes(zstandard.compress(TEXT.encode()))
    assert list(read_corpus(tmp_path / "text.zst")) == SENTENCES


def test_folders_and_globs_are_read_sorted_by_name_without_hidden_files(tmp_path):
    for name, text in {"b.txt": "second", "a.txt": "first", ".hidden": "never"}.items():
        (tmp_path / name).write_text(text)
    assert list(read_corpus(tmp_path)) == [["first"], ["second"]]
    assert list(read_corpus(f"{tmp_path}/*.txt")) == [["first"], ["second"]]
    assert list(read_corpus([tmp_path / "b.txt", tmp_path / "a.txt"])) == [["second"], ["first"]]


def test_json_lines_are_read_by_field(tmp_path):
    lines = [{"text": "one\ntwo", "title": "x"}, {"text": "three", "title": "y z"}]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
    assert list(read_corpus(tmp_path / "a.jsonl")) == [["one"], ["two"], ["three"]]
    assert list(read_corpus(tmp_path / "a.jsonl", field="title")) == [["x"], ["y", "z"]]


def test_parquet_is_read_by_column(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    import pyarrow.parquet as parquet

    table = pyarrow.table({"text": ["one two", None, "three"], "body": ["a", "b", "c"], "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert list(read_corpus(tmp_path / "a.parquet")) == [["one", "two"], ["three"]]
    assert list(read_corpus(tmp_path / "a.parquet", column="body")) == [["a"], ["b"], ["c"]]
    with pytest.raises(
        InputError, match=r"has no column 'x' \(it has: text, body, n\); name .*: column=\"NAME\""
    ):
        list(read_corpus(tmp_path / "a.parquet", column="x"))
    with pytest.raises(InputError, match=r"column 'n' of .* does not hold text"):
        list(read_corpus(tmp_path / "a.parquet", column="n"))


def test_windows_line_ends_nul_bytes_and_a_byte_order_mark_leave_no_trace(tmp_path):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfTo be\r\nor\0not\r\n\r\n")
    assert list(read_corpus(tmp_path / "text", tokenizer="whitespace")) == [["To", "be"], ["or", "not"]]


def test_no_sentence_continues_into_the_next_file(tmp_path):
    (tmp_path / "a").write_text("to be")
    (tmp_path / "b").write_text("or not")
    counts = count_pairs(read_corpus([tmp_path / "a", tmp_path / "b"]), min_count=1)
    assert set(cells(counts)) == {("to", "be"), ("or", "not")}


def test_a_line_longer_than_a_block_stays_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_BYTES", 64)
    words = [f"w{i}" for i in range(1000)]
    (tmp_path / "text").write_text(" ".join(words))
    assert list(read_corpus(tmp_path / "text")) == [words]
    counts = count_pairs(read_corpus(tmp_path / "text"), min_count=1, window=1)
    assert set(cells(counts)) == set(pairwise(words))


PIECES = st.sampled_from([b"a", b"bc ", b"\n", b"long" * 9, "é".encode(), b" ", b"\r\n", b"\xef\xbb\xbf"])
TEXTS = st.lists(PIECES, max_size=40).map(b"".join)


def blocks_of(files, *start, joined=False):
    found = read_corpus(files).blocks(*start, joined=joined)
    return [(block.data, block.joined, block.closed, block.end) for block in found if block.data.strip()]


@given(data=TEXTS, block=st.integers(5, 90), looked=st.integers(1, 90))
def test_a_plain_file_that_threads_read_is_cut_as_one_that_is_read_in_order(
    data, block, looked, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("text")
    plain, packed = folder / "text", folder / "text.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "BLOCK_BYTES", block)
        patch.setattr(corpus_module, "_LOOKED_AT", looked)
        found = blocks_of(plain)
        assert found == blocks_of(packed)
        for number, (_, _, closed, end) in enumerate(found, 1):
            assert blocks_of(plain, end, joined=not closed) == found[number:]


@given(texts=st.lists(TEXTS, min_size=1, max_size=4), block=st.integers(5, 90))
def test_files_are_read_one_after_the_other_whole(texts, block, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    files = [folder / f"{number}.txt" for number in range(len(texts))]
    for file, data in zip(files, texts, strict=True):
        file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "BLOCK_BYTES", block)
        corpus = read_corpus(files)
        blocks = list(corpus.blocks())
    whole = [data.removeprefix(codecs.BOM_UTF8).split(b"\n") for data in texts]
    assert [line for line in b"".join(block.data for block in blocks).split(b"\n") if line] == [
        line for lines in whole for line in lines if line
    ]
    assert sum(block.raw_bytes for block in blocks) <= sum(map(len, texts))


def test_a_file_that_becomes_shorter_while_it_is_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_BYTES", 64)
    file = tmp_path / "text"
    file.write_text("some words\n" * 20)
    blocks = read_corpus(file).blocks()
    first = next(blocks)
    file.write_text("cut")
    with pytest.raises(InputError, match="became shorter while it was read; run the same command again"):
        first.data  # noqa: B018


def test_a_line_without_words_is_not_a_sentence_however_it_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_BYTES", 4)
    (tmp_path / "text").write_text("a\n--- --- ---\nb")
    counts = count_pairs(read_corpus(tmp_path / "text"), min_count=1)
    assert counts.tally.sentences == 2


def test_a_word_longer_than_a_block_is_cut_between_characters(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "BLOCK_BYTES", 64)
    (tmp_path / "text").write_text("漢" * 100)
    corpus = read_corpus(tmp_path / "text", tokenizer="whitespace")
    assert "".join(word for sentence in corpus for word in sentence) == "漢" * 100


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path):
    (tmp_path / "text").write_bytes(
        "caf\xe9 au lait \ufffd\n".encode("utf-8").replace(b"\xc3\xa9", b"\xe9") * 3
    )
    with pytest.warns(InputWarning, match="not UTF-8 replaced: 3"):
        counts = count_pairs(read_corpus(tmp_path / "text"), min_count=1)
    assert counts.tally.replaced_bytes == 3
    assert counts.vocabulary.words == ("au", "caf", "lait")


def test_strict_errors_name_the_file_and_the_byte(tmp_path):
    (tmp_path / "good").write_bytes(b"x" * 10)
    (tmp_path / "latin1").write_bytes(b"abc caf\xe9\n")
    corpus = read_corpus([tmp_path / "good", tmp_path / "latin1"], errors="strict")
    with pytest.raises(
        InputError,
        match=r"latin1' is not UTF-8 at byte 7 of its text .*encoding=\"latin-1\", or use errors=\"replace\"",
    ):
        list(corpus)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("noise", bytes(range(256)) * 8, "contains binary data, not text"),
        (
            "utf16.txt",
            "some text".encode("utf-16"),
            'is UTF-16, not UTF-8; read it with encoding="utf-16"',
        ),
        ("cut.gz", gzip.compress(TEXT.encode() * 99, mtime=0)[:-20], "is truncated"),
        ("bad.jsonl", b'{"text": "fine"}\n{"text": \n', "bad.jsonl' line 2 is not JSON"),
        (
            "other.jsonl",
            b'{"body": "fine"}\n',
            r"line 1 has no text in field 'text' \(it has: body\); name .*: column=\"NAME\"",
        ),
        ("utf32.txt", "some text".encode("utf-32"), 'is UTF-32, not UTF-8; read it with encoding="utf-32"'),
        ("bare.txt", "some text".encode("utf-16-be") * 9, "is UTF-16-BE, not UTF-8"),
        ("numbers", b"".join(bytes([i, i // 3, 0, 0]) for i in range(99)), "contains binary data"),
        (
            "cyrillic.txt",
            "ни слова больше".encode("cp1251") * 9,
            "is not UTF-8; it looks .*not Latin; name it",
        ),
        ("page.txt", b"\n<!DOCTYPE html>\n<p>text", "is HTML, whose markup would be counted"),
        ("xhtml", b"<?xml version='1.0'?><!-- x -->\n<html lang='en'>", "is HTML"),
        ("dump", b'<mediawiki xmlns="x">\n<page>', "is a MediaWiki dump; .*psdvec extract"),
        ("list.jsonl", b"[1]\n", "is a JSON array, not JSON lines; write one object per line"),
        ("list.json", b'[\n {"text": "a"},\n', "list.json' is a JSON array"),
        ("list.txt", b'[{"text": "a"}]', "list.txt' is a JSON array"),
        ("number.json", b"1\n", "number.json' line 1 is not a record, but int"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(read_corpus(tmp_path / name))


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"there is no file 'missing\.txt'; check the name"):
        read_corpus("missing.txt")
    with pytest.raises(InputError, match="contains no files"):
        read_corpus(tmp_path)
    with pytest.raises(InputError, match="no corpus was given"):
        read_corpus([])
    with pytest.raises(InputError, match="standard input was named more than once"):
        read_corpus(["-", "-"])
    with pytest.raises(InputError, match="errors='ignore' is unknown"):
        read_corpus("-", errors="ignore")


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"text":' * 50_000, '{"text": ' + "9" * 5000 + "}", '{"text": "\\ud8']
)
def test_a_record_that_python_cannot_read_is_refused_with_its_line(tmp_path, line):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' + line)
    with pytest.raises(InputError, match=r"line 2 is not JSON"):
        list(read_corpus(tmp_path / "a.jsonl"))


def test_a_record_with_very_many_fields_is_refused_in_a_bearable_sentence(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({f"field{i}": i for i in range(10_000)}))
    with pytest.raises(InputError, match="has no text in field 'text'") as caught:
        list(read_corpus(tmp_path / "a.jsonl"))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("data", [b"PAR1garbage", b"PAR1", b"PAR1" + b"\xff" * 50 + b"PAR1"])
def test_garbage_that_begins_as_parquet_is_refused(tmp_path, data):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError, match=r"is a damaged Parquet file .*; download or copy it again"):
        list(read_corpus(tmp_path / "a"))


def test_a_record_longer_than_a_program_should_hold_is_refused_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr("psdvec.text.readers.LONGEST", 1000)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' + json.dumps({"text": "b " * 600}) + "\n")
    with pytest.raises(InputError, match=r"line 2 is longer than 1.0 kB; cut its text into several records"):
        list(read_corpus(tmp_path / "a.jsonl"))
