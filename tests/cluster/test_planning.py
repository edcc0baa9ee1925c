"""How a cluster's work is planned: blocks of whole lines, even groups of blocks and ranges of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.cluster import counting
from psdvec.cluster.counting import end_at_lines, even_ranges, plan_blocks, share_out
from psdvec.text.corpus import read_corpus

lines_of_text = st.lists(st.text("ab \n\u00e9", max_size=12), max_size=12)


@given(lines_of_text, st.integers(1, 40))
@settings(max_examples=100)
def test_blocks_are_whole_lines_and_make_up_the_file(tmp_path_factory, lines, size):
    path = tmp_path_factory.mktemp("cut") / "text"
    path.write_text("\n".join(lines))
    data = path.read_bytes()
    blocks = [end_at_lines(block) for block in plan_blocks(read_corpus(path), size)]
    pieces = [data if block.byte_range is None else data[slice(*block.byte_range)] for block in blocks]
    assert b"".join(pieces) == data
    ends = np.cumsum([len(piece) for piece in pieces])
    assert all(end in (0, len(data)) or data[end - 1 : end] == b"\n" for end in ends)


sizes_of_blocks = st.lists(st.integers(0, 50), min_size=1, max_size=30).filter(any).map(np.array)


@given(sizes_of_blocks, st.integers(1, 40), st.integers(1, 2000))
def test_groups_hold_every_block_once_within_the_room_and_as_evenly_as_possible(sizes, threads, room):
    groups, _ = share_out(sizes, np.ones(100, np.int64), threads=threads, room=room)
    assert [block for group in groups for block in range(*group)] == list(range(len(sizes)))
    loads = [sizes[slice(*group)].sum() for group in groups]
    assert all(loads), "none of them has no text"
    needed = -(-sizes.sum() // max(room - sizes.max(), 1))
    if sizes.sum() <= room:
        assert len(groups) <= -(-threads // counting.MOST_RANGES), "no more than the threads ask for"
    elif needed <= len(sizes):
        assert max(loads) <= room


def test_a_group_has_a_ceiling_however_much_memory_there_is(monkeypatch):
    monkeypatch.setattr(counting, "MOST_IDS", 12)
    assert len(share_out(np.array([4] * 6), np.ones(100, np.int64), threads=1, room=1 << 40).groups) == 3


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 9))
def test_ranges_hold_every_row_once_and_are_as_even_as_whole_rows_allow(loads, most):
    ranges = even_ranges(np.array(loads), most)
    assert [row for rows in ranges for row in range(*rows)] == list(range(len(loads)))
    assert 1 <= len(ranges) <= most
    assert all(sum(loads[slice(*rows)]) for rows in ranges) or not any(loads)
    assert max(sum(loads[slice(*rows)]) for rows in ranges) <= sum(loads) / most + max(loads)


@given(sizes_of_blocks, st.integers(1, 40), st.integers(1, 2000))
def test_there_is_a_share_for_every_thread_and_one_matrix_where_the_text_fits(sizes, threads, room):
    groups, ranges = share_out(sizes, np.ones(100, np.int64), threads=threads, room=room)
    most = counting.MOST_RANGES
    assert len(ranges) <= most
    assert len(groups) * len(ranges) >= threads or len(ranges) == most
    if sizes.sum() <= room and threads <= most:
        assert len(groups) == 1
