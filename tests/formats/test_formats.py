from __future__ import annotations

import gzip
import json
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import psdvec
from psdvec import formats
from psdvec.errors import InputError, PSDVecError, StoreError
from psdvec.formats import choose_format, load, save
from psdvec.formats.model2vec import read_tokens
from psdvec.formats.word2vec import format_rows
from psdvec.storage.artefact import map_safetensors, write_safetensors
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import read_model, write_model

# Any character that UTF-8 can encode; spaces and line ends, which word2vec refuses, have their own test.
characters = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n")
words = st.text(characters, min_size=1, max_size=8)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def embeddings(draw: st.DrawFn) -> Embeddings:
    chosen = tuple(draw(st.lists(words, min_size=1, max_size=6, unique=True)))
    dim = draw(st.integers(2, 5))
    return Embeddings(chosen, draw(hnp.arrays(np.float32, (len(chosen), dim), elements=numbers)))


def assert_equal(found: Embeddings, expected: Embeddings) -> None:
    assert tuple(found.words) == tuple(expected.words)
    assert np.array_equal(found.vectors, expected.vectors)
    assert found.vectors.dtype == np.float32


def toy(n: int = 3) -> Embeddings:
    vectors = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    return Embeddings(tuple(f"w{i}" for i in range(n)), vectors)


@pytest.mark.parametrize("format", ["text", "glove", "binary", "npz", "model"])
@settings(deadline=None, max_examples=60)
@given(e=embeddings())
@example(e=Embeddings(("\r",), np.zeros((1, 2), np.float32)))
@example(e=Embeddings(("0",), np.array([[2e-2, 5.82877e-10]], np.float32)))  # its bytes read as a number
def test_every_format_gives_back_what_it_was_given(format, e, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "vectors"
    save(e, path, format=format)
    assert_equal(load(path), e)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(e=embeddings())
def test_a_model2vec_folder_gives_back_single_words(e, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "vectors"
    if any(word.split() != [word] for word in e.words):
        with pytest.raises(InputError, match="looks up single words"):
            save(e, path, format="model2vec")
    else:
        save(e, path, format="model2vec")
        assert_equal(load(path), e)


@pytest.mark.parametrize("format", ["npz", "model"])
def test_words_with_spaces_counts_and_deviations_survive(format, tmp_path: Path):
    e = Embeddings(("New York", "\n"), np.eye(2, dtype=np.float32), np.array([9, 4]), np.array([0.5, 0.25]))
    save(e, tmp_path / "out", format=format)
    found = load(tmp_path / "out")
    assert_equal(found, e)
    assert found.counts.tolist() == [9, 4]
    assert found.deviations.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.txt", "text"), ("a.vec", "text"), ("a.bin", "binary"), ("a.npz", "npz"), ("a", "model")],
)
def test_the_ending_of_the_output_chooses_the_format(name: str, format, tmp_path: Path):
    save(toy(), tmp_path / name)
    save(toy(), tmp_path / "named", format=format)
    read = Path.read_bytes if format != "model" else lambda folder: sorted(p.name for p in folder.iterdir())
    assert read(tmp_path / name) == read(tmp_path / "named")


def test_an_ending_that_tells_nothing_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="does not tell its format"):
        save(toy(), tmp_path / "a.dat")


@pytest.mark.parametrize("ending", ["txt.gz", "bin.xz", "vec.xz"])
def test_compressed_files_are_written_and_read(ending: str, tmp_path: Path):
    save(toy(), tmp_path / f"a.{ending}")
    head = (tmp_path / f"a.{ending}").read_bytes()[:2]
    assert head == (b"\x1f\x8b" if ending.endswith("gz") else b"\xfd7")
    assert_equal(load(tmp_path / f"a.{ending}"), toy())


def test_what_is_not_a_stream_is_not_compressed(tmp_path: Path):
    for name in ("a.npz.gz", "a.xz", "a.txt.bz2", "a.vec.zst"):
        with pytest.raises(InputError, match="only text and binary can"):
            save(toy(), tmp_path / name)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
