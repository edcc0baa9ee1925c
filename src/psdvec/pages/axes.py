"""Axes of plots: from numbers to pixels, with round ticks, between ends that fit the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_TICKS = 6
_ROOM = 0.06  # of the data's range, beyond either end


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, logarithmic if ``log``, over the pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    ticks: tuple[float, ...]
    log: bool = False

    def place(self, value: float) -> float:
        """Return the pixel of ``value``; what lies beyond an end is drawn at the end."""
        within = min(max(value, self.low), self.high)
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, within))
        return self.stop + (self.start - self.stop) * (high - at) / (high - low)


def fit_axis(
    values: Sequence[float], *, start: float, stop: float, log: bool = False, zero: bool = False
) -> Axis:
    """Return an axis that holds all finite ``values`` with a little room at its ends, and round ticks.

    With ``zero`` it also holds 0, and has no room beyond 0: for bars and areas, whose lengths are compared.

    >>> fit_axis([61.0, 68.0], start=0, stop=100).ticks
    (62.0, 64.0, 66.0, 68.0)
    >>> fit_axis([12.0, 68.0], start=0, stop=100, zero=True).ticks
    (0.0, 20.0, 40.0, 60.0)
    >>> fit_axis([1.0, 10.0], start=0, stop=100, log=True).ticks
    (1.0, 2.0, 5.0, 10.0)
    """
    finite = [value for value in values if math.isfinite(value)] + [0.0] * zero
    if log:
        low, high = (max(value, 1e-3) for value in (min(finite, default=1), max(finite, default=1)))
        room = max((high / low) ** _ROOM, 1.2)
        low, high = low / room, high * room
    else:
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        room = _ROOM * (high - low) or max(abs(high) * _ROOM, 1.0)
        low, high = low - room * (not zero or low < 0), high + room * (not zero or high > 0 or low == 0)
    return Axis(low, high, start, stop, round_ticks(low, high, log=log), log)


def round_ticks(low: float, high: float, *, log: bool = False) -> tuple[float, ...]:
    """Return at most about six round numbers between ``low`` and ``high``.

    >>> round_ticks(31, 52)
    (35.0, 40.0, 45.0, 50.0)
    """
    if not log or high < 2 * low:
        power = 10.0 ** math.floor(math.log10((high - low) / _MOST_TICKS))
        steps = (power * factor for factor in (1, 2, 5, 10))
        step = next(step for step in steps if (high - low) / step < _MOST_TICKS)
        return tuple(
            round(step * i, 9) + 0.0 for i in range(math.ceil(low / step), math.floor(high / step) + 1)
        )
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    sets = ((1, 2, 5), (1,), range(1, 10))
    found = [[factor * 10.0**decade for decade in decades for factor in factors] for factors in sets]
    within = [tuple(tick for tick in ticks if low <= tick <= high) for ticks in found]
    return next((ticks for ticks in within if 2 <= len(ticks) <= _MOST_TICKS + 1), within[-1])


def short(value: float) -> str:
    """Return a tick as short text: 0.5, 20, 5k, 2M.

    >>> short(20.0), short(5e3), short(2e6), short(0.25)
    ('20', '5k', '2M', '0.25')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
