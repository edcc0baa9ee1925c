"""How far the cosine of two word vectors can be trusted, from the standard deviations of the vectors."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError


class Interval(NamedTuple):
    """A similarity and the bounds within which it lies, with the confidence that was asked for."""

    value: float
    low: float
    high: float


def similarity_interval(
    cosine: float,
    words: tuple[str, str],
    *,
    deviations: Float32s | None,
    lengths: Float32s,
    confidence: float,
) -> Interval:
    """Return the bounds of the ``cosine`` of two ``words``, or say why they have none.

    ``deviations`` and ``lengths``, (2,), are those of the two vectors, as for :func:`cosine_interval`.

    >>> similarity_interval(1.0, ("a", "a"), deviations=np.array([0.1, 0.1]), lengths=np.ones(2), confidence=0.9).low
    1.0
    """
    if not 0 < confidence < 1:
        raise InputError(f"the confidence is {confidence}; give a number between 0 and 1, such as 0.95")
    if deviations is None:
        raise InputError(
            "these vectors have no deviations, which an interval needs; ask for the similarity without an "
            "interval, or fit vectors with psdvec"
        )
    a, b = words
    if np.isnan(deviations).all():
        raise InputError(
            f"'{a}' and '{b}' have no deviation; words have one that psdvec fitted or placed; ask for the similarity "
            "without an interval"
        )
    if a == b:
        return Interval(cosine, cosine, cosine)
    return cosine_interval(cosine, deviations=deviations, lengths=lengths, confidence=confidence)


def cosine_interval(cosine: float, *, deviations: Float32s, lengths: Float32s, confidence: float) -> Interval:
    """Return the bounds of the ``cosine`` of two vectors, by the delta method.

    With s_a and s_b the ``deviations`` of the two vectors, (2,), and |a| and |b| their ``lengths``, (2,), the angle θ
    between them varies by ``Var θ = s_a² / |a|² + s_b² / |b|²``. The bounds are ``cos(θ ± z √Var θ)``, which never
    leave [-1, 1]. A deviation that is not a number counts as 0.

    >>> bounds = cosine_interval(0.0, deviations=np.array([0.1, 0.0]), lengths=np.ones(2), confidence=0.95)
    >>> round(bounds.low, 3), round(bounds.high, 3)
    (-0.195, 0.195)
    """
    angle = np.arccos(np.clip(cosine, -1, 1))
    spread = float(np.hypot(*(np.nan_to_num(deviations) / lengths)))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
    return Interval(cosine, float(np.cos(min(angle + reach, np.pi))), float(np.cos(max(angle - reach, 0.0))))
