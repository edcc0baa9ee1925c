"""Files read by address, and parts of files: the same text, the same errors."""

from __future__ import annotations

import gc
import gzip
import json

import pytest

from psdvec.counts.count import count_pairs
from psdvec.errors import InputError
from psdvec.text.corpus import read_corpus
from psdvec.text.readers import Reader
from psdvec.text.streams import ByteRange, Span, open_file, open_stream
from tests.helpers import contents

fsspec = pytest.importorskip(
    "fsspec", reason="fsspec is not installed; run pip install 'psdvec[distributed]'"
)
TEXT = "one two three\nfour fünf\nsix seven eight nine\n"


@pytest.fixture
def memory():
    """A folder in fsspec's memory, emptied afterwards."""
    system = fsspec.filesystem("memory")
    system.pipe_file("/corpus/a.txt", TEXT.encode())
    system.pipe_file("/corpus/b.txt.gz", gzip.compress(TEXT.encode()))
    yield "memory://corpus"
    system.rm("/corpus", recursive=True)


def test_an_address_stands_for_a_file_a_folder_or_a_glob(memory):
    assert read_corpus(f"{memory}/a.txt").files == (f"{memory}/a.txt",)
    both = read_corpus(memory).files
    assert [file.rpartition("/")[2] for file in both] == ["a.txt", "b.txt.gz"]
    assert read_corpus(f"{memory}/*").files == both


def test_an_address_has_the_same_counts_as_the_file(memory, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt.gz").write_bytes(open_file(f"{memory}/b.txt.gz").read())
    options = {"min_count": 1, "window": 2}
    count_pairs(read_corpus([tmp_path / "a.txt", tmp_path / "b.txt.gz"]), **options, output=tmp_path / "near")
    count_pairs(read_corpus(memory), **options, output=tmp_path / "far")
    near, far = contents(tmp_path / "near"), contents(tmp_path / "far")
    told = [json.loads(meta.pop("meta.json"))["sources"] for meta in (near, far)]
    assert near == far
    # Fetched only once.
    assert [{k: v for k, v in source.items() if k != "sha256"} for source in told[0]] == told[1]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://corpus/none.txt", "there is no file at 'memory://corpus/none.txt'"),
        ("memory://none/*", "there is no file at 'memory://none/\\*'"),
        ("nonsense://x/y", "'nonsense://x/y' cannot be reached"),
    ],
)
def test_an_address_without_a_file_is_refused(memory, address, message):
    with pytest.raises(InputError, match=message):
        read_corpus(address)


@pytest.mark.parametrize("place", ["local", "memory"])
def test_a_byte_range_is_those_bytes_and_no_others(memory, tmp_path, place):
    (tmp_path / "a.txt").write_text(TEXT)
    name = f"{memory}/a.txt" if place == "memory" else str(tmp_path / "a.txt")
    data = TEXT.encode()
    for begin in range(len(data)):
        for end in (begin + 1, len(data)):
            with open_stream(name, byte_range=ByteRange(begin, end)) as stream:
                assert b"".join(iter(lambda: stream.read(5), b"")) == data[begin:end]
                assert stream.raw_size == end - begin


def test_only_plain_text_can_be_cut(memory, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a b"]}), tmp_path / "c.parquet")
    (tmp_path / "d.csv").write_text("text\n")
    assert Reader().can_be_cut(f"{memory}/a.txt")
    assert not Reader(encoding="utf-16").can_be_cut(f"{memory}/a.txt")
    assert not Reader().can_be_cut(f"{memory}/b.txt.gz")
    assert not Reader().can_be_cut(str(tmp_path / "c.parquet"))
    assert not Reader().can_be_cut(str(tmp_path / "d.csv"))  # its cells may hold line ends


def test_a_room_that_is_still_looked_at_is_left_as_it_is(tmp_path):
    (tmp_path / "text").write_bytes(b"one two")
    room = bytearray(b"long ago, and interrupted")
    with memoryview(room):
        assert Span(tmp_path / "text", 0, 7).read(room) == b"one two"
    assert room == b"long ago, and interrupted"
    assert Span(tmp_path / "text", 4, 7).read(room) is room
    assert room == b"two"


def test_a_file_that_cannot_be_opened_leaves_nothing_that_fails_to_close(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr("sys.unraisablehook", said.append)  # which Python calls of every file since 3.14
    with pytest.raises(InputError, match="check the name"):
        open_stream(tmp_path / "missing")
    gc.collect()
    assert said == []
