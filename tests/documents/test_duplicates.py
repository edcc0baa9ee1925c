from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.documents import duplicates, rows
from psdvec.documents.duplicates import near_duplicates
from psdvec.errors import InputError


def shingles(words: list[str], n: int) -> frozenset[tuple[str, ...]]:
    """The definition: all runs of n words, or all words of a text that has fewer."""
    n = min(n, len(words))
    return frozenset(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) if n else frozenset()


def slow(texts: list[list[str]], *, threshold: float, shingle: int) -> dict[tuple[int, int], float]:
    """All pairs by their definition, each copy with the first document of its content only."""
    sets = [shingles(words, shingle) for words in texts]
    found = {}
    for i, j in combinations(range(len(sets)), 2):
        if sets[i] and sets[j]:
            jaccard = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
            is_copy = sets.index(sets[i]) != i or (sets.index(sets[j]) not in (i, j))
            if jaccard >= threshold and not is_copy:
                found[i, j] = jaccard
    return found


def as_dict(found: duplicates.Duplicates) -> dict[tuple[int, int], float]:
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    return dict(zip(pairs, found.jaccard.tolist(), strict=True))


words = st.lists(st.sampled_from("abc"), max_size=12)


@given(
    st.lists(words, min_size=1, max_size=12), st.sampled_from([0.1, 0.5, 2 / 3, 0.8, 1.0]), st.integers(1, 3)
)
def test_all_pairs_are_found_and_no_other(texts: list[list[str]], threshold: float, shingle: int):
    found = near_duplicates(texts, threshold=threshold, shingle=shingle, workers=1, quiet=True)
    expected = slow(texts, threshold=threshold, shingle=shingle)
    assert as_dict(found) == expected
    assert list(as_dict(found)) == sorted(expected)


@given(st.lists(words, min_size=1, max_size=12), st.sampled_from([0.3, 0.6, 0.9]))
def test_whatever_is_left_out_is_like_something_kept_and_what_is_kept_is_not_alike(texts, threshold):
    found = near_duplicates(texts, threshold=threshold, shingle=2, workers=1, quiet=True)
    sets = [shingles(words, 2) for words in texts]
    for i, (like, likeness) in enumerate(zip(found.like.tolist(), found.likeness.tolist(), strict=True)):
        assert found.keep[like]
        if like != i:
            assert likeness == len(sets[i] & sets[like]) / len(sets[i] | sets[like])
            assert likeness >= threshold
            assert found.groups[i] == found.groups[like] >= 0
    assert not [pair for pair in as_dict(found) if found.keep[list(pair)].all()]


def planted(seed: int = 0, documents: int = 300) -> list[str]:
    """Made-up texts, every third of which is an earlier one with some words changed, or none."""
    generator = np.random.default_rng(seed)
    texts: list[list[str]] = []
    for i in range(documents):
        words = [f"w{int(k)}" for k in generator.zipf(1.3, int(generator.integers(20, 60))) % 5000]
        if i % 3 == 2:
            words = list(texts[int(generator.integers(len(texts)))])
            for place in generator.integers(0, len(words), int(generator.integers(0, 4))).tolist():
                words[place] = "changed"
        texts.append(words)
    return [" ".join(words) for words in texts]


def test_any_number_of_workers_and_any_cut_gives_the_same(workers: int, monkeypatch):
    texts = planted()
    whole = near_duplicates(texts, threshold=0.6, workers=1, quiet=True)
    monkeypatch.setattr(rows, "_ROWS", 7)
    monkeypatch.setattr(duplicates, "_PART", 1000)
    monkeypatch.setattr(duplicates, "_AT_ONCE", 300)
    cut = near_duplicates(texts, threshold=0.6, workers=workers, quiet=True)
    assert as_dict(cut) == as_dict(whole) == slow([text.split() for text in texts], threshold=0.6, shingle=3)
    assert len(whole) > 50
    for name in ("groups", "like", "likeness"):
        assert getattr(cut, name).tolist() == getattr(whole, name).tolist()


def test_many_copies_make_as_many_pairs_and_not_their_square():
    found = near_duplicates(["a b c d"] * 100 + ["a b c d e f"], threshold=0.5, quiet=True)
    assert len(found) == 100
    assert found.keep.nonzero()[0].tolist() == [100]  # the one that has most
    assert found.groups.tolist() == [0] * 101


def test_documents_without_words_are_like_no_other_and_short_ones_are_one_shingle():
    found = near_duplicates(["", "...", "Hello", "hello!", "hello you"], quiet=True)
    assert as_dict(found) == {(2, 3): 1.0}
    assert found.empty == ("0", "1")


def test_pairs_and_documents_are_written_by_id_and_row(tmp_path: Path):
    records = [
        {"id": name, "text": text} for name, text in zip("xyz", ["a b c d", "q", "a b c d"], strict=True)
    ]
    found = near_duplicates(records, quiet=True)
    found.save(tmp_path / "pairs.jsonl")
    found.save(tmp_path / "documents.csv", documents=True)
    assert json.loads((tmp_path / "pairs.jsonl").read_text()) == {
        "first": "x", "second": "z", "jaccard": 1.0, "group": 0, "first_row": 0, "second_row": 2,
    }  # fmt: skip
    assert (tmp_path / "documents.csv").read_text() == (
        "id,group,keep,like,jaccard,row\nx,0,True,x,1.0,0\nz,0,False,x,1.0,2\n"
    )


def test_no_pairs_are_a_table_without_rows(tmp_path: Path):
    found = near_duplicates(["a b", "c d"], quiet=True)
    assert (len(found), found.keep.all()) == (0, True)
    found.save(tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text() == "first,second,jaccard,group,first_row,second_row\n"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({"threshold": 0}, "the threshold is 0; give a number above 0"),
        ({"threshold": 80}, "the threshold is 80"),
        ({"shingle": 0}, "shingle is 0; give 1 or more"),
        ({"documents": []}, "there are no documents"),
        ({"tokenizer": "mine"}, "there is no tokenizer 'mine'"),
    ],
)
def test_what_cannot_be_done_is_said(call: dict[str, Any], sentence: str):
    with pytest.raises(InputError, match=sentence):
        near_duplicates(**{"documents": ["a"], "quiet": True, **call})


def test_groups_are_numbered_in_the_order_of_their_first_document():
    found = near_duplicates(["q r s", "a b c", "x y z", "a b c", "q r s"], quiet=True)
    assert found.groups.tolist() == [0, 1, -1, 1, 0]
    assert all(one <= other for one, other in pairwise(found.first.tolist()))
