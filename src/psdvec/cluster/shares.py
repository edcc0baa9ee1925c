"""Shares of the work: which blocks and which rows each job of a cluster counts, so that little needs adding up.

:func:`share_out` takes how many ids of text each block has, how many jobs a cluster does at a time, and how many ids
fit into a worker's memory. It returns groups of consecutive blocks, as even as whole blocks allow, and ranges of rows.
The matrices of several groups must be added up; the ranges of one group are only put one after the other, but each of
their jobs reads the whole text of the group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.counts.pairs import Range

MOST_IDS = 1 << 30  # ids in a group, however many fit: they must be counted again if a worker is lost
MOST_RANGES = 8  # with more, reading the text takes longer than counting its pairs


class Shares(NamedTuple):
    """Who counts what: there is a job for each of ``groups`` (of block numbers) and each of ``ranges`` (of rows)."""

    groups: list[list[int]]
    ranges: list[Range]


def share_out(sizes: Sequence[int], loads: Int64s, *, threads: int, room: int) -> Shares:
    """Share out blocks of these ``sizes``, and rows that take ``loads`` of work, among ``threads``.

    >>> share_out([3, 3, 3], np.array([4, 2, 1, 1]), threads=2, room=100)
    Shares(groups=[[0, 1, 2]], ranges=[Range(begin=0, end=1), Range(begin=1, end=4)])
    """
    groups = [list(group) for group in group_blocks(sizes, groups=-(-threads // MOST_RANGES), room=room)]
    return Shares(groups, even_ranges(loads, min(-(-threads // max(len(groups), 1)), MOST_RANGES)))


def even_ranges(loads: Int64s, most: int) -> list[Range]:
    """Cut rows that take ``loads`` of work into at most ``most`` ranges of about the same load, none of them empty."""
    ends = np.cumsum(loads)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, most) / most) + 1
    inside = [int(cut) for cut in np.unique(cuts) if cut < len(loads)]
    return [Range(*pair) for pair in zip([0, *inside], [*inside, len(loads)], strict=True)]


def group_blocks(sizes: Sequence[int], *, groups: int, room: int) -> list[range]:
    """Cut blocks of these ``sizes`` into at most ``groups`` groups, or into more if the ``room`` for each requires it.

    The largest group is as small as that number of groups allows. A block larger than ``room`` is a group of its own.

    >>> group_blocks([3, 3, 3, 3, 3], groups=2, room=100)
    [range(0, 3), range(3, 5)]
    >>> group_blocks([3, 3, 3, 3, 3], groups=2, room=6)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    room = max(min(room, MOST_IDS), 1)
    most = max(groups, len(_fill(sizes, room)))
    limits = range(1, room + 1)
    return _fill(sizes, limits[bisect_left(limits, True, key=lambda limit: len(_fill(sizes, limit)) <= most)])


def _fill(sizes: Sequence[int], limit: int) -> list[range]:
    """Fill one group after the other up to ``limit``; each has at least one block."""
    groups: list[range] = []
    begin, held = 0, 0
    for number, size in enumerate(sizes):
        if number > begin and held + size > limit:
            groups.append(range(begin, number))
            begin, held = number, 0
        held += size
    return [*groups, range(begin, len(sizes))] if len(sizes) else groups
