"""Plots as inline SVG: groups of bars with intervals, and lines over named places.

Goes in: numbers in points, with the colour and the remark of each. Comes out: SVG text that takes its font and
the colour of its writing from the page around it, so that it follows the reader's light or dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _TOP, _BELOW = 40, 22, 26
_BAR, _GAP, _LETTER = 22, 26, 8
_PLACE = 62
_MOST_TICKS = 6
_LABELLED = 4


@dataclass(frozen=True)
class Mark:
    """One number to draw, the ends of its interval (NaN for none), its colour, and what the mouse shows."""

    value: float
    low: float
    high: float
    colour: str
    note: str


@dataclass(frozen=True)
class Axis:
    """The upright axis of a plot of some height in pixels; ``ticks`` rise from its foot to its top."""

    ticks: tuple[float, ...]
    height: int

    def y(self, value: float) -> float:
        """Return how far down ``value`` is drawn; what is beyond an end is drawn at the end."""
        low, high = self.ticks[0], self.ticks[-1]
        return _TOP + self.height * (high - min(max(value, low), high)) / (high - low)

    def draw(self, width: float) -> str:
        """Draw a line and a number for each tick."""
        return "".join(
            f'<path class="{"foot" if tick == 0 else "grid"}" d="M{_LEFT} {self.y(tick):.1f}H{width:.0f}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{self.y(tick) + 4:.1f}">{tick:g}</text>'
            for tick in self.ticks
        )


def make_axis(values: Sequence[float], *, height: int) -> Axis:
    """Return an axis with round ticks that holds 0 and all finite ``values``, and a point at least.

    >>> make_axis([12.0, 68.0], height=100).ticks
    (0.0, 20.0, 40.0, 60.0, 80.0)
    >>> make_axis([-3.0, 4.0], height=100).ticks
    (-4.0, -2.0, 0.0, 2.0, 4.0)
    """
    finite = [value for value in values if math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    high = max(high, low + 1)
    power = 10.0 ** math.floor(math.log10((high - low) / _MOST_TICKS))
    step = next(
        power * factor
        for factor in (1, 2, 5, 10, 20)
        if math.ceil(high / (power * factor)) - math.floor(low / (power * factor)) < _MOST_TICKS
    )
    first, last = math.floor(low / step), math.ceil(high / step)
    return Axis(tuple(round(step * i, 6) for i in range(first, last + 1)), height)


def draw_bars(groups: Sequence[tuple[str, Sequence[Mark]]], axis: Axis) -> str:
    """Draw groups of bars side by side, each group with its name below."""
    parts, left = [], float(_LEFT)
    for name, marks in groups:
        width = max(_BAR * len(marks), _LETTER * len(name)) + _GAP
        first = left + (width - _BAR * len(marks)) / 2
        parts.append(_text(left + width / 2, _TOP + axis.height + 18, name, "name"))
        parts += [
            _bar(first + _BAR * i, mark, axis, labelled=len(marks) <= _LABELLED)
            for i, mark in enumerate(marks)
        ]
        left += width
    return _svg(left, axis, "".join(parts))


def draw_lines(places: Sequence[str], lines: Sequence[Sequence[tuple[int, Mark]]], axis: Axis) -> str:
    """Draw lines over the named places; a line has a mark at some of them."""
    parts = [
        _text(_LEFT + _PLACE * (i + 0.5), _TOP + axis.height + 18, name, "tick middle")
        for i, name in enumerate(places)
    ]
    for line in lines:
        points = [(_LEFT + _PLACE * (i + 0.5), axis.y(mark.value), mark) for i, mark in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        colour = points[0][2].colour
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(mark.note)}</title></circle>'
            for x, y, mark in points
        ]
    return _svg(_LEFT + _PLACE * len(places), axis, "".join(parts))


def _bar(x: float, mark: Mark, axis: Axis, *, labelled: bool) -> str:
    top, foot = sorted((axis.y(mark.value), axis.y(0)))
    parts = (
        f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{_BAR - 2}" height="{foot - top:.1f}" rx="2" '
        f'fill="{mark.colour}"><title>{escape(mark.note)}</title></rect>'
    )
    above = top
    if math.isfinite(mark.low):
        middle, ends = x + _BAR / 2, (axis.y(mark.low), axis.y(mark.high))
        caps = "".join(f"M{middle - 3:.1f} {end:.1f}h6" for end in ends)
        parts += f'<path class="interval" d="M{middle:.1f} {ends[0]:.1f}V{ends[1]:.1f}{caps}"/>'
        above = min(top, *ends)
    if labelled:
        parts += _text(x + _BAR / 2, above - 5, f"{mark.value:.0f}", "label")
    return parts


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _svg(width: float, axis: Axis, content: str) -> str:
    height = _TOP + axis.height + _BELOW
    return (
        f'<svg width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" role="img">'
        f"{axis.draw(width)}{content}</svg>"
    )