@pytest.mark.parametrize("format", ["text", "binary", "npz", "glove"])
def test_the_kind_is_recognised_by_content_not_by_name(pack, format, tmp_path: Path):
    save(toy(), tmp_path / "plain", format=format)
    (tmp_path / "vectors.jpg").write_bytes(pack((tmp_path / "plain").read_bytes()))
    assert_equal(load(tmp_path / "vectors.jpg"), toy())


def test_text_keeps_nine_significant_digits(tmp_path: Path):
    save(Embeddings(("a",), np.array([[1 / 3, -1e-7]], dtype=np.float32)), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "1 2\na 0.333333343 -1.00000001e-07\n"


@given(hnp.arrays(np.float32, (2, 3), elements=st.floats(width=32) | st.floats(-10, 10, width=32)))
def test_numbers_are_written_as_by_printf(block):
    assert format_rows(block) == [b"".join(b" %.9g" % value for value in row) for row in block.tolist()]


def test_numbers_at_the_borders_are_written_as_by_printf():
    borders = np.array([0.0, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 9, 10, 100, 1e9], dtype=np.float32)
    near = np.stack([np.nextafter(borders, np.float32(-1)), borders, np.nextafter(borders, np.float32(1e10))])
    for block in (near, -near):
        assert format_rows(block) == [b"".join(b" %.9g" % value for value in row) for row in block.tolist()]


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "given"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        b"2 2\nNew York 1 2\nOld York 3 4\n",
        b"2 2\nNew York 1 2\nOld York 3 4",
        b"2 2\r\nNew York 1 2 \r\nOld York 3 4 \r\n",
        b"2 2\nNew York\t1\t2\n\nOld York\t3 4\n",
    ],
)
def test_words_with_spaces_line_ends_and_tabs_are_read_from_text(data: bytes, tmp_path: Path):
    e = load(write(tmp_path, data))
    assert e.words == ("New York", "Old York")
    assert e.vectors.tolist() == [[1, 2], [3, 4]]


def test_glove_text_with_a_few_words_with_spaces_is_read(tmp_path: Path):
    e = load(write(tmp_path, b". . . 1 2\n, 3 4\nthe 5 6\n2000 7 8\n"))
    assert e.words == (". . .", ",", "the", "2000")


def test_a_space_that_is_not_ascii_belongs_to_the_word(tmp_path: Path):
    assert load(write(tmp_path, "2 2\na\u00a0b 1 2\nc 3 4\n".encode())).words == ("a\u00a0b", "c")


def binary(*rows: bytes, header: bytes = b"2 2\n") -> bytes:
    return header + b"".join(rows)


