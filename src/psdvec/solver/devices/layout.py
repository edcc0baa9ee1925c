"""Which pairs of words are kept whole: the dense corner of the matrix, the same on every device.

Goes in: how many pairs each square of words has. Comes out: for each word the number of the most frequent words with
which it keeps all its pairs, however small. Dropping small pairs elsewhere then means the same on every backend.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

TILE = 512  # words of a square
DENSE = 0.3  # share of seen pairs from which a dense square is faster than a sparse one, on a CPU
OVERLAP = 0.75  # of the pairs of both directions, so many are left when they are put together


def lay_out(squares: Ints, n: int) -> Ints:
    """Return the widths (n,), up to which dense products gain most over sparse ones, from directed pairs by square."""
    sizes = np.minimum(TILE, n - TILE * np.arange(len(squares)))
    gain = np.cumsum(OVERLAP * (squares + squares.T) - DENSE * np.outer(sizes, sizes), axis=1)
    tiles = np.where(gain.max(axis=1) > 0, gain.argmax(axis=1) + 1, 0)
    widths: Ints = np.minimum(TILE * tiles, n)[np.arange(n) // TILE]
    return widths
