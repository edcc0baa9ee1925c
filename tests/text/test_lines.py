"""Lines are cut at line ends, wherever the pieces they arrive in are cut."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.text.readers import read_lines, split_lines, stream_lines
from psdvec.text.streams import open_stream


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\n\n", b""])))
def test_the_pieces_do_not_matter(pieces: list[bytes]) -> None:
    cut = [line for lines in split_lines(pieces) for line in lines]
    assert cut == b"".join(pieces).removesuffix(b"\n").split(b"\n")[: len(cut)]
    assert b"".join(line + b"\n" for line in cut).removesuffix(b"\n") == b"".join(pieces).removesuffix(b"\n")


def test_lines_of_a_stream_lose_their_line_ends_and_their_bad_bytes(tmp_path: Path) -> None:
    (tmp_path / "text.gz").write_bytes(gzip.compress(b"one\r\n\ntw\xff\nthree"))
    with open_stream(tmp_path / "text.gz") as stream:
        assert list(stream_lines(stream)) == ["one", "", "tw\N{REPLACEMENT CHARACTER}", "three"]


def test_a_short_file_is_read_whatever_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\xe2\x80\xa8still\n")
    assert read_lines(tmp_path / "list") == ["one", "two", "three\N{LINE SEPARATOR}still", ""]


def test_a_short_file_must_be_utf8_and_there(tmp_path: Path) -> None:
    (tmp_path / "latin1").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError, match=r"latin1' is not UTF-8 text \(byte 3\); convert it"):
        read_lines(tmp_path / "latin1")
    with pytest.raises(InputError, match=r"cannot read '.*missing' \(No such file or directory\)"):
        read_lines(tmp_path / "missing")


def test_a_line_beyond_the_limit_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr("psdvec.text.readers.LONGEST", 95)
    taken = []

    def endless():
        for number in range(1000):
            taken.append(number)
            yield b"x" * 10

    lines = [line for lines in split_lines(endless()) for line in lines]
    assert [len(line) for line in lines] == [100]
    assert len(taken) == 10


def test_a_line_longer_than_a_program_should_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("psdvec.text.readers.LONGEST", 1000)
    (tmp_path / "text").write_bytes(b"one\n" + b"x" * 5000)
    with (
        open_stream(tmp_path / "text") as stream,
        pytest.raises(InputError, match=r"line 2 of .* is longer than 1.0 kB"),
    ):
        list(stream_lines(stream))
