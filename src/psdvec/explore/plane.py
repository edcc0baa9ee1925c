"""The plane in which a few words are seen best: two directions of their own, not those of the map.

:func:`fit_plane` turns the vectors of a few words into places on a plane, by PCA of just these vectors scaled to
length 1. It is what the page draws an analogy in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psdvec.arrays import Float32s


def fit_plane(vectors: Float32s) -> dict[str, Any]:
    """Return the ``places`` of ``vectors`` (n, d) in the plane that fits them best, and what it ``kept``.

    ``kept`` is the share of their squared distances from their mean that is seen in the plane.

    >>> fit_plane(np.eye(4, dtype=np.float32)[:3])["kept"]
    1.0
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)
    left, singular, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    places = np.zeros((len(units), 2))
    seen = min(2, singular.size)
    places[:, :seen] = left[:, :seen] * singular[:seen]
    spread = float((singular**2).sum())
    kept = float((singular[:seen] ** 2).sum()) / spread if spread > 0 else 1.0
    return {"places": np.round(places, 4).tolist(), "kept": round(min(kept, 1.0), 4)}
