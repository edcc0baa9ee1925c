"""Counting pairs on a graphics card, by torch: the rows that :func:`psdvec.counts.pairs.count_rows` yields.

Counts are whole numbers, so that these are the same bytes. Some rows at a time are summed as a whole matrix, as many as
there is room for; each position of a word adds to its row, distance after distance.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from psdvec.arrays import Int32s, Int64s
from psdvec.counts.matrix import Rows
from psdvec.counts.pairs import Portions
from psdvec.counts.segments import SENTENCE_END
from psdvec.errors import ResourceError

CELLS = 1 << 28  # of the matrix that is summed, at most
POSITIONS = 16  # cells for each position that is looked at meanwhile
FEWEST = 1 << 16  # cells, below which the card has no room


def count_rows(
    device: torch.device, tokens: Int32s, own: int, *, weights: Int64s, portions: Portions
) -> Iterator[Rows]:
    """Count the pairs whose first word is among ``tokens[:own]``; yield the rows of ``portions`` in order."""
    n, (first, last) = portions.n, portions.rows
    begin, room = first, CELLS
    try:
        text = torch.from_numpy(tokens).to(device)
        ends = sentence_ends(text)
        positions = torch.nonzero((text[:own] >= first) & (text[:own] < last))[:, 0]
        words, order = torch.sort(text[positions], stable=True)
        positions = positions[order]
    except torch.OutOfMemoryError as error:
        raise _no_room(n) from error
    cuts = torch.arange(first, last + 1, device=device, dtype=words.dtype)
    starts = torch.searchsorted(words, cuts).tolist()
    while begin < last:
        end = min(begin + max(room // n, 1), last)
        mine = slice(starts[begin - first], starts[end - first])
        rows = (words[mine] - begin).long()
        try:
            counted = _count(text, ends, positions[mine], rows, weights, shape=(end - begin, n), room=room)
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            if room <= FEWEST:
                raise _no_room(n) from error
            room //= 4
            continue
        yield counted
        begin = end


def _no_room(n: int) -> ResourceError:
    return ResourceError(f'the device has no room to count pairs of {n:,} words; use device="cpu"')


def sentence_ends(text: Tensor) -> Tensor:
    """Return where the sentence of each token ends, (t,) int64; where the text ends for those of the last."""
    places = torch.arange(len(text), device=text.device)
    ends = torch.where(text == SENTENCE_END, places, len(text))
    return ends.flip(0).cummin(0).values.flip(0) if len(text) else ends


def _count(
    text: Tensor,
    ends: Tensor,
    positions: Tensor,
    rows: Tensor,
    weights: Int64s,
    *,
    shape: tuple[int, int],
    room: int,
) -> Rows:
    """Return the rows of a matrix of this ``shape``, of words that stand at ``positions`` and have these ``rows``."""
    height, n = shape
    sums = torch.zeros(height * n, dtype=torch.int64, device=text.device)
    step = max(room // POSITIONS, 1)
    for begin in range(0, len(positions), step):
        here, base = positions[begin : begin + step], rows[begin : begin + step] * n
        end = ends[here]
        for distance, weight in enumerate(weights.tolist(), 1):
            inside = here + distance < end
            here, base, end = here[inside], base[inside], end[inside]
            other = text[here + distance]
            keys = (base + other)[other >= 0]
            sums.index_add_(0, keys, torch.full_like(keys, weight))
    cells = torch.nonzero(sums)[:, 0]
    found = (cells % n).int(), sums[cells], torch.bincount(cells // n, minlength=height)
    return Rows(*(one.cpu().numpy() for one in found))
