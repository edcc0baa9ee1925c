"""Words that are changed by hand keep their frequencies, and the area under the curve is a share of pairs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from benchmarks.bench.bench_power import SHARES, area, draw_texts, swap


def test_words_change_places_in_the_second_half_and_stay_as_frequent():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(200)]
    halves = [[list(rng.choice(words, 60)) for _ in range(100)] for _ in range(2)]
    (first, second), groups = swap(halves, seed=0)
    assert first == halves[0]
    assert [len(document) for document in second] == [len(document) for document in halves[1]]
    before, after = (Counter(word for document in half for word in document) for half in (halves[1], second))
    assert before == after
    touched = {
        one for old, new in zip(halves[1], second, strict=True) for one, other in zip(old, new, strict=True)
        if one != other
    }  # fmt: skip
    chosen = [group for group in groups if group["changed"]]
    assert {group["share"] for group in chosen} == set(SHARES)
    assert touched == {word for group in chosen for word in group["changed"]}
    assert not touched & {word for group in chosen for word in group["controls"]}


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    assert area(np.array([3.0, 1.0]), np.array([2.0, 1.0])) == pytest.approx(0.625)


def test_texts_are_drawn_until_there_are_enough_words(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a b c", "of": 1}\n{"text": "d e f", "of": 2}\n' * 5, encoding="utf-8")
    assert len(draw_texts(path, 7, seed=0)) == 3
    assert set(draw_texts(f"{path}:of=2", 100, seed=0)) == {"d e f"}