ROW = np.array([1, 2], dtype="<f4").tobytes()
NAN = np.array([1, np.nan], dtype="<f4").tobytes()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"3 2\na 1 2\nb 3 4\n", "promises 3 words, but the file holds 2"),
        (b"1 2\na 1 2\nb 3 4\n", "promises 1 words, but the file holds 2"),
        (b"2 3\na 1 2\nb 3 4\n", "promises 3 numbers per word, but the lines after it hold 2"),
        (b"2 2\na 1 2 3\nb 3 4 5\n", "promises 2 numbers per word, but the lines after it hold 3"),
        (b"3 2\na 1 2\nb 3\nc 5 6\n", "line 3 of .* has 1 numbers where 2 are expected"),
        (b"2 2\na 1 2\nb 3 x\n", "line 3 of .* holds something that is not a number"),
        (b"2 2\na 1 2\nb 3 nan\n", "line 3 of .* holds a number that is not finite"),
        (b"2 2\na 1 2\nb 3 -inf\n", "line 3 of .* holds a number that is not finite"),
        (b"2 2\na 1 2\nb 3 1e99\n", "line 3 of .* holds a number that is not finite"),
        (b"2 2\na 1 2\n 3 4\n", "line 3 of .* has no word"),
        (b"2 2\na 1 2\na 3 4\n", "line 3 of .* holds the word 'a' a second time"),
        (b"2 2\na 1 2\n\xff\xfe 3 4\n", "line 3 of .* holds a word that is not UTF-8"),
        (binary(b"a ", ROW, b"\nb ", ROW[:5]), "truncated: it ends within word 2 of 2"),
        (binary(b"a ", ROW), "truncated: it ends within word 2 of 2"),
        (binary(b"a ", ROW, b"b ", NAN), "word 2 of .* holds a number that is not finite"),
        (binary(b"a ", ROW, b"a ", ROW), "word 2 of .* holds the word 'a' a second time"),
        (binary(b"\xff ", ROW, b"a ", ROW), "word 1 of .* holds a word that is not UTF-8"),
        (binary(b" ", ROW, b"a ", ROW), "word 1 of .* has no word"),
        (b"", "is not a file of word vectors: it is empty"),
        (b"\n\n", "is not a file of word vectors"),
        (b"just a text\nof lines\n", "is not a file of word vectors"),
        (pickle.dumps({"a": 1}), "Python pickle"),
        ((793712314).to_bytes(4, "little") + b"\0" * 50, "is a fastText model"),
        (b"PK\x03\x04 broken", "not a complete .npz"),
    ],
)
def test_a_bad_file_is_refused_with_what_and_where(data: bytes, message: str, tmp_path: Path):
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, data))


@pytest.mark.parametrize(
    "data",
    [
        b"3 2\na 1 2\na 3 4\nb 5 6\n",
        b"3 2\na 1 2\nc 3\nb 5 6\n",
        b"3 2\na 1 2\nc 3 nan\nb 5 6\n",
        b"3 2\na 1 2\nc 3 what\nb 5 6\n",
        b"3 2\na 1 2\n\xff 3 4\nb 5 6\n",
        b"9 2\na 1 2\nb 5 6\n",
    ],
)
def test_bad_rows_can_be_left_out(data: bytes, tmp_path: Path):
    e = load(write(tmp_path, data), bad_rows="skip")
    assert e.words == ("a", "b")
    assert e.vectors.tolist() == [[1, 2], [5, 6]]


@pytest.mark.parametrize("format", ["text", "binary", "npz", "model"])
def test_a_limit_reads_the_first_words(format, tmp_path: Path):
    e = toy(3000)
    save(e, tmp_path / "out", format=format)
    assert_equal(load(tmp_path / "out", limit=1500), e.select(e.words[:1500]))
    assert_equal(load(tmp_path / "out", limit=9999), e)


@pytest.mark.parametrize("format", ["text", "binary", "npz", "model", "model2vec"])
def test_vectors_can_be_kept_out_of_memory(format, tmp_path: Path):
    e = toy(3000)
    save(e, tmp_path / "out", format=format)
    found = load(tmp_path / "out", scratch=tmp_path, limit=2000)
    assert_equal(found, e.select(e.words[:2000]))
    assert is_mapped(found.vectors)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def is_mapped(array: np.ndarray) -> bool:
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def test_a_file_of_many_blocks_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("psdvec.formats.word2vec._CHUNK", 1000)
    e = toy(5000)
    for format in ("text", "glove", "binary"):
        save(e, tmp_path / format, format=format)
        assert_equal(load(tmp_path / format), e)


@pytest.mark.parametrize("format", ["text", "binary", "model2vec"])
def test_a_word_the_format_cannot_carry_is_refused_or_written_otherwise(format, tmp_path: Path):
    e = Embeddings(("New York", "a"), np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match=r"'New York'.* with spaces=\"_\""):
        save(e, tmp_path / "out", format=format)
    assert not list(tmp_path.iterdir())
    save(e, tmp_path / "out", format=format, spaces="_")
    assert load(tmp_path / "out").words == ("New_York", "a")


