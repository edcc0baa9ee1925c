"""Blocks: vectors that are solved some at a time and kept as files, so that a later attempt finds what is finished.

:func:`blocks_in` cuts words into blocks and names the file of each in a workspace; :func:`write_block` and
:func:`read_block` keep a vector and its deviation for every word of a block, or None for a word that got none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from psdvec.arrays import Float32s
from psdvec.storage.numbers import write_npy
from psdvec.storage.pieces import piece_file

Found: TypeAlias = "tuple[Float32s, float] | None"  # a word's vector and its deviation, if it got one


def blocks_in(work: Path, n: int, *, size: int) -> dict[Path, slice]:
    """Return blocks of ``size`` of ``n`` words, by the files that keep them in the workspace ``work``.

    >>> [path.name for path in blocks_in(Path("larger.work"), 1200, size=1000)]
    ['000000000-000001000.block', '000001000-000001200.block']
    """
    parts = [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]
    return {work / f"{part.start:09d}-{part.stop:09d}.block": part for part in parts}


def write_block(path: Path, found: Sequence[Found]) -> None:
    """Keep what was found for the words of a block."""
    places = np.array([place for place, one in enumerate(found) if one is not None], np.int64)
    vectors = np.array([one[0] for one in found if one is not None], np.float32)
    deviations = np.array([one[1] for one in found if one is not None], np.float64)
    with piece_file(path, existing="keep") as file:
        for array in (np.array([len(found)]), places, vectors, deviations):
            write_npy(file, array)


def read_block(path: Path) -> list[Found]:
    """Return what :func:`write_block` kept."""
    with path.open("rb") as file:
        words, places, vectors, deviations = (np.load(file, allow_pickle=False) for _ in range(4))
    found: list[Found] = [None] * int(words[0])
    for place, vector, deviation in zip(places.tolist(), vectors, deviations.tolist(), strict=True):
        found[place] = vector, deviation
    return found
