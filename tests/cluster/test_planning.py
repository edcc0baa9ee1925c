"""How a cluster's work is planned: blocks of whole lines, even groups of blocks and ranges of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.cluster import counting as shares
from psdvec.cluster.counting import end_at_lines, even_ranges, group_blocks, plan_blocks, share_out
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


sizes_of_blocks = st.lists(st.integers(1, 50), min_size=1, max_size=30)


@given(sizes_of_blocks, st.integers(1, 10), st.integers(1, 2000))
def test_groups_hold_every_block_once_within_the_room_and_as_evenly_as_possible(sizes, workers, room):
    groups = group_blocks(sizes, groups=workers, room=room)
    assert [block for group in groups for block in group] == list(range(len(sizes)))
    loads = [sum(sizes[block] for block in group) for group in groups]
    assert all(load <= room or len(group) == 1 for load, group in zip(loads, groups, strict=True))
    even = -(-sum(sizes) // workers) + max(sizes)
    if even <= room:
        assert len(groups) <= workers
        assert max(loads) <= even
    elif len(groups) > workers:
        assert len(groups) == len(group_blocks(sizes, groups=1, room=room)), "no more than the room asks for"


def test_a_group_has_a_ceiling_however_much_memory_there_is(monkeypatch):
    monkeypatch.setattr(shares, "MOST_IDS", 10)
    assert len(group_blocks([4] * 6, groups=1, room=1 << 40)) == 3


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60), st.integers(1, 9))
def test_ranges_hold_every_row_once_and_are_as_even_as_whole_rows_allow(loads, most):
    ranges = even_ranges(np.array(loads), most)
    assert [row for rows in ranges for row in range(*rows)] == list(range(len(loads)))
    assert 1 <= len(ranges) <= most
    assert all(rows.size for rows in ranges)
    assert max(sum(loads[slice(*rows)]) for rows in ranges) <= sum(loads) / most + max(loads)


@given(sizes_of_blocks, st.integers(1, 40), st.integers(1, 2000))
def test_there_is_a_share_for_every_thread_and_one_matrix_where_the_text_fits(sizes, threads, room):
    groups, ranges = share_out(sizes, np.ones(100, np.int64), threads=threads, room=room)
    assert [block for group in groups for block in group] == list(range(len(sizes)))
    most = shares.MOST_RANGES
    assert len(ranges) <= most
    assert len(groups) * len(ranges) >= threads or len(ranges) == most
    if sum(sizes) <= room and threads <= most:
        assert len(groups) == 1
