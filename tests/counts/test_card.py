"""Pairs counted by torch are those that the CPU counts, to the byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec import count_pairs
from psdvec.counts import pairs
from psdvec.counts.pairs import Portions, Range
from psdvec.counts.segments import GAP, SENTENCE_END
from psdvec.errors import InputError, ResourceError

torch = pytest.importorskip("torch", reason="the code for GPUs needs torch; pip install 'psdvec[gpu]'")
CPU = torch.device("cpu")
TOKENS = st.lists(st.sampled_from([SENTENCE_END, GAP, 0, 0, 1, 2, 3, 4]), max_size=60)
WEIGHTS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def demand_same(one, other):
    for name in ("indptr", "indices", "values"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def joined(blocks):
    return [np.concatenate(arrays) for arrays in zip(*blocks, strict=True)]


@given(tokens=TOKENS, weights=WEIGHTS, own=st.floats(0, 1), rows=st.sampled_from([(0, 5), (1, 4), (2, 3)]),
       room=st.sampled_from([1, 7, 1000]))  # fmt: skip
def test_rows_on_a_card_are_those_of_the_cpu(tokens, weights, own, rows, room):
    from psdvec.counts import card

    text, how = np.array(tokens, np.int32), np.array(weights, np.int64)
    portions = Portions(5, Range(*rows), len(text), len(text), 100, 1)
    mine = int(own * len(text))
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        wanted = joined(pairs.count_rows(pool, text, mine, weights=how, portions=portions))
        patch.setattr(card, "CELLS", room)
        found = joined(card.count_rows(CPU, text, mine, weights=how, portions=portions))
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype


def test_counts_of_a_card_are_the_same_files(tmp_path):
    text = ["to be or not to be", "that is the question", "whether it is nobler to suffer"] * 9
    for device in ("cpu", "torch:cpu"):
        count_pairs(text, min_count=1, window=3, gaps="close", device=device, output=tmp_path / device[:5])
    for name in ("indptr.npy", "indices.npy", "values.npy"):
        assert (tmp_path / "cpu" / name).read_bytes() == (tmp_path / "torch" / name).read_bytes()


def test_text_that_does_not_fit_is_counted_in_runs_on_a_card_too(monkeypatch):
    rng = np.random.default_rng(0)
    text = [[f"w{word}" for word in rng.integers(30, size=9)] for _ in range(300)]
    whole = count_pairs(text, min_count=1, window=4)
    monkeypatch.setattr(pairs, "room_for_text", lambda *_, **__: (500, 1 << 14))
    monkeypatch.setattr(pairs, "_MIN_CHUNK", 100)
    demand_same(count_pairs(text, min_count=1, window=4, device="torch:cpu"), whole)


def test_a_card_without_room_takes_less_at_a_time_until_it_gives_up(monkeypatch):
    from psdvec.counts import card

    rooms, count = [], card._count

    def full(*args, room, **options):
        rooms.append(room)
        if room > smallest:
            raise torch.OutOfMemoryError
        return count(*args, room=room, **options)

    monkeypatch.setattr(card, "_count", full)
    text = ["to be or not to be"] * 3
    smallest = card.CELLS // 16
    demand_same(count_pairs(text, min_count=1, device="torch:cpu"), count_pairs(text, min_count=1))
    assert sorted(set(rooms), reverse=True) == [card.CELLS, card.CELLS // 4, card.CELLS // 16]
    smallest = 0
    with pytest.raises(ResourceError, match='no room to count pairs of 4 words; use device="cpu"'):
        count_pairs(text, min_count=1, device="torch:cpu")


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="torch cannot use the device 'nonsense'"):
        count_pairs(["a b"], device="nonsense")
