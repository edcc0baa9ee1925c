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
