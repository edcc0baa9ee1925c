"""Numbering words, and finding them again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.counts.segments import (
    GAP,
    SENTENCE_END,
    Segment,
    WordTable,
    number_words,
    read_segment,
    read_word_counts,
    segment_files,
    write_segments,
    write_word_counts,
)
from psdvec.counts.vocabulary import WordCounts, WordList
from psdvec.errors import InputError
from psdvec.progress import SilentProgress
from tests.reference import counting

SPACED = st.lists(
    st.sampled_from([b"a", b"bb", b"longerthaneight", b"longerthaneighu", b"\xc3\xa9", b" ", b"\n", b"\r\0"]),
    max_size=60,
)


def number(spaced: bytes, *, joined: bool = False, closed: bool = True):
    words, counts, ids, overlong, *_ = number_words(
        np.frombuffer(spaced, np.uint8), joined=joined, closed=closed
    )
    return ids.tolist(), words.encoded(), counts.tolist(), overlong


def packed(counts: dict[str, int]) -> WordCounts:
    return WordCounts(WordList.pack(counts), np.array(list(counts.values()), np.int64))


@given(SPACED.map(b"".join))
def test_numbering_agrees_with_its_definition(spaced):
    ids, words, counts, overlong = number(spaced)
    assert (ids, words) == counting.number_words(spaced)
    assert counts == [ids.count(i) for i in range(len(words))]
    assert overlong == 0


def test_words_that_differ_in_their_last_byte_or_in_their_length_are_told_apart():
    longest = bytes(range(ord("a"), ord("z") + 1)) + "é".encode() * 7
    words = [longest[:length] + last for length in range(40) for last in (b"0", b"1")]
    ids, numbered, _, _ = number(b" ".join(words))
    assert numbered == words
    assert ids == [*range(len(words)), -1]


@given(st.integers(1, 40), st.integers(0, 9))
def test_a_word_may_end_with_the_text_or_anywhere_before(length, spaces):
    assert number(b"x" * length + b" " * spaces)[:2] == ([0, -1], [b"x" * length])


def test_a_sentence_goes_on_over_the_end_of_a_block():
    assert number(b"a b", closed=False)[0] == [0, 1]
    assert number(b"c\nd", joined=True)[0] == [0, -1, 1, -1]
    assert number(b"\nd", joined=True)[0] == [-1, 0, -1]
    assert number(b"\nd", joined=False)[0] == [0, -1]


def test_a_segment_is_read_as_it_was_written_where_two_bytes_do_not_number_its_words(tmp_path):
    words = WordList.pack([str(word) for word in range(70_000)])
    ids = np.array([69_999, GAP, 3, 65_533, SENTENCE_END, 65_534, 65_535, 65_536, SENTENCE_END], np.int32)
    counts = np.bincount(ids[ids >= 0], minlength=70_000)
    write_segments([Segment(words, counts, ids)], tmp_path, unit="sentences", progress=SilentProgress())
    (file,) = segment_files(tmp_path)
    read = read_segment(file)
    assert read.words.encoded() == words.encoded()
    assert read.counts.tolist() == counts.tolist()
    assert read.ids.tolist() == ids.tolist()
    table = WordTable.of(["3", "65534", "69999"])
    translated = [2, GAP, 0, GAP, SENTENCE_END, 1, GAP, GAP, SENTENCE_END]
    assert table.translate(file, close_gaps=False).tolist() == translated
    assert table.translate(file, close_gaps=True).tolist() == [i for i in translated if i != GAP]


def test_a_table_grows_past_its_first_size():
    many = b" ".join(b"w%d" % i for i in range(100_000))
    ids, words, counts, _ = number(many + b" " + many)
    assert words == many.split()
    assert counts == [2] * 100_000
    assert ids == [*range(100_000), *range(100_000), -1]


def test_a_word_of_a_megabyte_leaves_a_gap_and_is_counted():
    ids, words, _, overlong = number(b"a " + b"x" * 1_000_000 + b" b")
    assert ids == [0, GAP, 1, -1]
    assert words == [b"a", b"b"]
    assert overlong == 1


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=12) | st.sampled_from(["", "a", "a\0", "\0", "\0\0"]), st.integers(1, 9)
        ),
        max_size=5,
    ),
    st.integers(1, 3),
)
def test_a_table_adds_up_words_in_any_number_of_parts(dictionaries, parts):
    total: dict[str, int] = {}
    tables = [WordTable(2) for _ in range(parts)]
    for dictionary in dictionaries:
        for word, count in dictionary.items():
            total[word] = total.get(word, 0) + count
        for part, table in enumerate(tables):
            table.add(packed(dictionary), part=part, parts=parts)
    whole = WordTable(2)
    for dictionary in dictionaries:
        whole.add(packed(dictionary))
    found = {}
    for table, (words, counts) in zip(tables, whole.split(parts), strict=True):
        own_words, own_counts = table.word_counts
        assert words.unpack() == own_words.unpack()
        assert counts.tolist() == own_counts.tolist()
        found |= dict(zip(own_words.unpack(), own_counts.tolist(), strict=True))
        assert table.find(own_words).tolist() == list(range(len(table)))
    assert found == total
    assert sum(map(len, tables)) == len(total)


def test_an_unknown_word_is_not_found():
    table = WordTable.of(["known"])
    assert table.find(WordList.pack(["unknown", "known", "know"])).tolist() == [
        GAP,
        0,
        GAP,
    ]


def test_words_with_counts_are_read_as_they_were_written(tmp_path):
    written = packed({"to": 2, "be": 1, "naïve": 3})
    write_word_counts(tmp_path / "words", written)
    words, counts = read_word_counts(tmp_path / "words")
    assert words.unpack() == ("to", "be", "naïve")
    assert counts.tolist() == [2, 1, 3]


@given(st.lists(st.text()))
def test_packed_words_unpack_to_the_same(chosen: list[str]):
    assert WordList.pack(chosen).unpack() == tuple(chosen)


@pytest.mark.parametrize(
    ("blob", "offsets", "message"),
    [
        (b"abc", [0, 2], "do not fit"),
        (b"abc", [1, 3], "do not fit"),
        (b"abc", [0, 2, 1, 3], "do not fit"),
        (b"", [], "do not fit"),
        (b"\xff", [0, 1], "not UTF-8"),
    ],
)
def test_damaged_words_are_refused(blob: bytes, offsets: list[int], message: str):
    with pytest.raises(InputError, match=message):
        WordList(np.frombuffer(blob, np.uint8), np.array(offsets, np.int64)).unpack()


def test_a_word_that_utf8_cannot_write_is_refused():
    with pytest.raises(InputError, match="cannot be written as UTF-8"):
        WordList.pack(["fine", "\ud800"])


@pytest.mark.parametrize("parts", [1, 4, 7])
def test_a_part_of_many_words_spreads_over_its_table(parts):
    table = WordTable()
    table.add(packed({f"word{number}": 1 for number in range(100_000 * parts)}), part=parts - 1, parts=parts)
    assert abs(len(table) / 100_000 - 1) < 0.05
    slots = table.arrays[0]
    empty = np.flatnonzero(slots[:, 0] == 0)
    runs = np.diff(np.append(empty, empty[0] + len(slots)))
    assert runs.max() < 200, "a search ends at an empty slot"


def test_dask_can_tell_how_large_words_are():
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    found = packed({f"w{i}": i for i in range(1000)})
    arrays = found.words.blob.nbytes + found.words.offsets.nbytes + found.counts.nbytes
    assert arrays <= sizeof(found) <= arrays + 1000
