"""Plots as inline SVG: groups of bars with intervals, lines over named places, and points joined over two axes.

The drawings take their font and the colour of their text from the page around them, so that they follow the reader's
light or dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_LEFT, _TOP, _BELOW = 40, 22, 26
_BAR, _GAP, _LETTER = 22, 26, 8
_PLACE = 62
_SERIES_LEFT, _SERIES_RIGHT, _SERIES_TOP, _SERIES_BELOW = 50, 75, 16, 40
_MOST_TICKS = 6
_LABELLED = 4  # bars in a group, at most, that have their number above
_HALO = "paint-order:stroke;stroke:Canvas;stroke-width:3px"


@dataclass(frozen=True)
class Mark:
    """A number to draw, the ends of its interval (NaN if it has none), its colour, and what the mouse shows."""

    value: float
    low: float
    high: float
    colour: str
    note: str


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


def zero_axis(values: Sequence[float], *, height: int) -> Axis:
    """Return an upright axis that contains 0 and all finite ``values``, from one round tick to another.

    >>> zero_axis([12.0, 68.0], height=100).ticks
    (0.0, 20.0, 40.0, 60.0, 80.0)
    >>> zero_axis([-3.0, 4.0], height=100).ticks
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
    ticks = tuple(round(step * i, 6) for i in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], _TOP + height, _TOP, ticks)


def padded_axis(values: Sequence[float], *, start: float, stop: float, log: bool = False) -> Axis:
    """Return an axis that leaves some room on both sides of ``values``, with round ticks in between.

    >>> padded_axis([1.0, 10.0], start=0, stop=100, log=True).ticks
    (1.0, 2.0, 5.0, 10.0)
    """
    low, high = min(values), max(values)
    if log:
        low, high = max(low, 1e-3) / 1.3, max(high, 1e-3) * 1.3
    else:
        room = max(0.08 * (high - low), 1.0)
        low, high = low - room, high + room
    return Axis(low, high, start, stop, round_ticks(low, high, log=log), log)


def round_ticks(low: float, high: float, *, log: bool = False) -> tuple[float, ...]:
    """Return round numbers between ``low`` and ``high``."""
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1, 2, 5) if high > 8 * low else range(1, 10)
        ticks = [factor * 10.0**decade for decade in decades for factor in factors]
    else:
        step = 10 ** math.floor(math.log10(high - low))
        step = step / 2 if (high - low) / step < 4 else step
        ticks = [step * k for k in range(math.floor(low / step), math.ceil(high / step) + 1)]
    return tuple(tick for tick in ticks if low <= tick <= high)


def draw_bars(groups: Sequence[tuple[str, Sequence[Mark]]], *, height: int, top: float = 0.0) -> str:
    """Draw groups of bars side by side, each group with its name below it; the axis reaches up to ``top`` or higher."""
    ends = [end for _, marks in groups for mark in marks for end in (mark.value, mark.low, mark.high)]
    axis = zero_axis([top, *ends], height=height)
    parts, left = [], float(_LEFT)
    for name, marks in groups:
        width = max(_BAR * len(marks), _LETTER * len(name)) + _GAP
        first = left + (width - _BAR * len(marks)) / 2
        parts.append(_text(left + width / 2, axis.start + 18, name, "name"))
        parts += [
            _bar(first + _BAR * i, mark, axis, labelled=len(marks) <= _LABELLED)
            for i, mark in enumerate(marks)
        ]
        left += width
    return _plot(left, axis, "".join(parts))