@pytest.mark.parametrize("format", ["text", "npz", "model", "model2vec"])
def test_an_output_that_exists_is_kept_unless_overwriting(format, tmp_path: Path):
    save(toy(), tmp_path / "out", format=format)
    with pytest.raises(InputError, match="exists already"):
        save(toy(2), tmp_path / "out", format=format)
    save(toy(2), tmp_path / "out", format=format, overwrite=True)
    assert len(load(tmp_path / "out")) == 2


@pytest.mark.parametrize("format", ["model", "model2vec"])
def test_an_empty_folder_is_not_in_the_way(format, tmp_path: Path):
    (tmp_path / "out").mkdir()
    save(toy(), tmp_path / "out", format=format)
    assert len(load(tmp_path / "out")) == len(toy())


def test_a_foreign_folder_is_never_overwritten(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    for format in ("model", "model2vec", "text"):
        with pytest.raises(InputError, match=r"exists|is a folder"):
            save(toy(), tmp_path / "out", format=format, overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize("format", ["text", "npz", "model", "model2vec"])
def test_a_number_that_is_not_finite_is_not_written(format, tmp_path: Path):
    e = Embeddings(("a", "b"), np.array([[1, 2], [3, np.nan]], dtype=np.float32))
    with pytest.raises(InputError, match="vector of 'b' holds a number that is not finite"):
        save(e, tmp_path / "out", format=format)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["-", "a.txt/b.bin"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(name: str, tmp_path: Path):
    (tmp_path / "a.txt").write_text("precious")
    with pytest.raises(InputError, match=r"cannot be the name of an output|is not a folder"):
        choose_format(tmp_path / name)


def test_there_is_nothing_to_write_without_words(tmp_path: Path):
    with pytest.raises(InputError, match="no vectors to write"):
        save(Embeddings((), np.empty((0, 2), dtype=np.float32)), tmp_path / "out.txt")


def test_a_missing_file_and_a_foreign_folder_are_explained(tmp_path: Path):
    with pytest.raises(InputError, match="check the name"):
        load(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"neither meta\.json nor tokenizer\.json"):
        load(tmp_path)


def test_a_npz_of_strings_and_a_matrix_is_read(tmp_path: Path):
    np.savez(tmp_path / "a.npz", vocab=np.array(["a", "b"]), embeddings=np.eye(2))
    assert_equal(load(tmp_path / "a.npz"), Embeddings(("a", "b"), np.eye(2, dtype=np.float32)))


def test_a_npz_of_objects_or_other_things_is_refused(tmp_path: Path):
    np.savez(tmp_path / "a.npz", words=np.array(["a", "b"], dtype=object), vectors=np.eye(2))
    with pytest.raises(InputError, match="plain arrays"):
        load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.eye(2))
    with pytest.raises(InputError, match=r"holds the arrays \['x'\]"):
        load(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("words", "last", "message"),
    [
        (["a", "a"], 4, "word 2 of .* is 'a' a second time"),
        (["a", ""], 4, "word 2 of .* is empty"),
        (["a", "b"], np.inf, "word 2 of .* is 'b', whose vector holds a number that is not finite"),
    ],
)
@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_bad_rows_of_a_npz_are_refused_or_left_out(write, words, last, message: str, tmp_path: Path):
    write(tmp_path / "a.npz", words=np.array(words), vectors=np.array([[1, 2], [3, last]]))
    with pytest.raises(InputError, match=message):
        load(tmp_path / "a.npz")
    assert_equal(
        load(tmp_path / "a.npz", bad_rows="skip"), Embeddings(("a",), np.array([[1, 2]], dtype=np.float32))
    )


def test_a_npz_stored_by_columns_is_read(tmp_path: Path):
    vectors = np.asfortranarray(toy().vectors)
    np.savez(tmp_path / "a.npz", words=np.array(toy().words), vectors=vectors)
    assert_equal(load(tmp_path / "a.npz"), toy())


def test_a_npz_that_is_cut_off_is_refused(tmp_path: Path):
    save(toy(), tmp_path / "a.npz")
    data = (tmp_path / "a.npz").read_bytes()
    for size in range(4, len(data), 37):
        (tmp_path / "b.npz").write_bytes(data[:size])
        with pytest.raises(InputError, match=r"not a complete \.npz"):
            load(tmp_path / "b.npz")


def test_a_folder_of_plain_vectors_keeps_what_they_were_made_from(tmp_path: Path):
    write_model(toy(), tmp_path / "m", parameters={"dim": 4}, sources=[{"text": "t"}])
    artefact = psdvec.storage.artefact.open_artefact(tmp_path / "m", kind="embeddings")
    assert (artefact.parameters, artefact.sources) == ({"dim": 4}, ({"text": "t"},))
    assert read_model(tmp_path / "m") == toy()


def test_the_vectors_of_a_model_are_mapped_and_cannot_be_changed(tmp_path: Path):
    write_model(toy(), tmp_path / "m")
    vectors = read_model(tmp_path / "m").vectors
    assert isinstance(vectors.base, np.memmap)
    assert not vectors.flags.writeable


@pytest.mark.parametrize("name", ["vectors.safetensors", "words.npy", "word_offsets.npy"])
def test_a_model_that_lost_bytes_is_refused(name: str, tmp_path: Path):
    write_model(toy(), tmp_path / "m")
    data = (tmp_path / "m" / name).read_bytes()
    (tmp_path / "m" / name).write_bytes(data[:-1])
    with pytest.raises(StoreError, match="damaged"):
        read_model(tmp_path / "m")


def test_another_artefact_is_no_model(tmp_path: Path):
    with psdvec.storage.artefact.create_artefact(
        tmp_path / "c", kind="counts", version=1, parameters={}, sources=[]
    ):
        pass
    with pytest.raises(StoreError, match="holds counts, not word vectors"):
        load(tmp_path / "c")


def test_our_safetensors_are_those_of_the_safetensors_package(tmp_path: Path):
    tensors = {"vectors": toy().vectors, "ids": np.arange(5), "half": np.ones((2, 2), dtype=np.float16)}
    write_safetensors(tmp_path / "ours", tensors)
    safetensors.numpy.save_file(tensors, tmp_path / "theirs")
    for path in (tmp_path / "ours", tmp_path / "theirs"):
        for found in (safetensors.numpy.load_file(path), map_safetensors(path)):
            assert found.keys() == tensors.keys()
            assert all(np.array_equal(found[name], tensors[name]) for name in tensors)


def test_brain_floats_are_read(tmp_path: Path):
    header = json.dumps({"embeddings": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    one_and_minus_two = np.array([0x3F80, 0xC000], dtype="<u2").tobytes()
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + one_and_minus_two)
    assert map_safetensors(tmp_path / "x")["embeddings"].tolist() == [1, -2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 20,
        (2).to_bytes(8, "little") + b"[]",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}     ',
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"XYZ","shape":[0],"data_offsets":[0,0]}}      ',
    ],
)
def test_a_damaged_safetensors_file_is_refused(data: bytes, tmp_path: Path):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(InputError, match="not a complete safetensors file"):
        map_safetensors(tmp_path / "x")


