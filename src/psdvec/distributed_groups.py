"""Groups of blocks: what one job of a cluster counts at once, so that few matrices need adding up.

Goes in: how many ids of text each block has, how many jobs a cluster does at a time, and how many ids fit into a
worker's memory. Comes out: groups of consecutive blocks, as even as whole blocks allow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

MOST_IDS = 1 << 30  # of text in a group, however much fits: what must be counted again if a worker is lost


def group_blocks(sizes: Sequence[int], *, groups: int, room: int) -> list[range]:
    """Cut blocks of the given ``sizes`` into at most ``groups`` groups, or as many as ``room`` for each asks for.

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
    """Fill one group after the other up to ``limit``; each has one block at least."""
    groups: list[range] = []
    begin, held = 0, 0
    for number, size in enumerate(sizes):
        if number > begin and held + size > limit:
            groups.append(range(begin, number))
            begin, held = number, 0
        held += size
    return [*groups, range(begin, len(sizes))] if len(sizes) else groups
