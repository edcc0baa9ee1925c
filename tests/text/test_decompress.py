"""Streams return what was compressed, and say where bad input goes wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.errors import InputError, MissingExtraError
from psdvec.text import streams as decompress
from psdvec.text.streams import Piece, open_stream, split_bzip2

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "bzip2": bz2.compress,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}
RANDOM = random.Random(1)
TEXT = "\n".join(f"line {number} {RANDOM.random()}" for number in range(20_000)).encode()

compressed = pytest.mark.parametrize("compression", COMPRESS)


@pytest.fixture(params=[1, 3], ids=["one-worker", "three-workers"], autouse=True, scope="module")
def _workers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test with one worker and with three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "open_stream", partial(decompress.open_stream, workers=request.param))
        yield


def read_all(path: Path | str, size: int = 1 << 16) -> bytes:
    with open_stream(path) as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


def write(folder: Path, data: bytes) -> Path:
    path = folder / "file.dat"
    path.write_bytes(data)
    return path


@compressed
@pytest.mark.parametrize("size", [1000, 1 << 16, 1 << 24])
def test_what_was_compressed_is_returned(tmp_path: Path, compression: str, size: int) -> None:
    path = write(tmp_path, COMPRESS[compression](TEXT))
    assert read_all(path, size) == TEXT


@compressed
def test_members_streams_and_frames_are_read_one_after_the_other(tmp_path: Path, compression: str) -> None:
    parts = [TEXT[start : start + 100_000] for start in range(0, len(TEXT), 100_000)] + [b""]
    path = write(tmp_path, b"".join(map(COMPRESS[compression], parts)))
    assert read_all(path) == TEXT


@settings(deadline=None)
@given(data=st.binary(max_size=200), size=st.integers(1, 50), compression=st.sampled_from([None, *COMPRESS]))
def test_the_size_of_reads_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int, compression: str | None
) -> None:
    data = b"x" + data
    packed = COMPRESS[compression](data) if compression else data
    path = write(tmp_path_factory.mktemp("sizes"), packed)
    with open_stream(path) as stream:
        pieces = list(iter(lambda: stream.read(size), b""))
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) <= size


@compressed
def test_the_name_of_the_file_does_not_matter(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(COMPRESS[compression](b"hello"))
    with open_stream(path) as stream:
        assert (stream.compression, stream.read(10)) == (compression, b"hello")


def test_plain_files_are_returned_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "file.bz2"
    path.write_bytes(b"BZh9 is how some files begin, but not this one")
    assert read_all(path) == path.read_bytes()


def test_an_empty_file_is_an_empty_stream(tmp_path: Path) -> None:
    assert read_all(write(tmp_path, b"")) == b""


@compressed
def test_the_position_runs_from_zero_to_the_size_of_the_file(tmp_path: Path, compression: str) -> None:
    path = write(tmp_path, COMPRESS[compression](TEXT))
    with open_stream(path) as stream:
        assert stream.raw_position == 0
        positions = [stream.raw_position for _ in iter(lambda: stream.read(1 << 14), b"")]
        assert stream.raw_size == path.stat().st_size
        assert stream.raw_position == stream.raw_size
        assert positions == sorted(positions)


@compressed
def test_truncated_input_names_file_and_offset(tmp_path: Path, compression: str) -> None:
    packed = COMPRESS[compression](TEXT)
    for length in (20, len(packed) // 2, len(packed) - 1):
        path = write(tmp_path, packed[:length])
        with pytest.raises(InputError, match=rf"file\.dat' is truncated: .* end at byte {length};"):
            read_all(path)


@compressed
def test_what_comes_before_a_truncation_is_read(tmp_path: Path, compression: str) -> None:
    packed = COMPRESS[compression](TEXT)
    read = b""
    with open_stream(write(tmp_path, packed[: len(packed) - 30])) as stream, suppress(InputError):
        while data := stream.read(100_000):
            read += data
    assert TEXT.startswith(read)
    assert compression == "bzip2" or len(read) > len(TEXT) // 2


@compressed
def test_corrupt_input_names_file_and_offset(tmp_path: Path, compression: str) -> None:
    packed = bytearray(COMPRESS[compression](TEXT))
    middle = len(packed) // 2
    packed[middle : middle + 64] = bytes(64)
    with pytest.raises(InputError, match=r"file\.dat' is damaged: .* byte \d+ \("):
        read_all(write(tmp_path, bytes(packed)))


@compressed
def test_padding_with_zeros_is_not_an_error(tmp_path: Path, compression: str) -> None:
    packed = COMPRESS[compression](b"one ") + bytes(512) + COMPRESS[compression](b"two") + bytes(1024)
    assert read_all(write(tmp_path, packed)) == b"one two"


@compressed
def test_garbage_after_the_data_is_an_error(tmp_path: Path, compression: str) -> None:
    path = write(tmp_path, COMPRESS[compression](b"good") + b"this does not belong here")
    with open_stream(path) as stream:
        assert stream.read(100) == b"good"
        with pytest.raises(InputError, match="damaged"):
            stream.read(100)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"cannot read '.*missing' \(No such file or directory\); check the name"
    ):
        open_stream(tmp_path / "missing")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        open_stream(tmp_path)


def test_a_missing_package_comes_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, COMPRESS["zstd"](b"x"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'psdvec\[zstd\]'"):
        open_stream(path)


def test_standard_input_is_read_and_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, bz2.compress(TEXT))
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        with open_stream("-") as stream:
            assert stream.name == "standard input"
            assert stream.raw_size == path.stat().st_size
            assert b"".join(iter(lambda: stream.read(1 << 16), b"")) == TEXT
        assert not file.closed


def test_zstandard_bombs_are_decoded_in_pieces(tmp_path: Path) -> None:
    path = write(tmp_path, zstandard.ZstdCompressor().compress(bytes(100_000_000)))
    with open_stream(path) as stream:
        sizes = [len(data) for data in iter(lambda: stream.read(1 << 20), b"")]
    assert sum(sizes) == 100_000_000
    assert max(sizes) == 1 << 20


def test_a_magic_number_within_a_block_does_not_end_it() -> None:
    packed = bz2.compress(TEXT)
    whole = next(split_bzip2([packed]))
    bits = whole.bits // 3
    halves = (
        Piece(whole.number >> bits, whole.bits - bits, 4),
        Piece(whole.number & ((1 << bits) - 1), bits, 9),
    )
    assert (halves[0] + halves[1]).decode() == whole.decode()
    with pytest.raises((OSError, ValueError)):
        halves[0].decode()


@settings(deadline=None)
@given(st.binary(max_size=3000), st.integers(1, 40), st.integers(1, 9))
def test_the_splitter_finds_every_block_whatever_the_chunks(data: bytes, size: int, level: int) -> None:
    packed = b"".join(bz2.compress(part, level) for part in (data, b"", data[::-1]))
    *pieces, last = split_bzip2(packed[start : start + size] for start in range(0, len(packed), size))
    assert b"".join(piece.decode() for piece in pieces if piece.is_block) == data + data[::-1]
    assert not last.is_block
    assert last.after_trailer == 0


def test_a_missing_block_is_noticed(tmp_path: Path) -> None:
    random_bytes = random.Random(2).randbytes(2_000_000)
    packed = bz2.compress(random_bytes)
    *blocks, last = split_bzip2([packed])
    kept = blocks[0] + blocks[2] + last
    padding = -kept.bits % 8
    path = write(tmp_path, packed[:4] + (kept.number << padding).to_bytes((kept.bits + padding) // 8, "big"))
    with pytest.raises(InputError, match="damaged"):
        read_all(path)


@pytest.mark.slow
def test_several_threads_read_and_refuse_what_one_does_whichever_bit_is_changed(tmp_path):
    data = bz2.compress(b"to be or not to be") + bz2.compress(b"that is the question")
    outcomes = set()
    for place in range(8 * 10, 8 * len(data)):  # after the bytes that say that it is bzip2
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        (tmp_path / "text").write_bytes(changed)
        found = []
        for workers in (1, 2):
            try:
                with open_stream(tmp_path / "text", workers=workers) as stream:
                    found.append(b"".join(iter(lambda: stream.read(100), b"")))
            except InputError:
                found.append(None)
        assert found[0] == found[1], place
        outcomes.add(found[0])
    assert outcomes == {None, b"to be or not to bethat is the question"}


@pytest.mark.parametrize(
    "text", [b"to be or not to be", b"that is the question", b"", b"a", b"b" * 50, b"xyz" * 9]
)
def test_a_file_that_ends_within_any_of_its_bytes_is_truncated(tmp_path, text):
    data = bz2.compress(text)
    for size in range(10, len(data)):
        (tmp_path / "text").write_bytes(data[:size])
        with pytest.raises(InputError, match="is truncated"):
            read_all(tmp_path / "text")
