"""Merging is algebra: associative, commutative, undone by subtracting, equal to counting together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs
from psdvec.counts.merge import merge_counts
from psdvec.errors import InputError
from tests.helpers import cells, contents
from tests.reference import counting

SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=6).filter(any)


def counted(sentences, **options):
    return count_pairs(sentences, **({"min_count": 1, "window": 3} | options))


@pytest.mark.slow
@settings(max_examples=40)
@given(SENTENCES, SENTENCES, SENTENCES)
def test_merging_is_associative_and_commutative_to_the_byte(tmp_path_factory, a, b, c):
    folder = tmp_path_factory.mktemp("merge")
    a, b, c = counted(a), counted(b), counted(c)
    merge_counts([merge_counts([a, b]), c], output=folder / "left")
    merge_counts([a, merge_counts([b, c])], output=folder / "right")
    merge_counts([c, b, a], output=folder / "reversed", workers=1)
    assert contents(folder / "left") == contents(folder / "right") == contents(folder / "reversed")


@pytest.mark.slow
@settings(max_examples=40)
@given(SENTENCES, SENTENCES)
def test_merging_equals_counting_together(a, b):
    together, merged = counted(a + b), merge_counts([counted(a), counted(b)])
    assert cells(merged) == cells(together)
    assert merged.vocabulary == together.vocabulary
    assert merged.tally == together.tally


@pytest.mark.slow
@settings(max_examples=40)
@given(SENTENCES, SENTENCES)
def test_subtracting_undoes_adding_to_the_byte(tmp_path_factory, a, b):
    folder = tmp_path_factory.mktemp("merge")
    a, b = counted(a), counted(b)
    a.save(folder / "before")
    merge_counts([merge_counts([a, b])], subtract=[b], output=folder / "after")
    assert contents(folder / "after") == contents(folder / "before")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(SENTENCES, min_size=1, max_size=4), st.integers(1, 3))
def test_merging_equals_its_definition(parts, min_count):
    stores = []
    for part in parts:
        if max(sum(s.count(word) for s in part) for word in "abcdef") >= min_count:
            stores.append(counted(part, min_count=min_count))
    if stores:
        expected = counting.add_counts([cells(store) for store in stores], [1] * len(stores))
        assert cells(merge_counts(stores)) == expected


def test_what_was_counted_otherwise_is_refused():
    with pytest.raises(
        InputError, match=r"store 1 was counted with window 3, store 2 with window 2; count them"
    ):
        merge_counts([counted([["a", "b"]]), counted([["a", "b"]], window=2)])


def test_more_than_there_is_cannot_be_subtracted():
    small, large = counted([["a", "b"]]), counted([["a", "b"], ["a", "b"]])
    with pytest.raises(InputError, match="'a' would occur -1 times"):
        merge_counts([small], subtract=[large])
    other = counted([["b", "a"]])
    with pytest.raises(InputError, match="the pair 'b a' comes out wrong"):
        merge_counts([large], subtract=[other])
