"""Counts of the original toolbox can be read, and written for it.

The sample below is made by hand in the format of ``gramcount.pl``; files that the program itself wrote are read where
the shared data hold them.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs
from psdvec.counts.grams import read_grams, write_grams
from psdvec.counts.matrix import UNIT, load_counts
from psdvec.counts.merge import merge_counts
from psdvec.errors import InputError
from tests.helpers import cells

TEXT = """the cat saw the dog
the dog met the cat
see the cat and the cat
"""
WORDS = """# 3 words, 16 occurrences
# input=text.txt, f1=top1grams.txt, minwords_sentence=5, window=2, thres1=2,0, thres2=1,0
the\t6\t-0.981
cat\t4\t-1.386
dog\t2\t-2.079
"""
PAIRS = """# 3 words, 12 occurrences
# input=text.txt, f1=top1grams.txt, minwords_sentence=5, window=2, thres1=2,0, thres2=1,0, top1=0
# 9 bigram occurrences
Words:
cat,4,-0.811\tthe,3,-1.099\tdog,2,-1.504

Bigrams:
1,cat,1,2,1
\tthe,2,0
2,the,2,6,1
\tcat,4,-0.405\tdog,2,-1.099
3,dog,1,1,1
\tthe,1,0
# Total kept bigram occurrences: 9
"""


@pytest.fixture
def read(tmp_path):
    """Read counts from the text of a top2grams file and, if given, of a top1grams file."""

    def call(pairs=PAIRS, words=None, **options):
        (tmp_path / "top2").write_text(pairs)
        if words is not None:
            (tmp_path / "top1").write_text(words)
            options["words"] = tmp_path / "top1"
        return read_grams(tmp_path / "top2", **options)

    return call


def counted(text=TEXT, **options):
    sentences = [line.split() for line in text.splitlines()]
    return count_pairs(sentences, **{"min_count": 2, "window": 2, "weighting": "flat", **options})


# Reading


def test_a_row_holds_the_words_that_follow(read):
    counts = read(words=WORDS)
    assert counts.vocabulary.words == ("the", "cat", "dog")
    assert counts.vocabulary.counts.tolist() == [6, 4, 2]
    assert counts.row("the") == {"cat": 4.0, "dog": 2.0}
    assert counts.row("cat") == {"the": 2.0}
    assert counts.row("dog") == {"the": 1.0}
    assert counts.tally.tokens == 16


def test_the_file_itself_says_how_it_was_counted(read):
    parameters = read(words=WORDS).parameters
    assert parameters == {
        "tokenizer": "unknown", "window": 2, "weighting": "flat", "gaps": "keep", "unit": UNIT,
    }  # fmt: skip
    assert read(tokenizer="paper").parameters["tokenizer"] == "paper"
    with pytest.raises(InputError, match="there is no tokenizer 'none such'"):
        read(tokenizer="none such")


def test_counting_the_same_text_gives_the_same_numbers(read):
    ours, theirs = counted(), read(words=WORDS)
    assert theirs.vocabulary == ours.vocabulary
    assert cells(theirs) == cells(ours)
    assert theirs.tally.tokens == ours.tally.tokens
    assert {**theirs.parameters, "tokenizer": "none"} == ours.parameters


def test_without_the_word_file_words_are_counted_by_the_pairs_that_they_end(read):
    alone, both = read(), read(words=WORDS)
    assert alone.vocabulary.words == ("cat", "the", "dog")
    assert alone.vocabulary.counts.tolist() == [4, 3, 2]
    assert cells(alone) == cells(both)
    with pytest.raises(InputError, match="counted without word_counts, store 2 with word_counts second of"):
        merge_counts([both, alone])


def test_numbers_of_the_embedded_program_are_read_alike(read):
    """Option -c writes ``dyn``, three decimals, and with glibc numbers that are 64 places wide."""
    wide = re.sub(r"(?<=words, )\d+|(?<=# )\d+(?= bigram)|(?<=: )\d+", lambda n: f"{n[0]:>64}", PAIRS)
    wide = wide.replace("window=2,", "window=2, dyn=0,").replace(",0\n", ",0.000\n")
    assert wide != PAIRS
    assert cells(read(wide)) == cells(read())
    assert read(wide).parameters == read().parameters


def test_a_window_of_random_width_is_a_linear_weighting(read):
    assert read(PAIRS.replace("window=2,", "window=2, dyn=1,")).parameters["weighting"] == "linear"


def test_a_word_that_nothing_follows_is_read_although_it_is_not_listed(read):
    pairs = PAIRS.replace("2,the,2,6", "2,the,3,7").replace("dog,2,-1.099", "dog,2,-1.099\tend,1,-2")
    pairs = pairs.replace("occurrences: 9", "occurrences: 10")
    with pytest.raises(
        InputError, match=r"line 11 has the neighbour 'end'.*; give the top1grams file too, as words"
    ):
        read(pairs)
    with pytest.raises(
        InputError, match=r"line 11 has the neighbour 'end'.*; give the top1grams that this file"
    ):
        read(pairs, WORDS)
    counts = read(pairs, WORDS.replace("# 3 words", "# 4 words") + "end\t2\t-2\n")
    assert counts.row("the") == {"cat": 4.0, "dog": 2.0, "end": 1.0}
    assert counts.row("end") == {}


def test_words_without_pairs_are_not_read(read):
    """gramcount.pl --top1 counts the pairs of some words only."""
    words = WORDS.replace("# 3 words", "# 4 words") + "mat\t1\t-2\n"
    assert "mat" not in read(words=words).vocabulary


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# 3 words", "3 words", "line 1 should be '# N words, N occurrences'; give a file as gramcount.pl"),
        ("# 3 words", "# 4 words", "line 6 ends the list of 3 words, but line 1 says 4"),
        ("window=2, ", "", "line 2 does not state the window"),
        ("# 9 bigram", "# no bigram", "line 3 should be '# N bigram occurrences'"),
        ("Words:", "cat", "line 4 should be 'Words:'"),
        ("cat,4,-0.811", "cat,4", "line 5 has 'cat,4' where 3 fields with commas should be"),
        ("cat,4,-0.811", ",4,-0.811", "line 5 has ',4,-0.811' where 3 fields"),
        ("cat,4,-0.811", "the,4,-0.811", "line 5 repeats 'the'"),
        ("cat,4,-0.811", "c\udcff,4,-0.811", "line 5 is not UTF-8; convert the file"),
        ("Bigrams:", "", "line 7 should be 'Bigrams:'"),
        ("1,cat,1,2,1", "1,cat,1", "line 8 has '1,cat,1' where 5 fields with commas should be"),
        ("1,cat,1,2,1", "\tcat,1,1", "line 8 has '\\tcat,1,1' where 5 fields"),
        ("1,cat,1,2,1", "1,cow,1,2,1", "line 8 has a row of 'cow', which is not among the Words"),
        ("the,2,0", "the,x,0", "line 9 has 'x' where a count should be"),
        ("the,2,0", "the,9999999999999999,0", "line 9 has '9999999999999999' where a count should be"),
        ("the,2,0", "the,0,0", "line 9 has the neighbour 'the' with a count of 0"),
        ("the,2,0", "the,1,0", "line 8 promises 1 neighbours of 'cat' with 2 pairs, but 1 follow, with 1"),
        ("the,2,0", "the,1,0\tthe,1,0", "line 8 promises 1 neighbours of 'cat' with 2 pairs, but 2 follow"),
        ("3,dog,1,1", "3,cat,1,1", "line 12 is a second row of 'cat'"),
        ("occurrences: 9", "occurrences: 8", "line 14 says 8 pairs, but the rows hold 9"),
    ],
)  # fmt: skip
def test_damaged_pairs_are_refused_with_the_line(tmp_path, old, new, message):
    (tmp_path / "top2").write_bytes(PAIRS.replace(old, new, 1).encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=f"top2' {re.escape(message)}"):
        read_grams(tmp_path / "top2")


@pytest.mark.parametrize("lines", range(PAIRS.count("\n")))
def test_a_file_that_is_cut_short_is_refused_with_the_line(read, lines):
    with pytest.raises(InputError, match=r"top2' line \d+ "):
        read("".join(PAIRS.splitlines(keepends=True)[:lines]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# 3 words", "Words", "top1' line 1 should be '# N words, N occurrences'"),
        ("cat\t4", "cat 4", "top1' line 4 should be a word, its count and a logarithm, with tabs between them"),
        ("cat\t4", "cat\tx", "top1' line 4 has 'x' where a count should be"),
        ("cat\t4", "the\t4", "top1' line 4 repeats 'the'"),
        ("dog\t2\t-2.079\n", "", "top1' line 4 is the last, after 2 words, but line 1 says 3"),
        ("cat", "cow", "top2' line 5 has 'cat', which the top1grams lack; give the top1grams that this file"),
    ],
)  # fmt: skip
def test_damaged_words_are_refused_with_the_line(read, old, new, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(words=WORDS.replace(old, new, 1))


# Writing


def without_settings(path):
    """The lines of a file but for the second, which says how it was made."""
    lines = Path(path).read_text().splitlines()
    return lines[:1] + lines[2:]


def test_what_is_written_is_what_the_original_writes_but_for_the_settings(read, tmp_path):
    read(words=WORDS)
    write_grams(counted(), tmp_path / "new2", words=tmp_path / "new1")
    assert without_settings(tmp_path / "new2") == without_settings(tmp_path / "top2")
    assert without_settings(tmp_path / "new1") == without_settings(tmp_path / "top1")


WORD = st.sampled_from(["a", "b", "c", "d", "é", "#", "1,000"])
SENTENCES = st.lists(st.lists(WORD, min_size=1, max_size=12), min_size=1, max_size=6)


@pytest.mark.slow
@given(sentences=SENTENCES, window=st.integers(1, 4), gaps=st.sampled_from(["keep", "close"]))
def test_writing_and_reading_gives_the_same_counts_of_all_words_that_are_not_left_out(
    tmp_path_factory, sentences, window, gaps
):
    folder = tmp_path_factory.mktemp("grams")
    usable = ["a", "b", "a", "b"]  # so that something is left to write
    counts = count_pairs([*sentences, usable], min_count=1, window=window, weighting="flat", gaps=gaps)
    left_out = write_grams(counts, folder / "top2", words=folder / "top1")
    again = read_grams(folder / "top2", words=folder / "top1")
    kept = {pair: value for pair, value in cells(counts).items() if not set(pair) & set(left_out)}
    assert cells(again) == kept
    assert set(again.vocabulary) == set(counts.vocabulary) - set(left_out)
    assert again.parameters == counts.parameters
    assert again.tally.tokens == counts.tally.tokens
    assert_the_original_can_use(folder / "top2")


def assert_the_original_can_use(path):
    """What factorize.py takes for granted: row i is word i, and neighbours are listed words in rising order."""
    head, body = path.read_text().split("\n\nBigrams:\n")
    lines = head.splitlines()
    assert re.fullmatch(r"#\s+(\d+) words,\s+\d+ occurrences", lines[0])
    assert re.fullmatch(r"#\s+(\d+) bigram occurrences", lines[2])
    assert lines[3] == "Words:"
    listed = [field.split(",")[0] for line in lines[4:] for field in line.split("\t")]
    assert len(listed) == int(lines[0].split()[1])
    rows = re.split(r"\n(?!\t)", body.split("# Total")[0].strip())
    assert [row.split("\n")[0].split(",")[1] for row in rows] == listed
    for number, row in enumerate(rows, 1):
        first, *others = row.split("\n")
        neighbours = [field.split(",") for line in others for field in line.strip().split("\t")]
        places = [listed.index(word) for word, _, _ in neighbours]
        assert places == sorted(set(places))
        assert all(len(line.strip().split("\t")) <= 5 for line in others)
        assert (
            first == f"{number},{listed[number - 1]},{len(places)},{sum(int(n) for _, n, _ in neighbours)},1"
        )


def test_words_that_the_original_cannot_use_are_left_out_and_named(tmp_path):
    text = "start the cat saw the cat end\nthe 1,000 cats and the cat # the\n"
    counts = counted(text, min_count=1)
    left_out = write_grams(counts, tmp_path / "top2", words=tmp_path / "top1")
    assert set(left_out) == {"start", "end", "1,000", "#"}
    assert set(read_grams(tmp_path / "top2").vocabulary) == {"the", "cat", "saw", "cats", "and"}
    assert "start\t1\t" in (tmp_path / "top1").read_text()


def test_a_text_too_short_for_the_original_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"there is nothing to write: no word .* count a longer text"):
        write_grams(counted("one two three", min_count=1), tmp_path / "top2")


def test_counts_that_are_not_whole_are_not_written(tmp_path):
    with pytest.raises(
        InputError, match="holds only whole counts, but these were counted with weighting harmonic"
    ):
        write_grams(counted(weighting="harmonic"), tmp_path / "top2")
    assert not (tmp_path / "top2").exists()


def test_occurrences_that_are_not_known_are_not_written(read, tmp_path):
    counts = read()
    write_grams(counts, tmp_path / "new2")
    assert without_settings(tmp_path / "new2") == without_settings(tmp_path / "top2")
    with pytest.raises(
        InputError, match=r"do not say how often each word occurs.*; import them with words=FILE"
    ):
        write_grams(counts, tmp_path / "other2", words=tmp_path / "other1")
    assert not (tmp_path / "other2").exists()


def test_a_file_is_only_replaced_on_demand(read, tmp_path):
    read()
    with pytest.raises(InputError, match="top2' exists already"):
        write_grams(counted(), tmp_path / "top2")
    write_grams(counted(), tmp_path / "top2", overwrite=True)
    assert "input=" not in (tmp_path / "top2").read_text()


# Files that gramcount.pl wrote


@pytest.fixture
def original(shared_data) -> Path:
    folder = shared_data / "original"
    if not folder.is_dir():
        pytest.skip(f"no files of the original toolbox at {folder}")
    return folder


@pytest.mark.parametrize("tokenizer", ["whitespace", "paper", "unicode"])
def test_counting_a_real_text_gives_the_numbers_of_the_original(original, tokenizer):
    theirs = read_grams(original / "top2grams.txt", words=original / "top1grams.txt")
    ours = count_pairs(
        str(original / "small.txt"), tokenizer=tokenizer, min_count=10, window=3, weighting="flat"
    )
    assert theirs.vocabulary == ours.vocabulary
    assert cells(theirs) == cells(ours)
    assert theirs.tally.tokens == ours.tally.tokens == 14202


def test_the_occurrences_among_pairs_are_column_sums(original):
    counts = read_grams(original / "top2grams.txt")
    sums = np.bincount(counts.indices, weights=counts.values / UNIT, minlength=len(counts))
    assert counts.vocabulary.counts.tolist() == sums.tolist()
    assert counts.tally.tokens == 8781


def test_real_files_come_back_with_every_field_and_only_ties_in_another_order(original, tmp_path):
    counts = read_grams(original / "top2grams.txt", words=original / "top1grams.txt")
    counts.save(tmp_path / "counts")
    assert write_grams(load_counts(tmp_path / "counts"), tmp_path / "2", words=tmp_path / "1") == ()
    for old, new in (("top1grams.txt", "1"), ("top2grams.txt", "2")):
        before, after = without_settings(original / old), without_settings(tmp_path / new)
        assert before[:3] == after[:3]
        assert len(before) == len(after)
        assert numbered_fields(before) == numbered_fields(after)
        assert numbers_in_order(before) == numbers_in_order(after)
    assert_the_original_can_use(tmp_path / "2")


def numbered_fields(lines):
    """Every field of a file with how often it stands there, without the number of a row."""
    fields = (re.sub(r"^\d+,(?=\D)", "", field) for line in lines for field in line.split("\t"))
    return Counter(fields)


def numbers_in_order(lines):
    """The numbers of the words that are listed, in their order, which ties do not change."""
    listed = lines[: lines.index("")] if "" in lines else lines
    return [re.findall(r"[,\t](-?[\d.]+)", line) for line in listed]