@pytest.mark.parametrize("word", ["[UNK]", "[UNK]_", "_UNK_"])
def test_a_word_that_looks_like_the_unknown_one_of_model2vec_is_kept(word: str, tmp_path: Path):
    e = Embeddings(("king", word), np.array([[1, 2], [0, 0]], dtype=np.float32))
    save(e, tmp_path / "m", format="model2vec")
    assert load(tmp_path / "m") == e
    tokens = read_tokens(tmp_path / "m" / "tokenizer.json")
    assert tokens.unknown == 2
    assert tokens.words[2] not in e


def test_the_unknown_token_of_another_program_is_kept_as_it_is_there(tmp_path: Path):
    save(toy(), tmp_path / "m", format="model2vec")
    file = tmp_path / "m" / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8").replace("[UNK]", "_UNK_"), encoding="utf-8")
    found = load(tmp_path / "m")
    assert found.words == (*toy().words, "_UNK_")
    assert not found["_UNK_"].any()


def test_a_quantised_model2vec_vocabulary_is_expanded(tmp_path: Path):
    save(toy(), tmp_path / "m", format="model2vec")
    vectors = np.array([[1, 2], [3, 4]], dtype=np.float16)
    tensors = {"embeddings": vectors, "mapping": np.array([1, 0, 1, 0]), "weights": np.array([2.0, 1, 1, 0])}
    safetensors.numpy.save_file(tensors, tmp_path / "m" / "model.safetensors")
    assert load(tmp_path / "m").vectors.tolist() == [[6, 8], [1, 2], [3, 4]]


