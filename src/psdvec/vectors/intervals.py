"""How far the cosine of two word vectors, and a vector itself, can be trusted, from the standard deviations."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from psdvec.arrays import Bools, Float32s, Int64s
from psdvec.errors import InputError, demand_number

FAR = 0.5  # the cosine of a vector with the true one below which it points elsewhere
ENOUGH = 40  # occurrences from which no word is thin
USUAL = 130  # occurrences of words whose vectors err by their deviation in the median; measured, as is SPREAD
SPREAD = 1.5  # what 1 word of 40 errs by or more, over the median


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
    if not 0 < demand_number(confidence, "confidence") < 1:
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
    with np.errstate(over="ignore"):
        spread = float(np.hypot(*(np.nan_to_num(deviations) / lengths)))
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * spread
    return Interval(cosine, float(np.cos(min(angle + reach, np.pi))), float(np.cos(max(angle - reach, 0.0))))


def may_point_elsewhere(deviations: Float32s, lengths: Float32s, counts: Int64s | None, *, dim: int) -> Bools:
    """Say of each vector whether the 95 % interval of its cosine with the true one reaches below 0.5.

    The error of a vector v has the length s √d, with s its deviation, and is almost at a right angle to it, so that the
    tangent of the angle to the true vector is ``t = s √d / |v|``. Words seldom seen err by more than s says, frequent
    ones by less, hence ``t (130 / c)^¼`` for a word seen c times, and 1.5 times that for one word of 40. A vector may
    point elsewhere where ``1.5 (130 / c)^¼ t > √3``, the tangent that belongs to the cosine 0.5. With unknown
    ``counts`` c is taken as 130; a word never seen counts as seen once. A deviation that is not a number is none. From
    40 occurrences on no word is thin: in a small text deviations are too large, and would mark every word.

    The two numbers and the exponent were chosen on 500 words of enwiki-38m, placed from one line in eight and again
    from the whole, which stands for the truth. Checked on 469 of the same words placed from one line in fifty: with
    spelling 111 are thin, 11 of those have a cosine below 0.5, and none of the others has; without it 440 are thin, 359
    of those are below 0.5, and 1 of the other 29. Without spelling, words seen fewer than 20 times err by more still.

    >>> one = np.ones(3, np.float32)
    >>> may_point_elsewhere(0.07 * one, one, np.array([5, 50, 500]), dim=100).tolist()
    [True, False, False]
    """
    with np.errstate(over="ignore"):
        tangents = deviations * np.sqrt(dim) / lengths
        if counts is None:
            return np.asarray(SPREAD * tangents > np.sqrt(1 / FAR**2 - 1))
        tangents = tangents * (USUAL / np.maximum(counts, 1)) ** 0.25
        return np.asarray((SPREAD * tangents > np.sqrt(1 / FAR**2 - 1)) & (counts < ENOUGH))