def draw_lines(places: Mapping[int, str], lines: Sequence[Sequence[tuple[int, Mark]]], *, height: int) -> str:
    """Draw lines over the named places, side by side in their order; a line has a mark at some of them."""
    axis = zero_axis([mark.value for line in lines for _, mark in line], height=height)
    middles = {place: _LEFT + _PLACE * (i + 0.5) for i, place in enumerate(places)}
    parts = [_text(middles[place], axis.start + 18, name, "tick middle") for place, name in places.items()]
    for line in lines:
        points = [(middles[place], axis.place(mark.value), mark) for place, mark in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        colour = points[0][2].colour
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [_circle(x, y, 4, colour, mark.note) for x, y, mark in points]
    return _plot(_LEFT + _PLACE * len(places), axis, "".join(parts))


@dataclass(frozen=True)
class Series:
    """Points ``(x, y, note)`` of one colour, joined by a line; the ``name`` stands beside the rightmost."""

    name: str
    colour: str
    points: Sequence[tuple[float, float, str]]


def draw_series(
    series: Sequence[Series], x_title: str, y_title: str, *, log_y: bool, width: int, height: int
) -> str:
    """Draw series over two titled axes, the horizontal one logarithmic."""
    across = [x for one in series for x, _, _ in one.points]
    upwards = [y for one in series for _, y, _ in one.points]
    x = padded_axis(across, start=_SERIES_LEFT, stop=width - _SERIES_RIGHT, log=True)
    y = padded_axis(upwards, start=height - _SERIES_BELOW, stop=_SERIES_TOP, log=log_y)
    parts, tips = [_frame(x, y, x_title, y_title)], []
    for one in series:
        places = [(x.place(at), y.place(value), note) for at, value, note in one.points]
        along = sorted((at, value) for at, value, _ in places)
        if len(along) > 1:
            path = " ".join(f"{at:.1f},{value:.1f}" for at, value in along)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{one.colour}" stroke-width="2"/>')
        parts += [_circle(at, value, 5, one.colour, note) for at, value, note in places]
        tips.append((one.name, *along[-1]))
    return _svg(width, height + 10, "".join(parts) + labels(tips))


def figure(title: str, drawing: str, *, note: str = "") -> str:
    """Return a drawing with its caption."""
    return f"<figure><figcaption><b>{escape(title)}</b>{escape(note)}</figcaption>{drawing}</figure>"


def labels(places: Sequence[tuple[str, float, float]]) -> str:
    """Write names beside their points, moved down where one would cover another or a point."""
    taken = [(x - 6, x + 6, y) for _, x, y in places]
    parts = []
    for name, x, y in sorted(places, key=lambda place: place[2]):
        left, right, at = x + 8, x + 12 + 6.5 * len(name), y
        while any(left < other[1] and right > other[0] and abs(at - other[2]) < 12 for other in taken):
            at += 2
        taken.append((left, right, at))
        parts.append(f'<text x="{left:.1f}" y="{at + 4:.1f}" style="{_HALO}">{escape(name)}</text>')
    return "".join(parts)


def _frame(x: Axis, y: Axis, x_title: str, y_title: str) -> str:
    """Draw two axes with their ticks and titles."""
    parts = []
    for value in x.ticks:
        at = x.place(value)
        parts.append(
            f'<path class="grid" d="M{at:.1f} {y.start}V{y.stop}"/>'
            f'<text x="{at:.1f}" y="{y.start + 15}" text-anchor="middle">{_short(value)}</text>'
        )
    for value in y.ticks:
        at = y.place(value)
        parts.append(
            f'<path class="grid" d="M{x.start} {at:.1f}H{x.stop}"/>'
            f'<text x="{x.start - 5}" y="{at + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        )
    parts.append(
        f'<text x="{(x.start + x.stop) / 2}" y="{y.start + 32}" text-anchor="middle">{x_title}</text>'
    )
    parts.append(f'<text x="{x.start - 40}" y="{y.stop - 4}">{y_title}</text>')
    return "".join(parts)


def _short(value: float) -> str:
    """Return a tick as short text: 0.5, 20, 5k, 2M.

    >>> _short(20.0), _short(5e3), _short(2e6)
    ('20', '5k', '2M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _bar(x: float, mark: Mark, axis: Axis, *, labelled: bool) -> str:
    top, foot = sorted((axis.place(mark.value), axis.place(0)))
    parts = (
        f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{_BAR - 2}" height="{foot - top:.1f}" rx="2" '
        f'fill="{mark.colour}"><title>{escape(mark.note)}</title></rect>'
    )
    above = top
    if math.isfinite(mark.low):
        middle, ends = x + _BAR / 2, (axis.place(mark.low), axis.place(mark.high))
        caps = "".join(f"M{middle - 3:.1f} {end:.1f}h6" for end in ends)
        parts += f'<path class="interval" d="M{middle:.1f} {ends[0]:.1f}V{ends[1]:.1f}{caps}"/>'
        above = min(top, *ends)
    if labelled:
        parts += _text(x + _BAR / 2, above - 5, f"{mark.value:.0f}", "label")
    return parts


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _circle(x: float, y: float, radius: int, colour: str, note: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"><title>{escape(note)}</title></circle>'


def _plot(width: float, axis: Axis, content: str) -> str:
    """Return ``content`` in front of a line and a number per tick of an upright axis."""
    grid = "".join(
        f'<path class="{"foot" if tick == 0 else "grid"}" d="M{_LEFT} {axis.place(tick):.1f}H{width:.0f}"/>'
        f'<text class="tick" x="{_LEFT - 6}" y="{axis.place(tick) + 4:.1f}">{tick:g}</text>'
        for tick in axis.ticks
    )
    return _svg(width, axis.start + _BELOW, grid + content)


def _svg(width: float, height: float, content: str) -> str:
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        f"{content}</svg>"
    )