def test_a_model2vec_folder_with_too_few_vectors_is_refused(tmp_path: Path):
    save(toy(), tmp_path / "m", format="model2vec")
    write_safetensors(tmp_path / "m" / "model.safetensors", {"embeddings": toy(2).vectors})
    with pytest.raises(InputError, match="4 tokens and 2 vectors"):
        load(tmp_path / "m")


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=60))
@example(data=b"\x00 \v")
@example(data=b"b 1\v2\nc \v")
def test_arbitrary_bytes_are_read_or_refused_never_worse(data: bytes, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "x"
    for prefix in (b"", b"1 2\n", b"2 1\na "):
        path.write_bytes(prefix + data)
        try:
            e = load(path)
        except PSDVecError:
            continue
        assert np.isfinite(e.vectors).all()
        assert len(e.key_to_index) == len(e)


def test_load_opens_vectors_of_any_format_and_counts(tmp_path: Path):
    for name in ("x.vec", "x.npz", "model"):
        save(toy(), tmp_path / name)
        assert_equal(psdvec.load(tmp_path / name), toy())


def test_a_word_that_is_no_text_is_refused_by_every_format(tmp_path):
    e = Embeddings(("a", "\ud800"), np.eye(2, dtype=np.float32))
    for format in ("text", "glove", "binary", "npz", "model2vec", "model"):
        with pytest.raises(InputError, match="cannot be written as UTF-8"):
            save(e, tmp_path / format, format=format)
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_looks_like_the_unknown_one_keeps_its_vector(tmp_path):
    e = Embeddings(("king", "[UNK]"), np.eye(2, dtype=np.float32))
    save(e, tmp_path / "folder", format="model2vec")
    assert read_tokens(tmp_path / "folder" / "tokenizer.json").words == ["king", "[UNK]", "[UNK]_"]
    assert_equal(load(tmp_path / "folder"), e)


def test_a_format_is_added_by_one_line_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def read(source, *, rules, progress):
        words = source.read().decode().split()[1:]
        return Embeddings(tuple(words), np.eye(len(words), dtype=np.float32))

    def write(embeddings, file):
        file.write("\n".join(["TOY", *embeddings.words]).encode())

    toy_format = formats.VectorFormat("toy", (".toy",), lambda head: head.startswith(b"TOY\n"), read, write)
    monkeypatch.setattr(formats, "TABLE", (*formats.TABLE, toy_format))
    e = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    save(e, tmp_path / "v.toy")
    save(e, tmp_path / "by_name", format="toy")
    for name in ("v.toy", "by_name"):
        assert_equal(load(tmp_path / name), e)
    with pytest.raises(InputError, match=r"end it with .txt, .vec, .bin, .npz or .toy, .* model2vec, toy$"):
        save(e, tmp_path / "v.other")
    with pytest.raises(InputError, match="exists already"):
        save(e, tmp_path / "v.toy")


def test_vectors_that_arrive_in_small_pieces_are_recognised(tmp_path: Path):
    save(toy(), tmp_path / "v.txt")
    save(toy(), tmp_path / "v.bin")
    for name in ("v.txt", "v.bin"):
        data = (tmp_path / name).read_bytes()
        pieces = (data[i : i + 3] for i in range(0, len(data), 3))
        (tmp_path / "v").write_bytes(b"".join(map(gzip.compress, pieces)))
        assert_equal(load(tmp_path / "v"), toy())
