"""Counts of the original toolbox can be read, and written for it."""

from __future__ import annotations

import pytest

from psdvec.counts.count import count_pairs
from psdvec.counts.legacy_grams import read_top1grams, read_top2grams, write_top1grams, write_top2grams
from psdvec.errors import InputError
from tests.helpers import cells

SENTENCES = [["the", "cat", "sat"], ["the", "dog", "sat"], ["a", "cat", "ran"]]

WORDS = """# Corpus: tiny
# 9 tokens
Words:
the,2,-1.504
cat,2,-1.504
sat,1,-2.197
"""
PAIRS = """# window 3
Bigrams:
1,the,2,3,0
\tcat,2,-0.405
\tsat,1,-1.099
2,cat,1,1,0
\tsat,1,0.000
"""


def test_files_of_the_original_toolbox_are_read(tmp_path):
    (tmp_path / "top1").write_text(WORDS)
    (tmp_path / "top2").write_text(PAIRS)
    counts = read_top2grams(tmp_path / "top2", read_top1grams(tmp_path / "top1"), window=3)
    assert counts.vocabulary.words == ("cat", "the", "sat")
    assert counts.row("the") == {"cat": 2.0, "sat": 1.0}
    assert counts.row("cat") == {"sat": 1.0}
    assert counts.row("sat") == {}


def test_writing_and_reading_gives_the_same_counts(tmp_path):
    counts = count_pairs(SENTENCES, min_count=1, window=2, weighting="flat")
    write_top1grams(counts.vocabulary, tmp_path / "top1")
    write_top2grams(counts, tmp_path / "top2")
    again = read_top2grams(tmp_path / "top2", read_top1grams(tmp_path / "top1"), window=2)
    assert again.vocabulary == counts.vocabulary
    assert cells(again) == cells(counts)
    again.save(tmp_path / "saved")
    assert "the,2,-1.5041" in (tmp_path / "top1").read_text()


def test_counts_that_are_not_whole_are_not_written(tmp_path):
    counts = count_pairs(SENTENCES, min_count=1, window=2)
    with pytest.raises(
        InputError, match="holds only whole counts, but these were counted with weighting harmonic"
    ):
        write_top2grams(counts, tmp_path / "top2")
    assert not (tmp_path / "top2").exists()


@pytest.mark.parametrize(
    ("words", "pairs", "message"),
    [
        ("cat,1\n", PAIRS, "line 1 should be a comment"),
        ("# only\n", PAIRS, "has no line 'Words:'"),
        ("Words:\nthe,2\n", PAIRS, "line 2 has 2 fields instead of 3"),
        ("Words:\nthe,x,0\n", PAIRS, "line 2: 'x' is not a count"),
        ("Words:\nthe,2,0\nthe,1,0\n", PAIRS, "line 3 repeats 'the'"),
        (WORDS, "Bigrams:\n\tcat,1,0\n", "line 2 is a neighbour without a word before it"),
        (WORDS, "Bigrams:\n1,dog,0,0,0\n", "line 2: 'dog' is not in the vocabulary"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path, words, pairs, message):
    (tmp_path / "top1").write_text(words)
    (tmp_path / "top2").write_text(pairs)
    with pytest.raises(InputError, match=message):
        read_top2grams(tmp_path / "top2", read_top1grams(tmp_path / "top1"), window=3)


def test_a_word_with_a_comma_cannot_be_written(tmp_path):
    counts = count_pairs([["1,000", "cats"]], min_count=1, weighting="flat")
    with pytest.raises(InputError, match="the word '1,000' cannot be written in this format"):
        write_top1grams(counts.vocabulary, tmp_path / "top1")
