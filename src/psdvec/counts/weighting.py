"""What a pair of words counts at a distance, as an integer in a fixed unit (equation (H) of docs/theory.md)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from psdvec.arrays import Int64s
from psdvec.errors import InputError, demand_whole

UNIT = 720720  # divisible by 1 to 16, so that harmonic weights are exact that far


def pair_weights(window: int, weighting: str) -> Int64s:
    """Return what a pair counts at distance 1, 2, ... ``window``, in units of 1/720720.

    >>> pair_weights(3, "harmonic").tolist()
    [720720, 360360, 240240]
    """
    window = demand_whole(window, "window")
    if not 1 <= window <= 1000:
        raise InputError(f"the window is {window}; give a number from 1 to 1000")
    name, _, power = weighting.partition(":")
    distances = range(1, window + 1)
    if weighting == "flat":
        weights = [Fraction(1)] * window
    elif weighting == "harmonic":
        weights = [Fraction(1, d) for d in distances]
    elif weighting == "linear":
        weights = [Fraction(window - d + 1, window) for d in distances]
    elif name == "power" and _is_power(power):
        weights = [Fraction(d ** -float(power)) for d in distances]
    else:
        raise InputError(
            f"there is no weighting '{weighting}'; choose harmonic, flat, linear or power:P with P from 0 to 10"
        )
    units = np.array([round(UNIT * weight) for weight in weights], dtype=np.int64)
    return units[units > 0]


def _is_power(text: str) -> bool:
    try:
        return 0 <= float(text) <= 10
    except ValueError:
        return False
