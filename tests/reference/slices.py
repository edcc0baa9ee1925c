"""What the loop of :mod:`psdvec.slices.blocks` computes, in plain NumPy."""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float32s, Float64s, Int32s, Int64s


def add_contexts(
    tokens: Int32s,
    starts: Int64s,
    documents: Int64s,
    features: Float32s,
    window: int,
    rows: Int32s,
    sums: Float64s,
) -> None:
    """See :func:`psdvec.slices.blocks.add_contexts`: every known word within the window, but not the word itself."""
    for document in documents:
        words = tokens[starts[document] : starts[document + 1]]
        for place, word in enumerate(words):
            if word >= 0 and rows[word] >= 0:
                around = np.delete(np.arange(max(place - window, 0), min(place + window + 1, len(words))),
                                   min(place, window))  # fmt: skip
                known = words[around][words[around] >= 0]
                sums[rows[word]] += features[known].astype(np.float64).sum(axis=0)


def count_contexts(
    tokens: Int32s, starts: Int64s, documents: Int64s, window: int, rows: Int32s, counts: Int64s
) -> None:
    """See :func:`psdvec.slices.blocks.count_contexts`: one for every known word that ``add_contexts`` would add."""
    ones = np.eye(counts.shape[1], dtype=np.float32)
    sums = np.zeros(counts.shape)
    add_contexts(tokens, starts, documents, ones, window, rows, sums)
    counts += sums.astype(np.int64)
