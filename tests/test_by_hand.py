"""The worked example of docs/theory.md: the same nine words, the same digits."""

from __future__ import annotations

import re
from pathlib import Path

from psdvec.counts.count import count_pairs
from psdvec.counts.weighting import UNIT
from tests.helpers import cells

THEORY = Path(__file__).parent.parent / "docs" / "theory.md"
SENTENCES = [line.split() for line in ("the cat sat", "the dog sat", "a cat ran")]


def test_the_counts_of_the_nine_words():
    counts = count_pairs(SENTENCES, min_count=1, window=2)
    assert dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True)) == {
        "cat": 2, "sat": 2, "the": 2, "a": 1, "dog": 1, "ran": 1,
    }  # fmt: skip
    assert cells(counts) == {
        ("the", "cat"): UNIT, ("the", "dog"): UNIT, ("the", "sat"): UNIT,
        ("cat", "sat"): UNIT, ("cat", "ran"): UNIT, ("dog", "sat"): UNIT,
        ("a", "cat"): UNIT, ("a", "ran"): UNIT // 2,
    }  # fmt: skip


def test_the_page_shows_the_same_counts():
    """Each cell of the table in docs/theory.md is what is counted."""
    counts = count_pairs(SENTENCES, min_count=1, window=2)
    table = re.search(r"\| H \|(.*?)\n\n", THEORY.read_text(encoding="utf-8"), re.DOTALL)
    header, _, *rows = table[0].strip().splitlines()
    columns = [cell.strip() for cell in header.strip("|").split("|")][1:]
    assert tuple(columns) == counts.vocabulary.words
    for row in rows:
        word, *shown = [cell.strip() for cell in row.strip("|").split("|")]
        found = counts.row(word)
        assert [float(cell or 0) for cell in shown] == [found.get(column, 0.0) for column in columns]
    assert len(rows) == len(counts)
